"""`BatchedDerivative`: one call of a function that is differentiated inside of a function that `vmap` maps.

The function runs once for the whole batch. Examples do not depend on each other, so the derivative of all results with
respect to all arguments, which have the batch as their first axis, is that of each example.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...compiler.builder import recording
from ...compiler.callers.function_names import function_name
from ...compiler.error_state import quiet_unless_strict
from ...compiler.frontend.program import ArrayOutput
from ...compiler.ir import ArrayType, Graph, Value
from ...compiler.tracing.array_values import as_value
from ...compiler.tracing.traced_array import TracedArray, array_on, wrap
from ...compiler.tracing.traced_memory import is_traced
from ...compiler.value_ops import broadcast_to
from ..batching.batched_trace import BatchedTrace, MustTraceSingleExamplesError
from ..evaluation.evaluated_array import EvaluatedArray, new_result
from ..evaluation.evaluated_call import EvaluatedCall, Result, refuse_calls_since
from ..evaluation.evaluated_memory import Evaluated, elements
from ..evaluation.evaluating import Evaluating
from ..evaluation.linear_graph import linear_graph
from ..evaluation.nodes import Node
from ..evaluation.operand_types import operand_type
from ..evaluation.recorded_sweep import Between, Copied
from ..evaluation.shared_arguments import SharedArguments
from .argnums import Chosen
from .evaluated_derivative import EvaluatedDerivative


class _BatchedCall(EvaluatedCall):
    """Runs a function once, for the whole batch."""

    def __init__(
        self,
        batch: BatchedTrace,
        home: Evaluating,
        function: Callable[..., Any],
        tree: Any,
        leaves: Sequence[Any],
        chosen: Sequence[bool],
    ) -> None:
        self.batch, self.trace, self.leaves, self.outside = batch, home, [], []
        self.values: list[Value] = []
        """The arrays of the result, for one example."""
        number = home.next_number()
        try:
            with home.keeping_calls():
                filled = [
                    self._entering(leaf, is_chosen) for leaf, is_chosen in zip(leaves, chosen, strict=True)
                ]
                self._run_in(home, function, tree, leaves, filled)
        except MemoryError as error:
            refuse_calls_since(error, function_name(function), home, number)
            raise

    def _run_in(
        self,
        home: Evaluating,
        function: Callable[..., Any],
        tree: Any,
        leaves: Sequence[Any],
        filled: Sequence[Any],
    ) -> None:
        with self.batch.computing_in(home):
            shared = SharedArguments(function, tree, leaves, filled, home)
            result = self._called(function, tree, filled)
            shared.refuse_writes()
            self._read(result)

    def _entering(self, leaf: Any, is_chosen: bool) -> Any:
        if not (is_chosen or is_traced(leaf) or isinstance(leaf, np.ndarray)):
            return leaf
        value = as_value(leaf)
        if is_chosen:
            array, outer = on_evaluating_trace(self.batch, self.trace, value).evaluated()
            parents = () if outer is None else (outer,)
            node = Node(self.trace.next_number(), Copied if parents else None, parents)
            self.trace.complete(node)
            self.leaves.append(node)
            value = self.batch.of_examples(Evaluated(array, node))
        traced: Any = leaf if is_traced(leaf) else None
        layout = None if traced is None else traced.layout
        is_scalar = not isinstance(leaf, np.ndarray) if traced is None else traced.is_scalar
        weak = (float if type(leaf) is float else None) if traced is None else traced.weak
        storage = self.batch.new_storage(value, layout)
        return array_on(storage, value.type, is_scalar=is_scalar, weak=weak)

    def _leaf(self, leaf: Any) -> Any:
        if not is_traced(leaf) and isinstance(leaf, (np.ndarray, np.generic)):
            self.values.append(as_value(np.array(leaf)))
            return Result(np.empty(0), None, isinstance(leaf, np.generic), None)
        if not is_traced(leaf):
            return super()._leaf(leaf)
        value = leaf.value
        known = self.batch.of_batch(value)
        if known is None:
            raise MustTraceSingleExamplesError
        self.values.append(value)
        node = getattr(known[0], "node", None) if known[1] else None
        return Result(np.empty(0), node, leaf.is_scalar, leaf.weak)


class BatchedDerivative(EvaluatedDerivative):
    """Its value and its derivatives are arrays of one example."""

    def __init__(
        self,
        batch: BatchedTrace,
        function: Callable[..., Any],
        leaves: list[Any],
        tree: Any,
        chosen: Chosen,
        has_aux: bool,
    ) -> None:
        self.batched = batch
        self._base = base = batch.base
        self.home = base if isinstance(base, Evaluating) else Evaluating(function_name(function), keeps=False)
        self.again = self.home
        self.batch = (batch.batch.size,)
        with quiet_unless_strict():
            super().__init__(function, leaves, tree, chosen, has_aux, False, keeps=False)
        self.result_types = [value.type for value in self._values]
        self._between = Between(self.nodes, [node for node in self.out_nodes if node is not None])

    def _run(
        self, function: Callable[..., Any], tree: Any, leaves: Sequence[Any], *, keeps: bool
    ) -> EvaluatedCall:
        call = _BatchedCall(self.batched, self.home, function, tree, leaves, self._is_chosen)
        self._values = call.values
        return call

    def _depending(self, leaves: Sequence[ArrayOutput]) -> set[int]:
        return self._between.depending(leaves, self.out_nodes)

    def values(self, *, keeps: bool) -> list[Any]:
        return list(map(wrap, self._values))

    def can_sweep(self, given: Sequence[Any]) -> bool:
        return True

    @property
    def can_go_on(self) -> bool:
        """Whether the batch is still computed in the same trace, not in that of a function differentiated later."""
        return self.batched.base is self._base

    def pull_back(self, leaves: Sequence[ArrayOutput], cotangents: Sequence[Any]) -> list[Any]:
        given = [
            (self.out_nodes[leaf.index], on_evaluating_trace(self.batched, self.home, as_value(cotangent)))
            for leaf, cotangent in zip(leaves, cotangents, strict=True)
        ]
        given = [(node, one) for node, one in given if node in self._between.moving]
        with self.computing():
            found = self._between.pull_back(self.home, given)
        return [self._example(one, type) for one, type in zip(found, self.primal_types, strict=True)]

    def push_forward(self, leaves: Sequence[ArrayOutput], directions: Sequence[Any]) -> list[Any]:
        given = [
            on_evaluating_trace(self.batched, self.home, as_value(direction)) for direction in directions
        ]
        with self.computing():
            tangents = self._between.push_forward(self.home, given)
        return [
            self._example(tangents.get(self.out_nodes[leaf.index]), self.type_of(leaf)) for leaf in leaves
        ]

    def _example(self, found: EvaluatedArray | None, type: ArrayType) -> TracedArray:
        """The array of one example."""
        if found is None:
            return wrap(as_value(np.zeros(type.shape, type.dtype)))
        return self.of_example(found)

    # ---- graphs for the whole batch ----------------------------------------------------------------------

    def linear(self, leaves: Sequence[ArrayOutput]) -> tuple[Graph, list[Any]]:
        outputs = [(self.out_nodes[leaf.index], self._of_batch(self.type_of(leaf))) for leaf in leaves]
        wrt = list(zip(self.nodes, map(self._of_batch, self.primal_types), strict=True))
        graph, residuals = linear_graph(outputs, wrt, self.again)
        return graph, list(map(self._entering_graph, residuals))

    def _of_batch(self, type: ArrayType) -> ArrayType:
        return ArrayType(type.dtype, (*self.batch, *type.shape))

    def _entering_graph(self, known: Evaluated) -> EvaluatedArray:
        node = self.home.without_history(self._between.outer(known.node))
        return new_result(self.home, known.array, operand_type(known.array), node)

    def _known(self, residuals: Sequence[Any]) -> Graph:
        """The outputs are arrays of an example, so no graph returns them together with the residuals."""
        self.inputs = list(residuals)
        return Graph(self.name, (), (), ())

    def run_forward(self, forward: Graph) -> tuple[list[Any], list[Any]]:
        return self.values(keeps=False), self.inputs

    @contextmanager
    def computing(self) -> Generator[None]:
        with self.batched.failing_as_a_whole(), quiet_unless_strict(), recording(self.home):
            yield

    def of_example(self, found: Any) -> TracedArray:
        with recording(self.home):
            array, node = found.evaluated()
        array = array if array.flags.c_contiguous else array.copy()
        return wrap(self.batched.of_examples(Evaluated(array, self.home.without_history(node))))


def on_evaluating_trace(batch: BatchedTrace, home: Evaluating, value: Value) -> EvaluatedArray:
    """The elements of a value for all examples, as an array of the trace that computes them."""
    known = batch.of_batch(value)
    if known is None:
        raise MustTraceSingleExamplesError
    found, is_mapped = known
    found = found if isinstance(found, Value) else Evaluated(np.asarray(found))
    if not is_mapped:
        with recording(home):
            found = broadcast_to(found, (batch.batch.size, *value.shape))
    array, node = elements(found), getattr(found, "node", None)
    return new_result(home, array if array.ndim else array[()], operand_type(array), node)
