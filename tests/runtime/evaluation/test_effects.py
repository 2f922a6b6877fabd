"""A function that is differentiated or mapped uncompiled runs once, so that what it prints and appends happens once."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

LOG: list[int] = []
X = np.array([2.0, 3.0])


class Price:
    """A number with methods that need its value, as people write them for Python's numbers."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __abs__(self) -> Any:
        return math.sqrt(self.value)

    def __bool__(self) -> Any:
        return bool(self.value > 1)

    def __lt__(self, other: Any) -> Any:
        return bool(self.value < other)

    def __eq__(self, other: object) -> Any:
        return bool(self.value == other)

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, other: Any) -> Any:
        return bool(self.value > other)

    def __add__(self, other: Any) -> "Price":
        return Price(self.value + math.sin(other))

    def __neg__(self) -> "Price":
        return Price(-self.value)

    def __getitem__(self, i: Any) -> Any:
        return math.exp(self.value) * i

    def __iter__(self) -> Any:
        return iter([math.sin(self.value), 2.0])

    def __call__(self, y: Any) -> Any:
        return math.sqrt(self.value) * y

    @property
    def root(self) -> Any:
        return math.sqrt(self.value)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "abs": lambda x: x.sum() * abs(Price(x[0] * 2)),
    "bool": lambda x: x.sum() * (2 if not Price(x[0]) else 1),
    "lt": lambda x: x.sum() * (2 if Price(x[0]) < 3 else 1),
    "eq": lambda x: x.sum() * (2 if Price(x[0]) == 2.0 else 1),
    "contains": lambda x: x.sum() * (2 if 1.0 in Price(x[0]) else 1),
    "add": lambda x: (Price(x[0]) + x[1]).value,
    "neg": lambda x: (-Price(x[0])).value * x[1],
    "getitem": lambda x: Price(x[0])[2],
    "iter": lambda x: sum([1.0, *Price(x[0])]) * x[1],
    "call": lambda x: Price(x[0])(x[1]),
    "property": lambda x: Price(x[0]).root,
}
TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: tm.grad(f)(X),
    "grad of grad": lambda f: tm.grad(lambda y: tm.grad(f)(y).sum())(X),
    "jvp": lambda f: tm.jvp(f, (X,), (X,)),
    "vjp": lambda f: tm.vjp(f, X)[1](1.0),
    "jacobian": lambda f: tm.jacobian(f)(X),
    "hessian": lambda f: tm.hessian(f)(X),
    "hvp": lambda f: tm.hvp(f, (X,), (X,)),
    "vmap": lambda f: tm.vmap(f)(np.stack([X, X + 1])),
    "vmap in chunks": lambda f: tm.vmap(f, chunk_size=1)(np.stack([X, X + 1])),
    "vmap of grad": lambda f: tm.vmap(tm.grad(f))(np.stack([X, X + 1])),
}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize("body", FUNCTIONS.values(), ids=FUNCTIONS)
def test_methods_that_need_values_do_not_run_the_function_again(body: Any, transform: Any) -> None:
    def f(x: Any) -> Any:
        LOG.append(1)
        return body(x)

    LOG.clear()
    transform(f)
    assert LOG == [1]


@pytest.mark.parametrize("body", FUNCTIONS.values(), ids=FUNCTIONS)
def test_the_derivative_is_that_of_differences(body: Any) -> None:
    step = 1e-6
    differences = [(float(body(X + step * e)) - float(body(X - step * e))) / (2 * step) for e in np.eye(2)]
    if body is FUNCTIONS["eq"]:  # it jumps here
        differences = [2.0, 2.0]
    np.testing.assert_allclose(tm.grad(body)(X), differences, rtol=1e-6, atol=1e-8)


def test_an_error_of_the_function_leaves_it_at_the_first_run() -> None:
    def f(x: Any) -> Any:
        LOG.append(1)
        return np.float64(float(str(x[0]) + "?"))

    LOG.clear()
    with pytest.raises(ValueError, match="could not convert"):
        tm.grad(f)(X)
    assert LOG == [1]


def swapped(x: Any) -> Any:
    """Two names of arrays of which a condition decides which is which, one of them written to."""
    LOG.append(1)
    first, second = x * 1, x * 2
    if x[0] > 2:
        first, second = second, first
    first *= 3
    return first + second


def test_examples_that_decide_which_array_is_written_do_not_run_the_function_again() -> None:
    batch = np.stack([X, X + 1])
    LOG.clear()
    found = tm.vmap(swapped)(batch)
    assert LOG == [1]
    np.testing.assert_array_equal(found, [swapped(row) for row in batch])


# ---- what is computed again does not print again ---------------------------------------------------------------------


def noted(x: Any) -> Any:
    """A function that appends, and prints where its rule or its derivative runs it."""
    LOG.append(1)
    print("at", x[0])
    return np.sin(x) * x


@tm.custom_rule
def with_jvp(x: Any) -> Any:
    LOG.append(1)
    return np.sin(x)


@with_jvp.jvp
def _(primals: Any, tangents: Any) -> Any:
    (x,), (dx,) = primals, tangents
    print("at", x[0])
    return np.sin(x), np.cos(x) * dx


@tm.custom_rule
def with_vjp(x: Any) -> Any:
    LOG.append(1)
    return np.sin(x)


def _forward(x: Any) -> Any:
    print("at", x[0])
    return np.sin(x), x


with_vjp.vjp(_forward, lambda x, cotangent: (np.cos(x) * cotangent,))

INNER: dict[str, Callable[[Any], Any]] = {
    "checkpoint": tm.checkpoint(noted),
    "checkpoint of matmuls": tm.checkpoint(noted, policy=tm.checkpoint_policies.matmuls),
    "jvp rule": with_jvp,
    "vjp rule": with_vjp,
}
DERIVATIVES: dict[str, Callable[[Any], Any]] = {
    name: transform for name, transform in TRANSFORMS.items() if not name.startswith("vmap")
}
BATCHED: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: tm.vmap(tm.grad(f)),
    "value_and_grad": lambda f: tm.vmap(tm.value_and_grad(f)),
    "jvp": lambda f: tm.vmap(lambda x: tm.jvp(f, (x,), (x,))),
    "vjp": lambda f: tm.vmap(lambda x: tm.vjp(f, x)[1](1.0)),
    "jacfwd": lambda f: tm.vmap(tm.jacfwd(f)),
    "jacrev": lambda f: tm.vmap(tm.jacrev(f)),
    "hessian": lambda f: tm.vmap(tm.hessian(f)),
}


@pytest.mark.parametrize("transform", DERIVATIVES.values(), ids=DERIVATIVES)
@pytest.mark.parametrize("inner", INNER.values(), ids=INNER)
def test_a_function_prints_and_appends_once_where_its_values_are_computed_again(
    inner: Any, transform: Any, capsys: Any
) -> None:
    LOG.clear()
    transform(lambda x: inner(x).sum())
    assert LOG == [1]
    assert capsys.readouterr().out.splitlines() == ["at 2.0"]


@pytest.mark.sampled(every=4, slow=4)
@pytest.mark.parametrize("transform", BATCHED.values(), ids=BATCHED)
@pytest.mark.parametrize("inner", INNER.values(), ids=INNER)
def test_derivatives_of_a_batch_append_once_and_print_once_per_example(
    inner: Any, transform: Any, capsys: Any
) -> None:
    LOG.clear()

    def f(x: Any) -> Any:
        LOG.append(2)
        return inner(x).sum()

    batch = np.stack([X, X + 1])
    found = transform(f)(batch)
    assert LOG == [2, 1]
    assert capsys.readouterr().out.splitlines() == ["at 2.0", "at 3.0"]
    loop = [transform(f)(batch[i : i + 1]) for i in range(2)]
    for mine, *rows in zip(_leaves(found), *map(_leaves, loop), strict=True):
        np.testing.assert_allclose(mine, np.concatenate(rows), rtol=1e-14)


def _leaves(tree: Any) -> list[Any]:
    return [x for part in tree for x in _leaves(part)] if isinstance(tree, tuple) else [tree]


def test_forward_mode_through_a_vjp_rule_does_not_print_what_the_backward_function_prints(
    capsys: Any,
) -> None:
    rule = tm.custom_rule(np.sin)

    def backward(x: Any, cotangent: Any) -> Any:
        print("back from", x)
        return (np.cos(x) * cotangent,)

    rule.vjp(lambda x: (np.sin(x), x), backward)
    assert tm.jvp(rule, (0.0,), (2.0,))[1] == 2
    assert capsys.readouterr().out == ""
    assert tm.grad(rule)(0.0) == 1
    assert capsys.readouterr().out == "back from 0.0\n"
    assert tm.hessian(rule)(0.0) == 0
    assert capsys.readouterr().out == "back from 0.0\n"


def test_a_rule_with_a_branch_has_derivatives_in_a_batch() -> None:
    rule = tm.custom_rule(np.abs).jvp(lambda p, t: (np.abs(p[0]), t[0] if p[0] > 0 else -t[0]))
    x = np.array([-2.0, 3.0])
    np.testing.assert_array_equal(tm.grad(lambda x: np.sum(tm.vmap(rule)(x)))(x), [-1, 1])
    np.testing.assert_array_equal(tm.compile(tm.grad(lambda x: np.sum(tm.vmap(rule)(x))))(x), [-1, 1])
