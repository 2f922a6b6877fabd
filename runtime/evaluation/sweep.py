"""The backward pass through the nodes of an evaluated function."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Final

from .evaluating import Node

_by_number: Final = attrgetter("number")


class Cotangents:
    """The cotangents that have arrived at the nodes, while the backward pass goes through them."""

    __slots__ = ("arrived", "parts")

    def __init__(self) -> None:
        self.arrived: dict[Node, Any] = {}
        self.parts: dict[Node, Any] = {}
        """Sums of cotangents of parts of an array, in memory of its size that nothing else uses."""

    def add(self, node: Node, cotangent: Any) -> None:
        before = self.arrived.get(node)
        self.arrived[node] = cotangent if before is None else before + cotangent


def pulled(outputs: Sequence[tuple[Node, Any]], leaves: Sequence[Node]) -> list[Any]:
    """The cotangent of each leaf, given those of some nodes; None if nothing reaches it."""
    cotangents = Cotangents()
    for node, cotangent in outputs:
        cotangents.add(node, cotangent)
    arrived, parts = cotangents.arrived, cotangents.parts
    for node in reached([node for node, _ in outputs]):
        plan = node.plan
        if plan is None:  # a leaf
            continue
        cotangent = arrived.pop(node, None)
        if parts and node in parts:
            cotangent = parts.pop(node) if cotangent is None else cotangent + parts.pop(node)
        if plan.pull is not None:
            plan.pull(node, cotangent, cotangents)
            continue
        parents = node.parents
        results = plan.backward(*node.saved, cotangent)
        for parent, result in zip(parents, results):  # noqa: B905 (a result per parent)
            before = arrived.get(parent)
            arrived[parent] = result if before is None else before + result
    found = []
    for leaf in leaves:
        cotangent = arrived.get(leaf)
        if leaf in parts:
            cotangent = parts[leaf] if cotangent is None else cotangent + parts[leaf]
        found.append(cotangent)
    return found


def reached(first: Sequence[Node]) -> list[Node]:
    """The nodes that lead to these, the latest first."""
    stack = list(first)
    seen = set(stack)
    while stack:
        for parent in stack.pop().parents:
            if parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return sorted(seen, key=_by_number, reverse=True)
