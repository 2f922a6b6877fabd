"""Functions of matrices that SciPy computes, and Sylvester's equation."""

from typing import Any

import numpy as np
import scipy.linalg

from samples.sample import Failure, Sample
from tracemill.compiler.errors import DTypeError, MatrixShapeError


def _function(x: Any, function: str, exponent: float = 0.0) -> Any:
    if not x.size:
        return x
    more = (exponent,) if exponent else ()
    found = [getattr(scipy.linalg, function)(one, *more) for one in x.reshape(-1, *x.shape[-2:])]
    return np.asarray(found, x.dtype).reshape(x.shape)


def _slope(x: Any, e: Any, function: str, exponent: float = 0.0) -> Any:
    """By differences of higher order, of matrices without an axis in front."""
    step = 1e-3
    near, far = (
        (_function(x + h * e, function, exponent) - _function(x - h * e, function, exponent)) / (2 * h)
        for h in (step, 2 * step)
    )
    return (4 * near - far) / 3


def _sylvester(a: Any, b: Any, q: Any) -> Any:
    if not q.size:
        return q
    shape = (-1, *q.shape[-2:])
    one = np.array([
        np.linalg.solve(np.kron(a, np.eye(len(b))) + np.kron(np.eye(len(a)), b.T), q.ravel()).reshape(q.shape)
        for a, b, q in zip(a.reshape(-1, *a.shape[-2:]), b.reshape(-1, *b.shape[-2:]), q.reshape(shape), strict=True)
    ])  # fmt: skip
    return one.reshape(q.shape)


def _sample(function: str, shape: tuple[int, ...], dtype: str = "f64", **more: Any) -> Sample:
    params = {"function": function, **more}
    return Sample(
        "matrix_function", (shape,), dtype, params, "positive_definite", reference=_function, widened=False,
        ulps=256, signed_zeros=False,
    )  # fmt: skip


SAMPLES: tuple[Sample, ...] = (
    *(_sample("sqrtm", shape) for shape in ((3, 3), (2, 2, 2), (1, 1), (0, 0), (0, 2, 2))),
    *(_sample("logm", (2, 2), dtype) for dtype in ("f64", "c128")),
    _sample("sqrtm", (2, 2), "f32"),
    _sample("fractional_matrix_power", (2, 2), exponent=0.3),
    *(
        Sample(
            "matrix_function_slope", (shape, shape), "f64", {"function": function},
            ("positive_definite", "real"), reference=_slope, widened=False, ulps=1e7, signed_zeros=False,
        )
        for function, shape in (("sqrtm", (2, 2)), ("logm", (2, 2)), ("sqrtm", (2, 2, 2)), ("sqrtm", (0, 0)))
    ),
    *(
        Sample(
            "solve_sylvester", shapes, dtype,
            domain=("positive_definite", "positive_definite", "real"), reference=_sylvester, widened=False,
            ulps=1e4, signed_zeros=False,
        )
        for shapes, dtype in (
            (((2, 2), (3, 3), (2, 3)), "f64"),
            (((2, 2), (2, 2), (2, 2)), "c128"),
            (((2, 2, 2), (2, 1, 1), (2, 2, 1)), "f64"),
            (((0, 0), (2, 2), (0, 2)), "f64"),
        )
    ),
)  # fmt: skip
FAILURES: tuple[Failure, ...] = (
    Failure("matrix_function", ((2, 3),), "f64", MatrixShapeError, "square", {"function": "sqrtm"}),
    Failure("matrix_function", ((2, 2),), "f16", DTypeError, "LAPACK has", {"function": "sqrtm"}),
    Failure(
        "matrix_function_slope", ((2, 2), (3, 3)), "f64", MatrixShapeError, "direction of that type",
        {"function": "logm"},
    ),
    Failure("solve_sylvester", ((2, 2), (2, 2), (3, 2)), "f64", MatrixShapeError, "do not fit"),
)  # fmt: skip
