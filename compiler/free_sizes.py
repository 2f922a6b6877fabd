"""The symbolic sizes in a graph, in its types and parameters, and those whose values its calls find out."""

from collections.abc import Iterator
from itertools import chain
from typing import Any, Final, cast

from .ir import Call, Graph, called
from .symbolic_size import SymbolicSize

MAXIMUM: Final = "max_"
"""Begins the name of a size by which the caller limits a length."""


def sizes_in_graph(graph: Graph) -> tuple[SymbolicSize, ...]:
    """The sizes of a graph and of everything in it. Equal ones may be there several times."""
    found: tuple[SymbolicSize, ...] | None = graph.facts.get("sizes")
    if found is None:
        shapes = [value.type.shape for value in graph.inputs]
        sizes = chain(sizes_in_param(tuple(shapes)), chain.from_iterable(map(sizes_in_call, graph.calls)))
        found = graph.facts["sizes"] = tuple({id(size): size for size in sizes}.values())
    return found


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
    if isinstance(found, Graph):
        return bool(sizes_in_graph(found))
    return any(True for _ in sizes_in_call(found))


def sizes_in_param(param: Any) -> Iterator[SymbolicSize]:
    """The sizes of one parameter, except a graph."""
    if isinstance(param, SymbolicSize):
        yield param
    elif isinstance(param, tuple):
        for item in param:
            if isinstance(item, (SymbolicSize, tuple)):
                yield from sizes_in_param(item)


def bound_size(call: Call) -> SymbolicSize | None:
    """The named size that a call gives its value, if it does."""
    return cast("SymbolicSize", call.params["dim"]) if call.op == "length" else None


def bound_sizes(graph: Graph) -> tuple[SymbolicSize, ...]:
    """The named sizes that calls of the graph give a value, in order; those of graphs in it are not among them."""
    return tuple(cast("SymbolicSize", call.params["dim"]) for call in graph.calls if call.op == "length")


def given_maximum(call: Call) -> SymbolicSize | None:
    """The named size by which the caller limits a length that a call finds out, if it does."""
    size, most = bound_size(call), call.params.get("most")
    is_given = (
        size is not None and isinstance(most, SymbolicSize) and str(most).startswith(f"{MAXIMUM}{size}")
    )
    return cast("SymbolicSize", most) if is_given else None


def names_bound_in(graph: Graph) -> frozenset[str]:
    """The names of the sizes that calls of the graph, and of graphs in it, give a value."""
    found: frozenset[str] | None = graph.facts.get("names bound in it")
    if found is None:
        nested = map(names_bound_in, called(graph.calls))
        found = graph.facts["names bound in it"] = frozenset(map(str, bound_sizes(graph))).union(*nested)
    return found


def ends_stage(call: Call) -> bool:
    """Whether a call, or one in a graph that it holds, gives a size its value, or asks for what values are."""
    return call.op in _ENDS_OF_STAGES or any(
        map(ends_stage, (one for graph in called((call,)) for one in graph.calls))
    )


_ENDS_OF_STAGES = frozenset({"expect", "expect_size", "length"})


def size_names(call: Call) -> set[str]:
    """The names of all sizes in a call."""
    return {str(one) for size in sizes_in_call(call) for one in size.sizes}
