"""`backward`, and derivatives of variables inside of traced functions and under transforms."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import (
    BackwardInTransformError,
    NotRecordedError,
    ReleasedGraphError,
    TransformArgumentError,
    TransformTypeError,
    UnusedInputError,
)
from tracemill.runtime.autograd import backward, grad, variable


def three(dtype: Any = np.float64) -> Any:
    return variable(np.array([1.0, 2.0, 3.0], dtype))


def test_backward_adds_up() -> None:
    x = three()
    assert x.grad is None
    y = np.sum(x * x)
    backward(y, retain_graph=True)
    np.testing.assert_array_equal(x.grad, [2.0, 4.0, 6.0])
    y.backward()
    np.testing.assert_array_equal(x.grad, [4.0, 8.0, 12.0])
    x.grad = None
    np.sum(x).backward()
    np.testing.assert_array_equal(x.grad, [1.0, 1.0, 1.0])


def test_backward_takes_several_tensors_and_their_cotangents() -> None:
    x = three()
    backward([np.sum(x), x * x], [None, np.array([1.0, 0.0, 0.0])])
    np.testing.assert_array_equal(x.grad, [3.0, 1.0, 1.0])
    (x * x).backward(np.ones(3))
    np.testing.assert_array_equal(x.grad, [5.0, 5.0, 7.0])


def test_backward_reaches_leaves_only() -> None:
    x = three()
    y = x * 2
    np.sum(y).backward()
    assert y.grad is None
    np.testing.assert_array_equal(x.grad, [2.0, 2.0, 2.0])


def test_backward_is_limited_by_inputs() -> None:
    x, y = three(), three()
    backward(np.sum(x * y), inputs=[x])
    np.testing.assert_array_equal(x.grad, [1.0, 2.0, 3.0])
    assert y.grad is None
    backward(np.sum(x * y), inputs=y)
    np.testing.assert_array_equal(y.grad, [1.0, 2.0, 3.0])


def test_backward_with_no_inputs_is_an_error() -> None:
    x = three()
    with pytest.raises(TransformArgumentError, match="inputs is empty"):
        backward(np.sum(x), inputs=[])


def test_backward_with_respect_to_what_is_not_a_leaf_is_an_error() -> None:
    x = three()
    y = x * 2
    with pytest.raises(TransformArgumentError, match=r"inputs\[0\] was computed"):
        backward(np.sum(y), inputs=[y])


def test_backward_twice_without_retain_graph_is_an_error() -> None:
    x = three()
    y = np.sum(x * x)
    y.backward()
    with pytest.raises(ReleasedGraphError):
        y.backward()


def test_backward_with_create_graph_can_be_differentiated() -> None:
    x = three()
    np.sum(x**3).backward(create_graph=True)
    (found,) = grad(np.sum(x.grad), x)
    np.testing.assert_array_equal(found, [6.0, 12.0, 18.0])


@pytest.mark.parametrize("transform", [tm.vmap, tm.compile, tm.grad, tm.jacfwd])
def test_backward_inside_a_transform_is_an_error_that_points_at_vjp(transform: Callable[..., Any]) -> None:
    def f(x: Any) -> Any:
        y = np.sum(x * x)
        y.backward()
        return y

    with pytest.raises(BackwardInTransformError, match="vjp"):
        transform(f)(np.ones((1,)))


def test_gradient_descent_by_hand() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(64, 3))
    y = x @ [1.0, -2.0, 0.5]
    w = variable(np.zeros(3))
    for _ in range(200):
        w.grad = None
        np.mean((x @ w - y) ** 2).backward()
        with tm.autograd.no_grad():
            w -= 0.1 * np.asarray(w.grad)
    assert w.is_leaf
    np.testing.assert_allclose(w.detach(), [1.0, -2.0, 0.5], atol=1e-6)


def inner(x: Any) -> Any:
    y = np.sum(np.sin(x) * x)
    (found,) = grad(y, x)
    return found


@pytest.mark.parametrize("transform", [lambda f: f, tm.compile, lambda f: tm.vmap(f, in_dims=0)])
def test_grad_inside_a_traced_function_becomes_part_of_the_graph(transform: Callable[..., Any]) -> None:
    points = np.array([[0.5, 1.0], [2.0, 3.0]])
    found = transform(lambda x: inner(variable(x)))(points)
    np.testing.assert_allclose(
        tm.autograd.detach(found), np.sin(points) + points * np.cos(points), rtol=1e-14
    )


def test_grad_inside_of_grad_gives_the_second_derivative() -> None:
    points = np.array([0.5, 1.0])
    found = tm.grad(lambda x: np.sum(inner(x)))(points)
    np.testing.assert_allclose(found, 2 * np.cos(points) - points * np.sin(points))


def test_grad_inside_a_traced_function_checks_as_outside() -> None:
    def unused(x: Any, y: Any) -> Any:
        return grad(np.sum(x), y)

    with pytest.raises(UnusedInputError, match=r"inputs\[0\](.|\n)*test_backward.py"):
        tm.compile(unused)(np.ones(2), np.ones(2))
    with pytest.raises(TransformTypeError, match="has dtype i64"):
        tm.compile(lambda x: grad(np.sum(x), x))(np.arange(3))
    with pytest.raises(NotRecordedError, match="is float64, which records nothing"):
        tm.compile(lambda x: grad(np.sum(x), np.float64(1.0)))(np.ones(3))
    with pytest.raises(NotRecordedError, match="a constant of this function"):
        tm.compile(lambda x: grad(np.sum(x), np.array([1.0, 2.0])))(np.ones(2))


def test_grad_inside_a_traced_function_may_be_called_again() -> None:
    def twice(x: Any) -> Any:
        y = np.sum(x**2)
        return grad(y, x)[0] + grad(y, x)[0]

    np.testing.assert_array_equal(tm.compile(twice)(np.array([1.0, 2.0])), [4.0, 8.0])


def test_batched_and_materialized_inside_a_traced_function() -> None:
    def f(x: Any, y: Any) -> Any:
        return grad(x**2, [x, y], np.eye(2), is_grads_batched=True, materialize_grads=True)

    of_x, of_y = tm.compile(f)(np.array([1.0, 2.0]), np.ones((3,)))
    np.testing.assert_array_equal(of_x, np.diag([2.0, 4.0]))
    np.testing.assert_array_equal(of_y, np.zeros((2, 3)))


def cube(x: Any) -> Any:
    return np.sum(x**3)


@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        (tm.compile, [3.0, 12.0]),
        (lambda f: lambda x: np.sum(tm.grad(f)(x)), [6.0, 12.0]),
        (lambda f: lambda x: np.sum(tm.vmap(f)(x)), [3.0, 12.0]),
        (lambda f: lambda x: np.sum(tm.hessian(f)(x)), [6.0, 6.0]),
        (lambda f: lambda x: tm.jvp(f, (x,), (np.ones(2),))[1], [6.0, 12.0]),
        (lambda f: lambda x: tm.vjp(f, x)[0], [3.0, 12.0]),
        (lambda f: lambda x: np.sum(tm.vjp(f, x)[1](np.float64(2.0))[0]), [12.0, 24.0]),
        (lambda f: tm.compile(lambda x: np.sum(tm.grad(f)(x))), [6.0, 12.0]),
    ],
)
@pytest.mark.parametrize("captured", [False, True])
def test_a_transform_of_a_variable_is_recorded(transform: Any, expected: Any, captured: bool) -> None:
    x = variable(np.array([1.0, 2.0]))
    if captured:
        y = transform(lambda u: cube(u * x))(np.ones(2))
        values = np.array([1.0, 2.0])
        reference = tm.grad(lambda x: transform(lambda u: cube(u * x))(np.ones(2)))(values)
    else:
        y = transform(cube)(x)
        reference = np.array(expected)
    (found,) = grad(y, x)
    np.testing.assert_allclose(found, reference)


def test_a_compiled_function_follows_the_variable_that_it_captures() -> None:
    v = variable(np.ones(2))
    f = tm.compile(lambda x: v * x)
    assert float(np.sum(f(np.ones(2)))) == 2.0
    with tm.autograd.no_grad():
        v += 1
    y = np.sum(f(np.full(2, 3.0)))
    assert float(y) == 12.0
    np.testing.assert_array_equal(grad(y, v)[0], [3.0, 3.0])


def test_a_transformed_function_may_write_to_a_captured_variable() -> None:
    v = three()
    w = v * 1

    def f(x: Any) -> Any:
        w[0] = x * 10
        return x

    x = variable(2.0)
    tm.compile(f)(x)
    assert str(w) == "[20.  2.  3.]"
    (of_x, of_v) = grad(np.sum(w), [x, v])
    assert of_x == 10.0
    np.testing.assert_array_equal(of_v, [0.0, 1.0, 1.0])


def double_slope() -> Any:
    """The sine, with a rule that gives twice its derivative."""

    @tm.custom_rule
    def sine(x: Any) -> Any:
        return np.sin(x)

    sine.jvp(lambda primals, tangents: (np.sin(primals[0]), 2 * np.cos(primals[0]) * tangents[0]))
    return sine


@pytest.mark.parametrize(
    ("function", "slope"),
    [
        (tm.checkpoint(np.sin), np.cos),
        (lambda x: tm.checkpoint_name(np.sin(x), "sine"), np.cos),
        (lambda x: tm.stop_gradient(x) * x, lambda x: x),
        (lambda x: tm.cond(np.sum(x) > 0, np.sin, np.cos, x), np.cos),
        (lambda x: tm.scan(lambda carry, u: (carry, np.sin(u)), 0.0, x)[1], np.cos),
        (tm.vmap(np.sin, chunk_size=2), np.cos),
        (double_slope(), lambda x: 2 * np.cos(x)),
        (tm.nn.gelu, tm.grad(lambda x: np.sum(tm.nn.gelu(x)))),
        (
            lambda x: tm.nn.logsumexp(x, b=np.array([1.0, 0.0, 0.0])) * np.ones(3),
            lambda x: np.array([3.0, 0, 0]),
        ),
        (tm.nn.softplus, lambda x: 1 / (1 + np.exp(-x))),
        (lambda x: tm.nn.conv(x[None, None], np.full((1, 1, 1), 2.0))[0, 0], lambda x: np.full_like(x, 2.0)),
        (
            lambda x: tm.nn.conv_transpose(x[None, None], np.full((1, 1, 1), 3.0))[0, 0],
            lambda x: np.full_like(x, 3.0),
        ),
        (lambda x: tm.top_k(x, 3)[0], np.ones_like),
        (lambda x: tm.linalg.solve_triangular(2 * np.eye(3), x), lambda x: np.full_like(x, 0.5)),
        (lambda x: np.fft.irfft(np.fft.rfft(x), 3), np.ones_like),
        (lambda x: tm.numpy.flatnonzero(x, size=3) + x, np.ones_like),
        (lambda x: x.__array_namespace__().asarray(x) * 2, lambda x: np.full_like(x, 2.0)),
    ],
)
def test_the_librarys_functions_record_variables(function: Any, slope: Any) -> None:
    x = three()
    y = function(x)
    assert type(y) is tm.autograd.Variable
    (found,) = grad(y, x, np.ones(3))
    np.testing.assert_allclose(found, slope(np.array([1.0, 2.0, 3.0])), rtol=1e-12)
