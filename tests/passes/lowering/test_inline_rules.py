"""Rules vanish once all transforms are done, also from nested graphs."""

import pytest

from samples.control.custom_rule import DIFFERENTIABLE, clipped, pulled, pushed, wave, wave_jvp
from support.recording import ops, recorded
from tracemill.compiler.builder import bind, bind_all
from tracemill.compiler.errors import NotDifferentiableError
from tracemill.compiler.ir import Graph, Value
from tracemill.passes.lowering.inline_rules import inline_rules


def ruled() -> Graph:
    def function(x: Value, y: Value, n: Value) -> tuple[Value, ...]:
        return bind_all("custom_rule", x, y, n, graph=wave(), differentiable=DIFFERENTIABLE, jvp=wave_jvp)

    return recorded(function, "f64[3]", "f64[]", "i64[2]")


def test_a_function_takes_the_place_of_its_call() -> None:
    assert ops(inline_rules(ruled())) == ops(wave())


def test_calls_in_nested_graphs_are_replaced_too() -> None:
    inner = ruled()
    outer = recorded(lambda x, y, n: bind_all("call", x, y, n, graph=inner), "f64[3]", "f64[]", "i64[2]")
    (call,) = inline_rules(outer).calls
    graph = call.params["graph"]
    assert isinstance(graph, Graph)
    assert ops(graph) == ops(wave())


def test_a_linear_call_becomes_what_it_applies() -> None:
    graph = recorded(
        lambda c, dx, dy: bind("linear_call", c, dx, dy, graph=pushed(), transposed=pulled()),
        "f64[3]", "f64[3]", "f64[]",
    )  # fmt: skip
    assert ops(inline_rules(graph)) == ops(pushed())


def test_a_linear_call_that_is_known_by_its_transpose_alone_is_refused() -> None:
    graph = recorded(lambda dx: bind("linear_call", dx, graph=None, transposed=clipped()), "f64[3]")
    with pytest.raises(NotDifferentiableError, match="clipped, a backward rule"):
        inline_rules(graph)


def test_a_graph_without_rules_stays_the_same_object() -> None:
    graph = wave()
    assert inline_rules(graph) is graph
