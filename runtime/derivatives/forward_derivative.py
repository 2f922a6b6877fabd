"""`ForwardDerivative` and `ForwardJacobian`: one call of a function outside of any trace, computed together with its
tangents in one direction, or in all."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...compiler.dtypes import Array
from ...compiler.frontend.program import ArrayOutput
from ...compiler.ir import ArrayType
from ..eager.run import in_rows, separate
from ..evaluation.evaluated_call import EvaluatedCall
from ..evaluation.forward_trace import ForwardTrace
from ..evaluation.nodes import Node
from .argnums import Chosen
from .evaluated_derivative import EvaluatedDerivative


class _ForwardCall(EvaluatedCall):
    """Runs a function once, in a direction, or in several."""

    trace: ForwardTrace

    def __init__(
        self,
        function: Callable[..., Any],
        tree: Any,
        leaves: Sequence[Any],
        chosen: Sequence[bool],
        directions: Sequence[Array],
        width: int | None = None,
    ) -> None:
        """With `width`, that many directions are the first axis."""
        self._directions, self._width = directions, width
        super().__init__(function, tree, leaves, chosen, keeps=False)

    def _new_trace(self, name: str) -> ForwardTrace:
        return ForwardTrace(name, self._width)

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


class ForwardJacobian(EvaluatedDerivative):
    """A function's value and its tangents in all unit directions."""

    def __init__(
        self, function: Callable[..., Any], leaves: list[Any], tree: Any, chosen: Chosen, has_aux: bool
    ) -> None:
        super().__init__(function, leaves, tree, chosen, has_aux, False, keeps=False)

    def _run(
        self, function: Callable[..., Any], tree: Any, leaves: Sequence[Any], *, keeps: bool
    ) -> EvaluatedCall:
        sizes = [type.size for type in self.primal_types]
        width, first, directions = sum(sizes), 0, []
        for size, type in zip(sizes, self.primal_types, strict=True):
            units = np.zeros((width, size), type.dtype)
            units[first : first + size] = np.eye(size)
            directions.append(units.reshape(width, *type.shape))
            first += size
        return _ForwardCall(function, tree, leaves, self._is_chosen, directions, width)

    def columns(self, leaves: Sequence[ArrayOutput]) -> list[list[Any]]:
        """The derivative of each leaf of the result by each leaf of the arguments, of shape output + input."""
        return [self._row(self.out_nodes[leaf.index], self.type_of(leaf)) for leaf in leaves]

    def _row(self, node: Any, out: ArrayType) -> list[Any]:
        first, row = 0, []
        for type in self.primal_types:
            block = np.zeros((*out.shape, *type.shape), out.dtype)
            if node is not None and node.tangent is not None:
                columns = node.tangent[first : first + type.size]
                block[...] = np.moveaxis(columns, 0, -1).reshape(block.shape)
            row.append(block if block.ndim else block[()])
            first += type.size
        return row
