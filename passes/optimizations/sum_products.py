"""`sum_products`: products of a matrix and a vector as sums, whose loops run with those of their neighbours."""

from collections.abc import Mapping
from typing import Any

from ...compiler.ir import Graph, Value
from ...compiler.symbolic_size import is_one
from ...compiler.value_ops import multiply, reshape, sum_, transpose
from ..rewrite import rewrite


def sum_products(graph: Graph) -> Graph:
    """Replace each ``dot`` that has a vector on one side.

    It takes as long as reading the matrix, by whatever function. As a sum, it is computed where its operands are
    computed or its result is needed, and the matrix may be read only once for several purposes.

    Before, for ``x: f64[100, 20], w: f64[20]``::

        dot_1: f64[100] = dot(x, w, contract_x=(1,), contract_y=(0,))

    after::

        multiply_1: f64[100, 20] = multiply(x, w)
        sum_1: f64[100] = sum(multiply_1, axes=(1,))
    """
    return rewrite(graph, _replacement)


def _replacement(op: str, inputs: tuple[Value, ...], params: Mapping[str, Any]) -> tuple[Value, ...] | None:
    if op != "dot" or inputs[0].dtype.kind not in "fc" or inputs[0].dtype.itemsize == 2:
        return None
    sides = [_Side(value, side, params) for value, side in zip(inputs, "xy", strict=True)]
    vector = next((side for side in reversed(sides) if side.is_vector), None)
    if vector is None:
        return None
    (matrix,) = (side for side in sides if side is not vector)
    batch = [sides[0].value.shape[axis] for axis in sides[0].batch]
    free = [side.value.shape[axis] for side in sides for axis in side.free]
    return (reshape(_sum(matrix, vector), (*batch, *free)),)


class _Side:
    """An operand, and its axes in the order of the product."""

    def __init__(self, value: Value, side: str, params: Mapping[str, Any]) -> None:
        self.value = value
        self.batch, self.contract = (
            tuple(params.get(f"{role}_{side}", ())) for role in ("batch", "contract")
        )
        taken = {*self.batch, *self.contract}
        self.free = [axis for axis in range(value.ndim) if axis not in taken]
        self.is_vector = all(is_one(value.shape[axis]) for axis in self.free)


def _sum(matrix: _Side, vector: _Side) -> Value:
    """Goes over the matrix in its own order."""
    x, y = matrix.value, vector.value
    partner = dict(zip((*matrix.batch, *matrix.contract), (*vector.batch, *vector.contract), strict=True))
    order = [partner[axis] for axis in range(x.ndim) if axis in partner]
    spread = tuple(x.shape[axis] if axis in partner else 1 for axis in range(x.ndim))
    summed = sum_(multiply(x, reshape(transpose(y, [*order, *vector.free]), spread)), matrix.contract)
    left = [axis for axis in range(x.ndim) if axis not in matrix.contract]
    return transpose(summed, [left.index(axis) for axis in (*matrix.batch, *matrix.free)])
