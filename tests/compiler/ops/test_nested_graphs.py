"""Calls of nested graphs and of Python under the passes: what is computed once, what is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from samples.control.control import F64, wave
from support.recording import inner_ops
from tracemill.compiler.builder import Builder, bind, bind_all, recording
from tracemill.compiler.errors import CallbackError
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import ArrayType, Graph, Value
from tracemill.compiler.value_ops import add, multiply
from tracemill.passes.simplification.remove_dead_code import remove_dead_code
from tracemill.passes.transforms.jvp import jvp
from tracemill.passes.transforms.transpose import transpose
from tracemill.passes.transforms.vjp import vjp
from tracemill.passes.transforms.vmap import vmap


def graph_of(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Graph:
    inputs = tuple(Value(ArrayType(F64, shape)) for shape in shapes)
    with recording(Builder()) as builder:
        outputs = function(*inputs)
    return Graph("f", inputs, tuple(builder.calls), outputs if isinstance(outputs, tuple) else (outputs,))


def called_wave() -> Graph:
    inner = wave()
    inputs = tuple(Value(v.type) for v in inner.inputs)
    with recording(Builder()) as builder:
        outputs = bind_all("call", *inputs, graph=inner)
    return Graph("f", inputs, tuple(builder.calls), outputs)


def test_forward_mode_computes_the_outputs_of_a_call_once() -> None:
    assert inner_ops(jvp(called_wave())).count("sin") == 1


def test_reverse_mode_computes_the_outputs_of_a_call_once_and_only_forward() -> None:
    forward, backward = vjp(called_wave(), wrt=[True, True, False])
    assert inner_ops(forward).count("sin") == 1
    assert "sin" not in inner_ops(backward)
    assert "cos" not in inner_ops(backward)


def test_what_uses_a_differentiated_call_uses_the_call_that_was_recorded_anew() -> None:
    x, y, n = np.array([0.1, 0.2, 0.3]), np.array(2.0), np.array([4, 5])
    inner = wave()
    inputs = tuple(Value(v.type) for v in inner.inputs)
    with recording(Builder()) as builder:
        first, _, _ = bind_all("call", *inputs, graph=inner)
        outputs = (multiply(first, first), first)
    graph = Graph("f", inputs, tuple(builder.calls), outputs)
    pushed = jvp(graph, wrt=[True, False, False])
    square, value, dsquare, dvalue = evaluate(pushed, x, y, n, np.ones(3))
    np.testing.assert_allclose(square, (np.sin(x) * 2) ** 2)
    np.testing.assert_allclose(value, np.sin(x) * 2)
    np.testing.assert_allclose(dvalue, np.cos(x) * 2)
    np.testing.assert_allclose(dsquare, 8 * np.sin(x) * np.cos(x))


class Counter:
    """A Python function that counts its calls."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.calls = 0

    def __call__(self, *args: Any) -> Any:
        self.calls += 1
        return self.function(*args)


def callback(function: Callable[..., Any], *shapes: tuple[int, ...], types: Any = ((F64, ()),)) -> Graph:
    return graph_of(lambda *inputs: bind_all("callback", *inputs, function=function, types=types), *shapes)


def test_a_callback_is_kept_although_nothing_needs_its_result() -> None:
    unused = graph_of(lambda x: (bind("callback", x, function=np.sum, types=((F64, ()),)), x)[1], (3,))
    assert inner_ops(remove_dead_code(unused)) == ["callback"]
    called = graph_of(lambda x: (bind_all("call", x, graph=unused), x)[1], (3,))
    assert inner_ops(remove_dead_code(called)) == ["callback"]


def test_a_mapped_callback_is_a_loop_that_the_graph_shows() -> None:
    counter = Counter(lambda x: x.sum())
    graph = vmap(callback(counter, (3,)), in_axes=[0], size=4, out_axes=[0])
    (call,) = graph.calls
    assert call.params["loops"] == ((4, (True,)),)
    x = np.arange(12.0).reshape(4, 3)
    (out,) = evaluate(graph, x)
    np.testing.assert_array_equal(out, x.sum(1))
    assert counter.calls == 4


def test_a_callback_that_is_not_mapped_runs_once() -> None:
    counter = Counter(np.sum)
    graph = graph_of(
        lambda x, y: multiply(bind("callback", x, function=counter, types=((F64, ()),)), y), (3,), ()
    )
    evaluate(vmap(graph, in_axes=[None, 0], size=4, out_axes=[0]), np.ones(3), np.ones(4))
    assert counter.calls == 1


def test_a_callback_cannot_change_the_arrays_of_the_program() -> None:
    def fill(x: Any) -> Any:
        x[0] = 1
        return x

    with pytest.raises(ValueError, match="read-only"):
        evaluate(callback(fill, (2,), types=((F64, (2,)),)), np.zeros(2))


def test_a_callback_gets_arrays_also_for_single_numbers() -> None:
    seen: list[Any] = []

    def remember(x: Any) -> float:
        seen.append(x)
        return 1.0

    evaluate(vmap(callback(remember, ()), in_axes=[0], size=2, out_axes=[0]), np.arange(2.0))
    assert [type(x) for x in seen] == [np.ndarray, np.ndarray]
    assert [x.shape for x in seen] == [(), ()]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda x: x, r"callback of .*: output 0 must be f64\[\], the function returned float64\[2\]"),
        (lambda x: np.float32(1), r"output 0 must be f64\[\], the function returned float32\[\]"),
        (lambda x: 1j, r"output 0 must be f64\[\], the function returned complex128\[\]"),
        (lambda x: None, r"output 0 must be f64\[\], the function returned object\[\]"),
        (lambda x: (x[0], x[1]), "it must give 1 outputs, the function returned 2"),
    ],
)
def test_a_callback_that_breaks_its_promise_is_named(result: Callable[..., Any], message: str) -> None:
    with pytest.raises(CallbackError, match=message):
        evaluate(callback(result, (2,)), np.zeros(2))


def test_python_numbers_take_the_dtype_that_was_promised() -> None:
    f32 = np.dtype(np.float32)
    (out,) = evaluate(callback(lambda x: 1, (2,), types=((f32, ()),)), np.zeros(2))
    assert out.dtype == f32


def test_a_callback_without_floating_outputs_has_zero_derivative() -> None:
    graph = callback(lambda x: np.int64(3), (2,), types=((np.dtype(np.int64), ()),))
    assert inner_ops(jvp(graph)) == ["callback"]


def test_stop_gradient_keeps_the_value_and_drops_the_derivative() -> None:
    graph = graph_of(lambda x: multiply(x, bind("stop_gradient", x)), ())
    value, tangent = evaluate(jvp(graph), np.array(3.0), np.array(1.0))
    assert (float(value), float(tangent)) == (9, 3)
    forward, backward = vjp(graph, wrt=[True])
    _, *residuals = evaluate(forward, np.array(3.0))
    (gradient,) = evaluate(backward, *residuals, np.array(1.0))
    assert float(gradient) == 3


def test_an_error_in_a_callback_says_which_call_it_came_from() -> None:
    def fail(x: Any) -> Any:
        raise KeyError("no such row")

    with pytest.raises(KeyError) as caught:
        evaluate(callback(fail, (2,)), np.zeros(2))
    assert any("callback" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("reverse", [False, True])
def test_the_transpose_of_a_scan_that_also_carries_what_is_not_linear(reverse: bool) -> None:
    """``c = c n + w x; n = n + 1; y = c n`` is linear in w, c and x."""

    def step(w: Value, c: Value, n: Value, x: Value) -> tuple[Value, ...]:
        new = add(multiply(c, n), multiply(w, bind("stop_gradient", x)))
        return new, add(n, 1), multiply(new, n)

    body = graph_of(step, (), (), (), ())
    loop = {"reverse": True} if reverse else {}

    def run(w: Value, c: Value, n: Value, x: Value) -> tuple[Value, ...]:
        return bind_all("scan", w, c, n, x, graph=body, counts=(1, 2), length=4, **loop)

    graph = graph_of(run, (), (), (), (4,))
    rng = np.random.default_rng(0)
    w, c, n = (np.array(x) for x in rng.normal(size=3))
    x, ct_ys = rng.normal(size=(2, 4))
    last, _, ys = evaluate(graph, w, c, n, x)
    back = transpose(graph, linear=[True, True, False, False])
    ct_w, ct_c = evaluate(back, n, x, np.array(0.7), np.array(9.0), ct_ys)
    np.testing.assert_allclose(last * 0.7 + ys @ ct_ys, w * ct_w + c * ct_c)
