"""The nuclear norm, the polar factor, and the equation for the derivative of that."""

from itertools import product
from typing import Any

import numpy as np
from scipy.linalg import polar, solve_sylvester

from samples.sample import Failure, Sample
from tracemill.compiler.errors import DTypeError, MatrixShapeError
from tracemill.compiler.ir import Shape

SHAPES: tuple[Shape, ...] = ((3, 3), (4, 2), (2, 3), (2, 3, 2), (1, 1))
EMPTY: tuple[Shape, ...] = ((0, 0), (0, 2), (0, 2, 2))


def _factor(x: Any) -> Any:
    """Each matrix on its own by SciPy, in double precision."""
    out = np.empty(x.shape, np.result_type(x.dtype, np.float64))
    for at in np.ndindex(*x.shape[:-2]):
        if x[at].size:
            out[at] = polar(x[at].astype(out.dtype))[0]
    return out


def _norm(shape: Shape, dtype: str = "f64", **more: Any) -> Sample:
    return Sample(
        "nuclear_norm", (shape,), dtype, domain="full_rank", widened=False, ulps=8,
        reference=lambda x: np.linalg.norm(x, "nuc", axis=(-2, -1)), **more,
    )  # fmt: skip


def _polar(shape: Shape, dtype: str = "f64", **more: Any) -> Sample:
    return Sample(
        "polar_factor", (shape,), dtype, domain="full_rank", reference=_factor, widened=False, ulps=512,
        signed_zeros=False, **more,
    )  # fmt: skip


def _solution(h: Any, w: Any) -> Any:
    """Each pair of matrices on its own by SciPy, in double precision, with the lower triangle of the first."""
    out = np.empty(h.shape, np.result_type(h.dtype, np.float64))
    for at in np.ndindex(*h.shape[:-2]):
        if h[at].size:
            low = np.tril(h[at].astype(out.dtype), -1)
            whole: Any = low + low.conj().T + np.diag(np.real(np.diagonal(h[at])))
            out[at] = solve_sylvester(whole, whole, w[at].astype(out.dtype))
    return out


def _lyapunov(shape: Shape, dtype: str = "f64", **more: Any) -> Sample:
    return Sample(
        "lyapunov", (shape, shape), dtype, domain=("positive_definite", "real"), reference=_solution,
        widened=False, ulps=512, signed_zeros=False, **more,
    )  # fmt: skip


SAMPLES: tuple[Sample, ...] = (
    *(_lyapunov(shape, dtype) for shape, dtype in product(((3, 3), (2, 2, 2), (1, 1)), ("f64", "c128"))),
    *(_lyapunov(shape) for shape in ((0, 0), (0, 2, 2))),
    *(_lyapunov((3, 3), dtype) for dtype in ("f32", "c64")),
    *(_lyapunov((3, 3), layout=layout) for layout in ("reversed", "strided", "fortran")),
    *(make(shape, dtype) for make, shape, dtype in product((_norm, _polar), SHAPES, ("f64", "c128"))),
    *(make(shape) for make, shape in product((_norm, _polar), EMPTY)),
    *(make((3, 2), dtype) for make, dtype in product((_norm, _polar), ("f32", "c64"))),
    *(_polar((3, 2), layout=layout) for layout in ("reversed", "strided", "fortran")),
)
FAILURES = (
    *(
        failure
        for op in ("nuclear_norm", "polar_factor")
        for failure in (
            Failure(op, ((2,),), "f64", MatrixShapeError, "two axes are needed"),
            Failure(op, ((2, 2),), "f16", DTypeError, "LAPACK has"),
        )
    ),
    Failure("lyapunov", ((2, 3), (2, 3)), "f64", MatrixShapeError, "must be square"),
    Failure("lyapunov", ((2, 2), (3, 3)), "f64", DTypeError, "both sides have one type"),
)
