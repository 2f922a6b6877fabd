"""Adding, removing and replacing elements: insert, delete, resize, trim_zeros, copyto."""

import math
import operator
from typing import Any

import numpy as np

from ...arguments.axes import axes_or_all, normalize_axis
from ...dtypes import INT64, Array
from ...errors import DTypeError, OutOfBoundsError, ShapeError
from ...ir import Value
from ...nesting import shown
from ...symbolic_size import HUGE, SymbolicSize, is_known, is_symbolic_shape
from ...tracing.array_values import as_value, weak_or_dtype, written_value
from ...tracing.registry import implements
from ...tracing.trace import require_trace
from ...tracing.traced_array import TracedArray
from ...tracing.traced_memory import contains_traced
from ...value_ops import (
    add,
    broadcast_to,
    concatenate,
    convert,
    elementwise,
    full,
    gather,
    iota,
    moveaxis,
    slice_axis,
    where,
)
from ...value_ops import reshape as reshape_value
from ..ufuncs.ufunc_calls import as_array, target_of
from .constructors import as_shape, new_array
from .editing_at_computed_places import deleted, inserted, places_of
from .known_positions import take_known
from .reshaping import broadcast_shape, ravel

_MOST_PLACES = 16


def _places(obj: Any) -> Any:
    """The positions of `insert` or `delete`, as NumPy interprets them; a value if the program computes them."""
    if not contains_traced(obj):
        return obj
    value = as_value(obj)
    known = require_trace().concrete(value)
    if known is None:
        return value
    return known if known.ndim else known.item()


def _flat_or_axis(arr: Any, axis: int | None) -> tuple[TracedArray, int]:
    """The array and the axis to edit; without an axis the flattened array."""
    array = as_array(arr)
    if axis is None:
        return (array if array.ndim == 1 else ravel(array)), 0
    return array, normalize_axis(axis, array.ndim)


def _edited(function: Any, length: int, obj: Any, *fill: Any) -> Array:
    """The result of NumPy's `function` on the positions 0 … length − 1."""
    try:
        edited: Array = function(np.arange(length), obj, *fill)
    except IndexError as error:
        raise OutOfBoundsError(str(error)) from None
    except ValueError as error:
        raise ShapeError(str(error)) from None
    return edited


@implements(np.delete)
def delete(arr: Any, obj: Any, axis: int | None = None) -> TracedArray:
    array, place = _flat_or_axis(arr, axis)
    length, at = array.shape[place], _places(obj)
    if isinstance(at, Value):
        return new_array(deleted(array.value, at, place))
    if is_symbolic_shape((length, at)) and isinstance(at, int | SymbolicSize):
        start = _place(at, length - 1, length)
        return _joined_around(array.value, place, start, start + 1)
    gone = _few_places(at) if is_symbolic_shape((length,)) else None
    if gone and not (isinstance(at, slice) and max(gone) >= length):
        return _without(array.value, place, sorted({_place(one, length - 1, length) for one in gone}))
    kept = _edited(np.delete, operator.index(length), at)
    return new_array(take_known(array.value, kept, place))


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> TracedArray:
    array, place = _flat_or_axis(arr, axis)
    length, at = array.shape[place], _places(obj)
    new = convert(written_value(values, array.dtype), array.dtype)
    new = reshape_value(new, (*(1,) * (array.ndim - new.ndim), *new.shape))
    if not isinstance(at, slice) and not (
        at.ndim if isinstance(at, Value) else np.ndim(at)
    ):  # as many entries as `values` has along its first axis
        new = moveaxis(new, 0, place)
    if isinstance(at, Value):
        at = places_of(at, "insert")
        is_one = not at.ndim or is_known(at.shape[0] == 1)
        new = _spread(new, array, place, new.shape[place] if is_one else at.shape[0])
        return new_array(inserted(array.value, at, new, place))
    if is_symbolic_shape((length, at)) and isinstance(at, int | SymbolicSize):
        start = _place(at, length, length)
        return _joined_around(array.value, place, start, start, _spread(new, array, place, new.shape[place]))
    several = _few_places(at) if is_symbolic_shape((length,)) else None
    if several and not (isinstance(at, slice) and max(several) >= length):
        count = new.shape[place] if len(several) == 1 else len(several)
        return _with(array.value, place, several, length, _spread(new, array, place, count))
    length = operator.index(length)
    places = len(_edited(np.insert, length, at, 0)) - length
    count = new.shape[place] if places == 1 else places
    both = concatenate([array.value, _spread(new, array, place, count)], place)
    order = _edited(np.insert, length, at, np.arange(length, length + count))
    return new_array(take_known(both, order, place))


def _spread(new: Value, array: TracedArray, axis: int, count: int) -> Value:
    """`new`, with `count` entries along an axis and as many as `array` has along the others."""
    shape = (*array.shape[:axis], count, *array.shape[axis + 1 :])
    broadcast_shape(new.shape, shape)
    return broadcast_to(new, shape)


def _few_places(at: Any) -> list[int] | None:
    """Positions that are counted from the start, if there are few enough to join the parts between them."""
    if isinstance(at, slice):
        ends = (at.start or 0, at.stop, at.step or 1)
        at = range(*ends) if all(type(end) is int and end >= 0 for end in ends) else None
    places = np.asarray([] if at is None else at)
    is_list = places.ndim == 1 and 0 < places.size <= _MOST_PLACES and places.dtype.kind in "iu"
    return places.tolist() if is_list and (places >= 0).all() else None


def _without(value: Value, axis: int, gone: list[int]) -> TracedArray:
    """The parts between positions, in order."""
    starts = [0, *(place + 1 for place in gone)]
    parts = [
        slice_axis(value, start, stop, axis)
        for start, stop in zip(starts, [*gone, value.shape[axis]], strict=True)
    ]
    return new_array(concatenate([part for part in parts if not is_known(part.shape[axis] == 0)], axis))


def _with(value: Value, axis: int, places: list[int], length: int, new: Value) -> TracedArray:
    """The entries of `new`, each before a position; all of them if there is only one position."""
    ends = [_place(place, length, length) for place in places]
    parts, before = list[Value](), 0
    for number in sorted(range(len(ends)), key=ends.__getitem__):
        between = new if len(ends) == 1 else slice_axis(new, number, number + 1, axis)
        parts += [slice_axis(value, before, ends[number], axis), between]
        before = ends[number]
    parts.append(slice_axis(value, before, length, axis))
    return new_array(concatenate([part for part in parts if not is_known(part.shape[axis] == 0)], axis))


def _place(at: Any, last: int, length: int) -> Any:
    """A position counted from the start; raises `OutOfBoundsError` if it is after the last one or before the first."""
    if not -length <= at <= last:
        raise OutOfBoundsError(f"index {at} is out of bounds for an axis of length {length}")
    return at if at >= 0 else at + length


def _joined_around(value: Value, axis: int, stop: int, start: int, *between: Value) -> TracedArray:
    """The part before `stop`, then the part between, then the part from `start` on."""
    parts = [slice_axis(value, 0, stop, axis), *between, slice_axis(value, start, value.shape[axis], axis)]
    return new_array(concatenate(parts, axis))


@implements(np.resize)
def resize(a: Any, new_shape: Any) -> TracedArray:
    """The elements in another shape, repeated as often as necessary."""
    shape = as_shape(new_shape)
    if min(shape, default=0) < 0:
        raise ShapeError("all elements of `new_shape` must be non-negative")
    return new_array(recycled(as_value(a), shape))


def recycled(value: Value, shape: tuple[int, ...]) -> Value:
    """``np.resize(value, shape)``; zeros if `value` is empty."""
    size = math.prod(shape)
    if is_symbolic_shape((size, value.type.size)):
        return _recycled_over(value, shape, size)
    flat = reshape_value(value, (value.type.size,))
    if not value.type.size:
        return full(shape, 0, value.dtype)
    if size * value.dtype.itemsize >= HUGE:
        raise MemoryError  # as NumPy, which makes a tuple with an entry for each repetition
    rows = -(-size // value.type.size)
    tiled = reshape_value(broadcast_to(flat, (rows, value.type.size)), (rows * value.type.size,))
    return reshape_value(take_known(tiled, np.arange(size), 0), shape)


def _recycled_over(value: Value, shape: tuple[int, ...], size: int) -> Value:
    """Like `recycled`, for symbolic sizes."""
    count = value.type.size
    if is_known(count == 1):
        return broadcast_to(reshape_value(value, ()), shape)
    flat = reshape_value(value, (count,))
    if not is_known(count == size):
        flat = gather(flat, [elementwise("remainder", iota(size, INT64), count)], (0,))
    return reshape_value(flat, shape)


@implements(np.trim_zeros)
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> TracedArray:
    """Without leading and trailing zeros."""
    array = as_array(filt)
    known = array.concrete()
    if known is None:
        return _trimmed_as_computed(array, trim.lower(), axes_or_all(axis, array.ndim))
    found = np.argwhere(known)
    index = [slice(None)] * array.ndim
    for i in axes_or_all(axis, array.ndim):
        low, high = (found[:, i].min(), found[:, i].max() + 1) if len(found) else (0, 0)
        index[i] = slice(
            int(low) if "f" in trim.lower() else None,
            int(high) if "b" in trim.lower() or not len(found) else None,
        )
    return array[tuple(index)]  # type: ignore[no-any-return]


def _trimmed_as_computed(array: TracedArray, trim: str, axes: tuple[int, ...]) -> TracedArray:
    """Without leading and trailing zeros along axes. Nothing begins behind its end, so that nothing is left of it."""
    filled: Any = np.not_equal(array, 0)
    index = [slice(None)] * array.ndim
    for i in axes:
        length = array.shape[i]
        mask = np.any(filled, axis=tuple(axis for axis in range(array.ndim) if axis != i)).value
        place = iota(length, INT64)
        low: Any = np.min(new_array(where(mask, place, length)), initial=length)
        high: Any = np.max(new_array(where(mask, add(place, 1), 0)), initial=0)
        index[i] = slice(low if "f" in trim else None, high if "b" in trim else None)
    return array[tuple(index)]  # type: ignore[no-any-return]


@implements(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """``dst[...] = src``, optionally only where a mask is true."""
    target = target_of(dst)
    given = weak_or_dtype(src, as_value(src))
    if isinstance(given, (np.dtype, np.generic)):
        fits = np.can_cast(np.result_type(given), target.dtype, casting)  # type: ignore[arg-type]
    else:
        fits = casting == "unsafe" or np.result_type(given, target.dtype) == target.dtype
    if not fits:
        raise DTypeError(
            f"cannot cast {np.result_type(given)} to {target.dtype} with casting rule {shown(casting)}"
        )
    new = as_value(src, target.dtype)
    target[...] = new if where is True else _chosen(as_value(where), new, target)


def _chosen(mask: Value, new: Value, target: TracedArray) -> Value:
    broadcast_shape(mask.shape, target.shape)
    return where(mask, broadcast_to(convert(new, target.dtype), target.shape), target.value)
