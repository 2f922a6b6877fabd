"""The values that a loop of a nest carries: C variables, arrays in place, and numbers computed from the counter."""

from collections.abc import Sequence
from dataclasses import dataclass

from ....ir import Call, Graph, Value
from ..types import c_type
from .bounds import Known, LinearForm
from .numbers import Item, NotOfNumbersError, Numbers
from .progress import bound_by_growth, fresh_integers, growth


@dataclass(frozen=True, slots=True)
class Carried:
    """A carried value, while the body of its loop is written."""

    value: Value
    """Its value after the loop."""
    start: Item
    item: Item
    """Its value in the body."""
    step: Known
    """Its increment."""
    variable: str | None = None
    """Its C variable; None for arrays and counters."""


def carry_of(
    numbers: Numbers, call: Call, body: Graph, given: Sequence[Item], consts: int, steps: int | None
) -> tuple[list[Carried], list[Known]]:
    """The carry of a loop, with the bounds of integers; `steps` is the maximum number of steps."""
    count = len(given) - consts
    values = body.inputs[consts : consts + count]
    integers = fresh_integers(values)
    grown = growth(body, [*given[:consts]], integers)
    found: list[Carried] = []
    outputs = call.outputs[:count]
    for value, start, known, step, output in zip(
        values, given[consts:], integers, grown, outputs, strict=True
    ):
        if known is not None and steps is not None:
            bound_by_growth(known, start.known, step, steps - 1)
        if start.memory is not None:
            found.append(Carried(output, start, start, None))
            continue
        name = numbers.claim(body.input_names[body.inputs.index(value)])
        found.append(Carried(output, start, Item(name, known), step, name))
    memories = [one.item.memory for one in found if one.item.memory is not None]
    if len(set(memories)) < len(memories):
        raise NotOfNumbersError("two carried arrays in one memory")
    return found, integers


def declare(numbers: Numbers, carried: Sequence[Carried]) -> None:
    """The variables of the carried numbers, before the first step."""
    for one in carried:
        if one.variable:
            numbers.lines.variable(c_type(one.value.dtype), one.variable, one.start.text)


def carry_on(numbers: Numbers, pairs: Sequence[tuple[Carried, Item]]) -> None:
    """The statements that set the carried numbers to those of the next step, all at once."""
    variables = {one.variable for one, _ in pairs}
    texts: list[str] = []
    for one, item in pairs:
        if item.text in variables and item.text != one.variable:
            name = numbers.names.numbered(f"{item.text}_before")
            numbers.lines.define(c_type(one.value.dtype), name, item.text)
            texts.append(name)
        else:
            texts.append(item.text)
    for (one, _), text in zip(pairs, texts, strict=True):
        if text != one.variable:
            numbers.lines.line(f"{one.variable} = {text};")


def as_counter(one: Carried, counter: str, number: LinearForm) -> Carried:
    """Compute a value that grows by the same amount in each step from the number of the step."""
    if one.variable is None or one.step is None or one.step.terms or not one.step.constant:
        return one
    known = None if one.start.known is None else one.start.known + number.times(one.step.constant)
    is_same = one.step.constant == 1 and one.start.text == "INT64_C(0)"
    return Carried(one.value, one.start, Item(counter if is_same else one.variable, known), one.step)


def linear(start: str, step: Known, number: str) -> str:
    """The value after `number` steps of a number that starts at `start` and grows by `step`."""
    assert step is not None
    more = number if step.constant == 1 else f"{step.constant} * {number}"
    return more if start == "INT64_C(0)" else f"{start} + {more}"
