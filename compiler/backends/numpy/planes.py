"""Arrays in planes: those of many short rows, with the last axis first in memory, where NumPy's loops are long."""

from ...ir import ArrayType, Call, Constant, Graph
from ...kernel import REDUCTIONS, is_elementwise
from ...memory_plan import VIEWS

SHORT = 16
"""Rows of fewer elements cost more to begin than to run through, whatever is done with them."""

LONGEST = 64
"""Rows of up to so many are still faster in planes, if nothing in rows must be brought there or back."""

MANY = 64
"""So many rows make planes worth it."""

PLANES = """\
def in_planes(x):
    \"\"\"The same array with the last axis first in memory.\"\"\"
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, -1, 0)), 0, -1)
"""


def has_short_rows(type: ArrayType) -> bool:
    """Whether an array could be faster in planes."""
    return type.ndim > 1 and 2 <= type.shape[-1] <= LONGEST and type.size >= MANY * type.shape[-1]


def wants_planes(graph: Graph) -> bool:
    """Whether more elements are reduced along short rows, or combined with what is broadcast to them, than read from
    inputs or written to outputs, which are not in planes."""
    given = {*graph.inputs}
    balance = -sum(_moving(value.type) for value in graph.outputs)
    for call in graph.calls:
        (output,) = call.outputs
        if call.op in VIEWS:
            if call.inputs[0] in given:
                given.add(output)
            continue
        if call.op in REDUCTIONS:
            (operand,) = call.inputs
            if has_short_rows(operand.type) and operand not in given:
                balance += operand.type.size
        elif is_elementwise(call) and has_short_rows(output.type):
            whole = [value for value in call.inputs if value.shape == output.shape]
            if any(value in given or isinstance(value, Constant) for value in whole):
                balance -= max(output.type.size, _moving(output.type))
            elif _broadcasts(call):
                balance += output.type.size
    return balance > 0


def _moving(type: ArrayType) -> int:
    """What it costs to read or write rows where they would do without planes."""
    return 4 * type.size if has_short_rows(type) and type.shape[-1] >= SHORT else 0


def _broadcasts(call: Call) -> bool:
    """Whether an operand has other rows than the result, so that NumPy runs through one row after the other."""
    shape = call.outputs[0].shape
    return any(value.type.size > 1 and value.shape != shape for value in call.inputs)
