"""The symbolic sizes in a graph, in its types and parameters."""

from collections.abc import Iterator
from typing import Any

from .ir import Call, Graph, called
from .symbolic_size import SymbolicSize


def sizes_in_graph(graph: Graph) -> Iterator[SymbolicSize]:
    """The sizes of a graph and of everything in it, with repetitions."""
    for value in graph.inputs:
        yield from sizes_in_param(value.type.shape)
    for call in graph.calls:
        yield from sizes_in_call(call)


def sizes_in_call(call: Call) -> Iterator[SymbolicSize]:
    """The sizes in the outputs of a call, in its parameters, and in its nested graphs."""
    for output in call.outputs:
        yield from sizes_in_param(output.type.shape)
    for param in call.params.values():
        yield from sizes_in_param(param)
    for graph in called((call,)):
        yield from sizes_in_graph(graph)


def is_symbolic(found: Graph | Call) -> bool:
    """Whether any size is symbolic."""
    sizes = sizes_in_graph(found) if isinstance(found, Graph) else sizes_in_call(found)
    return any(True for _ in sizes)


def sizes_in_param(param: Any) -> Iterator[SymbolicSize]:
    """The sizes of one parameter, except a graph."""
    if isinstance(param, SymbolicSize):
        yield param
    elif isinstance(param, tuple):
        for item in param:
            yield from sizes_in_param(item)
