"""Which values of loops are needed outside them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from ...compiler.ir import Graph, Value
from ...compiler.op import lookup
from .loop import Loop, Numbering
from .operand import BodyOutput, Carried, OutsideValue, Rows

Needs: TypeAlias = dict[BodyOutput, set[int]]
"""The repetitions whose values a loop must return."""


def needs_of(graph: Graph, numbering: Numbering, loops: Sequence[Loop]) -> list[Needs]:
    """What each of the loops must return."""
    needs: list[Needs] = [{} for _ in loops]
    owner = [-1] * len(numbering.maker)
    for index, one in enumerate(loops):
        owner[one.first : one.stop] = [index] * (one.stop - one.first)

    def need(values: Iterable[Value]) -> None:
        for value in values:
            number = numbering.of.get(value)
            if number is None or owner[number] < 0:
                continue
            maker = loops[owner[number]]
            viewed = viewed_from_outside(value, maker, numbering)
            if viewed is not None:
                need((viewed,))
                continue
            made, repetition = maker.find(number)
            needs[owner[number]].setdefault(made, set()).add(repetition)

    for index, loop in outside(graph, loops):
        need(graph.calls[index].inputs if loop is None else _taken(loop))
    need(graph.outputs)
    return needs


def viewed_from_outside(value: Value, loop: Loop, numbering: Numbering) -> Value | None:
    """The outside array that contains `value`, in another shape; None if there is none."""
    while not numbering.is_before(value, loop.place.start):
        call = numbering.call_that_makes(value)
        if call is None or not lookup(call.op).keeps_order:
            return None
        value = call.inputs[0]
    return value


def _taken(loop: Loop) -> Iterator[Value]:
    """The values that a loop takes from outside."""
    for operand in (operand for operands in loop.operands for operand in operands):
        if isinstance(operand, OutsideValue):
            yield operand.value
        elif isinstance(operand, Carried):
            yield from operand.before
        elif isinstance(operand, Rows):
            yield operand.array


def outside(graph: Graph, loops: Sequence[Loop]) -> Iterator[tuple[int, Loop | None]]:
    """The calls outside loops, with each loop at its position among them."""
    at = 0
    for loop in loops:
        yield from ((index, None) for index in range(at, loop.place.start))
        yield loop.place.start, loop
        at = loop.place.stop
    yield from ((index, None) for index in range(at, len(graph.calls)))
