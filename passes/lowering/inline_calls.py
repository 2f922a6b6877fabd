"""Put the graphs of calls in the place of the calls, so that what they compute fuses with what is around them."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from ...compiler.analysis.fusible_ops import is_loop_call
from ...compiler.builder import inline
from ...compiler.ir import Graph, Param, Value, called
from ..rewrite import Rewriter

SMALL = 32
"""A graph of so few calls is inlined wherever it is called; a longer one only where it is called once."""


def inline_calls(graph: Graph) -> Graph:
    """Replace calls of `call`, and those of `checkpoint` that fuse, by the calls that their graphs hold.

    Before ``call_1: f64[3] = call(x, graph=f)``, where ``def f(x): sin_1 = sin(x); return sin_1``, after::

        sin_1: f64[3] = sin(x)

    It comes when transforms are done, and equal calls are shared: what a checkpoint computes again stays apart from
    what was computed before. A checkpoint that is not loops alone stays a call, since what it computes in between is
    then freed when it returns. Calls run where they were called, in the same order.
    """
    sites: Counter[Graph] = Counter()
    _count_sites(graph, sites)
    return _Inliner(graph, sites, {}).run()


def _count_sites(graph: Graph, sites: Counter[Graph]) -> None:
    """Count by how many calls each graph is held, at any depth."""
    for nested in called(graph.calls):
        sites[nested] += 1
        if sites[nested] == 1:
            _count_sites(nested, sites)


class _Inliner(Rewriter):
    def __init__(self, graph: Graph, sites: Mapping[Graph, int], inlined: dict[Graph, Graph]) -> None:
        super().__init__(graph)
        self.sites = sites
        self.inlined = inlined
        """What has become of nested graphs, so that one that is called often is gone through once."""
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
