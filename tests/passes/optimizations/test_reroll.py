"""What a Python loop was traced to becomes a loop again, with the same bits."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracemill as tm
from support.recording import assert_same, ops
from tracemill.compiler.dtypes import Array
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph, called
from tracemill.compiler.verifier import check
from tracemill.passes.lowering.decompose import decompose_composites
from tracemill.passes.optimizations.reroll import reroll
from tracemill.passes.simplification.remove_dead_code import remove_dead_code
from tracemill.runtime.builder.build import build
from tracemill.runtime.machine.target import NUMPY
from tracemill.runtime.programs.canonicalize import inline_user_rules

STEPS = 40
FEWEST_CALLS = 60


def traced(function: Callable[..., Any], *arguments: Any) -> Graph:
    """The graph of a function as the pass gets it, after Python has run its loops."""
    graph = tm.compile(function, convert=False).lower(*arguments).graph
    return remove_dead_code(decompose_composites(inline_user_rules(graph)))


def rolled(function: Callable[..., Any], *arguments: Any) -> Graph:
    """The graph with its loops, which gives the bits of the one without, and the same numbers when it is compiled."""
    graph = traced(function, *arguments)
    found = reroll(graph, fewest_calls=FEWEST_CALLS)
    check(found)
    arrays = list(map(np.asarray, arguments))
    expected = evaluate(graph, *arrays)
    assert_same(evaluate(found, *arrays), expected)
    for result, one in zip(build(found, NUMPY).function(*arrays), expected, strict=True):
        np.testing.assert_allclose(result, one, rtol=1e-4 if one.dtype == np.float32 else 1e-11)
    return found


def calls(graph: Graph) -> int:
    """How many calls a graph has, with those of the graphs that it holds."""
    return len(graph.calls) + sum(map(calls, called(graph.calls)))


def drawn(*shape: int, dtype: Any = np.float64) -> Array:
    return np.random.default_rng(0).normal(size=shape).astype(dtype)


def lengths(graph: Graph) -> list[Any]:
    """The lengths of the loops of a graph."""
    return [call.params["length"] for call in graph.calls if call.op == "scan"]


# ---- loops over what is carried ------------------------------------------------------------------------


def stencil(u: Array) -> Array:
    for _ in range(STEPS):
        u = u.copy()
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def stencil_in_place(u: Array) -> Array:
    u = u.copy()
    for _ in range(STEPS):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def euler(y: Array) -> Array:
    """The time enters by the number of the step."""
    for i in range(STEPS):
        y = y + 0.01 * (math.sin(0.01 * i) - y)
    return y


def leapfrog(q: Array, p: Array) -> tuple[Array, Array]:
    for _ in range(STEPS):
        p = p - 0.05 * np.sin(q)
        q = q + 0.1 * p
        p = p - 0.05 * np.sin(q)
    return q, p


def recurrent(w: Array, u: Array, xs: Array, h: Array) -> Array:
    for i in range(len(xs)):
        h = np.tanh(w @ h + u @ xs[i])
    return h


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", [stencil, stencil_in_place, euler])
def test_a_loop_that_carries_one_array_becomes_one_scan(function: Callable[..., Any], dtype: Any) -> None:
    graph = rolled(function, drawn(16, dtype=dtype))
    assert ops(graph) == ["scan"]
    assert lengths(graph) == [STEPS]
    assert calls(graph) < 15


def test_a_loop_that_carries_two_arrays_becomes_one_scan() -> None:
    graph = rolled(leapfrog, drawn(3), drawn(3))
    assert ops(graph) == ["scan"]
    assert calls(graph) < 12


def test_rows_of_an_input_are_what_the_scan_runs_over() -> None:
    graph = rolled(recurrent, drawn(3, 3), drawn(3, 3), drawn(STEPS, 3), drawn(3))
    (scan,) = graph.calls
    assert scan.inputs[-1] is graph.inputs[2]
    assert "dynamic_slice" not in {call.op for step in called((scan,)) for call in step.calls}


def test_rows_may_be_taken_before_the_loop_and_backwards_and_with_strides() -> None:
    def function(xs: Array, h: Array) -> Any:
        rows = list(xs)
        for row in rows[::-2]:
            h = np.sin(h * row) + row
        return h

    graph = rolled(function, drawn(2 * STEPS, 3), drawn(3))
    assert lengths(graph) == [STEPS]
    assert graph.calls[-1].params["reverse"] is True
    assert calls(graph) < 15


def test_an_entry_that_is_read_again_in_each_step_is_one_value() -> None:
    def recurrence(b: Any, x: Any) -> Any:
        taps = [b[1] for _ in range(STEPS)]
        y = b[0]
        for t in range(STEPS):
            y = np.sin(taps[t] * y + x[t])
        return y

    assert lengths(rolled(recurrence, drawn(3), drawn(STEPS))) == [STEPS]


def test_the_gradient_of_a_recursive_filter_is_that_of_its_differences() -> None:
    def energy(b: Any, a: Any, x: Any) -> Any:
        y = np.zeros(len(x))
        for n in range(2, len(x)):
            y[n] = b[0] * x[n] + b[1] * x[n - 1] + b[2] * x[n - 2] - a[1] * y[n - 1] - a[2] * y[n - 2]
        return np.sum(y**2)

    b, a, x = drawn(3), np.array([1.0, -0.4, 0.2]), drawn(14)
    gradient = tm.compile(tm.grad(energy), backend="numpy")(b, a, x)
    differences = [(energy(b + h, a, x) - energy(b - h, a, x)) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(gradient, differences, rtol=1e-6)


def test_columns_are_rows_of_the_transposed_array() -> None:
    def function(xs: Array, h: Array) -> Any:
        for i in range(STEPS):
            h = np.sin(h * xs[:, i]) + xs[:, i]
        return h

    assert ops(rolled(function, drawn(3, STEPS), drawn(3))) == ["transpose", "scan"]


def test_a_window_that_moves_is_a_dynamic_slice() -> None:
    def function(x: Array) -> Any:
        total = np.zeros(())
        for i in range(STEPS):
            total = total * 0.5 + np.sum(x[i : i + 3])
        return total

    graph = rolled(function, drawn(STEPS + 2))
    (step,) = called(graph.calls)
    assert "dynamic_slice" in ops(step)


def test_the_value_before_the_last_one_is_carried_too() -> None:
    def fibonacci(a: Array, b: Array) -> Any:
        for _ in range(STEPS):
            a, b = b, np.sin(a) + b
        return a, b

    graph = rolled(fibonacci, np.float64(0.1), np.float64(0.2))
    assert ops(graph) == ["scan"]
    assert graph.calls[0].params["counts"] == (0, 2)


def test_an_array_is_filled_in_place_and_read_back() -> None:
    def function(x: Array) -> Any:
        out = np.zeros_like(x, shape=(STEPS + 1, 3))
        out[0] = x
        for i in range(STEPS):
            out[i + 1] = np.sin(out[i]) * 1.5
        return out

    graph = rolled(function, drawn(3))
    assert len(lengths(graph)) == 1
    assert calls(graph) < 25


# ---- what comes out ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "join", [np.stack, partial(np.stack, axis=1), np.concatenate, lambda out: np.stack(out[::-1])]
)
def test_what_a_list_collects_is_what_the_scan_stacks(join: Callable[..., Any]) -> None:
    def function(x: Array) -> Any:
        out = []
        for _ in range(STEPS):
            x = np.sin(x) * 1.5 + x
            out.append(x)
        return join(out)

    graph = rolled(function, drawn(3))
    assert "concatenate" not in ops(graph)
    assert calls(graph) < 10


def test_single_steps_that_are_used_later_are_rows_of_what_is_stacked() -> None:
    def function(x: Array) -> Any:
        out = [x]
        for i in range(STEPS):
            x = np.sin(x) * 1.5 + i
            out.append(x)
        return np.stack(out), out[7] * out[8], out[-1]

    graph = rolled(function, drawn(3))
    assert lengths(graph) == [STEPS]
    assert calls(graph) < 20


def test_what_only_the_last_step_gives_is_not_stacked() -> None:
    def function(x: Array) -> Any:
        last = x
        for i in range(STEPS):
            last = np.cos(x) * i
            x = np.sin(x) * 1.5 + last
        return x, last

    graph = rolled(function, drawn(3))
    scan = next(call for call in graph.calls if call.op == "scan")
    assert [out.shape for out in scan.outputs] == [(3,), (3,)]


# ---- shapes of loops -----------------------------------------------------------------------------------


def test_a_loop_in_a_loop_becomes_a_scan_in_a_scan() -> None:
    def function(x: Array, w: Array) -> Any:
        for i in range(12):
            y = x
            for j in range(20):
                y = np.sin(y) * w[i, j] + x
            x = y * 2.0 + i
        return x

    arguments = drawn(3), drawn(12, 20)
    graph = traced(function, *arguments)
    found = reroll(graph, fewest_calls=40)
    assert_same(evaluate(found, *arguments), evaluate(graph, *arguments))
    assert lengths(found) == [12]
    (step,) = called(found.calls)
    assert lengths(step) == [20]
    assert calls(found) < 30


def test_the_first_and_the_last_steps_may_be_different() -> None:
    def function(x: Array) -> Any:
        for i in range(STEPS):
            if i == 0:
                x = np.exp(-x)
            x = np.sin(x) * 1.5 + x
            if i >= STEPS - 2:
                x = np.cos(x)
        return x

    graph = rolled(function, drawn(3))
    assert STEPS - 3 <= lengths(graph)[0] <= STEPS
    assert calls(graph) < 25


def test_bodies_that_alternate_are_one_body() -> None:
    def function(x: Array) -> Any:
        for i in range(2 * STEPS):
            x = np.sin(x) * 1.5 if i % 2 else np.cos(x) + 0.5
        return x

    graph = rolled(function, drawn(3))
    assert lengths(graph) in ([STEPS], [STEPS - 1])
    assert calls(graph) < 12


def test_what_is_the_same_in_each_step_is_computed_once() -> None:
    def function(x: Array, w: Array) -> Any:
        for _ in range(STEPS):
            x = np.sin(x) * np.exp(w)
            x = x + np.ones_like(x)
        return x

    graph = rolled(function, drawn(3), drawn(3))
    assert ops(graph) == ["exp", "scan"]


def test_steps_that_share_nothing_but_their_ops_stay_as_they_are() -> None:
    def growing(x: Array) -> Any:
        total = np.zeros(())
        for i in range(STEPS):
            total = total + np.sum(np.sin(x[: i + 1]))
        return total

    def of_many_arrays(*weights: Array) -> Any:
        x = weights[0]
        for weight in weights:
            x = np.sin(x) * weight + x
        return x

    for function, arguments in ((growing, [drawn(STEPS)]), (of_many_arrays, list(drawn(STEPS, 3)))):
        graph = traced(function, *arguments)
        assert reroll(graph, fewest_calls=FEWEST_CALLS) is graph


def test_numbers_without_a_rule_are_stacked_and_dtypes_that_differ_are_not_mixed() -> None:
    def function(x: Array) -> Any:
        for i in range(2 * STEPS):
            x = x + (np.float32(i**3) if i < STEPS else np.float64(i**3)) * np.sin(x)
        return x

    graph = rolled(function, drawn(3))
    assert lengths(graph) == [2 * STEPS] or sum(lengths(graph)) >= 2 * STEPS - 4


def test_few_steps_stay_as_they_are() -> None:
    def function(x: Array) -> Any:
        for _ in range(7):
            x = np.sin(x) * 1.5 + x * 2.5 + np.cos(x) * np.exp(x) + x - x * np.tanh(x)
        return x

    graph = traced(function, drawn(3))
    assert reroll(graph, fewest_calls=FEWEST_CALLS) is graph


def test_what_depends_on_constants_alone_stays_for_the_compiler_to_compute() -> None:
    def function(x: Array) -> Any:
        table = np.zeros(STEPS)
        for i in range(1, STEPS):
            table[i] = table[i - 1] * 0.5 + i
        return x * table

    graph = traced(function, drawn(STEPS))
    assert "scan" not in ops(reroll(graph, fewest_calls=FEWEST_CALLS))


def test_graphs_that_calls_hold_get_their_loops_too() -> None:
    def function(x: Array) -> Any:
        return tm.cond(x[0] > 0, euler, lambda x: x, x)

    graph = reroll(traced(function, drawn(3)), fewest_calls=FEWEST_CALLS)
    assert calls(graph) < 15


def test_a_compiled_function_has_its_long_loops() -> None:
    def function(x: Array, steps: int) -> Any:
        for _ in range(steps):
            x = np.sin(x) * 1.5 + x
        return x

    for steps, found in ((10, []), (100, [100])):
        compiled = tm.compile(partial(function, steps=steps))
        assert lengths(compiled.lower(drawn(3)).after("reroll")) == found
        np.testing.assert_allclose(compiled(drawn(3)), function(drawn(3), steps), rtol=1e-11)


def test_a_graph_with_its_loops_stays_as_it_is() -> None:
    graph = rolled(recurrent, drawn(3, 3), drawn(3, 3), drawn(STEPS, 3), drawn(3))
    assert reroll(graph, fewest_calls=FEWEST_CALLS) is graph


# ---- transforms and effects ----------------------------------------------------------------------------


def loss(function: Callable[..., Any]) -> Callable[..., Any]:
    def summed(*arguments: Any) -> Any:
        found = function(*arguments)
        return np.sum(np.sin(found[0] if isinstance(found, tuple) else found) ** 2)

    return summed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (stencil, [drawn(16)]),
        (stencil_in_place, [drawn(16)]),
        (euler, [drawn(3)]),
        (leapfrog, [drawn(3), drawn(3)]),
        (recurrent, [drawn(3, 3), drawn(3, 3), drawn(STEPS, 3), drawn(3)]),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_the_gradient_of_a_loop_is_a_loop_forward_and_one_backward(
    function: Callable[..., Any], arguments: list[Array]
) -> None:
    gradient = tm.grad(loss(function), argnums=tuple(range(len(arguments))))
    graph = rolled(gradient, *arguments)
    assert len(lengths(graph)) == 2
    assert calls(graph) < 100


def test_the_backward_loop_runs_over_what_the_forward_one_stacks() -> None:
    arguments = (drawn(3, 3), drawn(3, 3), drawn(STEPS, 3), drawn(3))
    graph = rolled(tm.grad(loss(recurrent)), *arguments)
    forward, backward = (call for call in graph.calls if call.op == "scan")
    assert "reverse" not in forward.params
    assert backward.params["reverse"] is True


def test_the_inputs_of_a_loop_are_not_stacked_for_its_gradient() -> None:
    """They are at hand."""
    arguments = (drawn(3, 3), drawn(3, 3), drawn(STEPS, 3), drawn(3))
    graph = rolled(tm.grad(loss(recurrent), argnums=1), *arguments)
    backward = [call for call in graph.calls if call.op == "scan"][-1]
    made = {call.outputs[0]: call for call in graph.calls}
    slices = [made[x] for x in backward.inputs if x in made and made[x].op == "slice"]
    assert any(call.inputs[0] is graph.inputs[2] for call in slices)


def test_a_mapped_loop_is_a_loop() -> None:
    graph = rolled(tm.vmap(recurrent, in_dims=(None, None, 0, 0)), *mapped_arguments())
    assert len(lengths(graph)) == 1


def mapped_arguments() -> tuple[Array, ...]:
    return drawn(3, 3), drawn(3, 3), drawn(4, STEPS, 3), drawn(4, 3)


def test_what_steps_print_is_printed_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    def function(x: Array) -> Any:
        for i in range(STEPS):
            x = np.sin(x) + i
            tm.debug_print("x is {}", np.floor(x))
            x = x * 0.5
        return x

    function(np.array(0.25))
    expected = capsys.readouterr().out
    graph = reroll(traced(function, np.array(0.25)), fewest_calls=FEWEST_CALLS)
    assert lengths(graph) == [STEPS]
    evaluate(graph, np.array(0.25))
    assert capsys.readouterr().out == expected
    build(graph, NUMPY).function(np.array(0.25))
    assert capsys.readouterr().out == expected


def test_python_functions_are_called_in_order() -> None:
    seen: list[float] = []

    def look(x: Array) -> Array:
        seen.append(float(x))
        return x

    def function(x: Array) -> Any:
        for _ in range(STEPS):
            x = tm.pure_callback(look, x, x) * 0.5 + 1.0
            x = np.sin(x)
        return x

    graph = traced(function, np.array(0.25))
    seen.clear()
    evaluate(graph, np.array(0.25))
    expected = list(seen)
    found = reroll(graph, fewest_calls=FEWEST_CALLS)
    assert lengths(found) == [STEPS]
    seen.clear()
    evaluate(found, np.array(0.25))
    assert seen == expected


# ---- random loops --------------------------------------------------------------------------------------


Variables: TypeAlias = dict[str, Any]

STATEMENTS: dict[str, Callable[[Variables, int], Any]] = {
    "sin": lambda v, i: v.update(x=np.sin(v["x"]) + v["y"]),
    "number": lambda v, i: v.update(x=v["x"] * (0.5 + i % 7) - i),
    "row": lambda v, i: v.update(y=v["rows"][i] * v["y"] + v["x"]),
    "swap": lambda v, i: v.update(x=v["y"], y=v["x"]),
    "window": lambda v, i: v.update(x=v["x"] + np.sum(v["rows"][STEPS - 1 - i : STEPS + 1 - i], axis=0)),
    "store": lambda v, i: v["table"].__setitem__(i + 1, v["x"] + v["table"][i]),
    "append": lambda v, i: v["kept"].append(np.tanh(v["x"])),
    "sum": lambda v, i: v.update(y=v["y"] + np.sum(v["table"][i : i + 2])),
    "older": lambda v, i: v.update(x=np.tanh(v["x"]) + v["kept"][-2]),
    "constant": lambda v, i: v.update(y=v["y"] * np.exp(v["rows"][3])),
}
"""Statements of a loop on variables, given the number of the step."""

RESULTS: dict[str, Callable[[Variables], Any]] = {
    "last": lambda v: (v["x"], v["y"]),
    "stacked": lambda v: (v["table"], np.stack(v["kept"])),
    "some": lambda v: (v["x"], v["kept"][len(v["kept"]) // 2], v["table"][5]),
}


@st.composite
def programs(draw: st.DrawFn) -> Callable[[Array, Array], Any]:
    """A loop of random statements, one step of which may be different."""
    statements = draw(st.lists(st.sampled_from(sorted(STATEMENTS)), min_size=2, max_size=6))
    odd = draw(st.integers(0, STEPS + 20))
    result = RESULTS[draw(st.sampled_from(sorted(RESULTS)))]

    def program(x: Array, rows: Array) -> Any:
        variables: Variables = {
            "x": x,
            "y": x * 0.5,
            "rows": rows,
            "table": np.zeros_like(x, shape=(STEPS + 3, 2)),
            "kept": [x, x],
        }
        for i in range(STEPS):
            if i == odd:
                variables["x"] = np.cos(variables["x"])
            for statement in statements:
                STATEMENTS[statement](variables, i)
        return result(variables)

    return program


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(programs())
def test_a_random_loop_keeps_its_bits(program: Callable[[Array, Array], Any]) -> None:
    arguments = drawn(2), drawn(STEPS + 1, 2)
    graph = traced(program, *arguments)
    found = reroll(graph, fewest_calls=FEWEST_CALLS)
    check(found)
    assert_same(evaluate(found, *arguments), evaluate(graph, *arguments))


@pytest.mark.slow
@settings(max_examples=settings().max_examples // 2, deadline=None)
@given(programs())
def test_the_gradient_of_a_random_loop_keeps_its_bits(program: Callable[[Array, Array], Any]) -> None:
    arguments = drawn(2), drawn(STEPS + 1, 2)
    graph = traced(tm.grad(loss(program), argnums=(0, 1)), *arguments)
    found = reroll(graph, fewest_calls=FEWEST_CALLS)
    check(found)
    assert_same(evaluate(found, *arguments), evaluate(graph, *arguments))
