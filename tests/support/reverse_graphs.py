"""The two graphs of a reverse mode as one."""

from collections.abc import Sequence

from tracemill.compiler.builder import Builder, inline, recording
from tracemill.compiler.ir import Graph, Value
from tracemill.passes.transforms.vjp import vjp


def reverse_graph(graph: Graph, wrt: Sequence[bool], *, safe: bool = False) -> Graph:
    """``(inputs, cotangents) -> cotangents of the inputs``."""
    forward, backward = vjp(graph, wrt=wrt, safe=safe)
    residuals = len(forward.outputs) - len(graph.outputs)
    inputs = tuple(Value(v.type) for v in graph.inputs)
    cotangents = tuple(Value(v.type) for v in backward.inputs[residuals:])
    with recording(Builder()) as builder:
        known = inline(forward, inputs)[len(graph.outputs) :]
        outputs = inline(backward, (*known, *cotangents))
    return Graph(f"{graph.name}_reverse", (*inputs, *cotangents), tuple(builder.calls), outputs)
