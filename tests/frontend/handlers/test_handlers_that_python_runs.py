"""Handlers see exceptions that only the program can raise: Python then runs the function itself."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracemill as tm

BACKENDS = pytest.mark.parametrize("backend", ["numpy", pytest.param("c", marks=pytest.mark.slow)])
SINGULAR = np.ones((2, 2))


class Swallows:
    """A context manager that ends all exceptions."""

    def __enter__(self) -> "Swallows":
        return self

    def __exit__(self, *error: object) -> bool:
        return True


class Watches:
    """A context manager that ends none."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


@contextlib.contextmanager
def no_division() -> Iterator[None]:
    try:
        yield
    except ZeroDivisionError:
        return


def entry(x: Any, i: Any) -> Any:
    try:
        return x[i]
    except IndexError:
        return -1.0


def entry_after(x: Any, i: Any) -> Any:
    try:
        return x[i + 1]
    except LookupError:
        return -1.0


def stored(x: Any, i: Any) -> Any:
    try:
        x[i] = 7.0
    except IndexError:
        return -1.0
    return x.sum()


def entries(x: Any, places: Any) -> Any:
    total = 0.0
    for i in places:
        try:
            total += x[i]
        except IndexError:
            total += 100.0
    return total


def entry_suppressed(x: Any, i: Any) -> Any:
    with contextlib.suppress(IndexError):
        return x[i]
    return -1.0


def entry_swallowed(x: Any, i: Any) -> Any:
    found = -1.0
    with Swallows():
        found = x[i]
    return 2 * found


def inverse(a: Any) -> Any:
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return np.zeros_like(a)


def factor(a: Any) -> Any:
    try:
        return np.linalg.cholesky(a)
    except np.linalg.LinAlgError as error:
        return str(error)


def solution(a: Any) -> Any:
    try:
        return np.linalg.solve(a, np.ones(2))
    except np.linalg.LinAlgError as error:
        raise ValueError("no solution") from error


def swallowed(x: Any, y: Any) -> Any:
    found = -1.0
    with Swallows():
        found = x / y
    return 2 * found


def swallowed_own(x: Any, y: Any) -> Any:
    with Swallows():
        if x < y:
            raise ValueError("less")
        return x
    return y


def by_a_generator(x: Any, y: Any) -> Any:
    found = -1.0
    with no_division():
        found = x / y
    return 2 * found


def by_a_stack(x: Any, y: Any) -> Any:
    found = -1.0
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(ZeroDivisionError))
        found = x / y
    return 2 * found


def watched(x: Any, y: Any) -> Any:
    with Watches():
        return x / y


def in_each_iteration(x: Any, n: Any) -> Any:
    total = 0.0
    for i in range(n):
        try:
            total += 1 / (x - i)
        except ZeroDivisionError:
            total += 100.0
    return total


def around_a_loop(x: Any, y: Any) -> Any:
    try:
        for _ in range(300):
            x, y = x - 1 / y, y - 1
    except ZeroDivisionError:
        return -5.0
    return x


def of_a_chosen_class(x: Any, y: Any) -> Any:
    handled = ZeroDivisionError if x > 0 else ValueError
    try:
        return x / y
    except handled:
        return -1.0


def at_last(x: Any, y: Any) -> Any:
    found = -1.0
    try:
        found = x / y
    finally:
        return found  # noqa: B012 (it ends the exception)


def in_a_generator(x: Any, y: Any) -> Any:
    def parts() -> Iterator[Any]:
        try:
            yield x / y
        except ZeroDivisionError:
            yield -1.0

    return list(parts())


def new_key(table: dict[Any, Any], key: Any) -> Any:
    try:
        return table[key] + 1.0
    except KeyError:
        table[key] = 5.0
    return table[key]


X = np.arange(3.0)
CALLS: dict[Callable[..., Any], list[tuple[Any, ...]]] = {
    entry: [(X, 1), (X, 7), ([1.0, 2.0], 1), ([1.0, 2.0], 7), (X, np.array(7)), (X, -4)],
    entry_after: [([1.0, 2.0], 0), ([1.0, 2.0], 1), (X, 2)],
    stored: [(X, 0), (X, 5), (X, np.array(5))],
    entries: [(X, np.array([1, 2])), (X, np.array([7, 1]))],
    entry_suppressed: [(X, 1), (X, 7)],
    entry_swallowed: [(X, 1), (X, 7)],
    inverse: [(2 * np.eye(2),), (SINGULAR,)],
    factor: [(np.eye(2),), (-SINGULAR,)],
    solution: [(np.eye(2),), (SINGULAR,)],
    swallowed: [(1.0, 2.0), (1.0, 0.0), (3, 2), (3, 0)],
    swallowed_own: [(1.0, 2.0), (3.0, 2.0)],
    by_a_generator: [(1.0, 2.0), (1.0, 0.0)],
    by_a_stack: [(1.0, 2.0), (1.0, 0.0)],
    watched: [(1.0, 2.0), (1.0, 0.0)],
    in_each_iteration: [(0.5, 400), (2.0, 400)],
    around_a_loop: [(1.0, 0.5), (1.0, 20.0)],
    of_a_chosen_class: [(1.0, 2.0), (1.0, 0.0), (-1.0, 0.0)],
    at_last: [(1.0, 2.0), (1.0, 0.0)],
    in_a_generator: [(1.0, 2.0), (1.0, 0.0)],
    new_key: [({1: 2.0}, 1), ({1: 2.0}, 4), ({1: 2.0, 4: 1.0}, 4)],
}


def outcome(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The result, or the exception, and the arguments after the call."""
    given = tuple(x.copy() if isinstance(x, (np.ndarray, dict)) else x for x in args)
    try:
        return function(*given), given
    except (ArithmeticError, ValueError) as error:
        return (type(error), str(error)), given


@BACKENDS
@pytest.mark.parametrize("function", CALLS, ids=lambda function: function.__name__)
def test_the_compiled_function_handles_what_the_function_handles(
    function: Callable[..., Any], backend: str
) -> None:
    compiled = tm.compile(function, backend=backend, on_recompile="ignore")
    for args in CALLS[function] * 2:
        np.testing.assert_equal(outcome(compiled, args), outcome(function, args))


def test_indices_are_not_checked_outside_of_handlers() -> None:
    def after(x: Any, i: Any) -> Any:
        try:
            y = x[0]
        except IndexError:
            y = 0.0
        return x[i] + y

    assert tm.compile(after, backend="numpy")(X, np.array(7)) == 2.0


def test_without_checks_no_exception_reaches_a_handler() -> None:
    with np.errstate(all="ignore"):
        assert tm.compile(swallowed, checks=False)(1.0, 0.0) == np.inf
    assert tm.compile(entry, checks=False)(X, np.array(7)) == 2.0
