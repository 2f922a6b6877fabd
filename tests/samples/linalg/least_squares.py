"""Least squares: the pseudo-inverse, and solutions of least norm."""

from itertools import product
from typing import Any

import numpy as np

from samples.sample import Failure, Interval, Sample
from tracemill.compiler.dtypes import dtype_name, dtype_named, real_dtype
from tracemill.compiler.errors import DTypeError, MatrixShapeError
from tracemill.compiler.ir import Shape

SHAPES: tuple[Shape, ...] = ((3, 3), (4, 2), (2, 4), (2, 3, 2))
EMPTY: tuple[Shape, ...] = ((0, 2), (2, 0), (0, 2, 2))
CUT = 0.01


def _pinv(shape: Shape, dtype: str = "f64", domain: str = "full_rank", **more: Any) -> Sample:
    real = dtype_name(real_dtype(dtype_named(dtype)))
    return Sample(
        "pinv", (shape, shape[:-2]), (dtype, real), domain=(domain, Interval(0.01, 0.02)), reference=np.linalg.pinv,
        widened=False, **more,
    )  # fmt: skip


def _lstsq(shape: Shape, sides: int, dtype: str = "f64", domain: str = "full_rank", **more: Any) -> Sample:
    shapes = (shape, (*shape[:-1], sides))
    return Sample(
        "lstsq", shapes, dtype, {"rcond": CUT}, (domain, "real"), reference=_one_by_one, widened=False, **more
    )


def _one_by_one(a: Any, b: Any, rcond: float) -> Any:
    """Each problem on its own by NumPy."""
    lead = a.shape[:-2]
    found = [np.linalg.lstsq(a[at], b[at], rcond) for at in np.ndindex(*lead)]
    shapes = ((a.shape[-1], b.shape[-1]), (), (min(a.shape[-2:]),))
    return tuple(
        np.reshape([each[i] for each in found], (*lead, *shape))
        for i, shape in zip((0, 2, 3), shapes, strict=True)
    )


SAMPLES: tuple[Sample, ...] = (
    *(_pinv(shape, dtype) for shape, dtype in product(SHAPES, ("f64", "c128"))),
    *(_pinv((3, 2), dtype) for dtype in ("f32", "c64")),
    *(_pinv(shape) for shape in EMPTY),
    *(_pinv(shape, domain="low_rank") for shape in ((3, 3), (3, 2), (2, 3))),
    *(_pinv((3, 2), layout=layout) for layout in ("reversed", "strided", "fortran")),
    *(_lstsq(shape, 2, dtype) for shape, dtype in product(SHAPES, ("f64", "c128"))),
    *(_lstsq((3, 2), 1, dtype) for dtype in ("f32", "c64")),
    *(_lstsq(shape, 2) for shape in EMPTY),
    _lstsq((3, 2), 0),
    *(
        _lstsq(shape, 1, domain="low_rank", invariant=lambda x, rank, values: (x,))  # |0| has no derivative
        for shape in ((3, 3), (3, 2), (2, 3))
    ),
    *(_lstsq((3, 2), 2, layout=layout) for layout in ("reversed", "strided", "fortran")),
)
FAILURES = (
    Failure("pinv", ((3,), ()), "f64", MatrixShapeError, "two axes are needed"),
    Failure("pinv", ((2, 3, 3), ()), "f64", MatrixShapeError, "one floating rcond per matrix"),
    Failure("lstsq", ((3, 2), (2, 2)), "f64", MatrixShapeError, "do not have the rows", {"rcond": CUT}),
    Failure("lstsq", ((3, 2), (3, 2)), "f16", DTypeError, "LAPACK has", {"rcond": CUT}),
)
