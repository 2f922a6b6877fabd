"""The backward pass of a derivative inside of a function that is evaluated: it leaves nodes, too.

So the derivative can be differentiated again. The nodes are those of one trace: the inner derivative begins at nodes of
its own, the copies of its arguments.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ...compiler.builder import inline
from ...compiler.frontend.program import ArrayOutput
from ...compiler.ir import Graph
from .evaluated_array import EvaluatedArray, new_result
from .evaluated_memory import elements
from .evaluating import Evaluating
from .linear_graph import origins, saved_values
from .nodes import Node, NodeOfGraphs
from .operand_types import OperandType, operand_type
from .parts import CollectedPlan
from .plans import LazyFunction, Plan
from .squared_lengths import Squared, SquaredLengths
from .sweep import Tangents, add_at, pull_back, reached


class Copied:
    """The plan of an argument of a function that is differentiated inside of another one."""

    name: ClassVar[str] = "copy"

    @staticmethod
    def pull(node: Node, cotangent: Any, cotangents: Any) -> None:
        cotangents.add(node.parents[0], cotangent)

    @staticmethod
    def push(node: Node, tangents: Any) -> None:
        if node.parents[0] in tangents:
            tangents[node] = tangents[node.parents[0]]

    move = push


class Between:
    """The nodes between the arguments of an inner function and its outputs."""

    def __init__(self, leaves: Sequence[Node], outputs: Sequence[Node]) -> None:
        self.leaves = leaves
        self.since = min((node.number for node in leaves), default=0)
        self.moving = set(leaves)
        """Those that depend on the arguments."""
        self.nodes: list[Node] = []
        """The same without the arguments, the latest first."""
        for node in reversed(reached(outputs, self.since)):
            if any(parent in self.moving for parent in node.parents):
                self.moving.add(node)
                self.nodes.append(node)
        self.nodes.reverse()
        self.inner_leaves = frozenset(leaves).intersection(self.nodes)
        """The arguments that are computed from other ones."""
        self._known: dict[Node, bool] = {}

    def depending(self, leaves: Sequence[ArrayOutput], nodes: Sequence[Node | None]) -> set[int]:
        """Which outputs depend on the arguments, given the nodes of all outputs."""
        return {leaf.index for leaf in leaves if nodes[leaf.index] in self.moving}

    def outer(self, node: Any) -> Any:
        """The node of a value as the outer function sees it; None if it depends on constants alone."""
        return node if node is not None and self._is_outer(node) else None

    def _is_outer(self, node: Node) -> bool:
        """Whether the outer derivative may need a node: it leads back to one from before the inner function."""
        if getattr(node, "tangent", None) is not None:
            return True
        known = self._known
        stack = [node]
        while stack:
            top = stack[-1]
            if top not in known:
                waiting = [x for x in top.parents if x.number >= self.since and x not in known]
                if top.number >= self.since and waiting:
                    stack += waiting
                    continue
                known[top] = (
                    top.number < self.since
                    or getattr(top, "tangent", None) is not None
                    or any(x.number < self.since or known[x] for x in top.parents)
                )
            stack.pop()
        return known[node]

    def pull_back(
        self, home: Evaluating, outputs: Sequence[tuple[Node, EvaluatedArray]]
    ) -> list[EvaluatedArray | None]:
        """The cotangent of each argument, given those of some nodes; None if nothing reaches it."""
        is_recorded = any(map(self._is_outer, (*self.nodes, *self.leaves)))
        if is_recorded or any(cotangent.evaluated()[1] is not None for _, cotangent in outputs):
            return self.recorded(home, outputs)
        found = pull_back([(node, one.evaluated()[0]) for node, one in outputs], self.leaves, self.nodes)
        return [None if one is None else new_result(home, one, operand_type(one), None) for one in found]

    def recorded(
        self, home: Evaluating, outputs: Sequence[tuple[Node, EvaluatedArray]]
    ) -> list[EvaluatedArray | None]:
        """The same for cotangents that can be differentiated again."""
        return _RecordedPull(home, self).pull_back(outputs)

    def push_forward(self, home: Evaluating, given: Sequence[EvaluatedArray]) -> dict[Node, Any]:
        """The tangents of all nodes that move, given those of the arguments."""
        return _RecordedPush(home, self).push_forward(list(zip(self.leaves, given, strict=True)))


class _Recorded:
    """What both directions share."""

    def __init__(self, home: Evaluating, between: Between) -> None:
        self.home, self.between = home, between
        self.lengths = SquaredLengths(reversed(between.nodes))

    def results(
        self,
        node: Node,
        prepared: LazyFunction,
        saved: tuple[Any, ...],
        known: Sequence[Any],
        given: Sequence[EvaluatedArray],
        wanted: Sequence[bool],
    ) -> list[EvaluatedArray | None]:
        """The wanted results of a function of tangents or cotangents and of what a node has `saved`, with its `known`
        nodes."""
        if prepared.passes_on:
            return [given[0] if is_wanted else None for is_wanted in wanted]
        arrays, nodes = zip(*(one.evaluated() for one in given), strict=True)
        inputs = (*saved, *arrays)
        sources = (*map(self.between.outer, known), *nodes)
        if (at_once := self.home.at_once(prepared, inputs, sources)) is not None:
            pairs = zip(at_once, wanted, strict=True)
            return [_made(self.home, *one) if is_wanted else None for one, is_wanted in pairs]
        wrt = tuple([one is not None for one in sources])
        found: list[EvaluatedArray | None] = []
        results = zip(wanted, prepared.graph.outputs, prepared.function(*inputs), strict=True)
        for place, (is_wanted, output, result) in enumerate(results):
            if not is_wanted:
                found.append(None)
            elif len(given) == 1 and output is prepared.graph.inputs[-1]:
                found.append(given[0])
            elif any(wrt):
                found.append(self._with_node(node, prepared.again(place, wrt), inputs, sources, result))
            else:
                found.append(_made(self.home, result, None))
        return found

    def _with_node(
        self, node: Node, plan: Any, inputs: tuple[Any, ...], sources: tuple[Any, ...], result: Any
    ) -> EvaluatedArray:
        """A result that may be differentiated once more."""
        if not plan.is_recorded:
            return _made(self.home, result, self.home.node_of_zero_derivative(node.plan.primal.name, sources))
        new = Node(self.home.next_number(), plan, plan.parents(sources))
        new.place = getattr(node, "place", None)
        found = _made(self.home, result, new)
        new.saved = plan.saved((*inputs, found.evaluated()[0]))
        self.home.complete(new)
        return found

    def by_calls(
        self, node: NodeOfGraphs, graph: Graph, given: Sequence[EvaluatedArray]
    ) -> list[EvaluatedArray]:
        """The results for a call that holds graphs, such as a loop: its derivative is such a call, too."""
        saved = saved_values(node, self.home)
        results = inline(graph, (*saved, *(one.value for one in given)))
        return [_made(self.home, elements(one), getattr(one, "node", None)) for one in results]

    def by_squares(
        self, node: Node, squared: Squared, prepared: LazyFunction, given: Sequence[EvaluatedArray]
    ) -> list[EvaluatedArray | None]:
        own = origins(node)
        saved = tuple([node.saved[place] for place in squared.places])
        known = [own[place] for place in squared.places]
        return self.results(node, prepared, saved, known, given, [True] * len(prepared.graph.outputs))


class _RecordedPull(_Recorded):
    """The backward pass with evaluated arrays, which have nodes of their own."""

    def __init__(self, home: Evaluating, between: Between) -> None:
        super().__init__(home, between)
        self.cotangents = _Arrived(home, between.moving)
        self.of_squares = _Arrived(home, between.moving)
        """Those of the squares of lengths."""

    def pull_back(self, outputs: Sequence[tuple[Node, EvaluatedArray]]) -> list[EvaluatedArray | None]:
        for node, cotangent in outputs:
            self.cotangents.add(node, cotangent)
        passed: dict[Node, EvaluatedArray] = {}
        for node in self.between.nodes:
            if (cotangent := self.cotangents.total(node)) is not None:
                if node in self.between.inner_leaves:
                    passed[node] = cotangent
                self._pull(node, cotangent)
            if (cotangent := self.of_squares.total(node)) is not None:
                self._pull_square(node, cotangent)
        return [
            passed[leaf] if leaf in passed else self.cotangents.total(leaf) for leaf in self.between.leaves
        ]

    def _pull(self, node: Node, cotangent: Any) -> None:
        plan = node.plan
        if not isinstance(plan, Plan):
            plan.pull(node, cotangent, self.cotangents)
            return
        if node in self.lengths.at:
            self._by_squares(node, self.lengths.at[node], cotangent)
            return
        given = self._completed(cotangent, plan)
        wanted = [parent in self.between.moving for parent in node.parents]
        found: Sequence[EvaluatedArray | None]
        if isinstance(node, NodeOfGraphs):
            found = self.by_calls(node, plan.pulling.graph, given)
        else:
            found = self.results(node, plan.pulling, node.saved, origins(node), given, wanted)
        for parent, result, is_wanted in zip(node.parents, found, wanted, strict=True):
            if is_wanted and result is not None:
                self.cotangents.add(parent, result)

    def _pull_square(self, node: Node, cotangent: EvaluatedArray) -> None:
        squared = self.lengths.squares[node]
        if squared is None:
            node.plan.pull(node, cotangent, self.of_squares)
        else:
            self._by_squares(node, squared, cotangent)

    def _by_squares(self, node: Node, squared: Squared, cotangent: EvaluatedArray) -> None:
        found = self.by_squares(node, squared, squared.plan.pulling, [cotangent])
        for parent, result, is_length in zip(squared.parents, found, squared.are_lengths, strict=True):
            if parent in self.between.moving and result is not None:
                (self.of_squares if is_length else self.cotangents).add(parent, result)

    def _completed(self, arrived: Any, plan: Plan) -> tuple[EvaluatedArray, ...]:
        """The cotangents of all outputs of a call."""
        if len(plan.types) == 1:
            return (arrived,)
        return tuple(
            _made(self.home, np.zeros(type.shape, type.dtype), None) if one is None else one
            for one, type in zip(arrived, plan.types, strict=True)
        )


class _RecordedPush(_Recorded):
    """The forward pass of tangents with evaluated arrays, which have nodes of their own."""

    def __init__(self, home: Evaluating, between: Between) -> None:
        super().__init__(home, between)
        self.tangents = _Moved(home)
        self.of_squares = _Moved(home)
        """Those of the squares of lengths."""

    def push_forward(self, given: Sequence[tuple[Node, EvaluatedArray]]) -> dict[Node, Any]:
        self.tangents.update(given)
        for node in reversed(self.between.nodes):
            if not any(parent in self.tangents for parent in node.parents):
                continue
            if self.lengths.at and node in self.lengths.squares:
                self._push_square(node, self.lengths.squares[node])
            self._push(node)
        return self.tangents

    def _push(self, node: Node) -> None:
        plan = node.plan
        if not isinstance(plan, Plan):
            plan.move(node, self.tangents)
            return
        if node in self.lengths.at:
            self.tangents[node] = self._by_squares(node, self.lengths.at[node])
            return
        prepared = plan.pushing(tuple([parent in self.tangents for parent in node.parents]))
        given = [self.tangents[parent] for parent in node.parents if parent in self.tangents]
        found: Sequence[EvaluatedArray | None]
        if isinstance(node, NodeOfGraphs):
            found = self.by_calls(node, prepared.graph, given)
        else:
            found = self.results(node, prepared, node.saved, origins(node), given, [True] * len(plan.types))
        self.tangents[node] = found[0] if len(plan.types) == 1 else found

    def _push_square(self, node: Node, squared: Squared | None) -> None:
        if squared is None:
            node.plan.move(node, self.of_squares)
        else:
            self.of_squares[node] = self._by_squares(node, squared)

    def _by_squares(self, node: Node, squared: Squared) -> Any:
        sources = [self.of_squares if is_length else self.tangents for is_length in squared.are_lengths]
        moving = tuple([parent in source for parent, source in zip(squared.parents, sources, strict=True)])
        given = [
            source[parent]
            for parent, source in zip(squared.parents, sources, strict=True)
            if parent in source
        ]
        return self.by_squares(node, squared, squared.plan.pushing(moving), given)[0]


class _Moved(dict[Node, Any]):
    """The tangents of nodes; as `Tangents`."""

    def __init__(self, home: Evaluating) -> None:
        super().__init__()
        self.home = home

    def zeros(self, kind: OperandType) -> EvaluatedArray:
        return _made(self.home, np.zeros(kind.type.shape, kind.type.dtype), None)

    def copied(self, tangent: EvaluatedArray) -> EvaluatedArray:
        return _copied(self.home, tangent)

    part, write = staticmethod(Tangents.part), staticmethod(Tangents.write)

    def collected(self, parts: Sequence[tuple[OperandType, Any, EvaluatedArray]]) -> EvaluatedArray:
        return _collected(self.home, parts)


class _Arrived:
    """What has arrived at the nodes; as `Cotangents`."""

    def __init__(self, home: Evaluating, moving: set[Node]) -> None:
        self.home, self.moving = home, moving
        self.arrived: dict[Node, Any] = {}
        self.parts: dict[Node, list[tuple[OperandType, Any, EvaluatedArray]]] = {}
        """For an array with parts that were read, its type, the indices, and the cotangents of the parts."""

    def add(self, node: Node, cotangent: EvaluatedArray) -> None:
        before = self.arrived.get(node)
        self.arrived[node] = cotangent if before is None else before + cotangent

    def add_part(self, node: Node, kind: OperandType, index: Any, cotangent: EvaluatedArray) -> None:
        if node in self.moving:
            self.parts.setdefault(node, []).append((kind, index, cotangent))

    add_entries = add_part

    def copied(self, cotangent: EvaluatedArray) -> EvaluatedArray:
        return _copied(self.home, cotangent)

    @staticmethod
    def put_back(cotangent: EvaluatedArray, order: Any) -> Any:
        return cotangent[np.argsort(order)]

    def total(self, node: Node) -> Any:
        """What has arrived at a node; None if nothing has."""
        cotangent, parts = self.arrived.pop(node, None), self.parts.pop(node, None)
        if parts is None:
            return cotangent
        total = _collected(self.home, parts)
        return total if cotangent is None else cotangent + total


def _made(home: Evaluating, result: Any, node: Node | None) -> EvaluatedArray:
    return new_result(home, result, operand_type(result), node)


def _copied(home: Evaluating, array: EvaluatedArray) -> EvaluatedArray:
    """An array that may be written to."""
    elements, node = array.evaluated()
    return new_result(home, elements.copy(), operand_type(elements), node)


def _collected(home: Evaluating, parts: Sequence[tuple[OperandType, Any, EvaluatedArray]]) -> EvaluatedArray:
    """The sum of arrays that are 0 except for a part, each given by its kind, the index, and the part."""
    whole = parts[0][0]
    total = np.zeros(whole.type.shape, whole.type.dtype)
    moving = []
    for _, index, part in parts:
        array, node = part.evaluated()
        add_at(total, index, array)
        if node is not None:
            moving.append((node, index, operand_type(array)))
    if not moving:
        return _made(home, total, None)
    saved = whole, tuple((index, kind) for _, index, kind in moving)
    new = Node(home.next_number(), CollectedPlan, tuple(node for node, _, _ in moving), saved)
    home.complete(new)
    return _made(home, total, new)
