"""What a function that is differentiated without compile may do to its arguments."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from optree import tree_leaves

import tracemill as tm
from tracemill.compiler.errors import SideEffectError, TransformArgumentError


def overwriting(a: Any, b: Any) -> Any:
    a[0] = 5.0
    return np.sum(a * b)


TRANSFORMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "grad": lambda f, x, y: tm.grad(f)(x, y),
    "value_and_grad": lambda f, x, y: tm.value_and_grad(f, argnums=(0, 1))(x, y),
    "jvp": lambda f, x, y: tm.jvp(f, (x, y), (x, y)),
    "vjp": tm.vjp,
    "linearize": tm.linearize,
    "jacrev": lambda f, x, y: tm.jacrev(f)(x, y),
    "jacfwd": lambda f, x, y: tm.jacfwd(f)(x, y),
    "hessian": lambda f, x, y: tm.hessian(f)(x, y),
    "hvp": lambda f, x, y: tm.hvp(f, (x, y), (x, None)),
    "grad of grad": lambda f, x, y: tm.grad(lambda v: np.sum(tm.grad(f)(v, v if x is y else y)))(x),
    "vmap of grad": lambda f, x, y: tm.vmap(lambda v: tm.grad(f)(v, v if x is y else y))(x[None]),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_an_array_that_is_passed_twice_is_not_written_to(name: str) -> None:
    x = np.array([1.0, 2.0, 3.0])
    with pytest.raises(
        TransformArgumentError, match=r"overwriting writes to memory that a shares with b.*a\.copy"
    ):
        TRANSFORMS[name](overwriting, x, x)
    TRANSFORMS[name](overwriting, x, x.copy())
    np.testing.assert_array_equal(x, [1.0, 2.0, 3.0])


def test_arguments_that_overlap_are_not_written_to() -> None:
    x = np.arange(9.0).reshape(3, 3)
    with pytest.raises(TransformArgumentError, match="a shares with b"):
        tm.grad(overwriting)(x[:, 0], x[1])
    np.testing.assert_array_equal(tm.grad(overwriting)(x[:, 0], x[:, 1]), [0.0, 4.0, 7.0])
    with pytest.raises(TransformArgumentError, match="a shares with b"):
        tm.grad(lambda w: np.sum(tm.grad(overwriting)(w[0], w[:, 1])))(x)
    found = tm.grad(lambda w: np.sum(tm.grad(overwriting)(w[0], w[1])))(x)
    np.testing.assert_array_equal(found, [[0, 0, 0], [0, 1, 1], [0, 0, 0]])


def test_every_kind_of_write_to_a_shared_argument_is_refused() -> None:
    def adding(a: Any, b: Any) -> Any:
        a += 1
        return np.sum(a * b)

    def through_a_view(a: Any, b: Any) -> Any:
        a[1:] *= 2
        return np.sum(a * b)

    def without_a_derivative(a: Any, b: Any) -> Any:
        b[...] = 3
        return np.sum(a * b)

    x = np.array([1.0, 2.0, 3.0])
    for function in (adding, through_a_view, without_a_derivative):
        with pytest.raises(TransformArgumentError, match=f"{function.__name__} writes to memory"):
            tm.grad(function)(x, x)


def test_an_argument_that_the_function_also_reaches_outside_is_not_written_to() -> None:
    w = np.array([1.0, 2.0, 3.0])

    def to_the_argument(a: Any) -> Any:
        a[0] = 5.0
        return np.sum(a * w)

    def to_the_array(a: Any) -> Any:
        w[0] = a[1]
        return np.sum(a * w)

    for function in (to_the_argument, to_the_array):
        with pytest.raises(TransformArgumentError, match="a shares with an array from outside"):
            tm.grad(function)(w)
    np.testing.assert_array_equal(w, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(tm.grad(to_the_argument)(w.copy()), [0.0, 2.0, 3.0])


def putting(p: Any) -> Any:
    p["n"] = p["w"] * 2
    return np.sum(p["n"])


def appending(p: Any) -> Any:
    p.append(p[0] * 2)
    return np.sum(p[0] ** 2)


CHANGED: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda f, p: tm.grad(f)(p),
    "jacrev": lambda f, p: tm.jacrev(f)(p),
    "jacfwd": lambda f, p: tm.jacfwd(f)(p),
    "hessian": lambda f, p: tm.hessian(f)(p),
    "hvp": lambda f, p: tm.hvp(f, (p,), (p,)),
    "grad of grad": lambda f, p: tm.grad(lambda q: sum(np.sum(x) for x in tree_leaves(tm.grad(f)(q))))(p),
    "vmap of grad": lambda f, p: tm.vmap(tm.grad(f))(p),
    "vmap of hessian": lambda f, p: tm.vmap(tm.hessian(f))(p),
}


@pytest.mark.parametrize("name", CHANGED)
def test_lists_and_dicts_of_the_caller_are_not_changed(name: str) -> None:
    p, q = {"w": np.array([[1.0, 2.0]])}, [np.array([[1.0, 2.0]])]
    with pytest.raises(SideEffectError, match=r"putting changes args\[0\], a dict"):
        CHANGED[name](putting, p)
    with pytest.raises(SideEffectError, match=r"appending changes args\[0\], a list"):
        CHANGED[name](appending, q)
    assert (list(p), len(q)) == (["w"], 1)


def test_a_compiled_derivative_refuses_writes_to_an_array_that_is_passed_twice() -> None:
    def written(a: Any, b: Any) -> Any:
        a[0] = 5.0
        return (a * b).sum()

    compiled = tm.compile(tm.grad(written, argnums=(0, 1)), backend="numpy")
    x = np.array([1.0, 2.0, 3.0])
    first, second = compiled(x, x.copy())
    np.testing.assert_array_equal(first, [0.0, 2.0, 3.0])
    np.testing.assert_array_equal(second, [5.0, 2.0, 3.0])
    with pytest.raises(TransformArgumentError, match="memory that a shares with b"):
        compiled(x, x)
