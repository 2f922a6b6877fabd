"""Rules for entries that move within an array, or to another."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from ...compiler.builder import bind
from ...compiler.dtypes import INT64
from ...compiler.ir import Call, Shape, Value
from ...compiler.params import int_param, ints_param
from ...compiler.symbolic_size import is_known, is_none, is_one
from ...compiler.value_ops import (
    add,
    broadcast_to,
    concatenate,
    constant,
    elementwise,
    flip,
    full,
    gather,
    iota,
    less,
    maximum,
    moveaxis,
    multiply,
    slice_,
    subtract,
    where,
)
from .indexing import written
from .padded_lengths import Inputs, PaddedLengths, Rule, along


def _taken(lengths: PaddedLengths, x: Value, index: Value, axis: int) -> Value:
    """The entries at positions along an axis."""
    if is_none(x.shape[axis]):
        return full((*x.shape[:axis], index.shape[0], *x.shape[axis + 1 :]), 1, x.dtype)
    return moveaxis(gather(x, [index], (axis,)), 0, axis)


def _transposed(lengths: PaddedLengths, call: Call, inputs: Inputs) -> Value:
    return bind(call.op, *inputs, **call.params)


def _slice(lengths: PaddedLengths, call: Call, inputs: Inputs) -> Value:
    (x,), shape = inputs, call.outputs[0].shape
    start, stop, step = (list(_sizes(call, name)) for name in ("start", "stop", "step"))
    moved = {axis for axis, first in enumerate(start) if lengths.is_padded(first)}
    kept = [axis for axis in range(x.ndim) if axis not in moved]
    starts, stops, steps = [0] * x.ndim, list(x.shape), [1] * x.ndim
    for axis in kept:
        starts[axis], stops[axis], steps[axis] = start[axis], lengths.most_of(stop[axis]), step[axis]
    x = slice_(x, starts, stops, steps)
    for axis in moved:
        x = _taken(lengths, x, _progression(lengths, start[axis], step[axis], shape[axis]), axis)
    return lengths.sheltered(x, shape) if moved else x


def _progression(lengths: PaddedLengths, start: Any, step: Any, count: Any) -> Value:
    """The positions that a slice takes along an axis."""
    numbers = iota(lengths.most_of(count), INT64)
    return add(multiply(numbers, lengths.count(step)), lengths.count(start))


def _flip(lengths: PaddedLengths, call: Call, inputs: Inputs) -> Value:
    (x,), shape = inputs, call.outputs[0].shape
    axes = ints_param(call, "axes")
    moved = [axis for axis in axes if lengths.is_padded(shape[axis])]
    x = flip(x, [axis for axis in axes if axis not in moved])
    for axis in moved:
        backwards = subtract(
            subtract(lengths.count(shape[axis]), 1), iota(lengths.most_of(shape[axis]), INT64)
        )
        x = _taken(lengths, x, backwards, axis)
    return lengths.sheltered(x, shape) if moved else x


def _update_slice(lengths: PaddedLengths, call: Call, inputs: Inputs) -> Value:
    x, updates = inputs
    start, step = _sizes(call, "start"), _sizes(call, "step")
    return _placed(lengths, x, updates, start, step, call.inputs[1].shape)


def _placed(
    lengths: PaddedLengths, x: Value, updates: Value, start: Sequence[Any], step: Sequence[Any], shape: Shape
) -> Value:
    """`x` with updates of this shape in the graph written to a slice."""
    places = [
        along(_progression(lengths, start[axis], step[axis], size), axis, len(shape))
        for axis, size in enumerate(shape)
    ]
    return written(lengths, x, updates, places, range(len(shape)), shape, unique=True)


def _pad(lengths: PaddedLengths, call: Call, inputs: Inputs) -> Value:
    (x, fill), old = inputs, call.inputs[0].shape
    low, high, interior = (_sizes(call, name) for name in ("low", "high", "interior"))
    if not any(map(lengths.is_padded, (*low, *high, *interior))):
        return bind("pad", lengths.filled(x, old, fill), fill, **call.params)
    around = lengths.sheltered(
        broadcast_to(fill, lengths.padded(call.outputs[0].shape)), call.outputs[0].shape
    )
    return _placed(lengths, around, x, low, [gap + 1 for gap in interior], old)


def _concatenate(lengths: PaddedLengths, call: Call, inputs: Inputs) -> Value:
    shape, axis = call.outputs[0].shape, int_param(call, "axis")
    sizes = [part.shape[axis] for part in call.inputs]
    if not any(map(lengths.is_padded, sizes[:-1])):
        return concatenate(inputs, axis)
    place = iota(lengths.most_of(shape[axis]), INT64)
    made: Value | None = None
    for number in reversed(range(len(sizes))):
        before = lengths.count(sum(sizes[:number]))
        part = _taken(lengths, inputs[number], subtract(place, before), axis)
        is_later = along(less(place, lengths.count(sum(sizes[: number + 1]))), axis, len(shape))
        made = part if made is None else where(broadcast_to(is_later, part.shape), part, made)
    assert made is not None
    return lengths.sheltered(made, shape)


def _reshape(lengths: PaddedLengths, call: Call, inputs: Inputs) -> Value:
    (x,), old, new = inputs, call.inputs[0].shape, call.outputs[0].shape
    if all(_counts_first(lengths, *pair) for pair in _groups(old, new)):
        return bind("reshape", x, shape=lengths.padded(new))
    place: Value = constant(0, INT64)
    for axis, size in enumerate(new):
        numbers = along(iota(lengths.most_of(size), INT64), axis, len(new))
        place = add(multiply(place, lengths.count(size)), numbers)
    places: list[Value] = []
    for size in reversed(old):
        length = maximum(lengths.count(size), 1)
        places.insert(0, elementwise("remainder", place, length))
        place = elementwise("floor_divide", place, length)
    if any(map(is_none, x.shape)):
        return full(lengths.padded(new), 1, x.dtype)
    return lengths.sheltered(gather(x, places, range(x.ndim)), new)


def _groups(old: Shape, new: Shape) -> list[tuple[Shape, Shape]]:
    """The axes of two shapes with equally many entries, in as small groups as possible that have equally many, too."""
    cuts = [(0, 0)]
    for end in range(1, len(old) + 1):
        product = math.prod(old[:end])
        ends = range(cuts[-1][1], len(new) + 1)
        cut = next((one for one in ends if is_known(math.prod(new[:one]) == product)), None)
        if cut is not None:
            cuts.append((end, cut))
    cuts.append((len(old), len(new)))
    return [(old[a:c], new[b:d]) for (a, b), (c, d) in pairwise(cuts)]


def _counts_first(lengths: PaddedLengths, old: Shape, new: Shape) -> bool:
    """Whether what counts comes first in row-major order, in both shapes."""
    for shape in (old, new):
        if any(map(lengths.is_padded, [size for size in shape if not is_one(size)][1:])):
            return False
    return is_known(math.prod(lengths.padded(old)) == math.prod(lengths.padded(new)))


def _sizes(call: Call, name: str) -> tuple[Any, ...]:
    """A parameter with a size per axis."""
    given: Any = call.params[name]
    return tuple(given)


RULES: Final[Mapping[str, Rule]] = {
    "concatenate": _concatenate,
    "flip": _flip,
    "pad": _pad,
    "reshape": _reshape,
    "slice": _slice,
    "transpose": _transposed,
    "update_slice": _update_slice,
}
