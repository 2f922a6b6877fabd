"""A handler sees the variables that a branch has set before it raised the exception."""

import contextlib
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm


def raised_by_a_branch_inside(x: Any, y: Any) -> Any:
    t = 0.0
    try:
        if y > 0:
            t = x
            if x == 5:
                raise ValueError("five")
            t = x * 2
    except ValueError:
        return t
    return t


def suppressed(x: Any, y: Any) -> Any:
    t = 0.0
    with contextlib.suppress(ZeroDivisionError):
        if y > 0:
            t = x
            t = 1 / (x - 5)
    return t


def after_a_return(x: Any, y: Any) -> Any:
    t = 0.0
    try:
        if y < 0:
            return t
        t = x
        if x > 3:
            t = x + 1
            t = 1 / (x - 5)
    except ZeroDivisionError:
        return t
    return t


def in_each_iteration(x: Any, y: Any) -> Any:
    t, u = 0.0, 1.0
    for i in range(4):
        try:
            if x > i:
                t = t + x
                u = 1 / (x - i - 1)
        except ZeroDivisionError:
            t = t + 100
    return t + u * y


def matched(x: Any, y: Any) -> Any:
    t = y
    try:
        match x > 1:
            case True:
                t = x
                if x == 5:
                    raise TypeError
                t = t + 1
            case _:
                t = 7.0
    except TypeError:
        return t
    return t


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize(
    "function", [raised_by_a_branch_inside, suppressed, after_a_return, in_each_iteration, matched]
)
def test_a_handler_sees_what_a_branch_has_set(function: Callable[..., Any], backend: str) -> None:
    f = tm.compile(function, backend=backend, on_recompile="ignore")
    for args in itertools.product((5.0, 1.0, 4.0, 2.0), (1.0, -1.0)):
        assert f(*args) == function(*args)


def test_a_derivative_goes_through_what_a_branch_has_set() -> None:
    for gradient in (tm.grad(suppressed), tm.compile(tm.grad(suppressed))):
        assert gradient(5.0, 1.0) == 1.0
        np.testing.assert_allclose(gradient(7.0, 1.0), -0.25)
