"""The verifier refuses what is not well formed, and names the call and its line."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tracemill.compiler.builder import Builder, bind, recording
from tracemill.compiler.errors import InvalidGraphError
from tracemill.compiler.ir import ArrayType, Call, Constant, Graph, Location, Param, Value
from tracemill.compiler.value_ops import add, cos, sin

TYPE = ArrayType(np.dtype("f4"), (3,))


def two_sines() -> Graph:
    """``sin(sin(x))``, each from a line of its own."""
    x = Value(TYPE)
    with recording(Builder()) as builder:
        builder.location = Location("model.py", 7, "h = np.sin(x)")
        h = sin(x)
        builder.location = Location("model.py", 8, "return np.sin(h)")
        out = sin(h)
    return Graph("f", (x,), tuple(builder.calls), (out,), ("x",))


def one_call(op: str = "sin", out: ArrayType = TYPE, **params: Param) -> Graph:
    x, y = Value(TYPE), Value(out)
    return Graph("f", (x,), (Call(op, (x,), params, (y,)),), (y,))


def test_a_well_formed_graph_passes() -> None:
    two_sines().lint()


def test_a_use_before_the_definition_names_the_call_and_its_line() -> None:
    graph = two_sines()
    with pytest.raises(
        InvalidGraphError, match=r"graph f, call 0 \(sin\): value 0 .* is not defined before"
    ) as info:
        replace(graph, calls=graph.calls[::-1]).lint()
    assert "at model.py:8  return np.sin(h)" in str(info.value)


def test_a_value_is_made_once() -> None:
    graph = two_sines()
    with pytest.raises(
        InvalidGraphError, match=r"call 2 \(sin\): value 0 of those it makes .* is made twice"
    ):
        replace(graph, calls=(*graph.calls, graph.calls[0])).lint()
    with pytest.raises(InvalidGraphError, match="made twice"):
        Graph("f", (graph.inputs[0], graph.inputs[0]), (), ()).lint()


def test_what_is_returned_must_be_made() -> None:
    with pytest.raises(InvalidGraphError, match="graph f, return: value 0"):
        replace(two_sines(), outputs=(Value(TYPE),)).lint()


def test_every_op_is_known() -> None:
    with pytest.raises(InvalidGraphError, match=r"call 0 \(sine\): no op has this name"):
        one_call("sine").lint()


def test_types_are_what_the_type_rule_says() -> None:
    with pytest.raises(InvalidGraphError, match=r"the outputs are f32\[4\], the type rule says f32\[3\]"):
        one_call(out=ArrayType(TYPE.dtype, (4,))).lint()
    with pytest.raises(InvalidGraphError, match="the type rule refuses: sum of"):
        one_call("sum", axes=(7,)).lint()
    with pytest.raises(InvalidGraphError, match=r"the type rule refuses: .*unexpected keyword"):
        one_call("sin", axes=()).lint()


@pytest.mark.parametrize(
    "param",
    [[0], {}, np.zeros(3), np.float32(1), np.int64(0), (0, [1]), np.dtype("O"), np.float32, 1j, 2**2000],
    ids=lambda param: type(param).__name__,
)
def test_parameters_are_immutable_data(param: Any) -> None:
    with pytest.raises(InvalidGraphError, match="parameter axes is or holds what a graph cannot keep"):
        one_call("sum", axes=param).lint()


def test_a_constant_is_neither_an_input_nor_changed() -> None:
    constant = Constant(np.ones(3, "f4"))
    with pytest.raises(InvalidGraphError, match="value 0 of those it makes is a constant"):
        Graph("f", (constant,), (), ()).lint()
    constant.array = np.ones(3, "f4")
    with pytest.raises(InvalidGraphError, match="constant 0 is writeable"):
        Graph("f", (), (), (constant,)).lint()


@pytest.mark.parametrize("shape", [(-1,), (2.0,), (np.int64(3),), (True,), (2**48,), (1,) * 65])
def test_dimensions_are_small_ints(shape: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidGraphError, match=r"a dimension is an int|at most 64 axes"):
        Graph("f", (Value(ArrayType(TYPE.dtype, shape)),), (), ()).lint()


def test_dtypes_are_those_of_the_ir() -> None:
    with pytest.raises(InvalidGraphError, match="the IR has no dtype >f4"):
        Graph("f", (Value(ArrayType(np.dtype(">f4"), ())),), (), ()).lint()


def test_every_input_has_a_name() -> None:
    with pytest.raises(InvalidGraphError, match="2 inputs have 1 names"):
        Graph("f", (Value(TYPE), Value(TYPE)), (), (), ("x",)).lint()


def test_nested_graphs_are_verified_and_closed() -> None:
    x, y = Value(TYPE), Value(TYPE)
    with recording(Builder()) as inside:
        out = add(cos(y), x)
    inner = Graph("inner", (y,), tuple(inside.calls), (out,))
    with recording(Builder()) as builder:
        result = bind("call", x, graph=inner)
    graph = Graph("outer", (x,), tuple(builder.calls), (result,))
    with pytest.raises(
        InvalidGraphError, match=r"graph inner, call 1 \(add\): value 1 .* is not defined before"
    ):
        graph.lint()
