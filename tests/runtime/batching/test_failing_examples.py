"""Exceptions in `vmap` without `compile`: those of all examples can be caught, and those of some raise for the call."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import BatchedHandlerError

SOME = np.array([[1.0, 2.0, 3.0], [4.0, 0.0, -6.0]])
ALL = np.array([[4.0, 2.0, 3.0], [4.0, 0.0, -6.0]])
NONE = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, -6.0]])
TABLE = {0: 1.0, 1: 2.0}


def raising(x: Any) -> Any:
    try:
        if x[0] > 1:
            raise ValueError("too large")
        found = np.sum(x)
    except ValueError:
        found = np.sum(x * x)
    return found


def indexing(x: Any) -> Any:
    try:
        found = x[int(x[0])]
    except IndexError:
        found = np.sum(x * x)
    return found


def looking_up(x: Any) -> Any:
    try:
        found = TABLE[int(x[0])] * x[1]
    except KeyError:
        found = np.sum(x * x)
    return found


def inverting(x: Any) -> Any:
    try:
        found = np.sum(np.linalg.inv(np.eye(3) * (x[0] <= 1)) @ x)
    except np.linalg.LinAlgError:
        found = np.sum(x * x)
    return found


def catching_everything(x: Any) -> Any:
    try:
        if x[0] > 1:
            raise ValueError("too large")
        found = np.sum(x)
    except:  # noqa: E722
        found = np.sum(x * x)
    return found


def raising_another(x: Any) -> Any:
    try:
        if x[0] > 1:
            raise ValueError("too large")
    except BaseException:
        raise TypeError("a handler") from None
    return np.sum(x)


def suppressing(x: Any) -> Any:
    found = np.sum(x * x)
    with suppress(ValueError):
        if x[0] > 1:
            raise ValueError("too large")
        found = np.sum(x)
    return found


CATCHING: dict[Callable[[Any], Any], type[Exception]] = {
    raising: ValueError,
    indexing: IndexError,
    looking_up: KeyError,
    inverting: np.linalg.LinAlgError,
    catching_everything: ValueError,
    suppressing: ValueError,
}


@pytest.mark.parametrize("function", CATCHING)
def test_an_exception_of_some_examples_is_one_of_the_call(function: Callable[[Any], Any]) -> None:
    calls: list[tuple[Callable[..., Any], Any]] = [
        (tm.vmap(function), SOME),
        (tm.vmap(tm.grad(function)), SOME),
        (tm.grad(lambda x: np.sum(tm.vmap(function)(x))), SOME),
        (tm.vmap(tm.vmap(function)), np.stack([NONE, SOME])),
    ]
    for called, batch in calls:
        with pytest.raises(BatchedHandlerError) as found:
            called(batch)
        assert isinstance(found.value.__cause__, CATCHING[function])


@pytest.mark.parametrize("function", CATCHING)
def test_an_exception_of_all_examples_can_be_caught(function: Callable[[Any], Any]) -> None:
    for batch in (ALL, NONE):
        np.testing.assert_array_equal(tm.vmap(function)(batch), [function(x) for x in batch])
    np.testing.assert_array_equal(tm.vmap(tm.grad(function))(ALL), 2 * ALL)
    np.testing.assert_array_equal(tm.grad(lambda x: np.sum(tm.vmap(function)(x)))(ALL), 2 * ALL)


def test_no_handler_replaces_an_exception_of_some_examples() -> None:
    with pytest.raises(BatchedHandlerError, match="ValueError: too large"):
        tm.vmap(raising_another)(SOME)
    with pytest.raises(TypeError, match="a handler"):
        tm.vmap(raising_another)(ALL)


def test_exceptions_with_different_texts_are_not_caught() -> None:
    def program(x: Any) -> Any:
        try:
            if x[0] > 1:
                raise ValueError(f"too large: {x[1]}")
            length = 0
        except ValueError as error:
            length = len(str(error))
        return x * length

    with pytest.raises(BatchedHandlerError, match=r"too large: 2\.0"):
        tm.vmap(program)(ALL)


def test_a_function_around_vmap_catches_what_examples_raise() -> None:
    def single(x: Any) -> Any:
        if x[0] > 1:
            raise ValueError(f"too large: {x[0]}")
        return np.sum(x)

    def total(x: Any) -> Any:
        try:
            return np.sum(tm.vmap(single)(x))
        except ValueError:
            return -np.sum(x)

    assert total(SOME) == -np.sum(SOME)
    np.testing.assert_array_equal(tm.grad(total)(SOME), -np.ones_like(SOME))
    np.testing.assert_array_equal(tm.vmap(total)(np.stack([SOME, SOME])), [-np.sum(SOME)] * 2)
    with pytest.raises(BatchedHandlerError, match=r"too large: 4\.0"):
        tm.vmap(total)(np.stack([SOME, NONE]))


def test_the_traceback_of_an_exception_of_some_examples_shows_its_line() -> None:
    with pytest.raises(BatchedHandlerError, match="too large") as caught:
        tm.vmap(raising)(SOME)
    assert "raising" in [entry.name for entry in caught.traceback]


def test_an_exception_of_a_derivative_in_a_batch_is_one_of_the_call() -> None:
    def slope(x: Any) -> Any:
        try:
            return tm.grad(np.sqrt)(x)
        except FloatingPointError:
            return x * 0 + 7

    with np.errstate(all="raise"):
        np.testing.assert_array_equal(tm.vmap(slope)(np.array([1.0, 4.0])), [0.5, 0.25])
        with pytest.raises(FloatingPointError):
            tm.vmap(slope)(np.array([1.0, 0.0]))
