"""Where the elements of layout ops come from: the operand, and the index in it."""

from collections.abc import Sequence
from typing import TypeAlias

from ..affine import Affine, Index, Variable, of
from ..ir import Call, Value
from ..op import Between, Condition, ReadIndex, lookup, moved_inputs

Element: TypeAlias = tuple[Value, Index]
"""The element of a value at an index, which loops compute."""

Case: TypeAlias = tuple[Sequence[Condition], Element]
"""An element, and the conditions under which it is the right one."""


def moved(call: Call, index: Index) -> Element | None:
    """The element of the operand that a call returns at an index; None if there is no single one."""
    index_map = lookup(call.op).index_map
    if index_map is None:
        return None
    x, (output,) = call.inputs[0], call.outputs
    return x, index_map(index, x.shape, output.shape, **call.params)


def cases(call: Call, index: Index, read: ReadIndex) -> list[Case] | None:
    """The elements among which a call chooses by its index: the first whose conditions hold; the last has none.

    `read` gives an element of an integer operand as an index.
    """
    rule = lookup(call.op).cases
    if rule is None:
        return None
    found = rule(index, [value.shape for value in call.inputs], read, **call.params)
    return [(conditions, (call.inputs[k], at)) for conditions, (k, at) in found]


def is_of_columns(call: Call) -> bool:
    """Whether the entries along the last axis are those of different operands, such as of columns that are joined."""
    rule, shape = lookup(call.op).cases, call.outputs[0].shape
    if rule is None or len(moved_inputs(call)) < 2:
        return False
    rows = [of(Variable(f"i{axis}", 0, dim - 1)) for axis, dim in enumerate(shape[:-1])]

    def read(k: int, index: Index, last: int) -> Affine:
        return of(Variable(f"at{k}", 0, last))

    chosen: set[int] = set()
    for column in range(shape[-1]):
        found = rule((*rows, Affine(column)), [value.shape for value in call.inputs], read, **call.params)
        for conditions, (k, _) in found:
            truths = [one.truth for one in conditions]
            if all(truths):
                chosen.add(k)
                break
            if False not in truths:
                return False
    return len(chosen) == shape[-1]


def halves(parts: Sequence[Case]) -> tuple[Sequence[Condition], list[Case], Sequence[Case]]:
    """The parts of an axis as two of about equal number, and the condition that the first has the element."""
    middle = len(parts) // 2
    within = [condition for conditions, _ in parts[:middle] for condition in conditions]
    sizes = [condition.high for condition in within if isinstance(condition, Between)]
    first = within[0]
    assert isinstance(first, Between)
    joint = Between(first.place, first.low, sum(sizes))
    return (joint,), [*parts[: middle - 1], ((), parts[middle - 1][1])], parts[middle:]
