"""Drop the calls whose results are not needed."""

from typing import Final

from ...compiler.free_sizes import bound_size, bound_sizes, size_names
from ...compiler.ir import Call, Graph
from ...compiler.op import has_effect
from .narrow import narrow

CLEAN: Final = "has no dead code"
"""The name of this fact of a graph."""


def remove_dead_code(graph: Graph) -> Graph:
    """Keep the calls that an output needs, and those with an effect.

    Before ``sin_1 = sin(x); cos_1 = cos(x); return sin_1``, after ``sin_1 = sin(x); return sin_1``. Calls that hold
    graphs lose the results that nothing needs, and the calls that only those needed (`passes.simplification.narrow`).
    A call that gives a size its value stays where the size is used.
    """
    if CLEAN in graph.facts:  # a graph in graphs is asked about from each of them, again and again
        return graph
    needed = set(graph.outputs)
    kept: list[Call] = []
    sizes: set[str] | None = set() if bound_sizes(graph) else None
    for call in reversed(graph.calls):
        gives_size = sizes is not None and str(bound_size(call)) in sizes
        if gives_size or not needed.isdisjoint(call.outputs) or has_effect(call):
            call = narrow(call, needed, remove_dead_code)
            kept.append(call)
            needed.update(call.inputs)
            if sizes is not None:
                sizes |= size_names(call)
    if len(kept) == len(graph.calls) and all(
        a is b for a, b in zip(reversed(kept), graph.calls, strict=True)
    ):
        graph.facts[CLEAN] = True
        return graph
    return Graph(graph.name, graph.inputs, tuple(reversed(kept)), graph.outputs, graph.input_names)
