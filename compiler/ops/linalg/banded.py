"""Linear systems with few diagonals, which SciPy solves in time that grows with the number of rows.

The diagonals are the rows of an array, as for LAPACK: entry (i, j) of the matrix is ``ab[upper + i - j, j]``. What lies
outside of the matrix is not read.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...builder import bind
from ...errors import MatrixShapeError
from ...ir import ArrayType, Value
from ...op import Op, register
from ...value_ops import add, concatenate, multiply, negative, pad, reshape, slice_axis, subtract, zeros_like
from ..batch_axes import all_leading, in_front
from .matrix_stacks import require_matrices

FAMILY = "banded"


def _type(ab: ArrayType, b: ArrayType, lower: int, upper: int) -> ArrayType:
    lead, rows, columns = require_matrices("solve_banded", ab)
    if rows != lower + upper + 1:
        raise MatrixShapeError(f"solve_banded of {ab}: {lower + upper + 1} diagonals are needed")
    if b.dtype != ab.dtype or b.ndim != ab.ndim or b.shape[:-1] != (*lead, columns):
        raise MatrixShapeError(f"solve_banded of {ab} and {b}: the right-hand sides do not fit")
    return b


def _numpy(ab: Any, b: Any, lower: Any, upper: Any) -> Any:
    from scipy.linalg import solve_banded

    out = np.empty(b.shape, b.dtype)
    if out.size:
        for at in np.ndindex(*b.shape[:-2]):
            out[at] = solve_banded((lower, upper), ab[at], b[at], check_finite=False)
    return out


def _shifted(x: Value, by: int) -> Value:
    """Entry i + `by` of the axis before the last one at i, and 0 beyond the ends."""
    axis, size = x.ndim - 2, x.shape[-2]
    if abs(by) >= size:
        return zeros_like(x)
    kept = slice_axis(x, max(by, 0), size + min(by, 0), axis)
    low, high = [0] * x.ndim, [0] * x.ndim
    low[axis], high[axis] = max(-by, 0), max(by, 0)
    return pad(kept, low, high)


def _column(ab: Value, row: int) -> Value:
    """A row of the diagonals as a column (…, n, 1)."""
    found = slice_axis(ab, row, row + 1, ab.ndim - 2)
    return reshape(found, (*ab.shape[:-2], ab.shape[-1], 1))


def _product(ab: Value, x: Value, lower: int, upper: int) -> Value:
    """The matrix times x: Σ over the diagonals."""
    total: Value | None = None
    for row in range(lower + upper + 1):
        part = _shifted(multiply(_column(ab, row), x), upper - row)
        total = part if total is None else add(total, part)
    assert total is not None
    return total


def _transposed(ab: Value, lower: int, upper: int) -> Value:
    """The diagonals of the transposed matrix."""
    rows: list[Value] = []
    for row in range(lower + upper, -1, -1):
        moved = _shifted(_column(ab, row), upper - row)
        rows.append(reshape(moved, (*ab.shape[:-2], 1, ab.shape[-1])))
    return concatenate(rows, ab.ndim - 2)


def _jvp(inputs: Any, tangents: Any, outputs: tuple[Value], lower: int, upper: int) -> Value:
    """A x = b gives A dx = db − dA x."""
    (ab, _), (dab, db), (x,) = inputs, tangents, outputs
    right = db
    if dab is not None:
        moved = _product(dab, x, lower, upper)
        right = negative(moved) if db is None else subtract(db, moved)
    return bind("solve_banded", ab, right, lower=lower, upper=upper)


def _transpose(cotangents: tuple[Value], inputs: Sequence[Any], lower: int, upper: int) -> tuple[None, Value]:
    turned = _transposed(inputs[0], lower, upper)
    return None, bind("solve_banded", turned, cotangents[0], lower=upper, upper=lower)


@in_front
def _batch(inputs: Any, mapped: Any, size: int, **params: Any) -> Value:
    return bind("solve_banded", *all_leading(inputs, mapped, size), **params)


register(
    Op(
        "solve_banded", FAMILY, _type, _numpy, _jvp, _transpose, _batch, spelling=None, effect=None, may_fail=True,
        doc="x with A x = b, where the rows of the first input are the diagonals of A, the highest one first.",
    )
)  # fmt: skip
