"""Positions on diagonals and in triangles of matrices: constants, or computed for symbolic sizes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...dtypes import INT64
from ...errors import ShapeError
from ...symbolic_size import is_known, is_symbolic_shape, max_expr, quotient
from ...tracing.array_values import as_size
from ...tracing.registry import implements
from ...tracing.trace import require_trace
from ...value_ops import full
from .constructors import arange, constants_of, constructs_constants, known_number, new_array

constructs_constants("diag_indices", "tril_indices", "triu_indices")
_numpy_diagonal, _numpy_lower, _numpy_upper = np.diag_indices, np.tril_indices, np.triu_indices


@implements(np.diag_indices)
def diag_indices(n: Any, ndim: Any = 2) -> Any:
    """The positions of the entries whose indices are all equal."""
    length = as_size(n)
    if not is_symbolic_shape((length,)):
        return constants_of(_numpy_diagonal(length, ndim))
    return (arange(length),) * ndim


@implements(np.tril_indices)
def tril_indices(n: Any, k: Any = 0, m: Any = None) -> Any:
    """The positions on and below the k-th diagonal of n × m matrices."""
    side = _square_side(n, m)
    if side is None:
        return constants_of(_numpy_lower(*map(known_number, (n, k, m))))
    diagonal = as_size(k)
    lengths = np.clip(arange(side) + diagonal + 1, 0, side)
    return _positions(lengths, 0, _count_above(side, -diagonal))


@implements(np.triu_indices)
def triu_indices(n: Any, k: Any = 0, m: Any = None) -> Any:
    """The positions on and above the k-th diagonal of n × m matrices."""
    side = _square_side(n, m)
    if side is None:
        return constants_of(_numpy_upper(*map(known_number, (n, k, m))))
    diagonal = as_size(k)
    first: Any = arange(side) + diagonal
    return _positions(np.clip(side - first, 0, side), np.maximum(first, 0), _count_above(side, diagonal))


def _square_side(n: Any, m: Any) -> Any:
    """The symbolic size of both; the number of entries in a part of other matrices is hard to reason about."""
    rows = as_size(n)
    columns = rows if m is None else as_size(m)
    return rows if is_symbolic_shape((rows,)) and is_known(rows == columns) else None


def _count_above(side: Any, diagonal: Any) -> Any:
    """How many entries are on and above a diagonal: a triangle, or everything except a triangle."""
    if diagonal >= 0:
        return _triangle(side - diagonal)
    return max_expr(side * side - _triangle(side + diagonal - 1), 0)


def _triangle(side: Any) -> Any:
    """The entries of a triangle whose longest row has this length."""
    longest = max_expr(side, 0)
    return quotient(longest * (longest + 1), 2)


def _positions(lengths: Any, first: Any, count: Any) -> Any:
    """Row and column of each of `count` entries, where each row has this many, from its first column on."""
    side, trace = lengths.shape[0], require_trace()
    ends: Any = np.cumsum(lengths)
    trace.ends[ends.value] = 0, count
    row_ends = new_array(full((count + 1,), 0, INT64))
    np.add.at(row_ends, ends, 1)
    running: Any = np.cumsum(row_ends)
    rows = new_array(running[:-1].value)
    trace.ends[rows.value] = 0, side - 1
    columns = arange(count) + (first + lengths - ends)[rows]
    trace.ends[columns.value] = 0, side - 1
    return rows, columns


def _positions_from(function: Any, of_sizes: Callable[..., Any]) -> None:
    """Results that only depend on the shape of an array."""

    @implements(function)
    def positions_from(arr: Any, *args: Any, **kwargs: Any) -> Any:
        shape = np.shape(arr)
        if not is_symbolic_shape(shape):
            return constants_of(function(np.empty(shape, bool), *args, **kwargs))
        if len(shape) < 2 or (len(shape) > 2 and of_sizes is not diag_indices):
            raise ShapeError(f"{function.__name__} takes a matrix, not an array of shape {shape}")
        if of_sizes is not diag_indices:
            return of_sizes(shape[0], *args, m=shape[1], **kwargs)
        if any(length != shape[0] for length in shape):
            raise ShapeError(f"{function.__name__} takes an array with equal axes, not one of shape {shape}")
        return diag_indices(shape[0], len(shape))


_positions_from(np.diag_indices_from, diag_indices)
_positions_from(np.tril_indices_from, tril_indices)
_positions_from(np.triu_indices_from, triu_indices)
