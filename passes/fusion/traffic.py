"""How many bytes the calls of a graph read and write: fusion reduces this."""

from ...compiler.analysis.fusible_ops import REDUCTIONS
from ...compiler.ir import Call, Graph, Value, called
from ...compiler.op import is_move, is_view


def bytes_moved(graph: Graph) -> int:
    """The bytes that all calls read and write; nested graphs count for one run. Views move nothing.

    If a kernel uses only a part of an array, such as a slice, only this part counts.

    >>> import numpy as np, tracemill as tm
    >>> graph = tm.compile(lambda x: np.sum(np.sin(x) * 2.0)).lower(np.ones(100)).graph
    >>> bytes_moved(graph)  # 800 + 800 for each of two elementwise calls, 800 + 8 for the sum
    4016
    """
    moved = sum(bytes_read(call) + bytes_written(call) for call in graph.calls)
    return moved + sum(
        bytes_moved(nested) for call in graph.calls if call.op != "kernel" for nested in called((call,))
    )


def bytes_written(call: Call) -> int:
    """The size of all results; 0 for a view."""
    return 0 if is_view(call) else sum(value.type.nbytes for value in call.outputs)


def bytes_read(call: Call) -> int:
    """The size of the used parts of the operands; 0 for a view and for constant numbers."""
    if is_view(call):
        return 0
    if call.op != "kernel":
        return sum(
            _demand(call, call.outputs[0].type.size if call.outputs else 0, value)
            for value in set(call.inputs)
        )
    (graph,) = called((call,))
    used: dict[Value, int] = {value: value.type.size for value in graph.outputs}
    for inner in reversed(graph.calls):
        (output,) = inner.outputs
        for value in inner.inputs:
            asked = _demand(inner, used.get(output, 0), value) // max(value.dtype.itemsize, 1)
            used[value] = min(value.type.size, used.get(value, 0) + asked)
    return sum(used.get(value, 0) * value.dtype.itemsize for value in graph.inputs)


def _demand(call: Call, elements: int, operand: Value) -> int:
    """The bytes of an operand that are read for this many elements of the result."""
    size = operand.type.size
    if is_move(call) and call.op not in REDUCTIONS:
        size = min(size, elements)
    return size * operand.dtype.itemsize
