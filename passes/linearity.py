"""Whether a graph is linear in some of its inputs, judged call by call."""

from collections.abc import Sequence

from ..compiler.ir import Call, Graph
from ..compiler.op import lookup, not_linear
from ..compiler.trace import depends_on
from .decompose import decompose_without

PRODUCTS = frozenset({"multiply", "dot", "conv"})
"""Ops that are linear in each operand, but not in two at once."""


def nonlinear_call(graph: Graph, *, linear: Sequence[bool]) -> Call | None:
    """The first call of `graph` that is not linear in the inputs marked in `linear`; None if all are.

    Adding what does not depend on them is not noticed.

    In ``def f(x, dx): multiply_1 = multiply(dx, x); multiply_2 = multiply(dx, multiply_1)`` it is the second.
    """
    graph = decompose_without(graph, lambda op: op.transpose)
    reached = depends_on(graph, linear)
    for call in graph.calls:
        places = [place for place, value in enumerate(call.inputs) if value in reached]
        if places and call.outputs and lookup(call.op).transpose is not_linear:
            return call
        if (call.op in PRODUCTS and len(places) > 1) or (call.op == "divide" and 1 in places):
            return call
    return None
