"""Set operations on numbers that the program computes: it sorts them, and selects where runs of equal ones begin."""

import math
from collections.abc import Sequence

from ...builder import bind, bind_all
from ...dtypes import INT64, is_inexact
from ...errors import DataDependentShapeError
from ...ir import Value
from ...symbolic_size import is_known
from ...value_ops import (
    add,
    argsort,
    concatenate,
    convert,
    elementwise,
    equal,
    full,
    gather,
    iota,
    less,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    moveaxis,
    number,
    reshape,
    scatter,
    slice_axis,
    subtract,
)
from ..arrays.selected_positions import positions_of_nonzero, rows_at

_MOST_COLUMNS = 64
"""Up to this many columns are sorted by."""


def flat(x: Value) -> Value:
    return reshape(x, (x.type.size,))


def distinct(x: Value, *, equal_nan: bool = True) -> Value:
    """The distinct entries of a vector, in order."""
    (ordered,) = bind_all("sort", x, axis=0, num_keys=1, descending=False)
    return rows_at(ordered, positions_of_nonzero(_begins_run([ordered], equal_nan)))


def distinct_rows(
    x: Value, axis: int | None, *, index: bool, inverse: bool, counts: bool, equal_nan: bool
) -> list[Value]:
    """What `numpy.unique` gives: the distinct entries, or those along an axis, and what else is wanted."""
    if axis is None and not (index or inverse or counts):
        return [distinct(flat(x), equal_nan=equal_nan)]
    rows = flat(x) if axis is None else moveaxis(x, axis, 0)
    columns = [rows] if axis is None else _columns(rows)
    count = rows.shape[0]
    order = argsort(columns, 0)
    begins = _begins_run([gather(column, [order], (0,)) for column in columns], equal_nan and axis is None)
    starts = positions_of_nonzero(begins)
    first = gather(order, [starts], (0,))
    found = [moveaxis(rows_at(rows, first), 0, axis or 0)]
    if index:
        found.append(first)
    if inverse:
        rank = subtract(bind("cumsum", convert(begins, INT64), axis=0, reverse=False), 1)
        places = scatter(full((count,), 0, INT64), rank, [order], (0,), "set", unique=True)
        found.append(reshape(places, x.shape) if axis is None else places)
    if counts:
        ends = concatenate([starts, reshape(number(count, INT64), (1,))], 0)
        found.append(subtract(slice_axis(ends, 1, starts.shape[0] + 1, 0), starts))
    return found


def _columns(rows: Value) -> list[Value]:
    """The columns that rows are sorted by, the first one first."""
    count = math.prod(rows.shape[1:])
    if type(count) is not int or not 1 <= count <= _MOST_COLUMNS:
        raise DataDependentShapeError(
            f"np.unique of rows with {count} entries, which the program computes: at most {_MOST_COLUMNS} can be "
            "sorted by. Combine them into fewer numbers"
        )
    table = reshape(rows, (rows.shape[0], count))
    return [reshape(slice_axis(table, i, i + 1, 1), (rows.shape[0],)) for i in range(count)]


def _begins_run(columns: Sequence[Value], equal_nan: bool) -> Value:
    """Whether each sorted entry differs from the one before."""
    place = iota(columns[0].shape[0], INT64)
    begins = equal(place, 0)
    for column in columns:
        before = gather(column, [maximum(subtract(place, 1), 0)], (0,))
        same = equal(column, before)
        if equal_nan and is_inexact(column.dtype):
            both = logical_and(elementwise("isnan", column), elementwise("isnan", before))
            same = logical_or(same, both)
        begins = logical_or(begins, logical_not(same))
    return begins


def _equals_next(ordered: Value) -> Value:
    """Whether each sorted entry equals the one behind it."""
    count = ordered.shape[0]
    place = iota(count, INT64)
    behind = gather(ordered, [minimum(add(place, 1), count - 1)], (0,))
    return logical_and(equal(ordered, behind), less(place, count - 1))


def in_both(x: Value, y: Value, *, assume_unique: bool, return_indices: bool) -> list[Value]:
    """The entries of two vectors that both have, and if wanted where the first ones are in each."""
    first: list[Value] = []
    if not return_indices and not assume_unique:
        x, y = distinct(x), distinct(y)
    elif not assume_unique:
        x, first_in_x = distinct_rows(x, None, index=True, inverse=False, counts=False, equal_nan=True)
        y, first_in_y = distinct_rows(y, None, index=True, inverse=False, counts=False, equal_nan=True)
        first = [first_in_x, first_in_y]
    if is_known(x.shape[0] == 0) or is_known(y.shape[0] == 0):
        nowhere = full((0,), 0, INT64)
        return [full((0,), 0, x.dtype), nowhere, nowhere]
    both = concatenate([x, y], 0)
    order = argsort([both], 0)
    ordered = gather(both, [order], (0,))
    places = positions_of_nonzero(_equals_next(ordered))
    common = gather(ordered, [places], (0,))
    if not return_indices:
        return [common]
    in_x = gather(order, [places], (0,))
    in_y = subtract(gather(order, [add(places, 1)], (0,)), x.shape[0])
    if first:
        in_x, in_y = gather(first[0], [in_x], (0,)), gather(first[1], [in_y], (0,))
    return [common, in_x, in_y]


def in_one(x: Value, y: Value, *, assume_unique: bool) -> Value:
    """The entries that only one of two vectors has, in order."""
    if not assume_unique:
        x, y = distinct(x), distinct(y)
    (ordered,) = bind_all("sort", concatenate([x, y], 0), axis=0, num_keys=1, descending=False)
    alone = logical_and(_begins_run([ordered], False), logical_not(_equals_next(ordered)))
    return rows_at(ordered, positions_of_nonzero(alone))
