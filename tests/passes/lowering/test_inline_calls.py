"""Calls of graphs are replaced by what these hold, where that lets it fuse, and nothing is computed once more."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import tracemill as tm
from graphs.random_graphs import graphs
from support.recording import assert_same, drawn, ops, recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.builder import bind_all
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph, Value, called
from tracemill.passes.lowering.inline_calls import SMALL, inline_calls
from tracemill.passes.optimizations.fuse import fuse


def chain(length: int) -> Graph:
    def f(x: Value) -> Value:
        for _ in range(length):
            x = fn.sin(x)
        return x

    return recorded(f, "f64[3]")


def calling(*inner: Graph, op: str = "call") -> Graph:
    """``x -> inner[1](inner[0](x))``."""

    def f(x: Value) -> Value:
        for graph in inner:
            (x,) = bind_all(op, x, graph=graph)
        return x

    return recorded(f, "f64[3]")


@pytest.mark.parametrize(("op", "length"), [("call", 2), ("call", 2 * SMALL), ("checkpoint", 2)])
def test_a_graph_takes_the_place_of_its_only_call(op: str, length: int) -> None:
    assert ops(inline_calls(calling(chain(length), op=op))) == ["sin"] * length


def test_a_small_graph_takes_the_place_of_all_its_calls() -> None:
    graph = chain(3)
    assert ops(inline_calls(calling(graph, graph))) == ["sin"] * 6


def test_a_large_graph_that_is_called_twice_stays_one() -> None:
    graph = chain(2 * SMALL)
    assert ops(inline_calls(calling(graph, graph))) == ["call", "call"]


@pytest.mark.slow
def test_graphs_that_call_each_other_twice_stay_bounded() -> None:
    graph = chain(3)
    for _ in range(40):  # 2**40 calls if all were inlined
        graph = calling(graph, graph)
    assert len(inline_calls(graph).calls) <= 2 * SMALL


def test_a_checkpoint_with_matrix_products_stays_a_call() -> None:
    inner = recorded(lambda x: fn.dot(x, x, ((1,), (0,))), "f64[3, 3]")
    graph = recorded(lambda x: bind_all("checkpoint", x, graph=inner), "f64[3, 3]")
    assert inline_calls(graph) is graph


def test_what_a_checkpoint_computes_again_stays_apart_and_fuses_with_what_needs_it() -> None:
    def loss(x: Any) -> Any:
        return tm.checkpoint(lambda y: np.sin(np.exp(y)))(x).sum()

    graph = fuse(inline_calls(tm.compile(tm.grad(loss)).lower(np.ones((400, 300))).after("remove_dead_code")))
    (kernel,) = [ops(inner) for call in graph.calls for inner in called((call,))]
    assert kernel.count("exp") == 1
    assert graph.outputs == graph.calls[-1].outputs


@settings(deadline=None)
@given(graph=graphs())
def test_random_graphs_keep_their_meaning(graph: Graph) -> None:
    inlined = inline_calls(graph)
    inlined.lint()
    assert "call" not in ops(inlined)
    assert inline_calls(inlined) is inlined
    inputs = drawn(graph, "special")
    assert_same(evaluate(inlined, *inputs), evaluate(graph, *inputs))
