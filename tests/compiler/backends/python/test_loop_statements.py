"""Loops in printed modules: what is carried lives in memory of the loop's own, which its steps write to."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from support.recording import assert_same, drawn, recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.backends.numpy.writer import NUMPY
from tracemill.compiler.backends.python.empty_module import entry_name
from tracemill.compiler.backends.python.printer import print_module
from tracemill.compiler.builder import bind, bind_all
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph, Value
from tracemill.runtime.programs.load_module import load_module

FOUR = "f64[4]"


def check(graph: Graph) -> str:
    """The source of a graph that gives twice what its ops mean, and leaves its inputs alone."""
    source = print_module(graph, NUMPY)
    function = load_module(source, entry_name(graph))
    arrays = drawn(graph, "real")
    before = [x.copy() for x in arrays]
    expected = [np.array(x) for x in evaluate(graph, *arrays)]
    results = [function(*arrays), function(*arrays)]
    for outputs in results:
        assert_same(outputs, expected)
    assert_same(arrays, before)
    owners = [x for outputs in results for x in outputs if np.ndim(x)] + arrays
    for place, x in enumerate(owners):
        assert not any(np.may_share_memory(x, other) for other in owners[:place])
    return source


def place(x: Value, number: Value, new: Value) -> Value:
    return fn.scatter(x, new, [number], (0,), "set")


STEPS: dict[str, Callable[..., tuple[Value, ...]]] = {
    "exchanges": lambda w, a, b, x: (b, a, x),
    "gives the same twice": lambda w, a, b, x: (fn.add(a, b),) * 2 + (a,),
    "hands on as it is": lambda w, a, b, x: (a, fn.sin(b), b),
    "hands on a constant and a slice": lambda w, a, b, x: (w, x, w),
    "overwrites what it gives out": lambda w, a, b, x: (fn.add(a, x), fn.multiply(b, w), a),
    "gives out a view of what it carries": lambda w, a, b, x: (fn.sin(a), fn.flip(b, (0,)), fn.flip(a, (0,))),
    "carries a part": lambda w, a, b, x: (fn.broadcast_to(fn.slice_axis(a, 0, 1, 0), (4,)), fn.exp(b), x),
    "writes to a place": lambda w, a, b, x: (place(a, fn.constant(2), fn.sum_(x, (0,))), fn.add(a, b), a),
    "moves between places": lambda w, a, b, x: (
        bind("dynamic_update_slice", a, fn.slice_axis(a, 0, 2, 0), fn.constant(1)),
        b,
        w,
    ),
}


@pytest.mark.parametrize("length", [0, 1, 4])
@pytest.mark.parametrize("name", STEPS)
def test_steps_that_share_memory_in_every_way(name: str, length: int) -> None:
    step = recorded(STEPS[name], FOUR, FOUR, FOUR, FOUR)

    def loop(w: Value, a: Value, x: Value) -> tuple[Value, ...]:
        return bind_all("scan", w, a, a, x, graph=step, counts=(1, 2), length=length)

    check(recorded(loop, FOUR, FOUR, f"f64[{length}, 4]"))


@pytest.mark.parametrize("limit", [{}, {"max_steps": 3}])
@pytest.mark.parametrize("steps", [0, 2])
def test_a_while_loop_writes_to_what_it_carries_and_to_nothing_else(
    steps: int, limit: dict[str, int]
) -> None:
    types = (FOUR, FOUR, FOUR, "i64[]")
    cond = recorded(lambda w, a, b, n: fn.less(n, steps), *types)
    body = recorded(lambda w, a, b, n: (fn.add(a, w), a, fn.add(n, 1)), *types)

    def loop(w: Value, a: Value) -> tuple[Value, ...]:
        return bind_all("while_loop", w, a, a, fn.constant(0), cond=cond, body=body, consts=1, **limit)

    check(recorded(loop, FOUR, FOUR))


def test_a_carried_buffer_is_not_copied_in_each_step() -> None:
    def step(table: Value, i: Value, x: Value) -> tuple[Value, ...]:
        return place(table, i, x), fn.add(i, 1)

    graph = recorded(step, "f64[1000]", "i64[]", "f64[]")

    def loop(table: Value, x: Value) -> Any:
        return bind_all("scan", table, fn.constant(0), x, graph=graph, counts=(0, 2), length=50)[0]

    source = check(recorded(loop, "f64[1000]", "f64[50]"))
    (body,) = (part for part in source.split("\n\n\n") if part.startswith("def f_("))
    assert "copy" not in body


@pytest.mark.parametrize("mode", ["set", "add", "multiply", "minimum", "maximum"])
@pytest.mark.parametrize("at", [(0, 2), (1, 0), (5, 0), (0, -1)])
def test_one_place_is_read_and_written_as_arrays_of_places_are(mode: str, at: tuple[int, int]) -> None:
    def both(x: Value, i: Value, j: Value, new: Value, row: Value) -> tuple[Value, ...]:
        return (
            fn.scatter(fn.sin(x), new, [i, j], (0, 1), mode),
            fn.scatter(x, row, [j], (1,), mode),
            fn.gather(x, [i, j], (0, 1)),
            fn.gather(x, [j], (1,)),
        )

    graph = recorded(both, "f64[2, 3]", "i64[]", "i64[]", "f64[]", "f64[2]")
    function = load_module(print_module(graph, NUMPY), entry_name(graph))
    arrays = drawn(graph, "real")
    arrays[1:3] = map(np.array, at)
    assert_same(function(*arrays), [np.array(x) for x in evaluate(graph, *arrays)])
