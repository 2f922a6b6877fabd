"""Rearranging and repeating elements: flips, rotations, rolls, tiles."""

import operator
from typing import Any

import numpy as np

from ...arguments.axes import axes_or_all, normalize_axes, normalize_axis
from ...builder import bind
from ...dtypes import INT64
from ...errors import ArgumentTypeError, ShapeError
from ...ir import Value
from ...symbolic_size import is_empty, is_known, is_symbolic_shape, max_expr
from ...tracing.array_values import as_size, as_value
from ...tracing.registry import implements
from ...tracing.size_values import size_of_value
from ...tracing.trace import require_trace
from ...tracing.traced_array import TracedArray, wrap
from ...tracing.traced_memory import is_traced
from ...tracing.value_lengths import length_of
from ...tracing.views import Flip
from ...value_ops import (
    broadcast_to,
    concatenate,
    convert,
    elementwise,
    full,
    gather,
    iota,
    less,
    maximum,
    moveaxis,
    scatter,
    slice_axis,
    subtract,
    sum_,
)
from ...value_ops import reshape as reshape_value
from ..ufuncs.ufunc_calls import as_array
from ..ufuncs.value_checks import refuse_values
from .constructors import array as array_
from .constructors import copied, new_array
from .known_positions import take_known
from .reshaping import ravel, reshape, swapaxes, view_of
from .selected_positions import rows_at


@implements(np.flip)
def flip(m: Any, axis: Any = None) -> TracedArray:
    array = as_array(m)
    return view_of(array, Flip(axes_or_all(axis, array.ndim))) if array.ndim else array[()]


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
    """The elements shifted along the axes; those shifted off the end come in at the start."""
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
    return copied(value, array, "K")


def _rolled(value: Value, shift: Any, axis: int) -> Value:
    length = value.shape[axis]
    if is_known(length == 0):
        return value
    cut = _cut(shift, length)
    if cut is None:
        back = subtract(iota(length, INT64), convert(as_value(shift), INT64))
        return moveaxis(
            gather(value, [elementwise("remainder", back, length)], (axis,), unique=True), 0, axis
        )
    if is_known(cut == 0):
        return value
    return concatenate([slice_axis(value, cut, length, axis), slice_axis(value, 0, cut, axis)], axis)


def _cut(given: Any, length: Any) -> Any:
    """The position of the first element that moves to the start; None if it is not known while tracing."""
    shift = _size_given(given)
    if is_symbolic_shape((shift,)):
        return next(
            (cut for cut in (length - shift, -shift) if is_known(cut >= 0) and is_known(cut <= length)), None
        )
    if isinstance(shift, int):  # of any size
        total = int(shift)
    elif (known := require_trace().concrete(as_value(shift))) is None:
        return None
    else:
        total = int(known.sum())
    if is_known(-length <= total) and is_known(total <= length):  # then no remainder is needed
        return length - total if total > 0 else -total
    return -total % max_expr(length, 1)


def _size_given(x: Any) -> Any:
    """The argument, as the symbolic size that it is or was computed from."""
    is_number = is_traced(x) and not x.ndim and x.dtype.kind in "iu" and x.concrete() is None
    found = size_of_value(require_trace(), x.value) if is_number else None
    return x if found is None else found


@implements(np.tile)
def tile(A: Any, reps: Any) -> TracedArray:
    array = as_array(A)
    counts = tuple(map(as_size, reps)) if np.iterable(reps) else (as_size(reps),)
    ndim = max(array.ndim, len(counts))
    counts = (*(1,) * (ndim - len(counts)), *counts)
    shape = (*(1,) * (ndim - array.ndim), *array.shape)
    if any(count < 0 for count in counts):
        raise ShapeError("negative dimensions are not allowed")
    if all(type(count) is int and count == 1 for count in counts):  # NumPy makes a copy
        return array_(array, ndmin=ndim)
    longer = tuple(n * dim for n, dim in zip(counts, shape, strict=True))
    if is_empty(array.shape):
        return reshape(array_(array, ndmin=ndim, copy=None), longer)
    apart = tuple(dim for pair in zip((1,) * ndim, shape, strict=True) for dim in pair)
    repeated = tuple(dim for pair in zip(counts, shape, strict=True) for dim in pair)
    value = broadcast_to(reshape_value(array.value, apart), repeated)
    return new_array(reshape_value(value, longer)).through()


@implements(np.repeat)
def repeat(a: Any, repeats: Any, axis: int | None = None) -> TracedArray:
    """Repeats each entry. Where the counts are not known while tracing, the program finds out the length."""
    array = as_array(a) if axis is not None else ravel(a)
    place = normalize_axis(0 if axis is None else axis, array.ndim)
    count = _size_given(repeats)
    if is_symbolic_shape((count,)):
        if count < 0:
            raise ShapeError("negative dimensions are not allowed")
        return new_array(_repeated(array.value, count, place))
    given = as_value(repeats)
    counts = require_trace().concrete(given)
    length = array.shape[place]
    if counts is None:
        return new_array(_repeated_as_computed(array.value, given, place))
    _check_counts(given, length)
    if (counts < 0).any():
        raise ShapeError(_negative_count(counts.size))
    if counts.size == 1:
        return new_array(_repeated(array.value, int(counts.item()), place))
    positions = np.repeat(np.arange(operator.index(length)), counts)
    return new_array(take_known(array.value, positions, place))


def _check_counts(counts: Value, length: Any) -> None:
    if counts.dtype.kind not in "iub":
        raise ArgumentTypeError(
            f"Cannot cast array data from {counts.dtype!r} to dtype('int64') according to the rule 'safe'"
        )
    if counts.ndim > 1:
        raise ShapeError("object too deep for desired array")
    if counts.ndim and not (is_known(counts.shape[0] == 1) or counts.shape[0] == length):
        raise ShapeError(
            f"operands could not be broadcast together with shape ({length},) ({counts.shape[0]},)"
        )


def _negative_count(number_of_counts: Any) -> str:
    """NumPy's message for a negative count. It takes one count as a length."""
    if is_known(number_of_counts == 1):
        return "negative dimensions are not allowed"
    return "repeats may not contain negative values."


def _repeated_as_computed(value: Value, counts: Value, axis: int) -> Value:
    """`repeat` with counts that the program computes."""
    length = value.shape[axis]
    _check_counts(counts, length)
    is_one_count = not counts.ndim or is_known(counts.shape[0] == 1)
    counts = convert(counts, INT64)
    refuse_values(wrap(less(counts, 0)), _negative_count(1 if is_one_count else length))
    counts = maximum(counts, 0)
    if is_one_count:
        return _repeated(value, length_of(reshape_value(counts, ()), may_be_negative=False), axis)
    if is_known(length == 0):
        return value
    total = length_of(sum_(counts, (0,)), may_be_negative=False)
    # An entry of the result comes from as many entries on as there are ends of repetitions up to it.
    ends = bind("cumsum", counts, axis=0, reverse=False)
    passed = scatter(full((total + 1,), 0, INT64), full(ends.shape, 1, INT64), [ends], (0,), "add")
    places = bind("cumsum", slice_axis(passed, 0, total, 0), axis=0, reverse=False)
    return rows_at(value, places, axis)


def _repeated(value: Value, count: int, axis: int) -> Value:
    """Every entry `count` times."""
    before, length, after = value.shape[:axis], value.shape[axis], value.shape[axis + 1 :]
    apart = reshape_value(value, (*before, length, 1, *after))
    return reshape_value(
        broadcast_to(apart, (*before, length, count, *after)), (*before, length * count, *after)
    )
