"""`ForwardDerivative`: one call of a function outside of any trace, computed together with its tangents."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...compiler.dtypes import Array
from ...compiler.frontend.program import ArrayOutput
from ..eager.run import in_rows, separate
from ..evaluation.evaluated_call import EvaluatedCall
from ..evaluation.evaluating import Node
from ..evaluation.forward_trace import ForwardTrace
from .argnums import Chosen
from .evaluated_derivative import EvaluatedDerivative


class _ForwardCall(EvaluatedCall):
    """Runs a function once, in a direction."""

    trace: ForwardTrace

    def __init__(
        self,
        function: Callable[..., Any],
        tree: Any,
        leaves: Sequence[Any],
        chosen: Sequence[bool],
        directions: Sequence[Array],
    ) -> None:
        self._directions = directions
        super().__init__(function, tree, leaves, chosen, keeps=False)

    def _new_trace(self, name: str) -> ForwardTrace:
        return ForwardTrace(name)

    def _called(self, function: Callable[..., Any], tree: Any, filled: Sequence[Any]) -> Any:
        self.trace.begin()
        return super()._called(function, tree, filled)

    def _node_of_leaf(self) -> Node:
        node = super()._node_of_leaf()
        node.tangent = self._directions[len(self.leaves) - 1]
        return node


class ForwardDerivative(EvaluatedDerivative):
    """A function's value and its tangents."""

    def __init__(
        self,
        function: Callable[..., Any],
        leaves: list[Any],
        tree: Any,
        chosen: Chosen,
        has_aux: bool,
        tangents: tuple[Any, ...],
        primals: Any,
    ) -> None:
        """`tangents` are those of the positional arguments, which have the structure `primals`."""
        self._given = tangents, primals
        super().__init__(function, leaves, tree, chosen, has_aux, False, keeps=False)

    def _run(
        self, function: Callable[..., Any], tree: Any, leaves: Sequence[Any], *, keeps: bool
    ) -> EvaluatedCall:
        found = self.directions(*self._given)
        directions = [np.array(one) for one in found]  # the function may write to the caller's
        return _ForwardCall(function, tree, leaves, self._is_chosen, directions)

    def tangents(self, leaves: Sequence[ArrayOutput]) -> list[Any]:
        """The tangents of leaves of the result."""
        arrays = []
        for leaf in leaves:
            node, type = self.out_nodes[leaf.index], self.type_of(leaf)
            tangent = None if node is None else node.tangent
            arrays.append(
                np.zeros(type.shape, type.dtype) if tangent is None else in_rows(np.asarray(tangent))
            )
        return separate(arrays, ())
