"""Algebra that keeps every value: each rule has a name and is one function from a call to its replacement.

Rules are exact for NaN, infinities and −0. Three things may change: the sign and payload of a NaN, which IEEE 754
leaves open for arithmetic; the order in which matrix products and scattered sums are summed; and sums of one repeated
number, which become a product and are at least as accurate.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from ...compiler.errors import InternalError
from ...compiler.ir import Graph, Param, Value
from ...compiler.op import lookup
from ..rewrite import Rewriter
from ..rewrite_rules.control_flow import RULES as CONTROL_FLOW
from ..rewrite_rules.elementwise import EVERY_ELEMENTWISE
from ..rewrite_rules.rule import RULES, Rule, Site
from .remove_dead_code import remove_dead_code

SIMPLE: Final = "is simplified"
"""The name of this fact of a graph."""


def simplify(graph: Graph, *, fired: list[str] | None = None) -> Graph:
    """Apply the rules of `passes.rewrite_rules` until none fits; their names are appended to `fired`, in order.

    Before::

        broadcast_to_1: f64[3] = broadcast_to(1.0, shape=(3,))
        multiply_1: f64[3] = multiply(x, broadcast_to_1)
        negative_1: f64[3] = negative(multiply_1)
        add_1: f64[3] = add(y, negative_1)

    after::

        subtract_1: f64[3] = subtract(y, x)
    """
    names: list[str] = [] if fired is None else fired
    while SIMPLE not in graph.facts:
        before = len(names)
        graph = remove_dead_code(_Simplifier(graph, names).run())
        if len(names) == before:  # no rule fits; almost always in the second walk
            graph.facts[SIMPLE] = True
    return graph


def rules_for(op: str) -> list[tuple[str, Rule]]:
    """The rules for calls of `op`, in order."""
    return RULES.get(op, []) + (EVERY_ELEMENTWISE if lookup(op).spelling else [])


class _Simplifier(Rewriter):
    def __init__(self, graph: Graph, fired: list[str]) -> None:
        super().__init__(graph)
        self.fired = fired
        self._rules: dict[str, list[tuple[str, Rule]]] = {}
        self.uses = Counter(value for call in graph.calls for value in call.inputs)
        self.uses.update(graph.outputs)

    def nested(self, graph: Graph) -> Graph:
        return simplify(graph, fired=self.fired)

    def emit(self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]) -> tuple[Value, ...]:
        self.uses.update(inputs)
        return super().emit(op, inputs, params)

    def stands_for(self, new: Value, old: Value) -> None:
        self.uses[new] += self.uses[old]

    def replace(
        self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]
    ) -> tuple[Value, ...] | None:
        calls, fired = self.calls, self.fired
        before, fired_before = len(calls), len(fired)
        for name, replace in CONTROL_FLOW.get(op, ()):
            results = replace(inputs, params)
            if results is not None:
                fired.append(name)
                return results
            if len(calls) != before or len(fired) != fired_before:
                raise _recorded_and_declined(name, op)
        site = Site(op, inputs, params, self.producer, self.uses)
        if op not in self._rules:
            self._rules[op] = rules_for(op)
        for name, function in self._rules[op]:
            found = function(site)
            if found is not None:
                fired.append(name)
                return (found,)
            if len(calls) != before or len(fired) != fired_before:
                raise _recorded_and_declined(name, op)
        return None


def _recorded_and_declined(name: str, op: str) -> InternalError:
    """A rule that does not fit must record nothing, or the walks would never end."""
    return InternalError(f"the rule '{name}' has recorded calls, and then does not replace {op}")
