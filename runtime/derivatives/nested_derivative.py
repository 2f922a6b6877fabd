"""`NestedDerivative`: one call of a function inside of a function that is evaluated, computed in the same trace."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...compiler.builder import current_builder
from ...compiler.callers.function_names import function_name
from ...compiler.callers.user_code import user_location
from ...compiler.errors import EscapedTracerError
from ...compiler.frontend.program import ArrayOutput
from ...compiler.interpreter import are_calls_observed
from ...compiler.ir import ArrayType
from ...compiler.tracing.array_values import as_value
from ...compiler.tracing.traced_memory import is_traced
from ..evaluation.evaluated_array import EvaluatedArray, new_number, new_result
from ..evaluation.evaluated_call import EvaluatedCall, Result, refuse_calls_since
from ..evaluation.evaluated_memory import Evaluated, EvaluatedMemory, elements
from ..evaluation.evaluating import Evaluating
from ..evaluation.nodes import Node
from ..evaluation.operand_types import operand_type
from ..evaluation.recorded_sweep import Between, Copied
from ..evaluation.shared_arguments import SharedArguments
from .argnums import Chosen
from .evaluated_derivative import EvaluatedDerivative


class NestedCall(EvaluatedCall):
    """Runs a function once, in the trace around it. Its arguments are separate memory."""

    def __init__(
        self,
        home: Evaluating,
        function: Callable[..., Any],
        tree: Any,
        leaves: Sequence[Any],
        chosen: Sequence[bool],
    ) -> None:
        """`chosen` marks the leaves that are differentiated."""
        self.trace, self.leaves, self.outside = home, [], []
        number = home.next_number()
        try:
            with home.keeping_calls():
                filled = [
                    self._entering(leaf, is_chosen) for leaf, is_chosen in zip(leaves, chosen, strict=True)
                ]
                shared = SharedArguments(function, tree, leaves, filled, home)
                result = self._called(function, tree, filled)
                shared.refuse_writes()
                self._read(result)
        except MemoryError as error:
            refuse_calls_since(error, function_name(function), home, number)
            raise

    def _node_of_leaf(self) -> Node:
        node = super()._node_of_leaf()
        self.trace.complete(node)
        return node

    def _entering(self, leaf: Any, is_chosen: bool) -> Any:
        if not is_traced(leaf):
            return super()._entering(leaf, is_chosen)
        array, node = leaf.evaluated()
        if is_chosen:
            outer = () if node is None else (node,)
            node = Node(self.trace.next_number(), Copied if outer else None, outer)
            self.trace.complete(node)
            self.leaves.append(node)
        argument = None if leaf.is_unshared() or leaf._views else leaf._storage.argument
        if argument is None and leaf.weak is None:
            new = new_result(self.trace, array, operand_type(array), node)
            new.is_scalar = leaf.is_scalar
            return new
        if leaf.weak is float:
            return new_number(self.trace, array.item(), node)
        layout = leaf.layout
        storage = EvaluatedMemory(self.trace, Evaluated(array, node), None if layout.is_row_major else layout)
        storage.argument = argument
        return EvaluatedArray(storage, storage.value.type, is_scalar=leaf.is_scalar, weak=leaf.weak)


class NestedDerivative(EvaluatedDerivative):
    """Its value and its derivatives are arrays of the function around it, which can be differentiated again."""

    def __init__(
        self,
        home: Evaluating,
        function: Callable[..., Any],
        leaves: list[Any],
        tree: Any,
        chosen: Chosen,
        has_aux: bool,
        safe_where: bool,
    ) -> None:
        self.again = self._home = home
        super().__init__(function, leaves, tree, chosen, has_aux, safe_where, keeps=False)
        self._between = Between(self.nodes, [node for node in self.out_nodes if node is not None])

    def _run(
        self, function: Callable[..., Any], tree: Any, leaves: Sequence[Any], *, keeps: bool
    ) -> EvaluatedCall:
        return NestedCall(self._home, function, tree, leaves, self._is_chosen)

    def _depending(self, leaves: Sequence[ArrayOutput]) -> set[int]:
        return self._between.depending(leaves, self.out_nodes)

    def values(self, *, keeps: bool) -> list[Any]:
        return list(map(self._as_input, self.results))

    def _as_input(self, known: Evaluated | Result) -> EvaluatedArray:
        array = known.array if known.array.base is None else known.array.copy(order="K")
        return self._array(array, self._home.without_history(self._between.outer(known.node)))

    def _array(self, array: Any, node: Any) -> EvaluatedArray:
        """An array; if it has no axes, a scalar, as in NumPy."""
        return new_result(self._home, array if array.ndim else array[()], operand_type(array), node)

    def can_sweep(self, given: Sequence[Any]) -> bool:
        if self._home.has_ended:
            raise EscapedTracerError(
                f"what vjp has returned inside of {self._home.name} is used after that has returned: use it in the "
                "function, and return the result",
                user_location(),
            )
        return current_builder() is self._home and not are_calls_observed() and not self.safe_where

    def pull_back(self, leaves: Sequence[ArrayOutput], cotangents: Sequence[Any]) -> list[Any]:
        given = [
            (self.out_nodes[leaf.index], self._entered(cotangent))
            for leaf, cotangent in zip(leaves, cotangents, strict=True)
        ]
        found = self._between.pull_back(
            self._home, [(node, one) for node, one in given if node in self._between.moving]
        )
        return [
            self._zeros(type) if one is None else self._in_rows(one)
            for one, type in zip(found, self.primal_types, strict=True)
        ]

    def push_forward(self, leaves: Sequence[ArrayOutput], directions: Sequence[Any]) -> list[Any]:
        tangents = self._between.push_forward(self._home, list(map(self._entered, directions)))
        return [
            self._in_rows(tangents[node]) if node in tangents else self._zeros(self.type_of(leaf))
            for leaf in leaves
            for node in (self.out_nodes[leaf.index],)
        ]

    def _zeros(self, type: ArrayType) -> EvaluatedArray:
        return self._array(np.zeros(type.shape, type.dtype), None)

    def _entered(self, cotangent: Any) -> EvaluatedArray:
        if type(cotangent) is np.ndarray:
            return self._array(cotangent.copy(), None)
        value = as_value(cotangent)
        return self._array(elements(value), value.node if isinstance(value, Evaluated) else None)

    def _in_rows(self, found: EvaluatedArray) -> EvaluatedArray:
        """The array in C order."""
        array, node = found.evaluated()
        return self._array(array if array.flags.c_contiguous else array.copy(), node)
