"""Only what an output needs, and what has an effect, is left."""

import numpy as np
from hypothesis import given

from graphs.random_graphs import graphs
from support.recording import assert_same, drawn, ops, recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.builder import bind, bind_all
from tracemill.compiler.dtypes import FLOAT64
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph, Value
from tracemill.passes.simplification.remove_dead_code import remove_dead_code


def test_what_nothing_needs_goes_with_what_only_it_needed() -> None:
    graph = recorded(lambda x: (fn.cos(fn.exp(x)), fn.sin(x))[1], "f64[]")
    kept = remove_dead_code(graph)
    assert ops(kept) == ["sin"]
    assert remove_dead_code(kept) is kept


def test_a_call_stays_whole_if_one_of_its_outputs_is_needed() -> None:
    graph = recorded(lambda x: bind_all("top_k", x, k=1, axis=0)[1], "f64[3]")
    assert remove_dead_code(graph) is graph


def test_a_call_with_an_effect_stays_also_inside_of_a_nested_graph() -> None:
    def shout(x: Value) -> Value:
        return bind("callback", x, function=np.sin, types=((FLOAT64, ()),))

    inner = recorded(lambda x: (shout(x), x)[1], "f64[]")
    graph = recorded(
        lambda x: (bind("call", x, graph=inner), bind("call", x, graph=recorded(fn.sin, "f64[]")), x)[2],
        "f64[]",
    )
    (call,) = remove_dead_code(graph).calls
    kept = call.params["graph"]
    assert isinstance(kept, Graph)
    assert ops(kept) == ["callback"]


@given(graph=graphs())
def test_random_graphs_keep_their_values(graph: Graph) -> None:
    kept = remove_dead_code(graph)
    kept.lint()
    arrays = drawn(graph, "special")
    assert_same(evaluate(kept, *arrays), evaluate(graph, *arrays))
