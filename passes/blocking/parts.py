"""The graph of a chain of products, and the part of it that computes some rows of its results."""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple, TypeAlias

from ...compiler.analysis.row_products import is_row_product
from ...compiler.analysis.tiling_axes import Axes, input_axes, params_of_part, with_rows
from ...compiler.builder import Builder, bind, recording
from ...compiler.ir import ArrayType, Call, Graph, Value
from ...compiler.params import ints_param
from ..fusion.kernels import kernel_name
from .chains import Chain, is_number


class Use(Enum):
    """What a chain does with an operand. One array may be several operands: in attention of an array to itself, each
    block takes some rows of the queries, and all of the keys."""

    ROWS = "rows"
    MATRIX = "matrix"
    """The right side of a product."""
    TURNED = "turned"
    """The same, with its last two axes exchanged before."""


Operand: TypeAlias = tuple[Value, Use]


def chain_graph(chain: Chain) -> tuple[Graph, list[Operand]] | None:
    """The graph of a chain, in which all products are those of rows, and its operands; None if a product in it would
    have to take the result of another one in another order."""
    given: dict[Operand, Value] = {}
    made: dict[Value, Value] = {}

    def operand(value: Value, use: Use = Use.ROWS) -> Value:
        if value in made or is_number(value):
            return made.get(value, value)
        shape = value.shape
        if use == Use.TURNED:
            shape = (*shape[:-2], shape[-1], shape[-2])
        return given.setdefault((value, use), Value(ArrayType(value.dtype, shape)))

    with recording(Builder()) as builder:
        for call in chain.calls:
            builder.location = call.location
            inputs, params = list(map(operand, call.inputs[:1])), call.params
            if call.op == "dot":
                y = call.inputs[1]
                is_turned = ints_param(call, "contract_y") == (y.ndim - 1,)
                if y in made and is_turned:
                    return None
                inputs.append(operand(y, Use.TURNED if is_turned else Use.MATRIX))
                params = {**params, "contract_y": (y.ndim - 2,)}
            else:
                inputs += map(operand, call.inputs[1:])
            made[call.outputs[0]] = bind(call.op, *inputs, **params)
    name = kernel_name(chain.calls).replace("kernel", "rows", 1)
    outputs = tuple(made[value] for value in chain.outputs)
    return Graph(name, tuple(given.values()), tuple(builder.calls), outputs, ("x",) * len(given)), list(given)


class Part(NamedTuple):
    """A graph for some rows, and the axis of each input along which they lie; None if it takes the whole input."""

    graph: Graph
    cuts: tuple[int | None, ...]


def part_of(graph: Graph, axis: int, rows: int) -> Part | None:
    """The part of a graph that computes `rows` along this axis of all outputs; None if it needs other results whole.

    Before, for ``axis=0`` and ``rows=64``::

        def f(x: f32[512, 16], w: f32[16, 8]) -> f32[512, 8]:
            dot_1: f32[512, 8] = dot(x, w, contract_x=(1,), contract_y=(0,))
            exp_1: f32[512, 8] = exp(dot_1)
            return exp_1

    after, with ``cuts=(0, None)``::

        def f(x: f32[64, 16], w: f32[16, 8]) -> f32[64, 8]:
            dot_1: f32[64, 8] = dot(x, w, contract_x=(1,), contract_y=(0,))
            exp_1: f32[64, 8] = exp(dot_1)
            return exp_1
    """
    found = axes_of(graph, axis)
    if found is None:
        return None
    now: dict[Value, Value] = {}
    for value in graph.inputs:
        at = found[value]
        shape = value.shape if at is None else with_rows(value.shape, at, rows)
        now[value] = Value(ArrayType(value.dtype, shape))
    with recording(Builder()) as builder:
        for call in graph.calls:
            builder.location = call.location
            (output,) = call.outputs
            at = found[output]
            params = call.params if at is None or call.op == "dot" else params_of_part(call, at, rows)
            now[output] = bind(call.op, *(now.get(value, value) for value in call.inputs), **params)
    inputs, outputs = ([now[value] for value in values] for values in (graph.inputs, graph.outputs))
    part = Graph(graph.name, tuple(inputs), tuple(builder.calls), tuple(outputs), graph.input_names)
    return Part(part, tuple(found[value] for value in graph.inputs))


def axes_of(graph: Graph, axis: int) -> Mapping[Value, int | None] | None:
    """For each value, the axis along which the rows lie that are needed for some rows of all outputs."""
    wanted: dict[Value, int | None] = dict.fromkeys(graph.outputs, axis)
    for call in reversed(graph.calls):
        (output,) = call.outputs
        at = wanted.get(output)
        found = None if at is None else _operand_axes(call, at)
        if found is None:
            return None
        for value, needed in zip(call.inputs, found, strict=True):
            if not is_number(value) and wanted.setdefault(value, needed) != needed:
                return None
    return {**dict.fromkeys(graph.inputs), **wanted}


def _operand_axes(call: Call, axis: int) -> Axes | None:
    """The axes of the operands that correspond to an axis of the result."""
    if call.op != "dot":
        return input_axes(call, axis)
    x, y = call.inputs
    if not is_row_product(call) or axis == x.ndim - 1:
        return None
    return axis, (axis if axis < y.ndim - 2 else None)
