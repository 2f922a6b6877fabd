"""Sum products without storing them, and long rows in blocks: NumPy's BLAS is several times as fast as its sums."""

import math
from collections.abc import Mapping
from typing import Any, Final

from ...compiler.builder import bind
from ...compiler.ir import Call, Graph, Param, Value
from ...compiler.op import is_view
from ...compiler.symbolic_size import SymbolicSize, same_shape, typical
from ...compiler.value_ops import dot, reshape
from ..rewrite import Rewriter
from ..simplification.remove_dead_code import remove_dead_code
from ..simplification.share_subexpressions import share_subexpressions

LONGEST: Final = 1024
"""BLAS adds at most this many terms: its rounding error grows faster with their number than that of pairwise sums."""

BLOCK: Final = 512
"""Blocks of longer rows have at most this many entries. The sum of their sums is about as exact as a pairwise sum."""

SHORTEST: Final = 128
"""A call of BLAS takes as long as this many multiplications and additions. There is one call per row of a matrix."""

WORTH: Final = 1 << 14
"""Fewer numbers are summed before another statement would have begun."""


def contract_sums(graph: Graph) -> Graph:
    """Replace sums along the last axis, or all last axes, of products and of long rows.

    Products may be those of equal shapes, or of rows and one vector.

    Before, for ``x: f64[32, 512]`` and a value ``exp_1: f64[10, 3000]`` that a call has made::

        multiply_1: f64[32, 512] = multiply(x, y)
        sum_1: f64[32] = sum(multiply_1, axes=(1,))
        sum_2: f64[10] = sum(exp_1, axes=(1,))

    after::

        dot_1: f64[32] = dot(x, y, contract_x=(1,), contract_y=(1,), batch_x=(0,), batch_y=(0,))
        reshape_1: f64[10, 6, 500] = reshape(exp_1, shape=(10, 6, 500))
        sum_2: f64[10, 6] = sum(reshape_1, axes=(2,))
        sum_3: f64[10] = sum(sum_2, axes=(1,))

    Products are kept if another call needs them, or if their rows are short or of unknown length. Rows of more than
    1024 entries are cut into blocks if these can be equally long. Sums of other values than products, and along
    several axes, are cut only if a call has made what is summed, whose elements lie in memory in order. Nested graphs
    are changed, too.
    """
    contracted = _Contractor(graph).run()
    return contracted if contracted is graph else remove_dead_code(share_subexpressions(contracted))


class _Contractor(Rewriter):
    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.uses: dict[Value, int] = {}
        for value in (*graph.outputs, *(value for call in graph.calls for value in call.inputs)):
            self.uses[value] = self.uses.get(value, 0) + 1

    def nested(self, graph: Graph) -> Graph:
        return contract_sums(graph)

    def replace(
        self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]
    ) -> tuple[Value, ...] | None:
        if op != "sum" or inputs[0].dtype.name not in ("float32", "float64"):
            return None
        (value,) = inputs
        given: Mapping[str, Any] = params
        found = self.summed(value, given["axes"])
        return None if found is None else (found,)

    def summed(self, value: Value, axes: tuple[int, ...]) -> Value | None:
        kept = value.ndim - len(axes)
        length = math.prod(value.shape[kept:])
        if (
            not axes
            or axes != tuple(range(kept, value.ndim))
            or isinstance(length, SymbolicSize)
            or length == 0
        ):
            return None
        x, y = self.factors(value, length, has_rows=kept > 0)
        if length <= LONGEST:
            if len(axes) > 1:
                return None
            return self.with_vector(value) if y is None else _products(x, y)
        block = _block(length)
        if block is None or typical(value.type.size) < WORTH:
            return None
        is_cut = len(axes) == 1 and (y is not None or not kept)
        if not is_cut and not all(map(self.is_in_order, (x, y or x))):
            return None
        shape = (*value.shape[:kept], length // block, block)
        x = reshape(x, shape)
        parts = bind("sum", x, axes=(kept + 1,)) if y is None else _products(x, reshape(y, shape))
        return bind("sum", parts, axes=(kept,))

    def factors(self, value: Value, length: int, *, has_rows: bool) -> tuple[Value, Value | None]:
        """Those of a product of arrays of the same shape that nothing else needs; otherwise the value alone."""
        call = self.producer.get(value)
        if call is None or self.uses.get(value, 0) != 1 or (has_rows and length < SHORTEST):
            return value, None
        if call.op == "square":
            return call.inputs[0], call.inputs[0]
        if call.op == "multiply" and all(same_shape(x.shape, value.shape) for x in call.inputs):
            return call.inputs[0], call.inputs[1]
        return value, None

    def with_vector(self, value: Value) -> Value | None:
        """The sums of products of rows with one vector, which nothing else needs, as a product of matrices."""
        call = self.producer.get(value)
        if (
            call is None
            or call.op != "multiply"
            or self.uses.get(value, 0) != 1
            or value.shape[-1] < SHORTEST
        ):
            return None
        x, vector = call.inputs if call.inputs[1].ndim == 1 else call.inputs[::-1]
        is_vector = vector.ndim == 1 < value.ndim and same_shape(vector.shape, value.shape[-1:])
        if not is_vector or not same_shape(x.shape, value.shape):
            return None
        return dot(x, vector, ((x.ndim - 1,), (0,)))

    def is_in_order(self, value: Value) -> bool:
        """Whether the elements of a value are known to lie in memory in their order, so that several axes can become
        one without a copy, and rows are contiguous."""
        call: Call | None = self.producer.get(value)
        return call is not None and not is_view(call)


def _products(x: Value, y: Value) -> Value:
    """The sums of products along the last axis."""
    batch, last = tuple(range(x.ndim - 1)), (x.ndim - 1,)
    return dot(x, y, (last, last), (batch, batch))


def _block(length: int) -> int | None:
    """The length of equal parts of a row that are long enough for BLAS."""
    return next((size for size in range(BLOCK, SHORTEST - 1, -1) if length % size == 0), None)
