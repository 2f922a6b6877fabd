"""What is linear, and which call is not."""

from collections.abc import Callable
from typing import Any

import pytest

from support.recording import recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.builder import bind
from tracemill.passes.transforms.linearity import nonlinear_call, nonlinear_outputs

LINEAR: dict[str, Callable[..., Any]] = {
    "product with another": lambda x, dx: fn.multiply(fn.sin(x), dx),
    "quotient": lambda x, dx: fn.divide(fn.add(dx, dx), x),
    "sum with zeros": lambda x, dx: fn.add(fn.negative(fn.zeros_like(x)), dx),
    "not used": lambda x, dx: fn.multiply(x, fn.sin(x)),
    "chosen by another": lambda x, dx: fn.where(fn.greater(x, 0), dx, 0),
    "dot": lambda x, dx: fn.dot(x, dx, ((0,), (0,))),
}
NONLINEAR: dict[str, tuple[Callable[..., Any], str]] = {
    "square": (lambda x, dx: fn.multiply(dx, fn.multiply(dx, x)), "multiply"),
    "reciprocal": (lambda x, dx: fn.divide(x, fn.negative(dx)), "divide"),
    "sine": (lambda x, dx: fn.sin(fn.add(dx, dx)), "sin"),
    "sum with another": (lambda x, dx: fn.multiply(2, fn.add(dx, x)), "add"),
    "difference to a constant": (lambda x, dx: fn.subtract(1, dx), "subtract"),
    "sign": (lambda x, dx: fn.sign(dx), "sign"),
    "chosen by itself": (lambda x, dx: fn.where(fn.greater(dx, 0), dx, 0), "greater"),
    "dot": (lambda x, dx: fn.dot(dx, dx, ((0,), (0,))), "dot"),
    "largest": (lambda x, dx: bind("max", dx, axes=(0,)), "max"),
}


@pytest.mark.parametrize("function", LINEAR.values(), ids=LINEAR)
def test_a_linear_graph_has_no_call_that_is_not(function: Callable[..., Any]) -> None:
    assert nonlinear_call(recorded(function, "f64[3]", "f64[3]"), linear=[False, True]) is None


@pytest.mark.parametrize(("function", "op"), NONLINEAR.values(), ids=NONLINEAR)
def test_the_first_call_that_is_not_linear_is_found(function: Callable[..., Any], op: str) -> None:
    call = nonlinear_call(recorded(function, "f64[3]", "f64[3]"), linear=[False, True])
    assert call is not None
    assert call.op == op


def test_an_output_that_does_not_depend_on_the_inputs_is_linear_if_it_is_zero() -> None:
    def outputs(x: Any, dx: Any) -> tuple[Any, ...]:
        return fn.sin(x), fn.multiply(x, dx), fn.zeros_like(x), fn.full((3,), 1, x.dtype)

    assert nonlinear_outputs(recorded(outputs, "f64[3]", "f64[3]"), linear=[False, True]) == [0, 3]
