"""The graph of one call of a NumPy function, from which its derivative is made."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...compiler.builder import not_recording, recording
from ...compiler.ir import Graph, Value
from ...compiler.memory_layout.layout import Layout
from ...compiler.tracing.trace import Trace
from ...compiler.tracing.traced_array import TracedArray
from .operand_types import OperandType


@dataclass(frozen=True, slots=True)
class Place:
    """Stands for an operand, by number, among the arguments of a call."""

    number: int


def filled(arguments: Any, operands: Sequence[Any]) -> Any:
    """The arguments with the operands in their places."""
    if type(arguments) is Place:
        return operands[arguments.number]
    if type(arguments) in (tuple, list):
        return type(arguments)(filled(one, operands) for one in arguments)
    return arguments


def graph_of_call(
    name: str,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    options: Mapping[str, Any],
    kinds: Sequence[OperandType],
    layouts: Sequence[Layout | None] = (),
) -> tuple[Graph, Any]:
    """The graph of ``function(*arguments, **options)``, and the views from its first operand to the result; None if
    the result is new memory."""
    with not_recording(), recording(Trace(name, check_bounds=False)) as record:
        operands = [
            TracedArray(
                record.add_input(Value(kind.type), f"x{number}", None, layouts[number] if layouts else None),
                kind.type,
                is_scalar=not kind.type.shape,
                weak=kind.weak,
            )
            for number, kind in enumerate(kinds)
        ]
        given = {key: filled(one, operands) for key, one in options.items()}
        result = function(*filled(arguments, operands), **given)
        outputs = (result.value,)
        views = None
        if operands and result._storage is operands[0]._storage:
            views = result._views
    graph = Graph(name, tuple(record.inputs), tuple(record.calls), outputs)
    return _without_lines(graph), views


def _without_lines(graph: Graph) -> Graph:
    """The graph without the lines of the user's program: a plan serves calls in many lines."""
    calls = (call if call.location is None else replace(call, location=None) for call in graph.calls)
    return replace(graph, calls=tuple(calls))
