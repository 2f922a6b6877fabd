"""Large arrays are combined with joined ones part by part."""

from typing import Any

import numpy as np
import pytest

import tracemill as tm
from support.recording import assert_same, drawn, ops, recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.builder import bind
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph, Value
from tracemill.passes.optimizations.combine_parts import OPS, combine_parts

LARGE, SMALL = "f64[64, 64]", "f64[16, 16]"


def rolled(x: Value, axis: int = 0) -> Value:
    last = fn.slice_axis(x, x.shape[axis] - 1, x.shape[axis], axis)
    return fn.concatenate([last, fn.slice_axis(x, 0, x.shape[axis] - 1, axis)], axis)


def combined(graph: Graph) -> Graph:
    """The graph after the pass, which computes the same, bit for bit."""
    found = combine_parts(graph)
    found.lint()
    arrays = drawn(graph, "real")
    assert_same(evaluate(found, *arrays), evaluate(graph, *arrays))
    assert combine_parts(found) is found
    return found


@pytest.mark.parametrize("op", sorted(OPS))
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("axis", [0, 1])
def test_an_operation_with_a_joined_array_is_done_for_each_part(op: str, place: int, axis: int) -> None:
    def combination(x: Value, y: Value) -> Value:
        operands = bind("exp", x), rolled(y, axis)
        return bind(op, *(operands if place else operands[::-1]))

    found = combined(recorded(combination, LARGE, LARGE))
    assert ops(found).count("update_slice") == 2
    assert "concatenate" not in ops(found)


def test_of_two_joined_arrays_one_is_made() -> None:
    found = combined(recorded(lambda x: fn.add(rolled(x), rolled(x, 1)), LARGE))
    assert ops(found).count("concatenate") == 1


def test_sums_of_many_joined_arrays_are_made_in_one() -> None:
    def neighbours(x: Value) -> Value:
        return fn.add(fn.add(rolled(x), rolled(x, 1)), rolled(fn.flip(x, (0,))))

    assert ops(combined(recorded(neighbours, LARGE))).count("concatenate") == 1


@pytest.mark.parametrize(
    ("function", "type"),
    [
        (lambda x: fn.add(x, rolled(x)), LARGE),  # an argument
        (lambda x: fn.add(bind("exp", x), rolled(x)), SMALL),
        (lambda x: (fn.add(bind("exp", x), joined := rolled(x)), joined), LARGE),
        (lambda x: (fn.add(made := bind("exp", x), rolled(x)), made), LARGE),
        (lambda x: fn.add(bind("exp", x), fn.concatenate([fn.slice_axis(x, 0, 8, 0)] * 8, 0)), LARGE),
        (lambda x: fn.multiply(rolled(x), fn.slice_axis(bind("exp", x), 0, 1, 0)), LARGE),
    ],
)
def test_other_operations_stay(function: Any, type: str) -> None:
    """On arrays that are not free, or too small, or that are joined of many parts, or broadcast."""
    graph = recorded(function, type)
    assert combine_parts(graph) is graph


def test_a_stencil_by_rolled_arrays_copies_one_of_them() -> None:
    def steps(x: Any) -> Any:
        for _ in range(100):
            around = np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, 1)
            x = x + 0.1 * (around - 4.0 * x)
        return x

    compiled = tm.compile(steps, backend="numpy")
    x = np.random.default_rng(0).normal(size=(80, 70))
    np.testing.assert_array_equal(compiled(x), steps(x))
    assert str(compiled.lower(x).source).count("np.concatenate(") == 1
