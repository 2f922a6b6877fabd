"""Determinants and the adjugate."""

from itertools import product
from typing import Any

import numpy as np

from samples.sample import Failure, Sample
from tracemill.compiler.errors import DTypeError, MatrixShapeError
from tracemill.compiler.ir import Shape

SQUARES: tuple[Shape, ...] = ((3, 3), (4, 4), (2, 2, 2), (1, 1))
EMPTY: tuple[Shape, ...] = ((0, 0), (0, 2, 2))


def _cofactors(x: Any) -> Any:
    """The adjugate by its definition: the determinants of the minors, in double precision."""
    size = x.shape[-1]
    wide = x.astype(np.result_type(x.dtype, np.float64))
    out = np.empty(x.shape, wide.dtype)
    for i, j in np.ndindex(size, size):
        out[..., j, i] = (-1) ** (i + j) * np.linalg.det(np.delete(np.delete(wide, i, -2), j, -1))
    return out


def _by_numpy(op: str, shape: Shape, dtype: str = "f64", **more: Any) -> Sample:
    def reference(x: Any) -> Any:
        result = getattr(np.linalg, op)(x)
        return tuple(result) if isinstance(result, tuple) else result

    return Sample(op, (shape,), dtype, domain="full_rank", reference=reference, widened=False, **more)


def _adjugate(shape: Shape, dtype: str = "f64", **more: Any) -> Sample:
    return Sample(
        "adjugate", (shape,), dtype, domain="full_rank", reference=_cofactors, widened=False, ulps=512,
        signed_zeros=False, **more,
    )  # fmt: skip


def _along(x: Any, *directions: Any) -> Any:
    """The derivative of the adjugate along directions: from all directions but one, by differences that are exact.

    Entries of an adjugate are polynomials of degree n − 1 in the step, which n points determine.
    """
    *others, last = directions
    points = np.arange(max(x.shape[-1], 2)) - 1.0
    values = [_along(x + t * last, *others) if others else _cofactors(x + t * last) for t in points]
    weights = np.linalg.inv(np.vander(points, increasing=True))[1]
    return sum(w * value for w, value in zip(weights, values, strict=True))


def _derivative(shape: Shape, count: int, dtype: str = "f64", **more: Any) -> Sample:
    return Sample(
        "adjugate", (shape,) * (1 + count), dtype, reference=_along, widened=False, ulps=2**15,
        signed_zeros=False, **more,
    )  # fmt: skip


SAMPLES: tuple[Sample, ...] = (
    *(_derivative(shape, 1, dtype) for shape, dtype in product(((3, 3), (2, 2, 2)), ("f64", "c128"))),
    _derivative((4, 4), 2),
    _derivative((3, 3), 1, "f32"),
    _derivative((3, 3), 1, layout="fortran"),
    *(
        _by_numpy(op, shape, dtype)
        for op, shape, dtype in product(("det", "slogdet"), SQUARES, ("f64", "c128"))
    ),
    *(_by_numpy(op, shape) for op, shape in product(("det", "slogdet"), EMPTY)),
    *(_by_numpy(op, (3, 3), dtype) for op, dtype in product(("det", "slogdet"), ("f32", "c64"))),
    *(_adjugate(shape, dtype) for shape, dtype in product(SQUARES, ("f64", "c128"))),
    *(_adjugate(shape) for shape in EMPTY),
    *(_adjugate((3, 3), dtype) for dtype in ("f32", "c64")),
    *(_adjugate((3, 3), layout=layout) for layout in ("reversed", "strided", "fortran")),
)
FAILURES = (
    *(
        failure
        for op in ("det", "adjugate", "slogdet")
        for failure in (
            Failure(op, ((2, 3),), "f64", MatrixShapeError, "must be square"),
            Failure(op, ((2, 2),), "f16", DTypeError, "LAPACK has"),
        )
    ),
    Failure("adjugate", ((2, 2), (3, 3)), "f64", DTypeError, "not of its type"),
)
