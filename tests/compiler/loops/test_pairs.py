"""Loops over pairs compute the same on vectors, from copies in the order in which they read, where that pays."""

import numpy as np
import pytest
from hypothesis import given, settings

from graphs.kernel_graphs import LARGE, distances, kernel_sums, nearest, pulls, scaled_sums
from graphs.loop_interpreter import Run
from graphs.random_graphs import loop_graphs
from support.recording import drawn, recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.backends.c.kernels.vectors import runs_on_vectors
from tracemill.compiler.builder import bind
from tracemill.compiler.dtypes import is_inexact
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph, Value
from tracemill.compiler.loops import interchange as pairs
from tracemill.compiler.loops.interchange import vectorize_long_axis
from tracemill.compiler.loops.lower import lower
from tracemill.compiler.loops.nest import Copy, Loop, Nest, Row
from tracemill.compiler.loops.walk import statements, used


def assert_means_the_same(graph: Graph) -> Nest:
    inputs = [x.astype(v.dtype) for x, v in zip(drawn(graph, "real"), graph.inputs, strict=True)]
    nest = vectorize_long_axis(lower(graph))
    with np.errstate(all="ignore"):
        expected = evaluate(graph, *inputs)
    for x, y in zip(Run(nest, inputs).outputs, expected, strict=True):
        if is_inexact(y.dtype):
            np.testing.assert_allclose(x, np.ravel(y), 1e-4 if y.dtype.itemsize < 8 else 1e-12, 1e-300)
        else:
            np.testing.assert_array_equal(x, np.ravel(y))
    rows = [b for item in nest.body for b in used((item,)).buffers if isinstance(b, Row)]
    assert len(rows) == len(set(rows))  # each is between loops in the same outermost one
    return nest


def long_loops(nest: Nest) -> list[Loop]:
    return [s for s in statements(nest.body) if isinstance(s, Loop) and not s.is_unrolled]


def copies(nest: Nest) -> list[Copy]:
    return [buffer for buffer in used(nest.body).buffers if isinstance(buffer, Copy)]


def innermost(nest: Nest) -> list[Loop]:
    loops = long_loops(nest)
    return [loop for loop in loops if not any(inner in loops for inner in statements(loop.body))]


def test_the_long_loop_runs_on_vectors_and_reads_a_copy() -> None:
    nest = assert_means_the_same(recorded(distances, "f64[9, 5]", "f64[20, 5]", names=["x", "y"]))
    assert [(copy.name, copy.size) for copy in copies(nest)] == [("y_copy", 100)]
    assert [loop.variable.extent for loop in long_loops(nest)] == [5, 20, 9, 20]
    assert all(map(runs_on_vectors, innermost(nest)))
    assert "y_copy[j + 20 * k]" in str(nest)


def test_what_many_numbers_are_gathered_from_is_kept_in_a_row() -> None:
    nest = assert_means_the_same(recorded(kernel_sums, "f64[9, 5]", "f64[20, 5]"))
    assert [b.size for loop in nest.body for b in used((loop,)).buffers if isinstance(b, Row)] == [20]
    assert all(map(runs_on_vectors, innermost(nest)))


def test_indices_are_found_one_by_one_in_a_row_of_numbers_computed_on_vectors() -> None:
    nest = assert_means_the_same(recorded(lambda x, y: nearest(x, y)[1], "f64[9, 5]", "f64[20, 5]"))
    assert [b.size for loop in nest.body for b in used((loop,)).buffers if isinstance(b, Row)] == [20]


def test_batches_of_pairs_read_one_copy_of_all() -> None:
    def f(x: Value, y: Value) -> Value:
        difference = fn.subtract(fn.reshape(x, (3, 9, 1, 5)), fn.reshape(y, (3, 1, 20, 5)))
        return fn.sum_(fn.sqrt(fn.sum_(fn.square(difference), (3,))), (2,))

    nest = assert_means_the_same(recorded(f, "f64[3, 9, 5]", "f64[3, 20, 5]"))
    assert [copy.size for copy in copies(nest)] == [300]


def test_one_copy_serves_all_loops() -> None:
    def f(x: Value, y: Value) -> tuple[Value, ...]:
        d = distances(x, y)
        nearest = fn.reshape(bind("min", d, axes=(1,)), (9, 1))
        return fn.sum_(fn.subtract(d, nearest), (1,)), nearest

    nest = assert_means_the_same(recorded(f, "f64[9, 5]", "f64[20, 5]"))
    assert len(copies(nest)) == 1


@pytest.mark.parametrize(
    ("x", "y"),
    [("f64[3, 5]", "f64[20, 5]"), ("f64[9, 5]", "f64[7, 5]"), ("f64[9, 70]", "f64[20, 70]")],
    ids=["few that share a copy", "a short loop", "a long sum"],
)
def test_loops_stay_where_vectors_would_not_pay(x: str, y: str) -> None:
    graph = recorded(distances, x, y)
    assert str(vectorize_long_axis(lower(graph))) == str(lower(graph))


def test_sums_over_short_rows_that_are_read_once_stay() -> None:
    nest = vectorize_long_axis(lower(recorded(lambda x: fn.sum_(fn.square(x), (1,)), "f64[50, 16]")))
    assert [loop.variable.extent for loop in long_loops(nest)] == [50, 16]


def test_loops_that_read_columns_again_and_again_read_copies() -> None:
    nest = assert_means_the_same(recorded(pulls, "f64[20, 3]", "f64[20]", names=["p", "m"]))
    assert [copy.size for copy in copies(nest)] == [20, 20, 20]
    assert "p[3 * j" not in str(nest.body[-1])


def test_short_loops_read_columns_in_place() -> None:
    graph = recorded(pulls, "f64[15, 3]", "f64[15]")
    assert str(vectorize_long_axis(lower(graph))) == str(lower(graph))


def test_long_loops_leave_rows_in_parts() -> None:
    nest = vectorize_long_axis(lower(recorded(kernel_sums, "f64[9, 5]", "f64[20000, 5]")))
    assert [b.size for loop in nest.body for b in used((loop,)).buffers if isinstance(b, Row)] == [512, 32]
    assert all(map(runs_on_vectors, innermost(nest)))


def test_loops_in_parts_mean_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "LARGEST_ROWS", 600)
    monkeypatch.setattr(pairs, "PART", 32)
    for f in (kernel_sums, lambda x, y: nearest(x, y)[1]):
        nest = assert_means_the_same(recorded(f, "f64[9, 5]", "f64[94, 5]"))
        assert {b.size for loop in nest.body for b in used((loop,)).buffers if isinstance(b, Row)} == {32, 30}


def test_outermost_loops_leave_rows_only_within_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = recorded(scaled_sums, "f64[94]", "f64[30]")
    assert not [b for b in used(assert_means_the_same(graph).body).buffers if isinstance(b, Row)]
    monkeypatch.setattr(pairs, "LARGEST_ROWS", 600)
    monkeypatch.setattr(pairs, "PART", 32)
    nest = assert_means_the_same(graph)
    assert [b.size for b in used(nest.body).buffers if isinstance(b, Row)] == [32]


def test_new_names_are_none_that_are_taken() -> None:
    graph = recorded(distances, "f64[9, 5]", "f64[20, 5]", names=["y_copy", "y"])
    assert [copy.name for copy in copies(vectorize_long_axis(lower(graph), ["y_copy_2"]))] == ["y_copy_3"]


def test_what_is_slow_runs_on_vectors_although_a_loop_follows_in_its_turn() -> None:
    def products(x: Value, y: Value) -> Value:
        return fn.multiply(fn.reshape(fn.exp(x), (9, 20, 1)), fn.reshape(y, (9, 1, 5)))

    nest = assert_means_the_same(recorded(products, "f64[9, 20]", "f64[9, 5]"))
    assert [loop.variable.extent for loop in long_loops(nest)] == [9, 20, 20, 5]
    assert [b.size for b in used(nest.body).buffers if isinstance(b, Row)] == [20]
    assert all(map(runs_on_vectors, innermost(nest)))


@settings(deadline=None)
@given(graph=loop_graphs())
def test_random_graphs_give_what_they_mean(graph: Graph) -> None:
    assert_means_the_same(graph)


@pytest.mark.parametrize("name", ["layer_norm", "found", "columns of doubles"])
def test_other_kernels_are_left_as_they_are(name: str) -> None:
    assert str(vectorize_long_axis(lower(LARGE[name]))) == str(lower(LARGE[name]))
