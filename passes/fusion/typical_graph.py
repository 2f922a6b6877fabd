"""A graph with typical sizes in place of symbolic ones: fusion weighs this graph and plans the original."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...compiler.free_sizes import sizes_in_graph
from ...compiler.ir import Call, Graph, Value
from ...compiler.substitution import Substitution
from ...compiler.symbolic_size import SymbolicSize, is_known, typical
from .group import Group
from .plan import Plan, Step, Unit

ATTEMPTS = 8
"""How often other sizes are tried if two sizes of a graph would be equal."""


@dataclass(frozen=True, slots=True)
class TypicalGraph:
    """A graph with concrete sizes, and how its calls and values correspond to those of the symbolic graph."""

    symbolic: Graph
    graph: Graph
    values: Mapping[Value, Value]
    """The symbolic graph's calls and values, by their concrete counterparts. Constants are the same."""
    calls: Mapping[Call, Call]

    def overwritten(self, found: Mapping[Value, Call]) -> Mapping[Value, Call]:
        """What calls of the symbolic graph overwrite."""
        ours = {theirs: value for value, theirs in self.values.items()}
        calls = {theirs: call for call, theirs in self.calls.items()}
        return {ours[value]: calls[call] for value, call in found.items()}

    def to_symbolic(self, plan: Plan) -> Plan:
        """The same plan for the symbolic graph."""
        return Plan(
            self.symbolic,
            plan.costs,
            [self._unit(unit) for unit in plan.units],
            overwritten={self._value(value): time for value, time in plan.overwritten.items()},
            is_held=plan.is_held,
        )

    def _unit(self, unit: Unit) -> Unit:
        if isinstance(unit, Step):
            return Step(unit.time, self.calls[unit.call])
        return Group(
            unit.time,
            unit.costs,
            self.calls[unit.largest],
            {self.calls[call]: None for call in unit.calls},
            [self._value(value) for value in unit.stored],
            is_view=unit.is_view,
        )

    def _value(self, value: Value) -> Value:
        return self.values.get(value, value)


def typical_graph(graph: Graph) -> TypicalGraph:
    """Sizes are equal only if they are known to be equal, and are never 1.

    Otherwise, sizes that happen to be equal in the current call would look like one axis.
    """
    substitution = Substitution(_distinct_sizes(graph).__getitem__)
    fixed = substitution.graph(graph)
    values = {ours: value for value, ours in substitution.values.items()}
    return TypicalGraph(graph, fixed, values, dict(zip(fixed.calls, graph.calls, strict=True)))


def has_symbolic_shapes(graph: Graph) -> bool:
    """Whether a value of a graph, or of one of its nested graphs, has symbolic sizes."""
    return any(type(dim) is not int for dim in _dims(graph))


def _dims(graph: Graph) -> Iterable[Any]:
    """The lengths of all axes of values, with repetitions."""
    for value in graph.inputs:
        yield from value.shape
    for call in graph.calls:
        for value in call.outputs:
            yield from value.shape


def _distinct_sizes(graph: Graph) -> Mapping[SymbolicSize, int]:
    symbolic = list(dict.fromkeys(sizes_in_graph(graph)))
    named = sorted({one for size in symbolic for one in size.sizes}, key=str)
    axes = dict.fromkeys(_dims(graph))
    found: dict[SymbolicSize, int] = {}
    for attempt in range(ATTEMPTS):
        values = {str(size): typical(size) + attempt * (2 * n + 1) for n, size in enumerate(named)}
        found = {size: _value(size, values) for size in symbolic}
        if _are_distinct(axes, found):
            break
    return found


def _value(size: SymbolicSize, values: Mapping[str, int]) -> int:
    try:
        return max(2, size.at(values))
    except ZeroDivisionError:
        return 2


def _are_distinct(dims: Iterable[Any], found: Mapping[SymbolicSize, int]) -> bool:
    by_value: dict[int, Any] = {}
    for dim in dims:
        value = found[dim] if isinstance(dim, SymbolicSize) else dim
        other = by_value.setdefault(value, dim)
        if other is not dim and not is_known(other == dim):
            return False
    return True
