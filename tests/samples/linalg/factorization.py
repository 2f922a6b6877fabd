"""Factorizations without iteration: Cholesky, LU, QR."""

from itertools import product
from typing import Any

import numpy as np
from scipy.linalg import lu_factor

from samples.sample import Failure, Sample
from tracemill.compiler.errors import ArgumentValueError, DTypeError, MatrixShapeError
from tracemill.compiler.ir import Shape

SQUARES: tuple[Shape, ...] = ((3, 3), (2, 2, 2), (1, 1))
SHAPES: tuple[Shape, ...] = ((3, 3), (4, 2), (2, 4), (2, 3, 2), (1, 1))
EMPTY: tuple[Shape, ...] = ((0, 0), (0, 2), (2, 0), (0, 2, 2))
LAYOUTS = ("reversed", "strided", "fortran")


def _pivoted(x: Any) -> Any:
    """Each matrix on its own by SciPy, in double precision, its exchanges of rows carried out."""
    packed = np.empty(x.shape, x.dtype)
    places = np.empty(x.shape[:-1], np.int64)
    for at in np.ndindex(*x.shape[:-2]):
        order = np.arange(x.shape[-2])
        if x.size:
            packed[at], pivots = lu_factor(x[at].astype(np.result_type(x.dtype, np.float64)))
            for row, pivot in enumerate(pivots):
                order[[row, pivot]] = order[[pivot, row]]
        places[at] = order
    return packed, places


def _cholesky(shape: Shape, dtype: str = "f64", **more: Any) -> Sample:
    return Sample(
        "cholesky",
        (shape,),
        dtype,
        domain="positive_definite",
        reference=np.linalg.cholesky,
        widened=False,
        **more,
    )


def _lu(shape: Shape, dtype: str = "f64", **more: Any) -> Sample:
    return Sample(
        "lu", (shape,), dtype, domain="full_rank", reference=_pivoted, widened=False, ulps=256,
        signed_zeros=False, **more,
    )  # fmt: skip


def _qr(shape: Shape, dtype: str = "f64", mode: str = "reduced", **more: Any) -> Sample:
    return Sample(
        "qr", (shape,), dtype, {"mode": mode}, "full_rank", reference=lambda x, mode: tuple(np.linalg.qr(x, mode)),
        widened=False, **more,
    )  # fmt: skip


SAMPLES: tuple[Sample, ...] = (
    *(_cholesky(shape, dtype) for shape, dtype in product(SQUARES, ("f64", "c128"))),
    *(_cholesky(shape) for shape in ((0, 0), (0, 2, 2))),
    *(_cholesky((3, 3), dtype) for dtype in ("f32", "c64")),
    *(_cholesky((3, 3), layout=layout) for layout in LAYOUTS),
    *(_lu(shape, dtype) for shape, dtype in product(SHAPES, ("f64", "c128"))),
    *(_lu(shape) for shape in EMPTY),
    *(_lu((3, 3), dtype) for dtype in ("f32", "c64")),
    *(_lu((4, 3), layout=layout) for layout in LAYOUTS),
    *(_qr(shape, dtype) for shape, dtype in product(SHAPES, ("f64", "c128"))),
    *(_qr(shape) for shape in EMPTY),
    *(_qr((3, 2), dtype) for dtype in ("f32", "c64")),
    *(_qr(shape, dtype, "complete") for shape, dtype in product(((3, 3), (2, 3)), ("f64", "c128"))),
    *(_qr((3, 2), dtype, "complete", wrt=(False,)) for dtype in ("f64", "c64")),
    *(_qr((3, 2), dtype, "raw", wrt=(False,)) for dtype in ("f64", "c64")),
)
SQUARE = "the last two axes must be square"
FAILURES = (
    Failure("cholesky", ((2, 3),), "f64", MatrixShapeError, SQUARE),
    Failure("cholesky", ((2, 2),), "bool", DTypeError, "LAPACK has"),
    Failure("lu", ((2,),), "f64", MatrixShapeError, "two axes are needed"),
    Failure("lu", ((2, 2),), "i32", DTypeError, "LAPACK has"),
    Failure("qr", ((2,),), "f64", MatrixShapeError, "two axes are needed", {"mode": "reduced"}),
    Failure("qr", ((2, 2),), "f64", ArgumentValueError, "mode 'thin'", {"mode": "thin"}),
)
