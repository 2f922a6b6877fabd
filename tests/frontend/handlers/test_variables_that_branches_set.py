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


def set_in_a_body_that_returns(x: Any, y: Any) -> Any:
    try:
        if x > 3:
            return x * 2
        t = x + y
        u = t
    except ValueError as error:
        del u
        raise TypeError from error
    except TypeError:
        return -x
    else:
        v = t * 2
    finally:
        w = 1.0
    return t + v + w


def set_in_each_handler(x: Any, y: Any) -> Any:
    for i in range(2):
        try:
            if x > 3:
                return x + i
            t = x + y
        except ValueError:
            t = 1.0
        else:
            t = t * 2
        x = t
    return x


@pytest.mark.parametrize("function", [set_in_a_body_that_returns, set_in_each_handler])
def test_what_every_way_through_a_try_sets_is_set_after_it(function: Callable[..., Any]) -> None:
    args = [*itertools.product((5.0, 1.0, 4.0, 2.0), (1.0, -1.0))]
    expected = [function(*one) for one in args]
    compiled, exported = tm.compile(function), tm.export(function, "float", "float").function()
    assert [compiled(*one) for one in args] == [exported(*one) for one in args] == expected
    np.testing.assert_array_equal(tm.vmap(function)(*np.array(args).T), expected)


def test_what_a_handler_leaves_unset_is_unset_after_a_try() -> None:
    def function(x: Any) -> Any:
        try:
            if x > 3:
                return x * 2
            t = x + 1
        except ValueError:
            pass
        return t

    with pytest.raises(UnboundLocalError, match="variable 't'"):
        tm.vmap(function)(np.array([1.0, 5.0]))


def set_under_suppress(x: Any) -> Any:
    if x > 1:
        with contextlib.suppress(ValueError):
            if x > 2:
                raise ValueError
            y = x
    else:
        y = 0.0
    return y


def set_under_except_star(x: Any) -> Any:
    if x > 1:
        try:
            if x > 2:
                raise ValueError
            y = x
        except* ValueError:
            pass
    else:
        y = 0.0
    return y


@pytest.mark.parametrize("function", [set_under_suppress, set_under_except_star])
def test_a_variable_is_unset_after_a_block_that_ended_early(function: Callable[..., Any]) -> None:
    f = tm.compile(function, on_recompile="ignore")
    for x in (0.0, 1.5, 3.0, 1.25):
        try:
            assert f(x) == function(x)
        except UnboundLocalError:
            with pytest.raises(UnboundLocalError, match="variable 'y'"):
                function(x)
    with pytest.raises(UnboundLocalError, match="variable 'y'"):
        f(3.0)


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
