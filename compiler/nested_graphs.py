"""Making graphs for calls to hold: by recording, and from a graph with its inputs and outputs in another order."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from .ir import ArrayType, Call, Constant, Graph, Value
from .trace import Builder, current_builder, recording

T = TypeVar("T")


def graph_of(
    name: str,
    types: Sequence[ArrayType],
    function: Callable[..., Sequence[Value]],
    names: Sequence[str] = (),
) -> Graph:
    """What `function` records on values of these types. Calls get the line of the user's that is current."""
    inputs = tuple(map(Value, types))
    outer = current_builder()
    with recording(Builder()) as builder:
        builder.location = None if outer is None else outer.where()
        outputs = tuple(function(*inputs))
    return Graph(name, inputs, tuple(builder.calls), outputs, tuple(names))


def rearranged(graph: Graph, inputs: Sequence[int | ArrayType], outputs: Sequence[int]) -> Graph:
    """`graph` with these of its outputs, and its inputs in this order; a type adds an input that it does not use."""
    values = tuple(graph.inputs[i] if isinstance(i, int) else Value(i) for i in inputs)
    names = tuple(graph.input_names[i] if isinstance(i, int) else "unused" for i in inputs)
    return Graph(graph.name, values, graph.calls, tuple(graph.outputs[i] for i in outputs), names)


def needed_calls(graph: Graph, values: Sequence[Value]) -> tuple[Call, ...]:
    """The calls of `graph` that `values` are computed by, in order."""
    needed = {value for value in values if not isinstance(value, Constant)}
    kept: list[Call] = []
    for call in reversed(graph.calls):
        if any(value in needed for value in call.outputs):
            kept.append(call)
            needed.update(call.inputs)
    return tuple(reversed(kept))


def chosen(items: Sequence[T], marks: Sequence[bool]) -> list[T]:
    """The items that are marked."""
    return [item for item, is_marked in zip(items, marks, strict=True) if is_marked]


def spread(items: Iterator[T], marks: Sequence[bool]) -> tuple[T | None, ...]:
    """The next item at each mark, None elsewhere."""
    return tuple(next(items) if is_marked else None for is_marked in marks)
