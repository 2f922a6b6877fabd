"""Equal calls become one; what looks equal and is not stays apart."""

from typing import Any

import numpy as np
from hypothesis import given

from graphs.random_graphs import graphs
from support.recording import assert_same, drawn, ops, recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.builder import bind
from tracemill.compiler.dtypes import FLOAT64
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph, Value, exact
from tracemill.passes.simplification.share_subexpressions import share_subexpressions


def test_equal_calls_become_one_also_when_their_inputs_become_equal_first() -> None:
    graph = recorded(lambda x: fn.add(fn.exp(fn.sin(x)), fn.exp(fn.sin(x))), "f64[3]")
    shared = share_subexpressions(graph)
    assert ops(shared) == ["sin", "exp", "add"]
    assert share_subexpressions(shared) is shared


def test_real_sums_and_products_are_the_same_the_other_way_round() -> None:
    graph = recorded(
        lambda x, y: (fn.add(x, y), fn.add(y, x), fn.subtract(x, y), fn.subtract(y, x)), "f64[]", "f64[]"
    )
    assert ops(share_subexpressions(graph)) == ["add", "subtract", "subtract"]


def test_the_order_of_a_complex_product_stays() -> None:
    """With fused multiply-add x·y and y·x round differently."""
    graph = recorded(lambda x, y: (fn.multiply(x, y), fn.multiply(y, x)), "c64[]", "c64[]")
    assert share_subexpressions(graph) is graph


def test_parameters_count() -> None:
    graph = recorded(lambda x: (fn.sum_(x, (0,)), fn.sum_(x, (1,)), fn.sum_(x, (0,))), "f64[3, 3]")
    assert len(share_subexpressions(graph).calls) == 2


def test_parameters_are_compared_bit_for_bit() -> None:
    assert exact((1, (2.0, "a"))) == exact((1, (2.0, "a")))
    assert exact(np.nan) == exact(np.nan)
    assert len({exact(param) for param in (0.0, -0.0, 0, False)}) == 4


def test_constants_count_by_their_bits() -> None:
    def f(x: Value) -> Any:
        return tuple(fn.add(x, number) for number in (0.0, -0.0, 0.0, np.nan, np.nan))

    assert len(share_subexpressions(recorded(f, "f64[]")).calls) == 3


def test_callbacks_stay_each_by_itself() -> None:
    def f(x: Value) -> Any:
        return tuple(bind("callback", x, function=np.sin, types=((FLOAT64, ()),)) for _ in range(2))

    graph = recorded(f, "f64[]")
    assert share_subexpressions(graph) is graph


def test_calls_of_equal_graphs_become_one() -> None:
    def f(x: Value) -> Any:
        return tuple(bind("call", x, graph=recorded(fn.sin, "f64[]")) for _ in range(2))

    assert ops(share_subexpressions(recorded(f, "f64[]"))) == ["call"]


def test_nested_graphs_are_shared_too() -> None:
    inner = recorded(lambda x: fn.add(fn.sin(x), fn.sin(x)), "f64[]")
    (call,) = share_subexpressions(recorded(lambda x: bind("call", x, graph=inner), "f64[]")).calls
    assert isinstance(call.params["graph"], Graph)
    assert ops(call.params["graph"]) == ["sin", "add"]


@given(graph=graphs())
def test_random_graphs_keep_their_values_and_share_once(graph: Graph) -> None:
    shared = share_subexpressions(graph)
    shared.lint()
    assert share_subexpressions(shared) is shared
    arrays = drawn(graph, "special")
    assert_same(evaluate(shared, *arrays), evaluate(graph, *arrays))
