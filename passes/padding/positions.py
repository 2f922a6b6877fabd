"""Entries of padded arrays at places that depend on the number of valid entries."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import reduce

from ...compiler.affine import Affine, Index, Quotient, Variable, of
from ...compiler.dtypes import BOOL, INT64
from ...compiler.ir import Shape, Value
from ...compiler.op import Condition, Multiple
from ...compiler.ops.elementwise.broadcasting import broadcast_shapes
from ...compiler.symbolic_size import is_known, is_none, is_one, same_shape
from ...compiler.value_ops import (
    add,
    broadcast_to,
    constant,
    elementwise,
    equal,
    full,
    gather,
    greater_equal,
    inverse_permutation,
    iota,
    less,
    logical_and,
    maximum,
    multiply,
    reshape,
    transpose,
)
from .padded_lengths import PaddedLengths, along


def taken(
    lengths: PaddedLengths, x: Value, index: Index, variables: Sequence[Variable], shape: Shape
) -> Value:
    """The entries of `x` at an index computed from the index in the result, whose shape in the graph is `shape`.

    An axis of `x` stays whole if its index is an index of the result that no other axis uses.
    """
    padded = lengths.padded(shape)
    if any(map(is_none, x.shape)):
        return full(padded, 1, x.dtype)
    x, index = _without_single(x, index)
    uses = Counter(variable for place in index for variable in place.variables)
    kept: dict[int, int] = {}
    for axis, place in enumerate(index):
        for at, variable in enumerate(variables):
            if uses[variable] == 1 and place == of(variable) and is_known(x.shape[axis] >= padded[at]):
                x = lengths.fitting(x, axis, padded[at])
                kept[axis] = at
    free = [at for at in range(len(shape)) if at not in kept.values()]
    around, rest = tuple(padded[at] for at in free), tuple(kept.values())
    numbers = _numbers(lengths, [variables[at] for at in free], around)
    axes = [axis for axis in range(x.ndim) if axis not in kept]
    if axes:
        places = [_number(lengths, index[axis], numbers) for axis in axes]
        if not same_shape(broadcast_shapes("gather", [place.type for place in places]), around):
            places[0] = broadcast_to(places[0], around)
        x = gather(x, places, axes)
    else:
        x = broadcast_to(x, (*around, *x.shape))
    return transpose(x, inverse_permutation((*free, *rest)))


def _without_single(x: Value, index: Index) -> tuple[Value, Index]:
    """An array and its index without the axes of length 1, which have only one place."""
    kept = [axis for axis, dim in enumerate(x.shape) if not is_one(dim)]
    return reshape(x, tuple(x.shape[axis] for axis in kept)), tuple(index[axis] for axis in kept)


def holding(
    lengths: PaddedLengths, conditions: Sequence[Condition], variables: Sequence[Variable], shape: Shape
) -> Value:
    """Where conditions on the index in the result hold: a mask of the padded shape."""
    padded = lengths.padded(shape)
    numbers = _numbers(lengths, variables, padded)
    masks: list[Value] = []
    for one in conditions:
        place = _number(lengths, one.place, numbers)
        if isinstance(one, Multiple):
            masks.append(equal(elementwise("remainder", place, _divisor(lengths, one.step)), 0))
            continue
        if not is_known(one.low <= one.place.low):
            masks.append(greater_equal(place, lengths.count(one.low)))
        if not is_known(one.place.high < one.high):
            masks.append(less(place, lengths.count(one.high)))
    mask = reduce(logical_and, masks) if masks else constant(True, BOOL)
    return broadcast_to(mask, padded)


def _numbers(lengths: PaddedLengths, variables: Sequence[Variable], shape: Shape) -> dict[Variable, Value]:
    """The values of the index along each axis of an array of this shape."""
    return {
        variable: along(iota(length, INT64), axis, len(shape))
        for axis, (variable, length) in enumerate(zip(variables, shape, strict=True))
    }


def _number(lengths: PaddedLengths, place: Affine, numbers: Mapping[Variable, Value]) -> Value:
    """The values of a place, given those of its variables: i64."""
    total: Value | None = None
    for atom, factor in place.terms:
        if isinstance(atom, Variable):
            one = numbers[atom]
        else:
            op = "floor_divide" if isinstance(atom, Quotient) else "remainder"
            one = elementwise(op, _number(lengths, atom.dividend, numbers), _divisor(lengths, atom.divisor))
        one = one if is_one(factor) else multiply(one, lengths.count(factor))
        total = one if total is None else add(total, one)
    if total is None:
        return lengths.count(place.constant)
    return total if is_none(place.constant) else add(total, lengths.count(place.constant))


def _divisor(lengths: PaddedLengths, size: int) -> Value:
    """A number to divide by, which is 1 where there is nothing to divide."""
    return maximum(lengths.count(size), 1)
