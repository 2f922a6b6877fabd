"""What a kernel may contain: calls whose results are computed element by element, or sums of such elements.

A fused kernel is a call of the op ``kernel`` that holds a graph of these. `passes.optimizations.fuse` builds kernels,
`loops` turns one into loops, and a backend prints them.
"""

from typing import Final

from ..dtypes import is_half
from ..ir import Call
from ..op import is_move, is_natural_power, lookup
from ..params import int_param, ints_param

REDUCTIONS: Final = frozenset({"all", "any", "argmax", "argmin", "max", "min", "prod", "sum"})
"""Ops in which each element depends on all elements along some axes of the operand."""

PLACES: Final = frozenset({"iota", "size"})
"""Ops whose elements are positions or counts."""

PRODUCTS: Final = frozenset({"conv", "dot"})
"""Ops that multiply matrices: on some targets a kernel can contain one and compute with each of its elements."""


def is_elementwise(call: Call) -> bool:
    """Whether an element of the result is an expression of the elements of the operands at its own index."""
    spelling = lookup(call.op).spelling
    return spelling is not None and "c" in spelling


def reduced_axes(call: Call) -> tuple[int, ...]:
    """The axes of its operand that a reduction, including `argmax`, goes over."""
    return (int_param(call, "axis"),) if "axis" in call.params else ints_param(call, "axes")


def combines_everything(call: Call) -> bool:
    """Whether a call reduces all axes to one element that does not depend on the order of the elements."""
    if call.op not in ("all", "any", "max", "min"):
        return False
    return len(reduced_axes(call)) == call.inputs[0].ndim > 0


def is_loop_call(call: Call) -> bool:
    """Whether a loop nest can compute the call: kernels contain only such calls."""
    if any(is_half(value.type.dtype) for value in (*call.inputs, *call.outputs)):
        return call.op == "bitcast" or is_move(call)  # C has no such arithmetic: NumPy computes it
    if not is_natural_power(call):
        return False
    return is_elementwise(call) or is_move(call) or call.op in REDUCTIONS or call.op in PLACES
