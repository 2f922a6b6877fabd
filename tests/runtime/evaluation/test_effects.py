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
