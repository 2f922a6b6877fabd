"""The derivative of an evaluated function as a graph, which is linear in the tangents of its arguments.

For what the backward pass does not do: directions of forward mode, batches of cotangents, and masks of branches.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...compiler.builder import Builder, inline, recording
from ...compiler.ir import ArrayType, Constant, Graph, Value
from ...compiler.ops.control.checkpoint import without_effects
from ...compiler.tracing.trace import Trace
from ...compiler.value_ops import add, zeros_like
from ...passes.simplification.remove_dead_code import remove_dead_code
from .evaluated_memory import Evaluated
from .nodes import Node, NodeOfGraphs, NodeOfSeveral
from .operand_types import OperandType
from .plans import Plan
from .squared_lengths import Squared, SquaredLengths
from .sweep import reached


def linear_graph(
    outputs: Sequence[tuple[Node | None, ArrayType]],
    leaves: Sequence[tuple[Node, ArrayType]],
    again: Trace | None = None,
) -> tuple[Graph, list[Evaluated]]:
    """``linear(*residuals, *tangents)`` from tangents of the leaves to those of the outputs, and the residuals.

    A leaf may be computed from another one. Its tangent is added to what comes from that. If the residuals are
    differentiated `again`, in that trace, they have their nodes.
    """
    return _Linear(leaves, again).graph(outputs)


class _Linear:
    """The tangents of nodes, while they are pushed from the leaves to the outputs."""

    def __init__(self, leaves: Sequence[tuple[Node, ArrayType]], again: Trace | None) -> None:
        self.again = again
        self.given = [Value(type) for _, type in leaves]
        self.tangents: dict[Node, Any] = {
            node: value for (node, _), value in zip(leaves, self.given, strict=True)
        }
        self.leaves = frozenset(self.tangents)
        self.of_squares: dict[Node, Any] = {}
        """The tangents of the squares of lengths."""
        self.lengths: SquaredLengths | None = None
        self.residuals: dict[tuple[int, int], tuple[Value, Evaluated]] = {}

    def graph(self, outputs: Sequence[tuple[Node | None, ArrayType]]) -> tuple[Graph, list[Evaluated]]:
        with recording(Builder()) as builder:
            since = min((node.number for node in self.leaves), default=0)
            nodes = reached([node for node, _ in outputs if node is not None], since)[::-1]
            if self.again is not None:
                self.lengths = SquaredLengths(nodes)
            for node in nodes:
                if any(parent in self.tangents for parent in node.parents):
                    location = node.location
                    builder.location = location and location.of_derivative()
                    self._push(node)
            builder.location = None
            results = tuple(
                zeros_like(Value(type)) if node not in self.tangents else self.tangents[node]
                for node, type in outputs
            )
        inputs = (*(value for value, _ in self.residuals.values()), *self.given)
        arrays = [array for _, array in self.residuals.values()]
        return remove_dead_code(Graph("linear", inputs, tuple(builder.calls), results)), arrays

    def _push(self, node: Node) -> None:
        before = self.tangents.pop(node, None) if node in self.leaves else None
        if self.lengths is not None and self.lengths.at and node in self.lengths.squares:
            self._push_square(node, self.lengths.squares[node])
        if node.plan.push is not None:
            node.plan.push(node, self.tangents)
        elif self.lengths is not None and node in self.lengths.at:
            self.tangents[node] = self._by_squares(node, self.lengths.at[node])
        else:
            known = [self.tangents.get(parent) for parent in node.parents]
            found = self._by_plan(node.plan, saved_values(node, self.again), known)
            self.tangents[node] = found[0] if len(node.plan.types) == 1 else found
        if before is not None:
            pushed: Any = self.tangents.get(node)
            self.tangents[node] = before if pushed is None else add(before, pushed)

    def _push_square(self, node: Node, squared: Squared | None) -> None:
        """Push the tangents through the square of a length."""
        if squared is None:
            node.plan.push(node, self.of_squares)
        else:
            self.of_squares[node] = self._by_squares(node, squared)

    def _by_squares(self, node: Node, squared: Squared) -> Value:
        known = [
            (self.of_squares if is_length else self.tangents).get(parent)
            for parent, is_length in zip(squared.parents, squared.are_lengths, strict=True)
        ]
        saved = saved_values(node, self.again)
        return self._by_plan(squared.plan, [saved[place] for place in squared.places], known)[0]

    def _by_plan(self, plan: Plan, saved: Sequence[Value], known: Sequence[Any]) -> tuple[Value, ...]:
        graph = plan.pushed()
        own = graph.inputs[len(saved) :]
        full = [zeros_like(v) if one is None else one for one, v in zip(known, own, strict=True)]
        return inline(graph, (*map(self._residual, saved), *full))

    def _residual(self, saved: Value) -> Value:
        if isinstance(saved, Constant):
            return saved
        assert isinstance(saved, Evaluated)
        key = id(saved.array), id(saved.node)
        if key not in self.residuals:
            self.residuals[key] = Value(saved.type), saved
        return self.residuals[key][0]


def saved_values(node: Node, again: Trace | None = None) -> list[Value]:
    """What a node has saved, with the nodes that it comes from, so that it can be differentiated again.

    A call that holds graphs computes it once more, without what the call has printed.
    """
    if isinstance(node, NodeOfGraphs):
        if again is None:
            return list(map(_value, node.saved))
        forward: Graph = node.plan.forward
        silent = replace(forward, calls=tuple(without_effects(forward.calls)))
        with recording(again):
            found = inline(silent, node.inputs)[len(node.graph.outputs) :]
        return [found[place] for place in node.plan.places]
    return [_value(x, origin) for x, origin in zip(node.saved, origins(node), strict=True)]


def origins(node: Node) -> list[Any]:
    """The nodes that what a node has saved comes from; None for what does not depend on arguments."""
    plan = node.plan
    parents = iter(node.parents)
    operands = [next(parents) if is_wanted else None for is_wanted in plan.wrt]

    def origin(kind: OperandType, place: int) -> Any:
        if place < len(operands):
            return operands[place]
        if isinstance(node, NodeOfSeveral):
            return node.node_of(place - len(operands))
        return node if kind.is_inexact else None

    return [origin(kind, place) for kind, place in zip(plan.kinds, plan.places, strict=True)]


def _value(x: Any, node: Any = None) -> Value:
    if isinstance(x, (np.ndarray, np.generic)) or node is not None:
        return Evaluated(np.asarray(x), node)
    return Constant(x if isinstance(x, complex) else float(x))
