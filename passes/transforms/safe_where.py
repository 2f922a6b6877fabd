"""Move masks to where infinities arise, so that values hidden by a `where` do not come back as 0 · inf."""

from collections.abc import Sequence

from ...compiler.analysis.source_axes import is_repeated
from ...compiler.builder import Builder, bind, bind_all, recording
from ...compiler.interpreter import depends_on
from ...compiler.ir import ArrayType, Call, Graph, Param, Shape, Value
from ...compiler.op import Linear, lookup
from ...compiler.symbolic_size import is_known, same_shape
from ...compiler.value_ops import (
    broadcast_to,
    expand_dims,
    logical_and,
    logical_not,
    logical_or,
    reshape,
    where,
)
from ..lowering.decompose import decompose_composites
from ..nested import holds_graph
from ..simplification.remove_dead_code import remove_dead_code

ELEMENTWISE = frozenset(
    {"add", "checkpoint_name", "complex", "conjugate", "convert", "divide", "imag", "multiply", "negative", "real",
     "subtract"}
)  # fmt: skip
"""Ops for which an element of a linear operand matters if and only if the same element of the result does."""

NEUTRAL = {"multiply": 0, "divide": 1}
"""The replacement of a coefficient where the result does not matter."""


def safe_where(graph: Graph, *, linear: Sequence[bool]) -> Graph:
    """Keep `graph`, which is linear in the marked inputs, from computing what a `where` does not choose.

    If no output needs an element of a linear value, the coefficients that multiply or divide it become 0 or 1. Values
    do not change, except for NaN from 0 · inf; neither do those of the transpose. In loops, branches and calls, only
    the masks of their own graphs count.

    Before::

        multiply_1: f64[3] = multiply(dx, r)
        where_1: f64[3] = where(c, multiply_1, f64(0.0))

    after::

        where_1: f64[3] = where(c, r, f64(0.0))
        multiply_1: f64[3] = multiply(dx, where_1)
        where_2: f64[3] = where(c, multiply_1, f64(0.0))
    """
    graph = decompose_composites(graph)  # a mask can enter a formula, but not an op without one
    reached = depends_on(graph, linear)
    pushed = [call for call in graph.calls if any(v in reached for v in call.inputs)]
    if not any(call.op == "where" or holds_graph(call) for call in pushed):
        return graph
    now: dict[Value, Value] = {}
    with recording(Builder()) as builder:
        builder.calls += [call for call in graph.calls if not any(v in reached for v in call.inputs)]
        masks = _Masks(reached)
        masks.collect(pushed, graph.outputs)
        for call in pushed:
            builder.location = call.location
            marks = [v in reached for v in call.inputs]
            mask = masks.of.get(call.outputs[0]) if call.outputs else None
            inputs = tuple(
                now.get(v, v)
                if mark or mask is None or call.op not in NEUTRAL
                else where(mask, v, NEUTRAL[call.op])
                for v, mark in zip(call.inputs, marks, strict=True)
            )
            outputs = bind_all(call.op, *inputs, **_with_safe_graphs(call, marks))
            now.update(zip(call.outputs, outputs, strict=True))
        results = tuple(now.get(v, v) for v in graph.outputs)
    return remove_dead_code(Graph(graph.name, graph.inputs, tuple(builder.calls), results, graph.input_names))


def _with_safe_graphs(call: Call, linear: Sequence[bool]) -> dict[str, Param]:
    """The parameters of a call, with its graphs made safe where they take its inputs, or the last of them."""

    def safe(param: Param) -> Param:
        if isinstance(param, tuple):
            return tuple(map(safe, param)) if any(isinstance(item, Graph) for item in param) else param
        if not isinstance(param, Graph) or call.op not in ("call", "checkpoint", "scan", "switch"):
            return param
        return safe_where(param, linear=linear[len(linear) - len(param.inputs) :])

    return {name: safe(param) for name, param in call.params.items()}


class _Masks:
    """Where the elements of linear values matter, as arrays of bools of their shapes; None for everywhere."""

    def __init__(self, reached: set[Value]) -> None:
        self.of: dict[Value, Value | None] = {}
        self._reached = reached

    def collect(self, calls: Sequence[Call], outputs: Sequence[Value]) -> None:
        """Walk back from the outputs, all of whose elements matter."""
        for value in outputs:
            self._add(value, None)
        for call in reversed(calls):
            self._add_inputs(call)

    def _add(self, value: Value, mask: Value | None) -> None:
        """Add a use of a value, which matters where any of its uses does."""
        if value not in self._reached:
            return
        before = self.of.get(value, mask)
        self.of[value] = (
            None if before is None or mask is None else before if before is mask else logical_or(before, mask)
        )

    def _add_inputs(self, call: Call) -> None:
        if len(call.outputs) != 1 or call.outputs[0] not in self.of:
            for value in call.inputs:
                self._add(value, None)
            return
        mask, shape = self.of[call.outputs[0]], call.outputs[0].shape
        if call.op == "where" and call.inputs[0] not in self._reached:
            chosen = broadcast_to(call.inputs[0], shape)
            for value, own in zip(call.inputs[1:], (chosen, logical_not(chosen)), strict=True):
                self._add(value, _narrowed(own if mask is None else logical_and(own, mask), value.shape))
            return
        for value in call.inputs:
            self._add(value, None if mask is None else _before(call, value, mask))


def _before(call: Call, value: Value, mask: Value) -> Value | None:
    """Where an operand of a call matters, if its result matters where `mask` is true."""
    if call.op in ELEMENTWISE or is_repeated(call):
        return _narrowed(mask, value.shape)
    op = lookup(call.op)
    if op.index_map is not None:  # it only moves elements: its transpose moves them back
        before: Value = op.transpose((mask,), (Linear(ArrayType(mask.dtype, value.shape)),), **call.params)
        return before
    axes = call.params.get("axes")
    if call.op == "sum" and isinstance(axes, tuple):
        for axis in sorted(axes):
            mask = expand_dims(mask, axis)
        return broadcast_to(mask, value.shape)
    return None


def _narrowed(mask: Value, shape: Shape) -> Value:
    """A mask for a value that is repeated along axes: where any of the copies matters."""
    if same_shape(mask.shape, shape):
        return mask
    lead = mask.ndim - len(shape)
    pairs = enumerate(zip(shape, mask.shape[lead:], strict=True), lead)
    repeated = [axis for axis, (dim, long) in pairs if not is_known(dim == long) and dim == 1]
    return reshape(bind("any", mask, axes=(*range(lead), *repeated)), shape)
