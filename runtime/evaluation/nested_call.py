"""`NestedCall`: one call of a function that is differentiated inside of a function that is evaluated."""

from collections.abc import Callable, Sequence
from typing import Any

from ...compiler.tracing.traced_memory import is_traced
from .evaluated_array import EvaluatedArray, new_number, new_result
from .evaluated_call import EvaluatedCall
from .evaluating import Evaluated, EvaluatedMemory, Evaluating
from .nodes import Node
from .operand_types import operand_type
from .recorded_sweep import Copied
from .shared_arguments import SharedArguments


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
        with home.keeping_calls():
            filled = [self._entering(leaf, is_chosen) for leaf, is_chosen in zip(leaves, chosen, strict=True)]
            shared = SharedArguments(function, tree, leaves, filled, home)
            result = self._called(function, tree, filled)
            shared.refuse_writes()
            self._read(result)

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
