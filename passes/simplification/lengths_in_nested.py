"""`in_nested`: transforms the nested graphs that compute lengths, such as bodies of loops."""

from collections.abc import Callable
from dataclasses import replace

from ...compiler.free_sizes import names_bound_in
from ...compiler.ir import Graph, Param, called


def in_nested(graph: Graph, transform: Callable[[Graph], Graph]) -> Graph:
    """The graph after `transform` of each nested graph that computes lengths."""
    if not any(map(names_bound_in, called(graph.calls))):
        return graph

    def transformed(param: Param) -> Param:
        if isinstance(param, Graph):
            return transform(param)
        return tuple(map(transformed, param)) if isinstance(param, tuple) else param

    calls = (
        replace(call, params={name: transformed(param) for name, param in call.params.items()})
        if any(map(names_bound_in, called((call,))))
        else call
        for call in graph.calls
    )
    return replace(graph, calls=tuple(calls))
