"""`EvaluatedDerivative`: one call of a function outside of any trace, computed operation by operation.

Its function has run once, with numbers, when it is made.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import optree

from ...compiler.arguments.leaves import argument_names, leaf_type
from ...compiler.callers.function_names import function_name
from ...compiler.dtypes import is_inexact
from ...compiler.error_state import begin_quiet, end_quiet, quiet_unless_strict
from ...compiler.frontend.program import ArrayOutput, Static, as_returned
from ...compiler.interpreter import is_idle
from ...compiler.ir import ArrayType, Graph, Value
from ...compiler.tracing.trace import current_trace
from ...compiler.tracing.traced_memory import is_traced
from ...passes.transforms.transpose import transpose
from ...passes.transforms.vjp import conjugated
from ..eager.run import in_rows, is_array, run, separate, transformed
from ..evaluation.evaluated_array import EvaluatedArray
from ..evaluation.evaluated_call import EvaluatedCall, Result, refuse_many_calls
from ..evaluation.evaluated_memory import Evaluated
from ..evaluation.evaluating import Evaluating
from ..evaluation.linear_graph import linear_graph
from ..evaluation.nodes import Node
from ..evaluation.operand_types import operand_type
from ..evaluation.sweep import Tangents, pull_back, push_forward, reached
from ..memory_reserve import reporting_lack_of_memory
from .argnums import Chosen
from .differentiated_call import DifferentiatedCall
from .masked_nan import has_nan, warn_of_masked_nan

_PLAIN: Final = frozenset({np.ndarray, EvaluatedArray})
_DIFFERENTIABLE: Final = frozenset(np.dtype(one).num for one in ("f4", "f8"))


class EvaluatedDerivative(DifferentiatedCall):
    """A function's value and the nodes that its derivative comes from."""

    again: Evaluating | None = None
    """The trace in which the derivative may be differentiated again."""
    _swept: Sequence[Node] = ()
    """The nodes that the last backward pass has gone through."""

    def __init__(
        self,
        function: Callable[..., Any],
        leaves: list[Any],
        tree: Any,
        chosen: Chosen,
        has_aux: bool,
        safe_where: bool,
        *,
        keeps: bool,
    ) -> None:
        """`leaves` and `tree` are those of the arguments."""
        super().__init__(chosen, tree, has_aux, safe_where)
        self.primal_types = self._checked(leaves, chosen)
        call = self._run(function, tree, leaves, keeps=keeps)
        self.taped = call if call.meets_variables else None
        """The call, if its results must be variables of `tracemill.autograd`."""
        self.tree = call.out_tree
        self.out_tree = self._without_aux(self.tree)
        self.nodes = call.leaves
        self.results: list[Result] = []
        self.every_leaf = list(map(self._numbered, call.out_leaves))
        self.out_leaves = tuple(self.every_leaf[: self.out_tree.num_leaves])
        self.result_types = [ArrayType(one.array.dtype, one.array.shape) for one in self.results]
        self._outside = call.outside
        self._kept_calls = call.kept_calls
        self.out_nodes = [one.node for one in self.results]
        """Where the derivative of each array of the result comes from."""

    def _run(
        self, function: Callable[..., Any], tree: Any, leaves: Sequence[Any], *, keeps: bool
    ) -> EvaluatedCall:
        return EvaluatedCall(function, tree, leaves, self._is_chosen, keeps=keeps)

    def _checked(self, leaves: Sequence[Any], chosen: Chosen) -> list[ArrayType]:
        """The types of the differentiated leaves, which must have derivatives. Other arrays must be supported."""
        types: list[ArrayType] = []
        for place, (leaf, is_chosen) in enumerate(zip(leaves, self._is_chosen, strict=True)):
            is_plain = type(leaf) in _PLAIN and leaf.dtype.num in _DIFFERENTIABLE and leaf.dtype.isnative
            if is_chosen:
                if not is_plain:
                    chosen.check(leaf, argument_names(self._arguments)[place])
                types.append(operand_type(leaf).type if is_plain else leaf_type(leaf, ""))
            elif not is_plain and is_array(leaf):
                leaf_type(leaf, argument_names(self._arguments)[place])
        return types

    @property
    def name(self) -> str:
        return function_name(self._function)

    def _numbered(self, leaf: "Result | Static") -> "ArrayOutput | Static":
        if isinstance(leaf, Static):
            return leaf
        self.results.append(leaf)
        return ArrayOutput(len(self.results) - 1, leaf.is_scalar, leaf.weak, is_read_only=leaf.is_read_only)

    # ---- outputs -----------------------------------------------------------------------------------------

    def type_of(self, leaf: ArrayOutput) -> ArrayType:
        return self.result_types[leaf.index]

    def _depending(self, leaves: Sequence[ArrayOutput]) -> set[int]:
        return {leaf.index for leaf in leaves if self.out_nodes[leaf.index] is not None}

    def values(self, *, keeps: bool) -> list[Any]:
        """The arrays of the result as separate memory; `keeps` if the derivative is computed later."""
        arrays = [result.array for result in self.results]
        return separate(arrays, [*self._outside, *arrays] if keeps else self._outside)

    def value(self, outputs: Sequence[Any]) -> tuple[Any, Any]:
        leaves = [
            as_returned(outputs[leaf.index], leaf) if isinstance(leaf, ArrayOutput) else leaf.value
            for leaf in self.every_leaf
        ]
        result: Any = optree.tree_unflatten(self.tree, leaves)
        return result if self.has_aux else (result, None)

    # ---- derivatives -------------------------------------------------------------------------------------

    def can_sweep(self, given: Sequence[Any]) -> bool:
        """Whether the derivative goes through the nodes with these tangents or cotangents; otherwise it is a graph."""
        return is_idle() and not self.safe_where and not any(map(is_traced, given))

    def release(self) -> None:
        """Give up what derivatives need, so that a number that outlives the call does not keep the others."""
        for node in self._swept:
            node.parents = node.saved = ()

    def pull_back(self, leaves: Sequence[ArrayOutput], cotangents: Sequence[Any]) -> list[Any]:
        """The cotangents of the differentiated leaves of the arguments, given those of `leaves`."""
        given = [
            (self.out_nodes[leaf.index], np.asarray(cotangent))
            for leaf, cotangent in zip(leaves, cotangents, strict=True)
        ]
        given = [(node, cotangent) for node, cotangent in given if node is not None]
        quiet = begin_quiet()
        try:
            self._swept = reached([node for node, _ in given])
            found = pull_back(given, self.nodes, self._swept)
            arrays = [
                np.zeros(type.shape, type.dtype) if one is None else in_rows(np.asarray(one))
                for one, type in zip(found, self.primal_types, strict=True)
            ]
        except MemoryError as error:
            with reporting_lack_of_memory():
                refuse_many_calls(error, self.name, self._kept_calls)
            raise
        finally:
            end_quiet(quiet)
        return separate(arrays, [cotangent for _, cotangent in given])

    def push_forward(self, leaves: Sequence[ArrayOutput], directions: Sequence[Any]) -> list[Any]:
        """The tangents of `leaves`, given those of the differentiated leaves of the arguments."""
        tangents = Tangents(zip(self.nodes, map(np.asarray, directions), strict=True))
        nodes = [self.out_nodes[leaf.index] for leaf in leaves]
        with quiet_unless_strict():
            push_forward(tangents, [node for node in nodes if node is not None])
            arrays = [
                in_rows(np.asarray(tangents[node]))
                if node in tangents
                else np.zeros(self.type_of(leaf).shape, self.type_of(leaf).dtype)
                for leaf, node in zip(leaves, nodes, strict=True)
            ]
        return separate(arrays, map(np.asarray, directions))

    def linear(self, leaves: Sequence[ArrayOutput]) -> tuple[Graph, list[Any]]:
        """The derivative as a graph from residuals and tangents to tangents, and the residuals."""
        outputs = [(self.out_nodes[leaf.index], self.type_of(leaf)) for leaf in leaves]
        wrt = list(zip(self.nodes, self.primal_types, strict=True))
        graph, residuals = linear_graph(outputs, wrt, self.again)
        arrays = list(map(self._as_input, residuals))
        return (self._masked(graph, len(arrays)) if self.safe_where else graph), arrays

    def jvp(self, leaves: Sequence[ArrayOutput]) -> Graph:
        """What is known becomes the `inputs`."""
        linear, residuals = self.linear(leaves)
        outputs = tuple(map(Value, self.result_types))
        self.inputs = [*residuals, *map(self._as_input, self.results)]
        known, tangents = linear.inputs[: len(residuals)], linear.inputs[len(residuals) :]
        return Graph(linear.name, (*known, *outputs, *tangents), linear.calls, (*outputs, *linear.outputs))

    def linearize(self, leaves: Sequence[ArrayOutput]) -> tuple[Graph, Graph]:
        """The first graph only returns what is known."""
        linear, residuals = self.linear(leaves)
        return self._known(residuals), linear

    def vjp(self, leaves: Sequence[ArrayOutput], *, safe: bool = False) -> tuple[Graph, Graph]:
        """The first graph only returns what is known."""
        backward, residuals = self.backward(leaves, safe=safe)
        return self._known(residuals), backward

    def backward(self, leaves: Sequence[ArrayOutput], *, safe: bool) -> tuple[Graph, list[Any]]:
        """The backward pass as a graph of residuals and cotangents, and the residuals."""
        linear, residuals = self.linear(leaves)
        if safe and not self.safe_where:
            linear = self._masked(linear, len(residuals))
        marks = [place >= len(residuals) for place in range(len(linear.inputs))]
        backward = transformed(partial(transpose, linear=marks), linear)
        return conjugated(backward, len(residuals)), residuals

    def _as_input(self, known: "Evaluated | Result") -> Any:
        """An input of a graph of the derivative."""
        return known.array

    def _known(self, residuals: Sequence[Any]) -> Graph:
        """A graph that returns the outputs and the residuals."""
        self.inputs = [*map(self._as_input, self.results), *residuals]
        values = tuple(Value(ArrayType(x.dtype, x.shape)) for x in self.inputs)
        return Graph(self.name, values, (), values)

    def split(self, results: list[Any]) -> tuple[list[Any], list[Any]]:
        count = len(self.results)
        return results[:count], results[count:]

    def forget_arrays(self) -> None:
        """Release the nodes and what they have saved: the residuals are kept elsewhere."""
        del self.inputs, self.nodes, self.out_nodes
        self.forget_values()

    def forget_values(self) -> None:
        """Release what only the value of the function needs."""
        del self._outside, self.results

    def pulled_with_masks(self, leaves: Sequence[ArrayOutput], cotangents: Sequence[Any]) -> list[Any]:
        """As `pull_back`, but what a `where` does not choose has the derivative 0."""
        backward, residuals = self.backward(leaves, safe=True)
        return run(backward, [*residuals, *cotangents])

    def warn_of_masked_nan(self, found: Iterable[Any], again: Callable[[], Sequence[Any]]) -> None:
        found = list(found)
        if not self.safe_where and current_trace() is None and any(map(has_nan, found)):
            floating = [leaf for leaf in self.out_leaves if isinstance(leaf, ArrayOutput)]
            floating = [leaf for leaf in floating if is_inexact(self.type_of(leaf).dtype)]
            warn_of_masked_nan(self.where, self.linear(floating)[0], found, again)
