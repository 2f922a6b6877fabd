"""Transpose a linear graph: from ``dx -> A dx`` to ``ct -> Aᵀ ct``."""

from collections.abc import Sequence
from typing import Any

from ...compiler.builder import Builder, as_tuple, recording
from ...compiler.interpreter import depends_on
from ...compiler.ir import Graph, Value
from ...compiler.op import Linear, lookup
from ...compiler.value_ops import zeros_like
from ..lowering.decompose import decompose_without
from ..nested import rule_params
from .cotangents import Cotangents


def transpose(graph: Graph, *, linear: Sequence[bool]) -> Graph:
    """The transpose of `graph` with respect to the inputs marked in `linear`.

    The result takes the other inputs, then one cotangent per output, and returns one cotangent per linear input.

    Before ``def f(c: f64[], dx: f64[]): multiply_1 = multiply(dx, c); return multiply_1``, after::

        def f_transposed(c: f64[], ct0: f64[]) -> f64[]:
            multiply_1: f64[] = multiply(ct0, c)
            return multiply_1
    """
    graph = decompose_without(graph, lambda op: op.transpose)
    reached = depends_on(graph, linear)
    given = [(v, name) for v, name, m in zip(graph.inputs, graph.input_names, linear, strict=True) if not m]
    cotangents = tuple(Value(v.type) for v in graph.outputs)
    with recording(Builder()) as builder:
        arrived = Cotangents(builder)
        for output, cotangent in zip(graph.outputs, cotangents, strict=True):
            if output in reached:
                arrived.add(output, cotangent)
        builder.calls += [call for call in graph.calls if not any(v in reached for v in call.inputs)]
        for call in reversed(graph.calls):
            arriving = [arrived.take(v) for v in call.outputs]
            if all(ct is None for ct in arriving):
                continue
            builder.location = call.location and call.location.of_derivative()
            full = tuple(
                zeros_like(v) if ct is None else ct for v, ct in zip(call.outputs, arriving, strict=True)
            )
            inputs: tuple[Any, ...] = tuple(Linear(v.type) if v in reached else v for v in call.inputs)
            results = as_tuple(lookup(call.op).transpose(full, inputs, **rule_params(call, transpose)))
            for value, result in zip(call.inputs, results, strict=True):
                if result is not None and value in reached:
                    arrived.add(value, result)
        wanted = [v for v, m in zip(graph.inputs, linear, strict=True) if m]
        found = [(v, arrived.take(v)) for v in wanted]
        outputs = tuple(zeros_like(v) if ct is None else ct for v, ct in found)
    names = (*(name for _, name in given), *(f"ct{i}" for i in range(len(cotangents))))
    inputs_out = (*(v for v, _ in given), *cotangents)
    return Graph(f"{graph.name}_transposed", inputs_out, tuple(builder.calls), outputs, names)
