"""Rules for reads and writes at positions that come from arrays."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...compiler.builder import bind, bind_all
from ...compiler.dtypes import INT64
from ...compiler.ir import Call, Constant, Shape, Value
from ...compiler.params import int_param, ints_param
from ...compiler.symbolic_size import is_known, is_none
from ...compiler.value_ops import (
    add,
    broadcast_to,
    constant,
    convert,
    full,
    gather,
    greater_equal,
    iota,
    less,
    logical_and,
    logical_or,
    maximum,
    minimum,
    multiply,
    reshape,
    scatter,
    subtract,
    where,
)
from .padded_lengths import CannotPadError, Inputs, PaddedLengths, Rule, along


def _gather(lengths: PaddedLengths, call: Call, inputs: Inputs) -> Value:
    old_x, *old_places = call.inputs
    x, *places = inputs
    axes = ints_param(call, "axes")
    for number, axis in enumerate(axes):
        if lengths.is_padded(old_x.shape[axis]):
            last = maximum(subtract(lengths.count(old_x.shape[axis]), 1), 0)
            places[number] = minimum(convert(places[number], INT64), last)
    if any(is_none(x.shape[axis]) for axis in axes):
        return full(lengths.padded(call.outputs[0].shape), 1, x.dtype)
    if not any(lengths.is_padded(size) for place in old_places for size in place.shape):
        return gather(x, places, axes, unique=bool(call.params.get("unique")))
    return lengths.sheltered(gather(x, places, axes), call.outputs[0].shape)


def _scatter(lengths: PaddedLengths, call: Call, inputs: Inputs) -> Value:
    x, updates, *places = inputs
    count = max(place.ndim for place in places)
    mode, is_unique = str(call.params["mode"]), bool(call.params.get("unique"))
    return written(
        lengths,
        x,
        updates,
        places,
        ints_param(call, "axes"),
        call.inputs[1].shape[:count],
        mode,
        unique=is_unique,
    )


def written(
    lengths: PaddedLengths,
    x: Value,
    updates: Value,
    places: Sequence[Value],
    axes: Sequence[int],
    shape: Shape,
    mode: str = "set",
    *,
    unique: bool,
) -> Value:
    """`x` with the updates that count written to places, which have this shape in the graph."""
    mask = lengths.mask(shape)
    first, *others = places
    if mask is not None:
        # A write outside is dropped. The numbers differ, so that places that are promised to differ still do.
        outside = subtract(-1, reshape(iota(math.prod(mask.shape), INT64), mask.shape))
        first = where(mask, broadcast_to(convert(first, INT64), mask.shape), outside)
    return scatter(x, updates, (first, *others), axes, mode, unique=unique)


def _update_slice(lengths: PaddedLengths, call: Call, inputs: Inputs) -> Value:
    x, updates = inputs
    start, step = ints_param(call, "start"), ints_param(call, "step")
    return _placed(lengths, x, updates, start, step, call.inputs[1].shape)


def _placed(
    lengths: PaddedLengths, x: Value, updates: Value, start: Sequence[Any], step: Sequence[Any], shape: Shape
) -> Value:
    """`x` with updates of this shape in the graph written to a slice."""
    places = []
    for axis, size in enumerate(shape):
        numbers = multiply(iota(lengths.most_of(size), INT64), lengths.count(step[axis]))
        places.append(along(add(numbers, lengths.count(start[axis])), axis, len(shape)))
    return written(lengths, x, updates, places, range(len(shape)), shape, unique=True)


def _pad(lengths: PaddedLengths, call: Call, inputs: Inputs) -> Value:
    (x, fill), old = inputs, call.inputs[0].shape
    low, high, interior = (ints_param(call, name) for name in ("low", "high", "interior"))
    if not any(map(lengths.is_padded, (*low, *high, *interior))):
        return bind("pad", lengths.filled(x, old, fill), fill, **call.params)
    around = lengths.sheltered(
        broadcast_to(fill, lengths.padded(call.outputs[0].shape)), call.outputs[0].shape
    )
    return _placed(lengths, around, x, low, [gap + 1 for gap in interior], old)


def _flatnonzero(lengths: PaddedLengths, call: Call, inputs: Inputs) -> Value:
    """Each position at which the mask holds, written to the place that it has among them."""
    mask = inputs[0]
    if lengths.is_padded(call.inputs[0].shape[0]):
        mask = logical_and(mask, lengths.counting(call.inputs[0].shape[0]))
    found = broadcast_to(constant(0, INT64), lengths.padded(call.outputs[0].shape))
    numbers = iota(mask.shape[0], INT64)
    place = subtract(bind("cumsum", convert(mask, INT64), axis=0, reverse=False), 1)
    place = where(mask, place, subtract(-1, numbers))
    return scatter(found, numbers, [place], (0,), "set", unique=True)


def _check_index(lengths: PaddedLengths, call: Call, inputs: Inputs) -> tuple[Value, ...]:
    (index,), (old,) = inputs, call.inputs
    length = int_param(call, "length")
    if not lengths.is_padded(length):
        if not is_known(length >= 1):
            raise CannotPadError()
        return bind_all("check_index", lengths.filled(index, old.shape, 0), **call.params)
    count = lengths.count(length)
    index = convert(index, INT64)
    least = constant(0, INT64) if call.params.get("function") else subtract(0, count)
    is_outside = lengths.filled(logical_or(greater_equal(index, count), less(index, least)), old.shape, False)
    one = f"index {index.array.item()}" if isinstance(index, Constant) and not index.ndim else "an index"
    nothing = " with size 0" if one in ("index 0", "index -1") else ""
    where_ = f"{call.params['function']}: " if call.params.get("function") else ""
    error = f"{where_}{one} is out of bounds for axis {call.params['axis']}{nothing}"
    return bind_all("raise_if", is_outside, error=f"IndexError({error!r})")


def _raise_if(lengths: PaddedLengths, call: Call, inputs: Inputs) -> tuple[Value, ...]:
    condition, *message_values = call.inputs
    if any(lengths.is_padded(size) for one in message_values for size in one.shape):
        raise CannotPadError()
    return bind_all("raise_if", lengths.filled(inputs[0], condition.shape, False), *inputs[1:], **call.params)


RULES: Final[Mapping[str, Rule]] = {
    "check_index": _check_index,
    "flatnonzero": _flatnonzero,
    "gather": _gather,
    "pad": _pad,
    "raise_if": _raise_if,
    "scatter": _scatter,
    "update_slice": _update_slice,
}
"""A part is written to its place, which costs as much as the part: a choice for each entry costs more."""
