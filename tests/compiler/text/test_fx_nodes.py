"""Graphs in FX's vocabulary: nodes, the table, the flowchart."""

import re

import numpy as np
import pytest
from hypothesis import given, settings

from graphs.random_graphs import graphs
from tracemill.compiler.builder import Builder, bind_all, recording
from tracemill.compiler.ir import ArrayType, Call, Graph, Location, Value
from tracemill.compiler.value_ops import add, constant, multiply, sin, sum_

F32 = np.dtype("f4")


def sample() -> Graph:
    """``sum(sin(x) * 0.5 + [1, 2])``."""
    x = Value(ArrayType(F32, (2,)))
    with recording(Builder()) as builder:
        builder.location = Location("model.py", 3, 'y = "<b>"  # it')
        scaled = multiply(sin(x), 0.5)
        out = sum_(add(scaled, constant([1, 2], F32)), (0,))
    return Graph("f", (x,), tuple(builder.calls), (out,), ("x",))


def test_nodes_come_in_order_with_the_names_of_the_text() -> None:
    nodes = sample().nodes
    assert [(node.op, node.name, node.target, node.args) for node in nodes] == [
        ("placeholder", "x", "x", ()),
        ("call", "sin_1", "sin", ("x",)),
        ("call", "multiply_1", "multiply", ("sin_1", "f32(0.5)")),
        ("constant", "constant_1", "[1.0, 2.0]", ()),
        ("call", "add_1", "add", ("multiply_1", "constant_1")),
        ("call", "sum_1", "sum", ("add_1",)),
        ("output", "output", "output", ("sum_1",)),
    ]
    assert nodes[1].type == ArrayType(F32, (2,))
    assert nodes[5].kwargs == {"axes": (0,)}
    assert nodes[5].location == Location("model.py", 3, 'y = "<b>"  # it')


def test_a_node_of_several_outputs_has_all_names_and_types() -> None:
    x = Value(ArrayType(F32, (5,)))
    with recording(Builder()) as builder:
        outputs = bind_all("top_k", x, k=2, axis=0)
    node = Graph("f", (x,), tuple(builder.calls), outputs).nodes[1]
    assert node.names == ("top_k_1", "top_k_2")
    assert node.name == "top_k_1"
    assert node.type == (ArrayType(F32, (2,)), ArrayType(np.dtype("i8"), (2,)))


def test_a_node_of_no_outputs_is_named_by_its_op() -> None:
    (node, _) = Graph("f", (), (Call("callback", (), {}, ()),), ()).nodes
    assert (node.name, node.names, node.type) == ("callback", (), ())


def test_the_table_has_a_row_per_node_in_aligned_columns(capsys: pytest.CaptureFixture[str]) -> None:
    sample().print_tabular()
    head, rule, *rows = capsys.readouterr().out.splitlines()
    starts = [0, *(match.end() for match in re.finditer(" +", rule))]
    cells = [
        [row[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)] for row in (head, *rows)
    ]
    line = 'model.py:3  y = "<b>"  # it'
    assert cells == [
        ["opcode", "name", "type", "target", "args", "kwargs", "source"],
        ["placeholder", "x", "f32[2]", "x", "", "", ""],
        ["call", "sin_1", "f32[2]", "sin", "x", "", line],
        ["call", "multiply_1", "f32[2]", "multiply", "sin_1, f32(0.5)", "", line],
        ["constant", "constant_1", "f32[2]", "[1.0, 2.0]", "", "", ""],
        ["call", "add_1", "f32[2]", "add", "multiply_1, constant_1", "", line],
        ["call", "sum_1", "f32[]", "sum", "add_1", "axes=(0,)", line],
        ["output", "output", "f32[]", "output", "sum_1", "", ""],
    ]
    assert not any(row.endswith(" ") for row in rows)


def test_the_flowchart_has_a_box_per_node_and_an_arrow_per_use() -> None:
    assert sample().to_mermaid() == "\n".join(
        [
            "flowchart TD",
            '    n0(["x: f32[2]"])',
            '    n1["sin<br/>sin_1: f32[2]"]',
            "    n0 --> n1",
            '    n2["multiply(f32(0.5))<br/>multiply_1: f32[2]"]',
            "    n1 --> n2",
            '    n3[/"[1.0, 2.0]<br/>constant_1: f32[2]"/]',
            '    n4["add<br/>add_1: f32[2]"]',
            "    n2 --> n4",
            "    n3 --> n4",
            '    n5["sum(axes=(0,))<br/>sum_1: f32[]"]',
            "    n4 --> n5",
            '    n6(["output"])',
            "    n5 --> n6",
        ]
    )


BOX = re.compile(r"    n\d+(\(\[|\[/?)\"[\w .,:=()\[\]+\-/#;]*(<br/>[\w .,:=()\[\]+\-/#;]*)?\"(\]\)|/?\])")
ARROW = re.compile(r"    n\d+ --> n\d+")


@settings(deadline=None)
@given(graphs())
def test_flowcharts_of_all_graphs_hold_nothing_with_a_meaning_to_mermaid(graph: Graph) -> None:
    first, *lines = graph.to_mermaid().split("\n")
    assert first == "flowchart TD"
    assert [line for line in lines if not (BOX.fullmatch(line) or ARROW.fullmatch(line))] == []


@settings(deadline=None)
@given(graphs())
def test_all_graphs_have_nodes_named_as_in_their_text(graph: Graph) -> None:
    nodes = graph.nodes
    text = graph.faces.text(graph)
    for node in nodes:
        for name, type in zip(node.names, node.types, strict=node.op != "output"):
            assert f"{name}: {type}" in text
    assert [node.target for node in nodes if node.op == "call"] == [call.op for call in graph.calls]


def test_quotes_and_brackets_of_parameters_are_escaped_in_the_flowchart() -> None:
    value = Value(ArrayType(F32, ()))
    graph = Graph("f", (value,), (Call("sin", (value,), {"p": '"]<script>'}, (Value(value.type),)),), ())
    assert "p=#34;#92;#34;]#60;script#62;#34;" in graph.to_mermaid()
