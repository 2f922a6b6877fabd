"""Rearranging and repeating elements: flips, rotations, rolls, tiles."""

import operator
from typing import Any

import numpy as np

from ..dtypes import INT64
from ..errors import DataDependentShapeError, ShapeError
from ..functions import (
    broadcast_to,
    concatenate,
    convert,
    elementwise,
    gather,
    iota,
    moveaxis,
    slice_axis,
    subtract,
)
from ..functions import reshape as reshape_value
from ..ir import Value
from ..storage import Flip
from ..traced_array import TracedArray, as_value
from ..tracing import require_trace
from .axes import axes_or_all, normalize_axes, normalize_axis
from .creation import new_array
from .known_positions import take_known
from .registry import implements
from .reshaping import ravel, reshape, swapaxes, view_of
from .ufuncs import as_array


@implements(np.flip)
def flip(m: Any, axis: Any = None) -> TracedArray:
    array = as_array(m)
    return view_of(array, Flip(axes_or_all(axis, array.ndim)))


@implements(np.flipud)
def flipud(m: Any) -> TracedArray:
    return flip(m, 0)


@implements(np.fliplr)
def fliplr(m: Any) -> TracedArray:
    array = as_array(m)
    if array.ndim < 2:
        raise ShapeError("fliplr needs an array of 2 or more dimensions")
    return flip(array, 1)


@implements(np.rot90)
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> TracedArray:
    """A view rotated by k quarter turns in the plane of two axes, from the first towards the second."""
    array = as_array(m)
    first, second = _plane(axes, array.ndim)
    turns = operator.index(k) % 4
    if turns == 0:
        return view_of(array)
    if turns == 2:
        return flip(array, (first, second))
    return flip(swapaxes(array, first, second), first if turns == 1 else second)


def _plane(axes: Any, ndim: int) -> tuple[int, int]:
    chosen = normalize_axes(tuple(axes), ndim, "axes")
    if len(chosen) != 2:
        raise ShapeError(f"rot90 needs two axes, not {tuple(axes)}")
    return chosen[0], chosen[1]


@implements(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> TracedArray:
    """The elements moved on along the axes; those pushed off the end come in at the start."""
    array = as_array(a)
    if axis is None:
        return reshape(roll(ravel(array), shift, 0), array.shape)
    value = array.value
    axes = [normalize_axis(one, array.ndim) for one in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    shifts = list(shift) if np.ndim(shift) else [shift]
    if len({len(axes), len(shifts)} - {1}) > 1:
        raise ShapeError(f"shift and axis do not broadcast: {len(shifts)} shifts, {len(axes)} axes")
    if len(shifts) == 1:
        shifts *= len(axes)
    elif len(axes) == 1:
        axes *= len(shifts)
    for one, along in zip(shifts, axes, strict=True):
        value = _rolled(value, one, along)
    return new_array(value)


def _rolled(value: Value, shift: Any, axis: int) -> Value:
    length = value.shape[axis]
    if length == 0:
        return value
    known = require_trace().concrete(as_value(shift))
    if known is None:
        back = subtract(iota(length, INT64), convert(as_value(shift), INT64))
        return moveaxis(
            gather(value, [elementwise("remainder", back, length)], (axis,), unique=True), 0, axis
        )
    cut = -int(known.sum()) % length
    if cut == 0:
        return value
    return concatenate([slice_axis(value, cut, length, axis), slice_axis(value, 0, cut, axis)], axis)


@implements(np.tile)
def tile(A: Any, reps: Any) -> TracedArray:
    array = as_array(A)
    counts = tuple(map(operator.index, reps)) if np.iterable(reps) else (operator.index(reps),)
    ndim = max(array.ndim, len(counts))
    counts = (*(1,) * (ndim - len(counts)), *counts)
    shape = (*(1,) * (ndim - array.ndim), *array.shape)
    if min(counts, default=1) < 0:
        raise ShapeError(f"tile cannot repeat {counts} times")
    apart = tuple(dim for pair in zip((1,) * ndim, shape, strict=True) for dim in pair)
    repeated = tuple(dim for pair in zip(counts, shape, strict=True) for dim in pair)
    value = broadcast_to(reshape_value(array.value, apart), repeated)
    return new_array(reshape_value(value, tuple(n * dim for n, dim in zip(counts, shape, strict=True))))


@implements(np.repeat)
def repeat(a: Any, repeats: Any, axis: int | None = None) -> TracedArray:
    """Each entry several times; the counts must be known while tracing."""
    array = as_array(a) if axis is not None else ravel(a)
    place = normalize_axis(0 if axis is None else axis, array.ndim)
    counts = require_trace().concrete(as_value(repeats))
    if counts is None:
        raise DataDependentShapeError(
            "np.repeat needs counts that are known while tracing, because the length of its result is their sum: "
            "np.take(x, indices) with as many indices as the result is long"
        )
    length = array.shape[place]
    if (
        counts.dtype.kind not in "iub"
        or counts.ndim > 1
        or counts.size not in (1, length)
        or (counts < 0).any()
    ):
        raise ShapeError(
            f"repeats must be one count ≥ 0, or one for each of the {length} entries, not {counts}"
        )
    if counts.size == 1:
        return new_array(_repeated(array.value, int(counts.item()), place))
    return new_array(take_known(array.value, np.repeat(np.arange(length), counts), place))


def _repeated(value: Value, count: int, axis: int) -> Value:
    """Every entry `count` times."""
    before, length, after = value.shape[:axis], value.shape[axis], value.shape[axis + 1 :]
    apart = reshape_value(value, (*before, length, 1, *after))
    return reshape_value(
        broadcast_to(apart, (*before, length, count, *after)), (*before, length * count, *after)
    )
