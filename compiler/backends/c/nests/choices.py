"""The choice between branches in a nest: statements under conditions, or the C operator for cheap numbers."""

from collections.abc import Sequence

from ....ir import Call, Value
from ..types import c_type
from .bounds import union
from .numbers import Item, NotOfNumbersError, Numbers, array_item
from .statements import Line, Statements, is_cheap


def join(
    numbers: Numbers, call: Call, results: Sequence[Sequence[Item]], bodies: Sequence[list[Line]]
) -> None:
    """Make the outputs of a branch items, and let each branch set the numbers that differ."""
    is_bare = len(bodies) == 2 and all(map(is_cheap, bodies))
    if is_bare:
        for body in bodies:
            numbers.lines.hoist(body)
    for number, output in enumerate(call.outputs):
        found = [result[number] for result in results]
        first = found[0]
        if first.memory is not None:
            if any(item.memory is not first.memory for item in found):
                raise NotOfNumbersError("a choice between arrays")
            numbers.items[output] = array_item(first.memory)
            continue
        known = union(*(item.known for item in found))
        if all(item.text == first.text for item in found):
            numbers.items[output] = Item(first.text, known)
            continue
        index = numbers.item(call.inputs[0])
        name = numbers.names.numbered("chosen")
        type = c_type(output.dtype)
        if is_bare:
            condition = index.text if call.inputs[0].dtype.kind == "b" else f"{index.text} > 0"
            numbers.lines.define(type, name, f"{condition} ? {found[1].text} : {found[0].text}")
        else:
            numbers.lines.variable(type, name)
            for body, item in zip(bodies, found, strict=True):
                with numbers.lines.appending(body):
                    numbers.lines.line(f"{name} = {item.text};")
        numbers.items[output] = Item(name, known)


def write_choice(lines: Statements, index: Value, item: Item, bodies: Sequence[list[Line]]) -> None:
    """The statement that runs one of the branches."""
    if not any(bodies):
        return
    if len(bodies) == 1:
        lines.nest("", bodies[0])
    elif len(bodies) == 2:
        otherwise, then = bodies
        holds = item.text if index.dtype.kind == "b" else f"({item.text} > 0)"
        if then:
            lines.nest(f"if ({holds})", then)
        if otherwise:
            lines.nest("else" if then else f"if (!{holds})", otherwise)
    else:
        last = len(bodies) - 1
        text = item.text
        for place, body in enumerate(bodies):
            head = "if" if not place else "else if"
            test = f"{text} <= 0" if not place else f"{text} == {place}"
            lines.nest("else" if place == last else f"{head} ({test})", body)
