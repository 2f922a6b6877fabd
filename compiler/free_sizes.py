"""The symbolic sizes that stand in a graph, in types and in parameters."""

from collections.abc import Iterator
from typing import Any

from .ir import Call, Graph, called
from .symbolic_size import SymbolicSize


def sizes_in_graph(graph: Graph) -> Iterator[SymbolicSize]:
    """Those of a graph and of all that it holds, as often as they occur."""
    for value in graph.inputs:
        yield from sizes_in_param(value.type.shape)
    for call in graph.calls:
        yield from sizes_in_call(call)


def sizes_in_call(call: Call) -> Iterator[SymbolicSize]:
    """Those of what a call makes, of its parameters, and of the graphs that it holds."""
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
    """Those of one parameter, but for a graph's."""
    if isinstance(param, SymbolicSize):
        yield param
    elif isinstance(param, tuple):
        for item in param:
            yield from sizes_in_param(item)
