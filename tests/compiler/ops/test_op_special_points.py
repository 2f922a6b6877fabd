"""Derivatives where differences cannot tell: ties, duplicates, zeros, infinities, indices outside."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tracemill.compiler.builder import Builder, bind, bind_all, recording
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import ArrayType, Graph, Value
from tracemill.compiler.value_ops import constant, gather, scatter
from tracemill.passes.transforms.jvp import jvp
from tracemill.passes.transforms.vjp import vjp

NAN, INF = float("nan"), float("inf")


def graph_of(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Graph:
    inputs = tuple(Value(ArrayType(np.dtype(np.float64), shape)) for shape in shapes)
    with recording(Builder()) as builder:
        output = function(*inputs)
    return Graph("f", inputs, tuple(builder.calls), (output,))


def jacobians(graph: Graph, *arrays: Any) -> list[Any]:
    """d output / d input per input, both ways, which must agree."""
    arrays = tuple(np.asarray(x, float) for x in arrays)
    forward, backward = vjp(graph, wrt=[True] * len(arrays))
    out, *residuals = evaluate(forward, *arrays)
    rows = [evaluate(backward, *residuals, one.reshape(out.shape)) for one in np.eye(out.size)]
    reverse = [
        np.array([row[i].reshape(-1) for row in rows]).reshape(out.size, x.size) for i, x in enumerate(arrays)
    ]
    for i, x in enumerate(arrays):
        pushed = jvp(graph, wrt=[j == i for j in range(len(arrays))])
        columns = [evaluate(pushed, *arrays, one.reshape(x.shape))[1].reshape(-1) for one in np.eye(x.size)]
        np.testing.assert_array_equal(np.array(columns).T.reshape(out.size, x.size), reverse[i])
    return reverse


def writing(mode: str, indices: Any, x: Any, updates: Any, *, known: bool = True) -> list[Any]:
    """The Jacobians of a scatter into a vector; `known`: the indices are a constant of the graph."""
    places = np.array(indices)

    def function(x: Value, updates: Value) -> Value:
        place = constant(places)
        index = place if known else bind("add", place, constant(0, place.dtype))
        return scatter(x, updates, [index], (0,), mode)

    return jacobians(graph_of(function, (len(x),), (len(updates),)), x, updates)


@pytest.mark.parametrize("known", [True, False])
def test_of_several_values_set_at_one_place_the_last_has_the_derivative(known: bool) -> None:
    dx, dupdates = writing("set", [1, 0, 1], [1, 2, 3], [4, 5, 6], known=known)
    np.testing.assert_array_equal(dx, np.diag([0, 0, 1]))
    np.testing.assert_array_equal(dupdates, [[0, 1, 0], [0, 0, 1], [0, 0, 0]])


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("mode", ["set", "add", "multiply", "minimum", "maximum"])
def test_a_write_outside_has_no_derivative(mode: str, known: bool) -> None:
    dx, dupdates = writing(mode, [2, -1, 100], [3, 4], [5, 6, 7], known=known)
    np.testing.assert_array_equal(dx, np.eye(2))
    np.testing.assert_array_equal(dupdates, np.zeros((2, 3)))


@pytest.mark.parametrize("known", [True, False])
def test_a_read_outside_is_the_derivative_of_the_nearest_entry(known: bool) -> None:
    def function(x: Value) -> Value:
        place = constant([-3, 1, 9])
        return gather(x, [place if known else bind("add", place, constant(0))], (0,))

    (dx,) = jacobians(graph_of(function, (3,)), [1, 2, 3])
    np.testing.assert_array_equal(dx, [[1, 0, 0], [0, 1, 0], [0, 0, 1]])


def test_products_of_several_updates_have_exact_derivatives_at_zeros() -> None:
    # Place 0 gets 0 · 3, place 1 gets 0 · 0 · 5, place 2 stays.
    dx, dupdates = writing("multiply", [0, 1, 0, 1, 1], [2, 7, 4], [0, 0, 3, 0, 5])
    np.testing.assert_array_equal(dx, np.diag([0, 0, 1]))
    np.testing.assert_array_equal(dupdates, [[6, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]])


def test_products_of_several_updates_have_exact_second_derivatives_at_zeros() -> None:
    graph = graph_of(lambda u: scatter(constant([2.0]), u, [constant([0, 0, 0])], (0,), "multiply"), (3,))
    second = jvp(jvp(graph))
    point = np.array([0.0, 0.0, 5.0])
    first, other = np.eye(3)[0], np.eye(3)[1]
    *_, mixed = evaluate(second, point, first, other, np.zeros(3))
    np.testing.assert_array_equal(mixed, [2 * 5])  # d² 2abc / da db = 2c


@pytest.mark.parametrize("mode", ["minimum", "maximum"])
def test_ties_of_an_entry_and_its_updates_share_the_derivative(mode: str) -> None:
    dx, dupdates = writing(mode, [0, 0, 1, 1], [3, 3], [3, 3, 3, 3 + (-1 if mode == "maximum" else 1)])
    np.testing.assert_array_equal(dx, [[1 / 3, 0], [0, 1 / 2]])
    np.testing.assert_array_equal(dupdates, [[1 / 3, 1 / 3, 0, 0], [0, 0, 1 / 2, 0]])


def test_an_extremum_leaves_the_derivative_of_other_entries_alone_also_if_they_are_nan() -> None:
    dx, _ = writing("maximum", [0], [1, NAN], [2])
    np.testing.assert_array_equal(dx, [[0, 0], [0, 1]])


def scanning(op: str, x: Any, *, reverse: bool = False) -> Any:
    graph = graph_of(lambda value: bind(op, value, axis=0, reverse=reverse), (len(x),))
    return jacobians(graph, x)[0]


def test_cumulative_products_have_exact_derivatives_at_zeros() -> None:
    expected = [[1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    np.testing.assert_array_equal(scanning("cumprod", [2, 0, 0, 5]), expected)
    np.testing.assert_array_equal(scanning("cumprod", [5, 0, 0, 2], reverse=True), np.flip(expected))


def test_cumulative_products_have_exact_second_derivatives_at_zeros() -> None:
    graph = graph_of(lambda x: bind("cumprod", x, axis=0, reverse=False), (3,))
    one, other = np.eye(3)[:2]
    *_, mixed = evaluate(jvp(jvp(graph)), np.array([0.0, 0.0, 5.0]), one, other, np.zeros(3))
    np.testing.assert_array_equal(mixed, [0, 1, 5])  # of a, ab and abc by a and b


@pytest.mark.parametrize("sign", [1, -1])
def test_the_first_of_equal_extrema_so_far_has_the_derivative(sign: int) -> None:
    op = "cummax" if sign == 1 else "cummin"
    jacobian = scanning(op, sign * np.array([1.0, 1.0, 2.0, 0.0, 2.0]))
    np.testing.assert_array_equal(np.argmax(jacobian, 1), [0, 0, 2, 2, 2])
    np.testing.assert_array_equal(jacobian.sum(1), np.ones(5))
    jacobian = scanning(op, sign * np.array([2.0, 0.0, 2.0, 1.0, 1.0]), reverse=True)
    np.testing.assert_array_equal(np.argmax(jacobian, 1), [2, 2, 2, 4, 4])


def test_the_first_nan_has_the_derivative_from_there_on() -> None:
    jacobian = scanning("cummax", [1, NAN, 2, NAN])
    np.testing.assert_array_equal(np.argmax(jacobian, 1), [0, 1, 1, 1])


def test_terms_that_are_zero_have_no_part_in_a_cumulative_log_sum() -> None:
    jacobian = scanning("cumlogsumexp", [-INF, -INF, 800.0, 800.0])
    expected = np.array([[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0.5, 0.5]])
    np.testing.assert_allclose(jacobian, expected, atol=1e-12)


def test_tangents_of_equal_entries_keep_the_order_of_the_entries() -> None:
    def sorting(descending: bool) -> Graph:
        params = {"axis": 0, "num_keys": 1, "descending": descending}
        return graph_of(lambda x: bind_all("sort", x, **params)[0], (4,))

    x = [2.0, 1.0, 2.0, 1.0]
    np.testing.assert_array_equal(np.argmax(jacobians(sorting(False), x)[0], 1), [1, 3, 0, 2])
    np.testing.assert_array_equal(np.argmax(jacobians(sorting(True), x)[0], 1), [0, 2, 1, 3])


def test_the_first_of_equal_largest_entries_has_the_derivative() -> None:
    graph = graph_of(lambda x: bind_all("top_k", x, k=2, axis=0)[0], (4,))
    np.testing.assert_array_equal(np.argmax(jacobians(graph, [1, 3, 3, 3])[0], 1), [1, 2])
