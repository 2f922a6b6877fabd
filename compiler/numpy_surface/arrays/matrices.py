"""Building matrices and taking them apart: eye, tri, diag, tril, vander."""

import operator
from typing import Any, Final

import numpy as np

from ...arguments.axes import normalize_axis
from ...arguments.option_checks import c_long
from ...dtypes import FLOAT64, INT64, DType
from ...errors import ShapeError
from ...ir import Value
from ...symbolic_size import is_known, max_expr, min_expr
from ...tracing.array_values import as_size, as_value
from ...tracing.registry import constructs, implements
from ...tracing.trace import require_trace
from ...tracing.traced_array import TracedArray
from ...tracing.views import ReadOnly, Reshape, Slice, Strided, Transpose
from ...value_ops import (
    add,
    broadcast_to,
    concatenate,
    convert,
    equal,
    flip,
    full,
    greater_equal,
    iota,
    pad,
    where,
    zeros_like,
)
from ...value_ops import reshape as reshape_value
from ..ufuncs.ufunc_calls import as_array
from .constructors import as_dtype, constants_of, new_array
from .reshaping import ravel, view_of

_FARTHEST: Final = 2**62
"""No matrix in memory has as many diagonals."""


def _row_and_column(rows: int, columns: int) -> tuple[Value, Value]:
    """The index of each row, as a column, and of each column, as a row."""
    return reshape_value(iota(rows, INT64), (rows, 1)), iota(columns, INT64)


def lower_triangle(rows: int, columns: int, k: Any) -> Value:
    """True at and below the k-th diagonal: where ``row + k >= column``."""
    row, column = _row_and_column(rows, columns)
    return greater_equal(add(row, _offset(k)), column)


def on_diagonal(rows: int, columns: int, k: Any) -> Value:
    """True on the k-th diagonal."""
    row, column = _row_and_column(rows, columns)
    return equal(add(row, _offset(k)), column)


def _offset(k: Any) -> Value:
    """The number of a diagonal. One that is far outside of all matrices would wrap around in the sum with a row."""
    return convert(as_value(min(max(k, -_FARTHEST), _FARTHEST) if type(k) is int else k), INT64)


# ---- constructors ------------------------------------------------------------------------------------


@constructs("eye")
@implements(np.eye)
def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, order: str = "C", **options: Any) -> Any:
    rows = as_size(N)
    columns = rows if M is None else as_size(M)
    if require_trace().is_evaluating:
        return constants_of(np.eye(rows, columns, as_size(k), dtype))
    return new_array(convert(on_diagonal(rows, columns, k), as_dtype(dtype)))


@constructs("identity")
@implements(np.identity)
def identity(n: Any, dtype: Any = None, **options: Any) -> Any:
    return eye(n, dtype=FLOAT64 if dtype is None else dtype)


@constructs("tri")
@implements(np.tri)
def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, **options: Any) -> Any:
    rows = max_expr(as_size(N), 0)
    columns = rows if M is None else max_expr(as_size(M), 0)
    if require_trace().is_evaluating:
        return constants_of(np.tri(rows, columns, as_size(k), dtype))
    return new_array(convert(lower_triangle(rows, columns, k), as_dtype(dtype)))


# ---- parts of matrices -------------------------------------------------------------------------------


@implements(np.tril)
def tril(m: Any, k: Any = 0) -> TracedArray:
    """Zeros above the k-th diagonal."""
    value = _as_matrix(m)
    rows, columns = value.shape[-2:]
    return new_array(where(lower_triangle(rows, columns, k), value, zeros_like(value)))


@implements(np.triu)
def triu(m: Any, k: Any = 0) -> TracedArray:
    """Zeros below the k-th diagonal."""
    value = _as_matrix(m)
    rows, columns = value.shape[-2:]
    return new_array(where(lower_triangle(rows, columns, k - 1), zeros_like(value), value))


def _as_matrix(m: Any) -> Value:
    """At least a matrix: a vector becomes every row, as in NumPy's broadcasting."""
    value = as_value(m)
    if value.ndim == 0:
        raise ShapeError("tril and triu need an array of 1 or more dimensions")
    return value if value.ndim > 1 else broadcast_to(value, (value.shape[0], value.shape[0]))


@implements(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> TracedArray:
    """A read-only view of a diagonal, as the last axis; `offset` diagonals above the main one."""
    array = as_array(a)
    if array.ndim < 2:
        raise ShapeError("diag requires an array of at least two dimensions")
    first, second = normalize_axis(axis1, array.ndim, "axis1"), normalize_axis(axis2, array.ndim, "axis2")
    if first == second:
        raise ShapeError("axis1 and axis2 cannot be the same")
    rest = tuple(axis for axis in range(array.ndim) if axis not in (first, second))
    k = c_long(operator.index(offset))
    lead, rows, columns = tuple(array.shape[axis] for axis in rest), array.shape[first], array.shape[second]
    above, below = min_expr(max(k, 0), columns), min_expr(max(-k, 0), rows)
    n = min_expr(rows - below, columns - above)
    zeros, ones = (0,) * len(lead), (1,) * len(lead)
    square = Slice((*zeros, below, above), (*lead, below + n, above + n), (*ones, 1, 1))
    every = (
        Slice((*zeros, 0), (*lead, n * n), (*ones, n + 1))
        if not is_known(n == 0)
        else Slice((*zeros, 0), (*lead, 0), (*ones, 1))
    )
    steps = (Transpose((*rest, first, second)), square, Reshape((*lead, n * n)), every)
    along = (*((axis,) for axis in rest), (first, second))
    return view_of(array, Strided(steps, (*lead, n), along), ReadOnly())


@implements(np.diag)
def diag(v: Any, k: int = 0) -> TracedArray:
    """The diagonal of a matrix, or the matrix with this diagonal."""
    array = as_array(v)
    if array.ndim == 2:
        return diagonal(array, k)
    if array.ndim != 1:
        raise ShapeError(f"diag needs a vector or a matrix, not {array.ndim} dimensions")
    return new_array(_with_diagonal(array.value, operator.index(k)))


@implements(np.diagflat)
def diagflat(v: Any, k: int = 0) -> TracedArray:
    """The matrix with the flattened input as its diagonal."""
    return diag(ravel(v), k)


def _with_diagonal(value: Value, k: int) -> Value:
    """Zeros with `value` on the k-th diagonal: an entry per column, kept only on the diagonal."""
    size = value.shape[0] + abs(k)
    columns = pad(value, (max(k, 0),), (max(-k, 0),))
    return where(
        on_diagonal(size, size, k), broadcast_to(columns, (size, size)), full((size, size), 0, value.dtype)
    )


@implements(np.vander)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> TracedArray:
    """The powers of a vector as columns, computed by cumulative products from the left, as in NumPy."""
    value = as_value(x)
    if value.ndim != 1:
        raise ShapeError("x must be a one-dimensional array or sequence")
    length = value.shape[0]
    count = length if N is None else as_size(N)
    dtype: DType = np.promote_types(value.dtype, INT64)
    factors: list[Value] = [full((length, min(count, 1)), 1, dtype)]
    if count > 1:
        factors.append(broadcast_to(reshape_value(convert(value, dtype), (length, 1)), (length, count - 1)))
    powers = as_value(np.cumprod(new_array(concatenate(factors, 1)), axis=1))
    return new_array(powers if increasing else flip(powers, (1,)))
