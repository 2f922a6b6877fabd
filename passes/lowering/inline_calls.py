"""Replace calls by the graphs that they hold, so that their contents fuse with the surrounding calls."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from ...compiler.analysis.fusible_ops import is_loop_call
from ...compiler.builder import inline
from ...compiler.ir import Graph, Param, Value, called
from ..rewrite import Rewriter

SMALL = 32
"""A graph with at most this many calls is inlined wherever it is called; a longer one only if it is called once."""


def inline_calls(graph: Graph) -> Graph:
    """Replace calls of `call`, and of `checkpoint` if it fuses, by the calls of their graphs.

    Before ``call_1: f64[3] = call(x, graph=f)``, where ``def f(x): sin_1 = sin(x); return sin_1``, after::

        sin_1: f64[3] = sin(x)

    It runs after the transforms, and after equal calls are shared, so that the recomputed part of a checkpoint stays
    separate from the first computation. A checkpoint that does not consist of loops only stays a call, so that its
    intermediate values are freed when it returns. Calls run at the position of the call, in the same order.
    """
    sites: Counter[Graph] = Counter()
    _count_sites(graph, sites)
    return _Inliner(graph, sites, {}).run()


def _count_sites(graph: Graph, sites: Counter[Graph]) -> None:
    """Count how many calls hold each graph, at any depth."""
    for nested in called(graph.calls):
        sites[nested] += 1
        if sites[nested] == 1:
            _count_sites(nested, sites)


class _Inliner(Rewriter):
    def __init__(self, graph: Graph, sites: Mapping[Graph, int], inlined: dict[Graph, Graph]) -> None:
        super().__init__(graph)
        self.sites = sites
        self.inlined = inlined
        """The results for nested graphs, so that a graph that is called often is processed once."""
        self.called_once: set[Graph] = set()

    def nested(self, graph: Graph) -> Graph:
        if graph not in self.inlined:
            self.inlined[graph] = _Inliner(graph, self.sites, self.inlined).run()
        if self.sites[graph] == 1:
            self.called_once.add(self.inlined[graph])
        return self.inlined[graph]

    def replace(
        self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]
    ) -> tuple[Value, ...] | None:
        if op not in ("call", "checkpoint"):
            return None
        given: Mapping[str, Any] = params
        graph: Graph = given["graph"]
        if len(graph.calls) > SMALL and graph not in self.called_once:
            return None
        if op == "checkpoint" and not all(map(is_loop_call, graph.calls)):
            return None
        return inline(graph, inputs)
