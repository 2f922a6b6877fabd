"""Arrays in planes: those of many short rows, with the last axis first in memory, so that NumPy's loops are long."""

import math

from ...analysis.fusible_ops import REDUCTIONS, is_elementwise
from ...ir import ArrayType, Call, Constant, Graph, Value
from ...op import is_view
from ...symbolic_size import typical

SHORT = 16
"""Rows with fewer elements cost more to start than to process."""

LONGEST = 64
"""Rows with up to this many elements are still faster in planes, if no rows must be converted."""

MANY = 64
"""This many rows make planes worthwhile."""

PLANES = """\
def in_planes(x):
    \"\"\"The same array with the last axis first in memory.\"\"\"
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, -1, 0)), 0, -1)
"""


def has_short_rows(type: ArrayType) -> bool:
    """Whether an array could be faster in planes."""
    return type.ndim > 1 and 2 <= typical(type.shape[-1]) <= LONGEST and _rows(type) >= MANY


def _rows(type: ArrayType) -> int:
    return math.prod(map(typical, type.shape[:-1]))


def _elements(type: ArrayType) -> int:
    return typical(type.size)


def wants_planes(graph: Graph) -> bool:
    """Whether more elements are reduced along short rows, or combined with broadcast values, than are read from
    inputs or written to outputs, which are not in planes."""
    given = {*graph.inputs}
    balance = -sum(_moving(value.type) for value in graph.outputs)
    for call in graph.calls:
        output, *_ = call.outputs  # only kernels have more
        if is_view(call):
            if call.inputs[0] in given:
                given.add(output)
            continue
        if call.op in REDUCTIONS:
            (operand,) = call.inputs
            if has_short_rows(operand.type) and operand not in given:
                balance += _elements(operand.type)
        elif is_elementwise(call) and has_short_rows(output.type):
            whole = [value for value in call.inputs if _has_shape_of(output, value)]
            if any(value in given or isinstance(value, Constant) for value in whole):
                balance -= max(_elements(output.type), _moving(output.type))
            elif _broadcasts(call):
                balance += _elements(output.type)
    return balance > 0


def _moving(type: ArrayType) -> int:
    """The cost of reading or writing rows that would not be needed without planes."""
    return 4 * _elements(type) if has_short_rows(type) and typical(type.shape[-1]) >= SHORT else 0


def _broadcasts(call: Call) -> bool:
    """Whether an operand has other rows than the result, so that NumPy processes one row after another."""
    (output,) = call.outputs
    return any(_elements(value.type) > 1 and not _has_shape_of(output, value) for value in call.inputs)


def _has_shape_of(output: Value, value: Value) -> bool:
    return [*map(typical, value.shape)] == [*map(typical, output.shape)]
