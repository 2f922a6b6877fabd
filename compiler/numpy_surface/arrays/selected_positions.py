"""Positions that a mask selects: constants if the mask is known while tracing, otherwise the program finds them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dtypes import INT64
from ...ir import Value
from ...tracing.trace import require_trace
from ...tracing.value_lengths import positions
from ...value_ops import constant, elementwise, gather, moveaxis, nonzero_mask, reshape


def positions_of_nonzero(x: Value) -> Value:
    """Where the entries of an array are nonzero, in row-major order: i64[n], flat positions."""
    known = require_trace().concrete(x)
    if known is not None:
        return constant(np.flatnonzero(known), INT64)
    return positions(reshape(nonzero_mask(x), (x.type.size,)))


def along_each_axis(flat: Value, shape: Sequence[Any]) -> list[Value]:
    """Flat positions in an array of this shape as positions along each axis, which are known to be in range."""
    trace = require_trace()
    columns: list[Value] = []
    for axis in reversed(range(len(shape))):
        column = flat if axis == 0 else elementwise("remainder", flat, shape[axis])
        flat = elementwise("floor_divide", flat, shape[axis])
        trace.ends.setdefault(column, (0, shape[axis] - 1))
        columns.append(column)
    return columns[::-1]


def rows_at(x: Value, places: Value, axis: int = 0) -> Value:
    """The entries along an axis at positions that are in range."""
    return moveaxis(gather(x, [places], (axis,)), 0, axis)
