"""The backward pass of `tracemill.autograd` through the nodes of variables, or of a function that is evaluated."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ...compiler.builder import inline
from ...compiler.dtypes import Array
from ...compiler.error_state import quiet_unless_strict
from ...compiler.errors import ReleasedGraphError
from ...compiler.interpreter import are_calls_observed
from ...compiler.ir import ArrayType, Constant, Graph, Value
from ...compiler.tracing.array_values import as_value
from ...compiler.tracing.traced_array import wrap
from ...compiler.tracing.traced_memory import is_traced
from ...passes.transforms.safe_where import safe_where
from ...passes.transforms.transpose import transpose
from ...passes.transforms.vjp import conjugated
from ...passes.transforms.vmap import vmap
from ..eager.run import in_rows, run, separate, transformed
from ..evaluation.evaluated_array import EvaluatedArray, new_result
from ..evaluation.evaluated_memory import Evaluated, elements
from ..evaluation.evaluating import Evaluating
from ..evaluation.linear_graph import linear_graph
from ..evaluation.nodes import Node
from ..evaluation.operand_types import operand_type
from ..evaluation.recorded_sweep import Between
from ..evaluation.sweep import pull_back
from .tape import Released, release

Source = tuple[Node, ArrayType]
"""Where a value comes from, and its type."""


class NodePullback:
    """The backward pass from `outputs` to `inputs`, through the nodes of a trace."""

    def __init__(self, home: Evaluating, outputs: Sequence[Source], inputs: Sequence[Source]) -> None:
        """An input may be given twice, and may be computed from another one."""
        self._home, self._outputs = home, outputs
        self._inputs = list(dict(inputs).items())
        self._places = [[node for node, _ in self._inputs].index(node) for node, _ in inputs]
        self._between = _NodesBetween([node for node, _ in self._inputs], [node for node, _ in outputs])
        self.used = [node in self._between.used for node, _ in inputs]
        """Whether the outputs depend on each input."""

    def pull(self, cotangents: Sequence[Any], batch: int | None, *, safe: bool, records: bool) -> list[Any]:
        """One gradient per input, None if the outputs do not depend on it: traced arrays if the trace `records` them.

        With `batch`, it is the first axis of the cotangents and of the gradients. `safe` is ``safe_where=True``.
        """
        by_graph = batch is not None or safe or are_calls_observed()
        with quiet_unless_strict():
            if records:
                given = list(map(as_value, cotangents))
                found = (
                    self._recorded_by_graph(given, batch, safe=safe) if by_graph else self._recorded(given)
                )
            else:
                arrays = list(map(_array, cotangents))
                found = self._by_graph(arrays, batch, safe=safe) if by_graph else self._by_sweep(arrays)
        return [
            found[place] if is_used else None for place, is_used in zip(self._places, self.used, strict=True)
        ]

    def _by_sweep(self, cotangents: Sequence[Array]) -> list[Any]:
        between = self._between
        found = pull_back(self._moving(cotangents), between.leaves, between.nodes, between.inner_leaves)
        arrays = [
            np.zeros(type.shape, type.dtype) if one is None else in_rows(np.asarray(one))
            for one, (_, type) in zip(found, self._inputs, strict=True)
        ]
        return separate(arrays, cotangents)

    def _recorded(self, cotangents: Sequence[Value]) -> list[EvaluatedArray]:
        found = self._between.recorded(self._home, self._moving([self._entered(one) for one in cotangents]))
        return [
            self._made(np.zeros(type.shape, type.dtype), None)
            if one is None
            else self._made(*one.evaluated())
            for one, (_, type) in zip(found, self._inputs, strict=True)
        ]

    def _moving(self, cotangents: Sequence[Any]) -> list[tuple[Node, Any]]:
        """The outputs that depend on an input, with their cotangents."""
        pairs = zip((node for node, _ in self._outputs), cotangents, strict=True)
        return [(node, cotangent) for node, cotangent in pairs if node in self._between.moving]

    def _entered(self, value: Value) -> EvaluatedArray:
        return self._made(elements(value), value.node if isinstance(value, Evaluated) else None)

    def _made(self, array: Array, node: Any) -> EvaluatedArray:
        """An array in C order; if it has no axes, a scalar, as in NumPy."""
        return new_result(self._home, in_rows(array) if array.ndim else array[()], operand_type(array), node)

    # ---- by a graph ----------------------------------------------------------------------------------------

    def linear(self) -> Graph:
        """The derivative as a graph."""
        return linear_graph(self._outputs, self._inputs)[0]

    def _by_graph(self, cotangents: Sequence[Array], batch: int | None, *, safe: bool) -> list[Any]:
        linear, residuals = linear_graph(self._outputs, self._inputs)
        backward = _backward(linear, len(residuals), batch, safe=safe)
        return run(backward, [*(one.array for one in residuals), *cotangents])

    def _recorded_by_graph(self, cotangents: Sequence[Value], batch: int | None, *, safe: bool) -> list[Any]:
        linear, residuals = linear_graph(self._outputs, self._inputs, self._home)
        backward = _backward(linear, len(residuals), batch, safe=safe)
        return list(map(wrap, inline(backward, [*residuals, *cotangents])))

    def release(self) -> None:
        """Release what the backward pass needs."""
        for node in self._between.nodes:
            release(node)


class _NodesBetween(Between):
    """The nodes between any nodes of a trace and outputs that are computed from them."""

    def __init__(self, leaves: Sequence[Node], outputs: Sequence[Node]) -> None:
        super().__init__(leaves, outputs)
        for node in self.nodes:
            if isinstance(node.plan, Released):
                raise ReleasedGraphError(
                    f"the graph behind this {node.plan.name} was released by the first call of grad or backward: pass "
                    "retain_graph=True there",
                    node.location,
                )
        self.used = {parent for node in self.nodes for parent in node.parents}.union(outputs)

    def outer(self, node: Any) -> Any:
        return node


def _backward(linear: Graph, known: int, batch: int | None, *, safe: bool) -> Graph:
    """The backward pass as a graph of residuals and cotangents."""
    marks = [place >= known for place in range(len(linear.inputs))]
    if safe:
        linear = transformed(partial(safe_where, linear=marks), linear)
    backward = conjugated(transformed(partial(transpose, linear=marks), linear), known)
    if batch is None:
        return backward
    axes = [None] * known + [0] * (len(backward.inputs) - known)
    return transformed(
        partial(vmap, in_axes=axes, size=batch, out_axes=[0] * len(backward.outputs)), backward
    )


def _array(x: Any) -> Array:
    """An array with which to compute at once."""
    array: Array = x.evaluated()[0] if is_traced(x) else x.array if isinstance(x, Constant) else np.asarray(x)
    return array
