"""Whether a graph is linear in some of its inputs, checked call by call."""

from collections.abc import Sequence

import numpy as np

from ...compiler.interpreter import depends_on
from ...compiler.ir import Call, Constant, Graph, Value
from ...compiler.op import lookup, moved_inputs, not_linear
from ..lowering.decompose import decompose_without
from ..simplification.fold_constants import fold_constants

PRODUCTS = frozenset({"multiply", "dot", "conv"})
"""Ops that are linear in each operand, but not in two at once."""

SUMS = frozenset({"add", "subtract"})
"""Ops that are linear in all operands together, if none of them is a nonzero constant."""

OF_ZEROS = frozenset({"convert", "negative"})
"""Ops that turn zeros into zeros, in addition to those that move elements."""


def nonlinear_call(graph: Graph, *, linear: Sequence[bool]) -> Call | None:
    """The first call of `graph` that is not linear in the inputs marked in `linear`; None if all are.

    In ``def f(x, dx): multiply_1 = multiply(dx, x); multiply_2 = multiply(dx, multiply_1)`` it is the second.
    """
    graph = fold_constants(decompose_without(graph, lambda op: op.transpose))
    reached = depends_on(graph, linear)
    zeros = _zeros(graph)
    for call in graph.calls:
        places = [place for place, value in enumerate(call.inputs) if value in reached]
        if places and call.outputs and _is_nonlinear(call):
            return call
        if (call.op in PRODUCTS and len(places) > 1) or (call.op == "divide" and 1 in places):
            return call
        if places and call.op in SUMS and not reached.union(zeros).issuperset(call.inputs):
            return call
    return None


def _is_nonlinear(call: Call) -> bool:
    """Whether a call is linear in no input. A `stop_gradient` loses the cotangents, so it is no linear map either."""
    return call.op == "stop_gradient" or lookup(call.op).transpose is not_linear


def nonlinear_outputs(graph: Graph, *, linear: Sequence[bool]) -> list[int]:
    """The outputs of `graph` that do not depend on the inputs marked in `linear`, and are not 0 either."""
    graph = fold_constants(decompose_without(graph, lambda op: op.transpose))
    reached = depends_on(graph, linear)
    zeros = _zeros(graph)
    return [place for place, value in enumerate(graph.outputs) if value not in reached and value not in zeros]


def _zeros(graph: Graph) -> set[Value]:
    """The values that are known to be 0."""
    values = [*graph.outputs, *(value for call in graph.calls for value in call.inputs)]
    zeros: set[Value] = {v for v in values if isinstance(v, Constant) and not np.any(v.array)}
    for call in graph.calls:
        sources = call.inputs if call.op in OF_ZEROS else moved_inputs(call)
        if sources and zeros.issuperset(sources):
            zeros.update(call.outputs)
    return zeros
