"""Parts of arrays are computed in their place, if nothing can tell the difference."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from support.printed_graphs import compiled
from support.recording import assert_same, drawn, recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.backends.numpy.writer import NUMPY
from tracemill.compiler.backends.python.printer import print_module
from tracemill.compiler.builder import bind
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Value


def update(x: Value, part: Value, first: int) -> Value:
    places: Any = {"start": (first,), "stop": (first + part.shape[0],), "step": (1,)}
    return bind("update_slice", x, part, **places)


def rows(x: Value, first: int, last: int) -> Value:
    return fn.slice_axis(x, first, last, 0)


def scaled(x: Value, y: Value) -> Value:
    made = bind("exp", x)
    return update(made, fn.multiply(rows(made, 2, 6), rows(y, 2, 6)), 2)


def of_others(x: Value, y: Value) -> Value:
    made = bind("exp", x)
    return update(made, bind("sin", rows(y, 0, 4)), 3)


def one_after_another(x: Value, y: Value) -> Value:
    made = update(bind("exp", x), bind("sin", rows(y, 0, 4)), 0)
    return update(made, fn.add(rows(made, 3, 8), rows(y, 3, 8)), 3)


def shifted(x: Value, y: Value) -> Value:
    made = bind("exp", x)
    return update(made, fn.multiply(rows(made, 1, 5), rows(y, 2, 6)), 2)


def read_in_between(x: Value, y: Value) -> Value:
    made = bind("exp", x)
    part = bind("sin", rows(y, 0, 4))
    before = bind("cos", made)
    return fn.add(update(made, part, 3), before)


def view_in_between(x: Value, y: Value) -> Value:
    made = bind("exp", x)
    view = rows(made, 3, 7)
    part = bind("sin", rows(y, 0, 4))
    before = bind("cos", view)
    return update(update(made, part, 3), before, 0)


def used_again(x: Value, y: Value) -> tuple[Value, Value]:
    part = bind("sin", rows(y, 0, 4))
    return update(bind("exp", x), part, 3), part


def of_an_argument(x: Value, y: Value) -> Value:
    return update(x, bind("sin", rows(y, 0, 4)), 3)


def made_later(x: Value, y: Value) -> Value:
    part = bind("sin", rows(y, 0, 4))
    return update(bind("exp", x), part, 3)


def chosen(x: Value, y: Value) -> Value:
    """A statement that needs the condition after it has begun to write."""
    made = bind("exp", x)
    part = rows(made, 2, 6)
    return update(made, fn.where(fn.greater(part, 1.0), rows(y, 2, 6), part), 2)


@pytest.mark.parametrize("function", [scaled, of_others, one_after_another, chosen])
def test_parts_are_computed_in_their_place(function: Callable[..., Any]) -> None:
    graph = recorded(function, "f64[8]", "f64[8]")
    inputs = drawn(graph, "real")
    assert_same(compiled(graph)(*inputs), evaluate(graph, *inputs))
    statements = print_module(graph, NUMPY, check=False)
    assert "[...] = " not in statements
    assert "update_slice_1[" not in statements.replace("out=update_slice_1[", "").replace(
        "= update_slice_1[", ""
    )


@pytest.mark.parametrize(
    "function", [shifted, read_in_between, view_in_between, used_again, of_an_argument, made_later]
)
def test_parts_are_copied_if_the_array_is_still_needed(function: Callable[..., Any]) -> None:
    graph = recorded(function, "f64[8]", "f64[8]")
    inputs = drawn(graph, "real")
    assert_same(compiled(graph)(*inputs), evaluate(graph, *inputs))
    assert "update_slice_1[" in print_module(graph, NUMPY, check=False)


def test_updates_in_loops_write_no_temporary_arrays() -> None:
    def steps(u: Any) -> Any:
        for _ in range(50):
            u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
            u[0] = u[1] * 0.5
            u[2:] *= 0.99
        return u

    function = tm.compile(steps, backend="numpy")
    x = np.random.default_rng(0).normal(size=5000)
    found, expected = function(x.copy()), steps(x.copy())
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert "np.add(slice_1, multiply_2, out=slice_1)" in str(function.lower(x).source)


def test_a_large_array_whose_parts_are_computed_in_their_place_is_freed_once() -> None:
    def total(x: Any, places: Any) -> Any:
        taken = x[places]
        taken[10:] = np.sin(taken[10:])
        taken[:5] = np.cos(x[:5])
        return np.exp(np.sum(taken * taken) * 1e-6) * x

    function = tm.compile(total, backend="numpy")
    x, places = np.linspace(0, 1, 4000), np.arange(4000)[::-1].copy()
    np.testing.assert_allclose(function(x, places), total(x, places), rtol=1e-12)
    assert "del " in str(function.lower(x, places).source)
