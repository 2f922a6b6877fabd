"""The planned peak of memory: what is alive at one time."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.analysis.peak_memory import peak_memory
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph
from tracemill.passes.lowering.decompose import decompose_composites


def graph_of(f: Callable[..., Any], *args: Any) -> Graph:
    return tm.compile(f).lower(*args).graph


X = np.ones((100, 100))
BYTES = X.nbytes


def test_results_that_are_alive_together_add_up() -> None:
    assert peak_memory(graph_of(lambda x: np.sin(np.cos(x)), X)) == 2 * BYTES
    assert peak_memory(graph_of(lambda x: np.sin(x) + np.cos(x), X)) == 3 * BYTES


def test_a_view_costs_nothing_and_keeps_its_memory_alive() -> None:
    assert peak_memory(graph_of(lambda x: x.T, X)) == 0
    assert peak_memory(graph_of(lambda x: np.sin(x)[:1] + 1.0, X)) == BYTES + 800


def test_reshaping_what_is_transposed_makes_a_copy() -> None:
    assert peak_memory(graph_of(lambda x: np.reshape(np.sin(x), 10_000), X)) == BYTES
    assert peak_memory(graph_of(lambda x: np.reshape(np.sin(x).T, 10_000), X)) == 2 * BYTES


def test_a_composite_op_needs_the_memory_of_its_decomposition_while_it_runs() -> None:
    graph = graph_of(lambda x: tm.nn.softmax(x, axis=1), X)
    assert [call.op for call in graph.calls] == ["softmax"]
    apart = peak_memory(decompose_composites(graph))
    assert peak_memory(graph) == apart > 2 * BYTES


def test_a_nested_graph_needs_its_own_memory_while_it_runs() -> None:
    def f(x: Any) -> Any:
        return tm.cond(x[0, 0] > 0, lambda: np.sin(np.cos(x)), lambda: x * 2)

    assert 2 * BYTES <= peak_memory(graph_of(f, X)) < 2 * BYTES + 100


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.tanh(x @ x) * np.exp(x)),
        lambda x: np.outer(x[0], x[1]) - x.T,
        lambda x: np.cumsum(np.sort(x, axis=0) ** 2, axis=1)[::2],
    ],
)
def test_the_planned_peak_is_the_measured_one(f: Callable[..., Any]) -> None:
    x = np.random.default_rng(0).normal(size=(500, 500))
    graph = graph_of(f, x)
    evaluate(graph, x)  # whatever is imported or cached
    tracemalloc.start()
    try:
        evaluate(graph, x)
        _, measured = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert measured == pytest.approx(peak_memory(graph), rel=0.05)
