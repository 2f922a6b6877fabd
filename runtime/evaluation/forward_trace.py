"""`ForwardTrace`: the trace of a function in forward mode. It computes the tangent of each value beside the value.

No call is kept for later, so a long function needs no more memory than a short one. Only while a derivative runs inside
of the function, which goes back through calls, they are kept.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np

from ...compiler.dtypes import is_inexact
from ...compiler.error_state import error_state, is_strict, state_in_force
from ...compiler.interpreter import depends_on, evaluate
from ...compiler.ir import Graph, Value
from ...passes.pipeline import apply
from ...passes.transforms.jvp import jvp
from ..environment import checking
from .evaluated_memory import Evaluated, RunAgainError
from .evaluating import Evaluating
from .nodes import Node
from .operand_types import OperandType
from .plans import LazyFunction
from .sweep import Tangents, add_at


class MustKeepCallsError(RunAgainError):
    """The function must run once more, in a trace that keeps its calls: it goes back through them."""


class ForwardTrace(Evaluating):
    """The nodes of this trace have tangents."""

    keeps_calls: ClassVar[bool] = False

    def __init__(self, name: str, width: int | None = None) -> None:
        """With `width`, the tangents have that many directions as their first axis."""
        super().__init__(name, keeps=False)
        self._width = width
        self._inner = _InnerDerivatives()
        self._tangents = _TANGENTS if width is None else _Directions(width)

    def begin(self) -> None:
        """The function begins, with NumPy's current error state."""
        self._state = error_state()
        self._strict_state = state_in_force() if is_strict() else None

    def keeping_calls(self) -> AbstractContextManager[None]:
        return self._inner

    def require_calls(self) -> None:
        if not self._inner.running:
            raise MustKeepCallsError

    def without_history(self, node: Any) -> Any:
        if node is None or self._inner.running:
            return node
        return None if node.tangent is None else self._node_with(node.tangent)

    def _node_with(self, tangent: Any) -> Node:
        node = Node(self.next_number(), None)
        node.tangent = tangent
        return node

    def at_once(
        self, prepared: LazyFunction, inputs: Sequence[Any], sources: Sequence[Any]
    ) -> Sequence[tuple[Any, Any]] | None:
        if self._inner.running or error_state() is not self._state:
            return None
        tangents = [None if node is None else node.tangent for node in sources]
        moving = tuple([one is not None for one in tangents])
        if not any(moving):
            return [(result, None) for result in prepared.function(*inputs)]
        pushed, are_moving = prepared.with_tangents(moving, self._width)
        found = pushed.function(*inputs, *(one for one in tangents if one is not None))
        rates = iter(found[len(are_moving) :])
        results = zip(found[: len(are_moving)], are_moving, strict=True)
        return [(result, self._node_with(next(rates)) if moves else None) for result, moves in results]

    def new_node(
        self, number: int, plan: Any, parents: tuple[Node, ...] = (), saved: tuple[Any, ...] = ()
    ) -> Node:
        node = Node(number, plan, parents, saved)
        self.complete(node)
        return node

    def complete(self, node: Node) -> None:
        """Compute the tangent of a new node: that of its result, or a tuple with those of all results."""
        if node.plan is None:  # an argument of an inner function that does not move
            node.tangent = None
        elif error_state() is self._state:
            self._push(node)
        else:  # tangents do not obey an `np.errstate` in the function
            with self._outer_state():
                self._push(node)
        if not self._inner.running:
            node.parents = node.saved = ()

    def _push(self, node: Node) -> None:
        plan = node.plan
        given = [parent.tangent for parent in node.parents]
        moving = tuple([one is not None for one in given])
        if not any(moving):
            node.tangent = None
        elif plan.push is not None:
            plan.move(node, self._tangents)
        else:
            if False in moving:
                given = [one for one in given if one is not None]
            found = plan.pushing(moving, self._width).function(*node.saved, *given)
            node.tangent = found[0] if len(found) == 1 else found

    def _outer_state(self) -> AbstractContextManager[Any]:
        """The error state in which the function was called."""
        kinds: Any = {"all": "ignore"} if self._strict_state is None else dict(self._strict_state)
        return np.errstate(**kinds)

    # ---- calls that hold graphs ----------------------------------------------------------------------------

    def run_graph(
        self,
        graph: Graph,
        wrt: tuple[bool, ...],
        inputs: Sequence[Value],
        nodes: Sequence[Any],
        arrays: Sequence[Any],
    ) -> tuple[Evaluated, ...]:
        """A loop or a branch computes the values and the tangents together; with `width`, the tangents afterwards."""
        if self._inner.running or self._width is not None:
            return super().run_graph(graph, wrt, inputs, nodes, arrays)
        moving = [is_wanted and node.tangent is not None for is_wanted, node in zip(wrt, nodes, strict=True)]
        if not any(moving):
            return tuple(map(Evaluated, evaluate(graph, *arrays)))
        pushed = apply(partial(jvp, wrt=moving), graph, check=checking())
        given = [node.tangent for node, moves in zip(nodes, moving, strict=True) if moves]
        reached = depends_on(pushed, [False] * len(arrays) + [True] * len(given))
        count = len(graph.outputs)
        results = evaluate(pushed, *arrays, *given)
        found = tuple(map(Evaluated, results[:count]))
        floating = [out for out in found if is_inexact(out.dtype)]
        for out, value, tangent in zip(floating, pushed.outputs[count:], results[count:], strict=True):
            if value in reached:
                out.node = self._node_with(tangent)
        return found


class _InnerDerivatives:
    """The derivatives that run inside of the function."""

    __slots__ = ("running",)

    def __init__(self) -> None:
        self.running = 0

    def __enter__(self) -> None:
        self.running += 1

    def __exit__(self, *error: object) -> None:
        self.running -= 1


class _TangentsOfNodes:
    """As `Tangents`, for nodes that hold their tangents."""

    zeros, copied = staticmethod(Tangents.zeros), staticmethod(Tangents.copied)
    part, write = staticmethod(Tangents.part), staticmethod(Tangents.write)
    collected = Tangents.collected

    def __contains__(self, node: Node) -> bool:
        return node.tangent is not None

    def __getitem__(self, node: Node) -> Any:
        return node.tangent

    def __setitem__(self, node: Node, tangent: Any) -> None:
        node.tangent = tangent

    @staticmethod
    def get(node: Node, default: Any = None) -> Any:
        return default if node.tangent is None else node.tangent


_TANGENTS: Final = _TangentsOfNodes()


class _Directions(_TangentsOfNodes):
    """The same for tangents whose first axis are directions. NumPy indexes the others if it is the last."""

    def __init__(self, width: int) -> None:
        self.width = width

    def zeros(self, kind: OperandType) -> Any:
        return np.zeros((self.width, *kind.type.shape), kind.type.dtype)

    @staticmethod
    def part(tangent: Any, index: Any) -> Any:
        return np.moveaxis(np.moveaxis(tangent, 0, -1)[_before_last(index)], -1, 0)

    @staticmethod
    def write(tangent: Any, index: Any, new: Any) -> None:
        np.moveaxis(tangent, 0, -1)[_before_last(index)] = 0 if new is None else np.moveaxis(new, 0, -1)

    def collected(self, parts: Sequence[tuple[OperandType, Any, Any]]) -> Any:
        total = self.zeros(parts[0][0])
        for _, index, part in parts:
            add_at(np.moveaxis(total, 0, -1), _before_last(index), np.moveaxis(part, 0, -1))
        return total


def _before_last(index: Any) -> Any:
    """The index of all axes but the last, which stays."""
    items = index if type(index) is tuple else (index,)
    return (*items, slice(None)) if any(one is Ellipsis for one in items) else items
