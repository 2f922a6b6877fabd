"""Where the elements of layout ops come from: the operand, and the index in it."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from ..affine import Affine, Index
from ..ir import Call, Value
from ..op import lookup
from ..params import int_param, ints_param
from ..symbolic_size import is_known, max_expr, min_expr
from .nest import Between, Condition, Multiple

Element: TypeAlias = tuple[Value, Index]
"""The element of a value at an index, which loops compute."""

Case: TypeAlias = tuple[tuple[Condition, ...], Element]
"""An element, and the conditions under which it is the right one."""


def moved(call: Call, index: Index) -> Element | None:
    """The element of the operand that a call returns at an index; None if there is no single one."""
    index_map = lookup(call.op).index_map
    if index_map is None:
        return None
    x, (output,) = call.inputs[0], call.outputs
    return x, index_map(index, x.shape, output.shape, **call.params)


def cases(call: Call, index: Index, starts: Sequence[Affine]) -> list[Case] | None:
    """The elements among which a call chooses by its index: the first whose conditions hold; the last has none.

    `starts` says where a window begins that is only known at run time.
    """
    match call.op:
        case "concatenate":
            return list(_parts(call, index, int_param(call, "axis")))
        case "pad":
            x, fill = call.inputs
            inner = [
                n + max_expr(n - 1, 0) * gap
                for n, gap in zip(x.shape, ints_param(call, "interior"), strict=True)
            ]
            steps = [gap + 1 for gap in ints_param(call, "interior")]
            return [_inside(x, index, ints_param(call, "low"), inner, steps), ((), (fill, ()))]
        case "update_slice":
            x, y = call.inputs
            sizes = [
                stop - start
                for start, stop in zip(ints_param(call, "start"), ints_param(call, "stop"), strict=True)
            ]
            return [
                _inside(y, index, ints_param(call, "start"), sizes, ints_param(call, "step")),
                ((), (x, index)),
            ]
        case "dynamic_update_slice":
            x, y = call.inputs[:2]
            return [_inside(y, index, starts, y.shape, (1,) * y.ndim), ((), (x, index))]
        case _:
            return None


def _parts(call: Call, index: Index, axis: int) -> Iterator[Case]:
    place = index[axis]
    for part in call.inputs[:-1]:
        dim = part.shape[axis]
        yield (
            (Between(place, min_expr(place.low, 0), dim),),
            (part, (*index[:axis], place, *index[axis + 1 :])),
        )
        place = place - dim
    yield (), (call.inputs[-1], (*index[:axis], place, *index[axis + 1 :]))


def halves(parts: Sequence[Case]) -> tuple[tuple[Condition, ...], list[Case], Sequence[Case]]:
    """The parts of a concatenation as two of about equal number, and the condition that the first has the element."""
    middle = len(parts) // 2
    within = [condition for conditions, _ in parts[:middle] for condition in conditions]
    sizes = [condition.high for condition in within if isinstance(condition, Between)]
    first = within[0]
    assert isinstance(first, Between)
    joint = Between(first.place, first.low, sum(sizes))
    return (joint,), [*parts[: middle - 1], ((), parts[middle - 1][1])], parts[middle:]


def _inside(
    x: Value, index: Index, starts: Sequence[Affine | int], sizes: Sequence[int], steps: Sequence[int]
) -> Case:
    """The element of `x`, which is at every `step`-th position of a window."""
    conditions: list[Condition] = []
    within: list[Affine] = []
    for place, start, size, step in zip(index, starts, sizes, steps, strict=True):
        along = place - start if isinstance(start, Affine) else place + -start
        conditions += [Between(along, 0, size), *([Multiple(along, step)] if step > 1 else [])]
        within.append(along // step)
    return tuple(conditions), (x, tuple(within))


def holds(condition: Condition) -> bool | None:
    """Whether a condition holds for all values of its variables (True), for none (False), or for some (None)."""
    place = condition.place
    if isinstance(condition, Multiple):
        rest = place % condition.step
        return _truth(rest.constant == 0, rest.constant != 0) if not rest.terms else None
    if is_known(condition.low <= place.low) and is_known(place.high < condition.high):
        return True
    return False if is_known(place.high < condition.low) or is_known(place.low >= condition.high) else None


def _truth(fact: object, opposite: object) -> bool | None:
    """Whether a fact holds for all sizes (True), for none (False), or for some (None)."""
    return True if is_known(fact) else False if is_known(opposite) else None
