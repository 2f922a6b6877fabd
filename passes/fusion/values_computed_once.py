"""The values that a program may compute only once, because results depend on all their copies being equal to the bit.

A compiler is free to call another version of ``sin``, or to add in another order, in every loop: two loops can differ
in the last bit of the same element. Nobody notices, unless a maximum is compared with the elements that it was chosen
from. Then none of them may be equal to it.
"""

from typing import Final

from ...compiler.analysis.rounding import is_rounded_by_loop
from ...compiler.ir import Graph, Value
from .cost import Costs

_CHOOSING: Final = frozenset({"argmax", "argmin", "max", "min"})
_COMPARING: Final = frozenset({"equal", "greater", "greater_equal", "less", "less_equal", "not_equal"})


def values_computed_once(graph: Graph, costs: Costs) -> frozenset[Value]:
    """The values with bits that loops may round differently, and that are chosen from or compared with each other.

    What is computed from them by ops that every loop rounds alike may be computed again.
    """
    sources: list[Value] = []
    found = 0
    behind: dict[Value, int] = {}
    """For each value, the sources that it follows from within kernels: a set, as the bits of an int."""
    for call in graph.calls:
        if not costs.is_fusible(call):
            continue
        masks = [behind.get(value, 0) for value in call.inputs]
        if call.op in _CHOOSING:
            found |= masks[0]
        elif call.op in _COMPARING and call.inputs[0] is not call.inputs[1]:
            found |= masks[0] & masks[1]
        mask = 0
        for one in masks:
            mask |= one
        if is_rounded_by_loop(call):
            mask |= 1 << len(sources)
            sources.append(call.outputs[0])
        behind.update(dict.fromkeys(call.outputs, mask))
    return frozenset(value for place, value in enumerate(sources) if found >> place & 1)
