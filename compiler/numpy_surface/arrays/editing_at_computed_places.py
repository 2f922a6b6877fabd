"""`insert` and `delete` at places that the program computes."""

from typing import Any

import numpy as np

from ...builder import bind
from ...dtypes import BOOL, INT64
from ...errors import IndexTypeError, ShapeError
from ...ir import Value
from ...symbolic_size import is_known, max_expr
from ...tracing.array_values import as_value
from ...tracing.traced_array import wrap
from ...value_ops import (
    add,
    argsort,
    concatenate,
    convert,
    elementwise,
    full,
    greater,
    iota,
    less,
    logical_or,
    reshape,
    scatter,
    subtract,
    where,
)
from ..ufuncs.value_checks import refuse_values
from .selected_positions import positions_of_nonzero, rows_at


def deleted(x: Value, at: Value, axis: int) -> Value:
    """`x` without the entries at computed places, or where a mask holds, along an axis."""
    length = x.shape[axis]
    if at.dtype == BOOL:
        if at.ndim != 1 or not at.shape[0] == length:
            raise ShapeError(f"delete: a mask must have the shape ({length},) of the axis, not {at.shape}")
        return rows_at(x, positions_of_nonzero(elementwise("logical_not", at)), axis)
    places = _in_range(at, length, length - 1, axis, "delete")
    if is_known(length == 0):
        return x
    if not at.ndim or is_known(at.type.size == 1):
        place = iota(max_expr(length - 1, 0), INT64)
        kept = add(place, convert(elementwise("greater_equal", place, reshape(places, ())), INT64))
    else:
        gone = reshape(places, (places.type.size,))
        stays = scatter(full((length,), True, BOOL), full(gone.shape, False, BOOL), [gone], (0,), "set")
        kept = positions_of_nonzero(stays)
    return rows_at(x, kept, axis)


def inserted(x: Value, at: Value, new: Value, axis: int) -> Value:
    """`x` with the entries of `new` before computed places along an axis, or all of them before the only place."""
    length, count = x.shape[axis], new.shape[axis]
    places = _in_range(at, length, length, axis, "insert")
    place = iota(length + count, INT64)
    if not at.ndim or is_known(at.shape[0] == 1):
        first = reshape(places, ())
        behind = subtract(place, count)
        inside = add(subtract(place, first), length)
        order = where(less(place, first), place, where(less(behind, first), inside, behind))
    else:
        counted = iota(count, INT64)
        # The entries before later places move, in the order of the places, by one each.
        moved = scatter(places, counted, [argsort([places], 0)], (0,), "add", unique=True)
        stays = scatter(full((length + count,), 1, INT64), full((count,), 0, INT64), [moved], (0,), "set")
        old = subtract(bind("cumsum", stays, axis=0, reverse=False), 1)
        order = scatter(old, add(counted, length), [moved], (0,), "set", unique=True)
    return rows_at(concatenate([x, new], axis), order, axis)


def places_of(at: Value, function: str) -> Value:
    """The places for `insert`, also where a mask holds."""
    if at.ndim > 1 or (at.dtype == BOOL and not at.ndim):
        raise ShapeError(f"{function}: the places must be a number or a vector, not {at.type}")
    return positions_of_nonzero(at) if at.dtype == BOOL else at


def _in_range(at: Value, length: Any, last: Any, axis: int, function: str) -> Value:
    """Places counted from the front; the program raises `IndexError` where one is beyond the last."""
    if at.dtype.kind not in "iu":
        raise IndexTypeError(f"{function}: places must be integers or booleans, not {at.type}")
    at = convert(at, INT64)
    outside = logical_or(less(at, -length), greater(at, last))
    none = np.iinfo(np.int64).min
    wrong = np.max(wrap(where(outside, at, none)), initial=none)
    message = f"index {{}} is out of bounds for axis {axis} with size {{}}"
    refuse_values(wrong != none, message, IndexError, shown_values=[wrong, wrap(as_value(length))])
    at = where(less(at, 0), add(at, length), at)
    return elementwise("clip", at, 0, max_expr(last, 0))
