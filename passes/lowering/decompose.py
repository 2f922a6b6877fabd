"""Express ops that a target or a transform lacks by ops that it has."""

from collections.abc import Callable, Mapping, Set
from typing import TypeAlias

from ...compiler.builder import as_tuple
from ...compiler.errors import BackendError
from ...compiler.ir import Graph, Param, Value, holds_graphs
from ...compiler.op import Op, by_decomposition, lookup
from ...compiler.ops.composite import COMPOSITES
from ...compiler.ops.decompositions import decomposable, decomposition
from ..rewrite import Rewriter


def decompose(graph: Graph, *, ops: Set[str]) -> Graph:
    """Replace the calls of `ops` by their decompositions (`compiler.ops.decompositions`), recursively.

    A call stays if the table has no decomposition for its types, such as a complex sign. An op without any
    decomposition is a `BackendError`.

    Before ``clip_1: f64[3] = clip(x, 0.0, 1.0)``, with ``ops={"clip"}`` after::

        maximum_1: f64[3] = maximum(x, 0.0)
        minimum_1: f64[3] = minimum(maximum_1, 1.0)
    """
    unknown = sorted(ops - decomposable())
    if unknown:
        raise BackendError(
            f"no decomposition is known for {', '.join(unknown)}: register one with register_decomposition"
        )
    return _Decomposer(graph, ops.__contains__).run()


Keep: TypeAlias = Callable[[str, tuple[Value, ...], Mapping[str, Param]], bool]
"""``keep(op, inputs, params)``: whether a target has its own kernel for this call."""


def _none(op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]) -> bool:
    return False


def decompose_composites(graph: Graph, *, keep: Keep = _none) -> Graph:
    """Replace the calls of composite ops except those to `keep`, for which the target has its own kernel.

    Before ``relu_1: f64[3] = relu(x)``, after::

        less_equal_1: bool[3] = less_equal(x, 0.0)
        where_1: f64[3] = where(less_equal_1, 0.0, x)
    """
    if not holds_graphs(graph) and not any(call.op in COMPOSITES for call in graph.calls):
        return graph
    return _Decomposer(graph, COMPOSITES.__contains__, keep).run()


def decompose_without(graph: Graph, rule: Callable[[Op], Callable[..., object]]) -> Graph:
    """Replace the calls of composite ops whose `rule` is their decomposition: a transform does this first.

    Nested graphs do not change, since the transform reaches them later.
    """

    def lacks(name: str) -> bool:
        return rule(lookup(name)) is by_decomposition

    return _Expander(graph, lacks).run() if any(lacks(call.op) for call in graph.calls) else graph


class _Decomposer(Rewriter):
    def __init__(self, graph: Graph, chosen: Callable[[str], bool], keep: Keep = _none) -> None:
        super().__init__(graph)
        self.chosen = chosen
        self.keep = keep

    def nested(self, graph: Graph) -> Graph:
        return _Decomposer(graph, self.chosen, self.keep).run()

    def replace(
        self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]
    ) -> tuple[Value, ...] | None:
        if not self.chosen(op) or self.keep(op, inputs, params):
            return None
        outputs = decomposition(op)(*inputs, **params)
        return None if outputs is None else as_tuple(outputs)


class _Expander(_Decomposer):
    def nested(self, graph: Graph) -> Graph:
        return graph
