"""Reverse mode: linearise, then transpose."""

from collections.abc import Sequence

from ...compiler.builder import Builder, inline, recording
from ...compiler.ir import Graph, Value
from ...compiler.value_ops import conjugate
from .linearize import linearize
from .safe_where import safe_where
from .transpose import transpose


def vjp(
    graph: Graph, *, wrt: Sequence[bool], of: Sequence[bool] | None = None, safe: bool = False
) -> tuple[Graph, Graph]:
    """``(forward, backward)``: ``forward(*inputs)`` returns the outputs, then residuals. ``backward(*residuals,
    *cotangents)`` takes one cotangent per output marked in `of` (default: the floating-point ones) and returns one
    per input marked in `wrt`. With `safe`, branches that a `where` does not choose cause no NaN; see `safe_where`.

    Complex cotangents follow the convention in which the gradient of a real loss points uphill: d|z| at 1 + 0j is 1 +
    0j, the conjugate of the transpose.
    """
    forward, linear = linearize(graph, wrt=wrt, of=of)
    tangents = sum(wrt)
    residuals = len(linear.inputs) - tangents
    marks = [False] * residuals + [True] * tangents
    backward = transpose(safe_where(linear, linear=marks) if safe else linear, linear=marks)
    return forward, conjugated(backward, residuals)


def conjugated(backward: Graph, residuals: int) -> Graph:
    """Conjugate the complex cotangents of the outputs and of the inputs."""
    if not any(v.dtype.kind == "c" for v in (*backward.inputs[residuals:], *backward.outputs)):
        return backward
    inputs = tuple(Value(v.type) for v in backward.inputs)
    with recording(Builder()) as builder:
        given = (*inputs[:residuals], *map(conjugate, inputs[residuals:]))
        outputs = tuple(map(conjugate, inline(backward, given)))
    return Graph(backward.name, inputs, tuple(builder.calls), outputs, backward.input_names)
