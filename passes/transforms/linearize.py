"""Split a derivative into the part that depends on the point and the part that is linear in the tangents."""

from collections.abc import Sequence

from ...compiler.interpreter import depends_on
from ...compiler.ir import Call, Constant, Graph, Value
from ..simplification.remove_dead_code import remove_dead_code
from .jvp import jvp


def linearize(graph: Graph, *, wrt: Sequence[bool], of: Sequence[bool] | None = None) -> tuple[Graph, Graph]:
    """``(forward, linear)``: the function with the residuals of its derivative, and the derivative at that point.

    ``forward(*inputs)`` returns the outputs of `graph`, then the residuals. ``linear(*residuals, *tangents)`` returns
    the tangents of the outputs marked in `of` (default: the floating-point ones) and is linear in the tangents.
    Forward mode runs once and its graph is split: every call that depends on a tangent is linear in it. A call that
    holds a graph becomes two, one in each part.
    """
    pushed = jvp(graph, wrt=wrt, of=of, recurse=_split)
    count = len(graph.inputs)
    reached = depends_on(pushed, [False] * count + [True] * (len(pushed.inputs) - count))
    known = tuple(call for call in pushed.calls if not any(v in reached for v in call.inputs))
    linear = tuple(call for call in pushed.calls if any(v in reached for v in call.inputs))
    primals_out, tangents_out = pushed.outputs[: len(graph.outputs)], pushed.outputs[len(graph.outputs) :]
    tail = remove_dead_code(
        Graph(f"{graph.name}_linear", pushed.inputs, linear, tangents_out, pushed.input_names)
    )
    residuals = _needed_from_outside(tail.calls, tangents_out, reached)
    tail = Graph(
        tail.name,
        (*residuals, *pushed.inputs[count:]),
        tail.calls,
        tail.outputs,
        (*(f"r{i}" for i in range(len(residuals))), *pushed.input_names[count:]),
    )
    head = Graph(graph.name, graph.inputs, known, (*primals_out, *residuals), graph.input_names)
    return remove_dead_code(head), tail


def _split(graph: Graph, wrt: Sequence[bool], of: Sequence[bool]) -> tuple[Graph, Graph]:
    return linearize(graph, wrt=wrt, of=of)


def _needed_from_outside(
    calls: Sequence[Call], outputs: Sequence[Value], reached: set[Value]
) -> tuple[Value, ...]:
    """Values that the linear part uses but does not compute, in the order of their first use."""
    needed: dict[Value, None] = {}
    for value in (*(v for call in calls for v in call.inputs), *outputs):
        if value not in reached and not isinstance(value, Constant):
            needed[value] = None
    return tuple(needed)
