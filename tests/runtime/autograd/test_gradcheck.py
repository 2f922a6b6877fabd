"""`gradcheck` and `gradgradcheck` find wrong derivatives, and no others."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import (
    GradcheckError,
    LowPrecisionWarning,
    TransformArgumentError,
    TransformTypeError,
)

each_speed = pytest.mark.parametrize("fast", [False, True])

X = np.random.default_rng(0).normal(size=(3, 2))
Z = np.array([1 + 2j, 0.5 - 1j])

RIGHT: list[tuple[Callable[..., Any], Any]] = [
    (np.sin, X),
    (lambda x: np.sum(x**3), (X,)),
    (np.matmul, (X, np.array([1.0, 2.0]))),
    (lambda p, n: {"y": p["w"] * n, "z": (np.exp(p["b"]), [p["w"][0]])}, ({"w": X, "b": 0.5}, 3)),
    (np.multiply, [2.0, 3.0]),
    (lambda z: (z * z, np.abs(z), np.conj(z) * 2), Z),
    (lambda x: x * (1 + 2j), X),
    (np.sin, np.zeros((0, 2))),
    (lambda x: x[:0], X),
    (lambda x: (np.argmax(x), np.sum(x)), X),
    (lambda x, y: y, (X, X)),
    (tm.compile(lambda x: np.tanh(x @ x.T)), X),
    (tm.vmap(np.cumsum), X),
    (tm.grad(lambda x: np.sum(np.sin(x))), X),
]


def wrong(kind: str) -> Callable[..., Any]:
    """The sine, with a wrong derivative in one mode or when mapped."""

    @tm.custom_rule
    def sine(x: Any) -> Any:
        return np.sin(x)

    if kind == "jvp":
        sine.jvp(lambda primals, tangents: (np.sin(primals[0]), 2 * np.cos(primals[0]) * tangents[0]))
        sine.vjp(lambda x: (np.sin(x), x), lambda x, ct: (np.cos(x) * ct,))
    elif kind == "vjp":
        sine.jvp(lambda primals, tangents: (np.sin(primals[0]), np.cos(primals[0]) * tangents[0]))
        sine.vjp(lambda x: (np.sin(x), x), lambda x, ct: (np.sin(x) * ct,))
    return sine


@pytest.mark.sampled(slow=3)
@each_speed
@pytest.mark.parametrize(("func", "inputs"), RIGHT)
def test_right_derivatives_of_both_orders_pass(func: Callable[..., Any], inputs: Any, fast: bool) -> None:
    assert tm.gradcheck(func, inputs, fast=fast) is True
    assert tm.gradgradcheck(func, inputs, fast=fast) is True


@each_speed
def test_a_wrong_derivative_shows_output_input_and_both_jacobians(fast: bool) -> None:
    def f(x: Any, w: Any) -> Any:
        return np.sum(x), w["a"] * tm.stop_gradient(w["a"])

    inputs = (X, {"a": np.array([1.0, 2.0])})
    with pytest.raises(GradcheckError) as caught:
        tm.gradcheck(f, inputs, fast=fast)
    message = str(caught.value)
    assert r"derivative of output 1 (output[1]) with respect to input 1 (args[1]['a'])" in message
    assert "by reverse mode:\n[[" in message
    assert "by differences:\n[[" in message
    if not fast:
        assert "[[1. 0.]\n [0. 2.]]" in message
    assert tm.gradcheck(f, inputs, fast=fast, raise_exception=False) is False


@each_speed
def test_a_wrong_forward_mode_is_found_unless_it_is_not_asked_for(fast: bool) -> None:
    with pytest.raises(GradcheckError, match="wrong in forward mode"):
        tm.gradcheck(wrong("jvp"), X, fast=fast)
    assert tm.gradcheck(wrong("jvp"), X, fast=fast, check_forward=False)


@each_speed
def test_a_wrong_reverse_mode_is_found(fast: bool) -> None:
    with pytest.raises(GradcheckError, match="wrong in reverse mode"):
        tm.gradcheck(wrong("vjp"), X, fast=fast, check_forward=False)


@each_speed
def test_a_derivative_that_is_wrong_only_when_mapped_is_found(fast: bool) -> None:
    @tm.custom_rule
    def scale(x: Any) -> Any:
        return 3 * x

    scale.transpose(lambda ct: (three_times(ct),))

    @tm.custom_rule
    def three_times(x: Any) -> Any:
        return 3 * x

    three_times.batch(lambda size, mapped, x: 4 * x)
    with pytest.raises(GradcheckError, match="wrong in reverse mode mapped by vmap"):
        tm.gradcheck(scale, X, fast=fast)
    assert tm.gradcheck(scale, X, fast=fast, check_batched=False)


def test_a_wrong_second_derivative_is_found() -> None:
    @tm.custom_rule
    def sine(x: Any) -> Any:
        return np.sin(x)

    sine.jvp(
        lambda primals, tangents: (np.sin(primals[0]), tm.stop_gradient(np.cos(primals[0])) * tangents[0])
    )
    assert tm.gradcheck(sine, X)
    with pytest.raises(GradcheckError, match="the gradient of sine"):
        tm.gradgradcheck(sine, X)


def test_gradgradcheck_takes_cotangents() -> None:
    assert tm.gradgradcheck(np.sin, X, np.ones_like(X))


@pytest.mark.parametrize("wrong", [np.ones(7), (X, X), [None]])
def test_gradgradcheck_says_which_cotangents_it_needs(wrong: Any) -> None:
    with pytest.raises(
        TransformArgumentError, match=r"gradgradcheck\(sin\): grad_outputs must have an array for"
    ):
        tm.gradgradcheck(np.sin, X, wrong)


@pytest.mark.parametrize(
    "option",
    [{"eps": 0.0}, {"eps": -1e-6}, {"eps": "small"}, {"atol": -1.0}, {"rtol": np.nan}, {"rtol": None}],
)
def test_an_invalid_step_or_tolerance_is_an_error(option: Any) -> None:
    (name,) = option
    for check in (tm.gradcheck, tm.gradgradcheck):
        with pytest.raises(TransformArgumentError, match=rf"{name} must be a .*number"):
            check(np.sin, X, **option)


@each_speed
def test_a_function_that_always_draws_the_same_numbers_is_checked(fast: bool) -> None:
    assert tm.gradcheck(lambda x: x**2 * tm.random.default_rng(0).normal(size=x.shape), X, fast=fast)


@each_speed
def test_a_complex_derivative_is_shown_by_its_parts(fast: bool) -> None:
    with pytest.raises(GradcheckError, match="real parts before imaginary ones"):
        tm.gradcheck(lambda z: z * tm.stop_gradient(z), Z, fast=fast)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.complex64])
def test_lower_precision_is_checked_with_a_warning(dtype: Any) -> None:
    with pytest.warns(LowPrecisionWarning, match=r"args\[0\] has dtype") as caught:
        assert tm.gradcheck(np.square, X.astype(dtype), rtol=1e-2)
    assert [warning.filename for warning in caught] == [__file__]
    with pytest.warns(LowPrecisionWarning, match=r"gradgradcheck\(square\): args\[0\] has dtype") as caught:
        assert tm.gradgradcheck(np.square, X.astype(dtype), rtol=1e-2)
    assert [warning.filename for warning in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowPrecisionWarning)
        with pytest.raises(GradcheckError):
            tm.gradcheck(lambda x: x * tm.stop_gradient(x), X.astype(dtype), rtol=1e-2)


def test_nothing_differentiable_is_a_value_error() -> None:
    with pytest.raises(TransformArgumentError, match="no input is a floating array"):
        tm.gradcheck(np.sin, np.arange(3))
    with pytest.raises(ValueError, match="no input"):
        tm.gradcheck(lambda: 1.0, ())
    with pytest.raises(TransformArgumentError, match="returns no floating array"):
        tm.gradcheck(np.argmax, X)


def test_what_is_not_a_function_is_an_error() -> None:
    with pytest.raises(TransformTypeError, match="gradcheck needs a function"):
        tm.gradcheck(3, X)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_a_function_that_writes_to_its_argument_leaves_the_callers_alone() -> None:
    def f(x: Any) -> Any:
        x *= 2
        return x**2

    x = X.copy()
    assert tm.gradcheck(f, x)
    np.testing.assert_array_equal(x, X)


def test_variables_are_checked_by_their_values() -> None:
    assert tm.autograd.gradcheck(np.sin, tm.autograd.variable(X))


@each_speed
def test_nan_is_a_wrong_derivative_unless_the_differences_are_nan(fast: bool) -> None:
    with pytest.raises(GradcheckError, match="nan"):
        tm.gradcheck(lambda x: np.sqrt(np.abs(x)) * 0.0, np.array([0.0, 1.0]), fast=fast)
