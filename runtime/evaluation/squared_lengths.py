"""Squares of lengths, such as ``abs(x) ** 2``: their second derivatives, where the length is 0.

The square is smooth there, the length is not. So the derivative of the square goes to what the length is computed from,
past the length (`passes.transforms.squared_lengths`). Here, the calls are nodes: one squares a value, one computes the
length, and those between them move its entries or scale them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from ...compiler.builder import Builder, bind, inline, not_recording, recording
from ...compiler.ir import Graph, Value
from ...compiler.value_ops import square
from ...passes.transforms.squared_lengths import squares_length
from .nodes import Node, NodeOfGraphs
from .operand_types import from_array_type
from .parts import GatherPlan, SlicePlan, SortPlan
from .plans import Plan

_MOVERS: Final = frozenset({SlicePlan, GatherPlan, SortPlan})
"""Plans of calls that only move entries."""

_Groups = tuple[int, ...]
"""For each differentiated operand: 0, or a number above 0 if it is a length, the same for the same length."""


@dataclass(frozen=True, slots=True)
class Squared:
    """The derivative of a node or of its square, by the squares of those of its parents that are lengths."""

    plan: Plan
    """Its operands are the squares of the lengths, once each, and the other operands."""
    parents: tuple[Node, ...]
    are_lengths: tuple[bool, ...]
    places: tuple[int, ...]
    """Where the node has saved what the plan needs."""


class SquaredLengths:
    """The nodes that are lengths, and those that square them."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        """The `nodes` come in the order in which they were made."""
        self.squares: dict[Node, Squared | None] = {}
        """For each length, the derivative of its square; None for nodes that only move the entries of a length."""
        self.at: dict[Node, Squared] = {}
        """The derivative of each node that squares a length."""
        for node in nodes:
            self._add(node)

    def _add(self, node: Node) -> None:
        plan = node.plan
        if plan in _MOVERS:
            if node.parents[0] in self.squares:
                self.squares[node] = None
            return
        if not isinstance(plan, Plan) or len(plan.primal.outputs) != 1 or isinstance(node, NodeOfGraphs):
            return
        groups = self._groups(node)
        if (found := _squared(node, groups, squares=True)) is not None:
            self.squares[node] = found
        if any(groups) and (found := _squared(node, groups, squares=False)) is not None:
            self.at[node] = found

    def _groups(self, node: Node) -> _Groups:
        if not self.squares:
            return (0,) * len(node.parents)
        lengths: list[Node] = []
        groups = []
        for parent in node.parents:
            if parent not in self.squares:
                groups.append(0)
                continue
            same = [number for number, one in enumerate(lengths) if _are_alike(one, parent)]
            if not same:
                lengths.append(parent)
            groups.append(same[0] + 1 if same else len(lengths))
        return tuple(groups)


def _are_alike(x: Node, y: Node, depth: int = 8) -> bool:
    """Whether both are the same node, or the same calls of the same arrays."""
    return x is y or (
        depth > 0
        and x.plan is y.plan
        and isinstance(x.plan, Plan)
        and len(x.parents) == len(y.parents) > 0
        and all(one is other or _is_same(one, other) for one, other in zip(x.saved, y.saved, strict=True))
        and all(_are_alike(one, other, depth - 1) for one, other in zip(x.parents, y.parents, strict=True))
    )


def _is_same(x: Any, y: Any) -> bool:
    return type(x) is type(y) and bool((x == y).all() if hasattr(x, "all") else x == y)


def _squared(node: Node, groups: _Groups, *, squares: bool) -> Squared | None:
    plan = node.plan
    key = groups, squares
    if key not in plan.squares:
        plan.squares[key] = _plan(plan, groups, squares=squares)
    found = plan.squares[key]
    if found is None:
        return None
    made, places = found
    parents, seen = [], set()
    for parent, group in zip(node.parents, groups, strict=True):
        if not group or group not in seen:
            parents.append((parent, group > 0))
            seen.add(group)
    return Squared(made, tuple(parent for parent, _ in parents), tuple(one for _, one in parents), places)


def _plan(plan: Plan, groups: _Groups, *, squares: bool) -> "tuple[Plan, tuple[int, ...]] | None":
    """The plan, and the places in what a node saves of what it needs; None if it squares no length."""
    of_places = dict(
        zip([place for place, is_wanted in enumerate(plan.wrt) if is_wanted], groups, strict=True)
    )
    roots: dict[int, Value] = {}
    inputs: list[Value] = []
    origins: list[int] = []
    with not_recording(), recording(Builder()) as builder:
        given: list[Value] = []
        for place, value in enumerate(plan.primal.inputs):
            group = of_places.get(place, 0)
            if not group or group not in roots:
                inputs.append(Value(value.type))
                origins.append(place)
            if group and value.dtype.kind != "f":
                return None
            if group and group not in roots:
                roots[group] = bind("root_of_squares", inputs[-1])
            given.append(roots[group] if group else inputs[-1])
        (out,) = inline(plan.primal, given)
        outputs = (square(out) if squares else out,)
    graph = Graph(plan.primal.name, tuple(inputs), tuple(builder.calls), outputs)
    wrt = [place in of_places for place in origins]
    if outputs[0].dtype.kind != "f" or not squares_length(graph, wrt):
        return None
    saved = dict(zip(plan.places, plan.kinds, strict=True))
    kinds = [
        saved.get(place) or from_array_type(value.type) for place, value in zip(origins, inputs, strict=True)
    ]
    made = Plan(graph, wrt, kinds, from_array_type(outputs[0].type))
    if squares and any(place >= len(origins) for place in made.places):
        return None  # the square of the length was not computed
    needed = [origins[place] if place < len(origins) else len(plan.primal.inputs) for place in made.places]
    if any(place not in plan.places for place in needed):
        return None
    return made, tuple(plan.places.index(place) for place in needed)
