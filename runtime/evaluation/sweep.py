"""The backward pass through the nodes of an evaluated function."""

from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import Any, Final

import numpy as np

from .nodes import Node
from .operand_types import OperandType

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

    def add_part(self, node: Node, kind: OperandType, index: Any, cotangent: Any) -> None:
        """Add the cotangent of ``x[index]``, with slices and integers, to that of `x`, which has this kind."""
        self._total(node, kind)[index] += cotangent

    def add_entries(self, node: Node, kind: OperandType, index: Any, cotangent: Any) -> None:
        """The same for arrays of integers, which may name an entry several times."""
        np.add.at(self._total(node, kind), index, cotangent)

    @staticmethod
    def copied(cotangent: Any) -> Any:
        """An array that may be written to."""
        return np.array(cotangent)

    @staticmethod
    def put_back(cotangent: Any, order: Any) -> Any:
        """What became `cotangent` when it was put in this order."""
        found = np.empty(cotangent.shape, cotangent.dtype)
        found[order] = cotangent
        return found

    def _total(self, node: Node, kind: OperandType) -> Any:
        total = self.parts.get(node)
        if total is None:
            total = self.parts[node] = np.zeros(kind.type.shape, kind.type.dtype)
        return total


def pull_back(
    outputs: Sequence[tuple[Node, Any]],
    leaves: Sequence[Node],
    nodes: Sequence[Node] | None = None,
    inner_leaves: Collection[Node] = (),
) -> list[Any]:
    """The cotangent of each leaf, given those of some nodes; None if nothing reaches it.

    The `nodes` to go through, the latest first, are all that lead to the outputs, unless they are given. They include
    the `inner_leaves`: those that are computed from other leaves.
    """
    passed: dict[Node, Any] = {}
    cotangents = Cotangents()
    for node, cotangent in outputs:
        cotangents.add(node, cotangent)
    arrived, parts = cotangents.arrived, cotangents.parts
    for node in reached([node for node, _ in outputs]) if nodes is None else nodes:
        plan = node.plan
        if plan is None:  # a leaf
            continue
        cotangent = arrived.pop(node, None)
        if parts and node in parts:
            cotangent = parts.pop(node) if cotangent is None else cotangent + parts.pop(node)
        if cotangent is None:  # the derivative of all that is computed from it is 0
            continue
        if inner_leaves and node in inner_leaves:
            passed[node] = cotangent
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
        cotangent = passed[leaf] if leaf in passed else arrived.get(leaf)
        if leaf in parts:
            cotangent = parts[leaf] if cotangent is None else cotangent + parts[leaf]
        found.append(cotangent)
    return found


class Tangents(dict[Node, Any]):
    """The tangents of nodes."""

    @staticmethod
    def zeros(kind: OperandType) -> Any:
        return np.zeros(kind.type.shape, kind.type.dtype)

    @staticmethod
    def copied(tangent: Any) -> Any:
        """An array that may be written to."""
        return np.array(tangent)

    @staticmethod
    def part(tangent: Any, index: Any) -> Any:
        """The tangent of ``x[index]``."""
        return tangent[index]

    @staticmethod
    def write(tangent: Any, index: Any, new: Any) -> None:
        """``x[index] = new``; None has the tangent 0."""
        tangent[index] = 0 if new is None else new

    def collected(self, parts: Sequence[tuple[OperandType, Any, Any]]) -> Any:
        """The sum of arrays that are 0 except for a part, each given by its kind, the index, and the part."""
        total = self.zeros(parts[0][0])
        for _, index, part in parts:
            add_at(total, index, part)
        return total


def add_at(total: Any, index: Any, part: Any) -> None:
    """``np.add.at(total, index, part)``, which is slow and needed only for arrays of integers."""
    if any(isinstance(one, np.ndarray) for one in (index if type(index) is tuple else (index,))):
        np.add.at(total, index, part)
    else:
        total[index] += part


def push_forward(tangents: Tangents, outputs: Sequence[Node]) -> None:
    """Add the tangents of the nodes that lead to the outputs, given those of the leaves."""
    for node in reversed(reached(outputs)):
        plan, parents = node.plan, node.parents
        moving = tuple([parent in tangents for parent in parents])
        if plan is None or not any(moving):
            continue
        if plan.push is not None:
            plan.move(node, tangents)
            continue
        given = [tangents[parent] for parent in parents if parent in tangents]
        found = plan.pushing(moving).function(*node.saved, *given)
        tangents[node] = found[0] if len(plan.types) == 1 else found


def reached(first: Sequence[Node], since: int = 0) -> list[Node]:
    """The nodes that lead to these, the latest first. Those with a number below `since` are left out."""
    stack = [node for node in first if node.number >= since]
    seen = set(stack)
    while stack:
        for parent in stack.pop().parents:
            if parent not in seen and parent.number >= since:
                seen.add(parent)
                stack.append(parent)
    return sorted(seen, key=_by_number, reverse=True)
