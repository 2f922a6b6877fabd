"""Eigenvalues and singular values, with their vectors: the derivatives of vectors by what a phase does not change."""

from itertools import product
from typing import Any

import numpy as np

from samples.sample import Failure, Sample
from tracemill.compiler.errors import DTypeError, MatrixShapeError
from tracemill.compiler.ir import Shape, Value
from tracemill.compiler.ops.linalg.matrix_stacks import adjoint
from tracemill.compiler.value_ops import multiply, reshape

SQUARES: tuple[Shape, ...] = ((3, 3), (2, 2, 2), (1, 1))
SHAPES: tuple[Shape, ...] = ((3, 3), (4, 2), (2, 3), (2, 3, 2), (1, 1))
EMPTY: tuple[Shape, ...] = ((0, 0), (0, 2, 2))
LAYOUTS = ("reversed", "strided", "fortran")


def _dyads(columns: Value, rows: Value) -> Value:
    """columns[…, i, k] · rows[…, k, j] for each k: (…, k, i, j) up to the order of the axes."""
    m, k = columns.shape[-2:]
    lead, n = columns.shape[:-2], rows.shape[-1]
    left = reshape(columns, (*lead, m, k, 1))
    right = reshape(rows, (*lead, 1, k, n))
    return multiply(left, right)


def _projectors(values: Value, vectors: Value) -> tuple[Value, ...]:
    """The eigenvalues, and v vᴴ of each eigenvector."""
    return values, _dyads(vectors, adjoint(vectors))


def _components(u: Value, s: Value, vh: Value) -> tuple[Value, ...]:
    """The singular values, and u vᴴ of each pair of vectors."""
    return s, _dyads(u, vh)


def _numpy(op: str) -> Any:
    functions = {
        "eigh": lambda x, lower: tuple(np.linalg.eigh(x, "L" if lower else "U")),
        "eigvalsh": lambda x, lower: np.linalg.eigvalsh(x, "L" if lower else "U"),
        "eig": lambda x: tuple(
            np.asarray(part, np.result_type(x, np.complex64)) for part in np.linalg.eig(x)
        ),
        "eigvals": lambda x: np.asarray(np.linalg.eigvals(x), np.result_type(x, np.complex64)),
        "svd": lambda x, full_matrices: tuple(np.linalg.svd(x, full_matrices)),
        "svdvals": np.linalg.svdvals,
    }
    return functions[op]


def _sample(op: str, domain: str, shape: Shape, dtype: str = "f64", **more: Any) -> Sample:
    params: dict[str, Any] = {key: more.pop(key) for key in ("lower", "full_matrices") if key in more}
    return Sample(op, (shape,), dtype, params, domain, reference=_numpy(op), widened=False, **more)


def _eigh(shape: Shape, dtype: str = "f64", lower: bool = True, **more: Any) -> Sample:
    return _sample("eigh", "hermitian", shape, dtype, lower=lower, invariant=_projectors, **more)


def _svd(shape: Shape, dtype: str = "f64", **more: Any) -> Sample:
    return _sample("svd", "full_rank", shape, dtype, full_matrices=False, invariant=_components, **more)


NUMBERS = ("f64", "c128")
SAMPLES: tuple[Sample, ...] = (
    *(_eigh(shape, dtype) for shape, dtype in product(SQUARES, NUMBERS)),
    *(_eigh((3, 3), dtype, lower=False) for dtype in NUMBERS),
    *(_eigh((3, 3), dtype) for dtype in ("f32", "c64")),
    *(_eigh(shape) for shape in EMPTY),
    *(_eigh((3, 3), layout=layout) for layout in LAYOUTS),
    *(
        _sample("eigvalsh", "hermitian", shape, dtype, lower=lower)
        for shape, dtype, lower in product(SQUARES[:2], NUMBERS, (True, False))
    ),
    *(_sample("eigvalsh", "hermitian", (3, 3), dtype, lower=True) for dtype in ("f32", "c64")),
    *(_sample("eigvalsh", "hermitian", shape, lower=True) for shape in EMPTY),
    *(
        _sample(op, "diagonalizable", shape, dtype)
        for op, shape, dtype in product(("eig", "eigvals"), SQUARES, NUMBERS)
    ),
    *(
        _sample(op, "diagonalizable", (3, 3), dtype)
        for op, dtype in product(("eig", "eigvals"), ("f32", "c64"))
    ),
    *(_sample(op, "diagonalizable", shape) for op, shape in product(("eig", "eigvals"), EMPTY)),
    *(_svd(shape, dtype) for shape, dtype in product(SHAPES, NUMBERS)),
    *(_svd((3, 2), dtype) for dtype in ("f32", "c64")),
    *(_svd(shape) for shape in (*EMPTY, (2, 0))),
    *(_svd((3, 2), layout=layout) for layout in LAYOUTS),
    *(
        _sample("svd", "full_rank", (2, 2), dtype, full_matrices=True, invariant=_components)
        for dtype in NUMBERS
    ),
    *(
        _sample("svd", "full_rank", shape, full_matrices=True, wrt=(False,))
        for shape in ((3, 2), (2, 3), (2, 3, 2))
    ),
    *(_sample("svdvals", "full_rank", shape, dtype) for shape, dtype in product(SHAPES, NUMBERS)),
    *(_sample("svdvals", "full_rank", (3, 2), dtype) for dtype in ("f32", "c64")),
    *(_sample("svdvals", "full_rank", shape) for shape in (*EMPTY, (2, 0))),
)
_PARAMS: dict[str, dict[str, Any]] = {
    "eigh": {"lower": True},
    "eigvalsh": {"lower": True},
    "eig": {},
    "eigvals": {},
    "svd": {"full_matrices": False},
    "svdvals": {},
}
FAILURES = tuple(
    failure
    for op, params in _PARAMS.items()
    for failure in (
        Failure(op, ((2,),), "f64", MatrixShapeError, "two axes are needed", params),
        Failure(op, ((2, 2),), "f16", DTypeError, "LAPACK has", params),
    )
)
