"""Products of SciPy's sparse matrices, which are constants of the program, with traced arrays."""

import sys
from typing import Any

import numpy as np

from ....compiler.errors import MatrixShapeError
from ....compiler.frontend.conversion import converted_library
from ....compiler.tracing.traced_memory import is_traced


def is_sparse_product(name: str, x: Any, y: Any) -> bool:
    """Whether ``x @ y`` is of a sparse matrix and a traced array; ``x * y`` is if SciPy's class says so."""
    sparse: Any = sys.modules.get("scipy.sparse")
    matrix, array = (x, y) if is_traced(y) else (y, x)
    if sparse is None or not is_traced(array) or not sparse.issparse(matrix):
        return False
    return name == "matmul" or (name == "mul" and isinstance(matrix, sparse.spmatrix) and array.ndim > 0)


def sparse_product(x: Any, y: Any) -> Any:
    """``x @ y``, one of which is sparse: sums of entries times rows of the array."""
    if is_traced(x):
        return sparse_product(y.T, x.T if x.ndim > 1 else x).T
    if y.ndim not in (1, 2) or x.ndim != 2 or x.shape[1] != y.shape[0]:
        raise MatrixShapeError(
            f"a sparse matrix of shape {x.shape} and an array of shape {y.shape} do not fit"
        )
    entries = x.tocoo()
    product: Any = converted_library(_product)  # type: ignore[arg-type]
    return product(x.shape[0], entries.row, entries.col, entries.data, y)


def _product(size: int, rows: Any, columns: Any, entries: Any, y: Any) -> Any:
    factors = entries if y.ndim == 1 else entries[:, None]
    parts = factors * y[columns]
    total = np.zeros((size, *y.shape[1:]), parts.dtype)
    np.add.at(total, rows, parts)
    return total
