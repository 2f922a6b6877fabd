"""Replace calls with custom rules by their functions, after all transforms."""

from collections.abc import Mapping
from typing import Any

from ...compiler.builder import inline
from ...compiler.ir import Graph, Value, holds_graphs
from ...compiler.ops.control.custom_rule import require_linear_graph
from ..rewrite import rewrite


def inline_rules(graph: Graph) -> Graph:
    """Replace calls of `custom_rule` and `linear_call` by their graphs: the rules have been used.

    Before ``custom_rule_1: f64[] = custom_rule(x, graph=f, differentiable=(True,), jvp=callable("…"))``, where
    ``def f(x): sin_1 = sin(x); return sin_1``, after::

        sin_1: f64[] = sin(x)
    """
    if not holds_graphs(graph):  # as calls with rules do
        return graph
    return rewrite(graph, _replacement)


def _replacement(op: str, inputs: tuple[Value, ...], params: Mapping[str, Any]) -> tuple[Value, ...] | None:
    if op == "custom_rule":
        return inline(params["graph"], inputs)
    if op == "linear_call":
        return inline(require_linear_graph(params["graph"], params["transposed"]), inputs)
    return None
