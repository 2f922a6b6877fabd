"""The comment above a C function: its call, the user's line, and the bytes that it moves."""

from dataclasses import replace

from ....ir import Call, called
from ....text.printer import location_text, param_text
from ....text.units import show_bytes
from ..function import CFunction
from ..layout import comment_line, comment_lines


def headed(function: CFunction, call: Call) -> CFunction:
    """The function of a call, with a heading; the functions of nested graphs have theirs already."""
    text, main = function.text, f"static void {function.name}("
    place = text.rindex(main) if call.op != "kernel" and list(called((call,))) else 0
    place = text.rfind("\n", 0, place) + 1  # before its helper functions
    return replace(function, text=f"{text[:place]}{_heading(call)}{text[place:]}")


def _heading(call: Call) -> str:
    outputs = ", ".join(str(value.type) for value in call.outputs)
    made = outputs if len(call.outputs) == 1 else f"({outputs})"
    if call.op == "kernel":  # whose lines name the user's
        (graph,) = called((call,))
        name, location = graph.name, None
        takes = [f"{name}: {value.type}" for name, value in zip(graph.input_names, graph.inputs, strict=True)]
    else:
        name, location = call.op, call.location
        takes = [str(value.type) for value in call.inputs]
        takes += [f"{key}={param_text(param, {}, {})}" for key, param in call.params.items()]
    moved = sum(value.type.nbytes for value in (*call.inputs, *call.outputs))
    text = comment_lines(f"{name}({', '.join(takes)}) -> {made}: moves {show_bytes(moved)}")
    return f"{text}\n" if location is None else f"{text}\n{comment_line(location_text(location))}\n"
