"""All derivatives of all outputs at one point: unit directions, mapped through the linear part of the function."""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from ....compiler.builder import inline
from ....compiler.dtypes import INT64
from ....compiler.frontend.program import ArrayOutput
from ....compiler.ir import ArrayType, Graph, Value
from ....compiler.ops.nested_graphs import graph_of
from ....compiler.symbolic_size import is_known, typical
from ....compiler.tracing.trace import ExampleIndex
from ....compiler.value_ops import broadcast_to, constant, convert, equal, iota, reshape
from ...batching.chunk_size import Chunking
from ...eager.mapped_axes import all_indices
from ...eager.mapped_graph import MappedGraph
from ...eager.run import zero_of
from ..differentiated_call import DifferentiatedCall

Blocks: TypeAlias = list[list[Any]]
"""For each output leaf, for each input leaf, an array of shape output + input."""

BlocksOf: TypeAlias = Callable[[Any, list[ArrayOutput], Chunking], tuple[list[Any], Blocks]]
"""The outputs of a `DifferentiatedCall`, and the blocks of its Jacobian. Sparse ones need a `TracedDerivative`."""


def rows(
    call: DifferentiatedCall, leaves: list[ArrayOutput], chunks: Chunking, *, named: bool = False
) -> tuple[list[Any], Blocks]:
    """Reverse mode: the unit cotangents of each output leaf are pulled back."""
    forward, backward = call.vjp(leaves)
    outputs, residuals = call.run_forward(forward)
    types = [call.type_of(leaf) for leaf in leaves]

    def pulled_through(backward: Graph) -> Blocks:
        units = _Units(call, f"{call.name}_rows", backward, residuals, chunks, named)
        blocks: Blocks = []
        for row, type in enumerate(types):
            pulled = units.through(types, row, [len(call.batch)] * len(call.primal_types))
            if type.dtype.kind == "c":  # vjp returns the uphill direction, the conjugate of the derivative
                pulled = list(map(np.conjugate, pulled))
            blocks.append(
                [
                    _reshaped(p, (*call.batch, *type.shape, *t.shape))
                    for p, t in zip(pulled, call.primal_types, strict=True)
                ]
            )
        return blocks

    with call.computing():
        blocks = pulled_through(backward)
    blocks = [list(map(call.of_example, row)) for row in blocks]
    call.warn_of_masked_nan(
        chain(*blocks), lambda: list(chain(*pulled_through(call.vjp(leaves, safe=True)[1])))
    )
    return outputs, blocks


def columns(
    call: DifferentiatedCall, leaves: list[ArrayOutput], chunks: Chunking, *, named: bool = False
) -> tuple[list[Any], Blocks]:
    """Forward mode: the unit tangents of each input leaf are pushed forward; their axis comes last."""
    forward, linear = call.linearize(leaves)
    outputs, residuals = call.run_forward(forward)
    out_types = [call.type_of(leaf) for leaf in leaves]
    in_types = call.primal_types
    units = _Units(call, f"{call.name}_columns", linear, residuals, chunks, named)
    blocks: Blocks = []
    with call.computing():
        for column, type in enumerate(in_types):
            pushed = units.through(in_types, column, [len(call.batch) + t.ndim for t in out_types])
            shapes = [(*call.batch, *t.shape, *type.shape) for t in out_types]
            blocks.append(list(map(_reshaped, pushed, shapes)))
    return outputs, [list(map(call.of_example, row)) for row in zip(*blocks, strict=True)]


def blocks_of_shorter_side(
    call: DifferentiatedCall, leaves: list[ArrayOutput], chunks: Chunking
) -> tuple[list[Any], Blocks]:
    """Forward mode if there are at most as many inputs as outputs, otherwise reverse mode; the call has the mode in
    its name."""
    inputs = sum(typical(type.size) for type in call.primal_types)
    outputs = sum(typical(call.type_of(leaf).size) for leaf in leaves)
    return (columns if inputs <= outputs else rows)(call, leaves, chunks, named=True)


class _Units:
    """A linear graph of residuals and directions, which is applied to unit directions."""

    def __init__(
        self,
        call: DifferentiatedCall,
        name: str,
        linear: Graph,
        residuals: Sequence[Any],
        chunks: Chunking,
        named: bool,
    ) -> None:
        self.where, self.batch = call.where, call.batch
        self.name, self.linear, self.residuals = name, linear, residuals
        self.chunks, self.named = chunks, named
        self._held = 0

    def through(self, types: Sequence[ArrayType], which: int, out_axes: Sequence[int]) -> list[Any]:
        """The results for the unit directions of input `which`, each along its own entry of a new axis.

        Direction number i is computed from i where it is used: an array of all units never exists.
        """
        count = len(self.residuals)
        size = types[which].size

        def each(*inputs: Value) -> Sequence[Value]:
            directions = [
                self._of_all_examples(_unit(inputs[-1], t) if i == which else zero_of(t))
                for i, t in enumerate(types)
            ]
            return inline(self.linear, (*inputs[:count], *directions))

        given = [*(v.type for v in self.linear.inputs[:count]), ExampleIndex.type]
        names = (*self.linear.input_names[:count], "unit")
        mapped = MappedGraph(graph_of(self.name, given, each, names), [*[None] * count, 0], out_axes, size)
        inputs = [*self.residuals, all_indices(ExampleIndex(size))]
        found = self.chunks.run(self.where, mapped, inputs, held=self._held, named=self.named)
        self._held += sum(out.nbytes for out in found)
        return found

    def _of_all_examples(self, direction: Value) -> Value:
        return broadcast_to(direction, (*self.batch, *direction.shape)) if self.batch else direction


def _unit(number: Value, type: ArrayType) -> Value:
    """The unit array of that number: one entry is 1, the others are 0."""
    if is_known(type.size == 1):
        return constant(np.ones(type.shape, type.dtype))
    hot = equal(iota(type.size, INT64), number)
    return reshape(convert(hot, type.dtype), type.shape)


def _reshaped(x: Any, shape: tuple[int, ...]) -> Any:
    """`x` in another shape; a 0-d result is a scalar, as in NumPy."""
    reshaped = np.reshape(x, shape)
    return reshaped if shape else reshaped[()]
