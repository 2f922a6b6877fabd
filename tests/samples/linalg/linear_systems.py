"""Linear systems: triangular ones, general ones, and the inverse."""

from itertools import product
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from samples.sample import Failure, Sample
from tracemill.compiler.errors import DTypeError, MatrixShapeError
from tracemill.compiler.ir import Shape

SIDES: tuple[tuple[Shape, Shape], ...] = (((3, 3), (3, 2)), ((2, 3, 3), (2, 3, 1)), ((1, 1), (1, 1)))
EMPTY: tuple[tuple[Shape, Shape], ...] = (((0, 0), (0, 2)), ((3, 3), (3, 0)), ((0, 2, 2), (0, 2, 3)))


def _flags(text: str) -> dict[str, bool]:
    """``"lower transposed"`` as the parameters of a triangular system."""
    names = ("lower", "transposed", "conjugated", "unit_diagonal")
    return {name: name in text.split() for name in names}


def _substitution(a: Any, b: Any, **flags: bool) -> Any:
    """Each system on its own by SciPy, in double precision."""
    out = np.empty(b.shape, b.dtype)
    wide = np.result_type(a.dtype, np.float64)
    for at in np.ndindex(*a.shape[:-2]):
        matrix, sides = a[at].astype(wide), b[at].astype(wide)
        matrix = matrix.conj() if flags["conjugated"] else matrix
        out[at] = solve_triangular(
            matrix,
            sides,
            lower=flags["lower"],
            trans=int(flags["transposed"]),
            unit_diagonal=flags["unit_diagonal"],
        )
    return out


def _triangular(shapes: tuple[Shape, Shape], flags: str, dtype: str = "f64", **more: Any) -> Sample:
    return Sample(
        "triangular_solve", shapes, dtype, _flags(flags), ("triangles", "real"),
        reference=_substitution, widened=False, ulps=64, signed_zeros=False, **more,
    )  # fmt: skip


def _solve(shapes: tuple[Shape, Shape], dtype: str = "f64", **more: Any) -> Sample:
    return Sample(
        "solve", shapes, dtype, domain=("full_rank", "real"), reference=np.linalg.solve, widened=False, **more
    )


def _inv(shape: Shape, dtype: str = "f64", **more: Any) -> Sample:
    return Sample(
        "inv",
        (shape,),
        dtype,
        domain="full_rank",
        reference=lambda x, **_: np.linalg.inv(x),
        widened=False,
        **more,
    )


ALL_FLAGS = (
    "",
    "lower",
    "transposed",
    "lower transposed",
    "unit_diagonal",
    "lower unit_diagonal",
    "lower transposed unit_diagonal",
)
COMPLEX_FLAGS = ("conjugated", "lower conjugated transposed", "lower conjugated unit_diagonal")
LAYOUTS = ("reversed", "strided", "fortran")
SAMPLES: tuple[Sample, ...] = (
    *(_triangular(SIDES[0], flags) for flags in ALL_FLAGS),
    *(_triangular(SIDES[0], flags, "c128") for flags in (*ALL_FLAGS[2:4], *COMPLEX_FLAGS)),
    *(_triangular(shapes, flags) for shapes, flags in product(SIDES[1:], ("", "lower"))),
    *(_triangular(shapes, "lower") for shapes in EMPTY),
    *(_triangular(SIDES[0], "lower", dtype) for dtype in ("f32", "c64")),
    *(_triangular(SIDES[0], "", layout=layout) for layout in LAYOUTS),
    *(_solve(shapes, dtype) for shapes, dtype in product(SIDES, ("f64", "c128"))),
    *(_solve(shapes) for shapes in EMPTY),
    *(_solve(SIDES[0], dtype) for dtype in ("f32", "c64")),
    *(_solve(SIDES[1], layout=layout) for layout in LAYOUTS),
    *(_inv(shape, dtype) for shape, dtype in product(((3, 3), (2, 2, 2), (1, 1)), ("f64", "c128"))),
    *(_inv(shape) for shape in ((0, 0), (0, 2, 2))),
    *(_inv((3, 3), dtype) for dtype in ("f32", "c64")),
    Sample(
        "inv", ((2, 2, 2),), "f64", {"nan_if_singular": True}, "full_rank",
        reference=lambda x, **_: np.linalg.inv(x), widened=False,
    ),
)  # fmt: skip
SQUARE = "the last two axes must be square"
FAILURES = (
    Failure("triangular_solve", ((2, 3), (2, 1)), "f64", MatrixShapeError, SQUARE, _flags("")),
    Failure(
        "triangular_solve", ((2, 2), (3, 1)), "f64", MatrixShapeError, "do not have the rows", _flags("")
    ),
    Failure("triangular_solve", ((2, 2), (2, 1)), ("f64", "f32"), DTypeError, "dtypes differ", _flags("")),
    Failure("solve", ((2, 3), (2, 1)), "f64", MatrixShapeError, SQUARE),
    Failure("solve", ((2, 2), (2,)), "f64", MatrixShapeError, "do not have the rows"),
    Failure("solve", ((2, 2), (2, 1)), "f16", DTypeError, "LAPACK has"),
    Failure("inv", ((3,),), "f64", MatrixShapeError, "two axes are needed"),
    Failure("inv", ((2, 3),), "f64", MatrixShapeError, SQUARE),
    Failure("inv", ((2, 2),), "i64", DTypeError, "LAPACK has"),
)
