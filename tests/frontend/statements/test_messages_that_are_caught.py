"""Messages of exceptions that the function itself catches show values; with floats, the function runs uncompiled."""

import sys
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import ConcretizationError, RecompileWarning


class OwnError(Exception):
    """An exception with an attribute whose text shows a value."""

    def __init__(self, number: Any) -> None:
        super().__init__(f"bad {number}")
        self.number, self.text = number, f"{number:>6}"


def _text(n: Any) -> Any:
    try:
        raise ValueError(f"no {n}")
    except ValueError as error:
        return str(error), f"{error} {error!r}", error.args, str(error).upper(), len(str(error))


def _in_a_helper(n: Any) -> Any:
    def helper() -> None:
        raise KeyError("no %d" % n)  # noqa: UP031

    try:
        helper()
    except LookupError as error:
        kept = error
    return kept.args[0]


def _own_class(n: Any) -> Any:
    try:
        raise OwnError(n)
    except OwnError as error:
        return str(error), error.number, error.text


def _raised_with_another(n: Any) -> Any:
    try:
        try:
            raise ValueError(f"no {n}")
        except ValueError as error:
            raise TypeError(f"caught: {error}") from error
    except TypeError as error:
        return str(error), str(error.__cause__)


def _of_the_system(n: Any) -> Any:
    try:
        raise OSError(2, f"no file {n}")
    except OSError as error:
        return str(error), error.strerror


def _in_a_loop(n: Any) -> Any:
    texts = []
    for number in range(3):
        try:
            raise ValueError(f"no {n + number}")
        except ValueError as error:
            texts.append(str(error))
    return texts


def _in_a_group(n: Any) -> Any:
    try:
        raise ExceptionGroup(f"group {n}", [ValueError(f"no {n}")])
    except ExceptionGroup as error:
        return error.args[0], str(error.exceptions[0])


def _in_a_traceback(n: Any) -> Any:
    try:
        raise ValueError(f"no {n}")
    except ValueError as error:
        return traceback.format_exception_only(error)


def _asked_of_python(n: Any) -> Any:
    try:
        raise ValueError(f"no {n}")
    except ValueError:
        return str(sys.exception()), str(sys.exc_info()[1]), traceback.format_exc().splitlines()[-1]


def _beside_the_exception(n: Any) -> Any:
    try:
        raise ValueError("no")
    except ValueError as error:
        return f"{error} {n}", "%s" % n, f"{n:}"  # noqa: UP031


FUNCTIONS: list[Callable[[Any], Any]] = [
    _text,
    _in_a_helper,
    _own_class,
    _raised_with_another,
    _of_the_system,
    _in_a_loop,
    _in_a_group,
    _in_a_traceback,
    _asked_of_python,
    _beside_the_exception,
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_caught_message_shows_the_value_of_an_int(function: Callable[[Any], Any]) -> None:
    compiled = tm.compile(function, backend="numpy", on_recompile="ignore")
    for number in (25, 7):
        assert compiled(number) == function(number)


@pytest.mark.parametrize("function", [_text, *FUNCTIONS[2:]])
def test_a_function_with_a_caught_message_that_shows_a_float_runs_uncompiled(
    function: Callable[[Any], Any],
) -> None:
    compiled, x = tm.compile(function, backend="numpy"), 1.5
    with pytest.warns(RecompileWarning, match=rf"{function.__name__} makes a text of a number"):
        assert compiled(x) == function(x)
    assert compiled(2.5) == function(2.5)


def test_a_handler_may_make_a_text_of_a_float_in_some_calls() -> None:
    def root(x: Any) -> Any:
        try:
            if x < 0:
                raise ValueError("negative: %.1f" % x)  # noqa: UP031
            return x**0.5
        except ValueError as error:
            return f"{error} ({x:.2f})"

    compiled = tm.compile(root, on_recompile="ignore")
    for x in (4.0, -1.5, 9.0, -2.5):
        assert compiled(x) == root(x)


def test_a_batch_and_a_file_refuse_a_text_of_a_float_in_a_handler() -> None:
    for call in (lambda: tm.vmap(_text)(np.ones(2)), lambda: tm.export(_text, 1.5)):
        with pytest.raises(ConcretizationError, match="text"):
            call()


def test_a_handler_that_ignores_the_message_needs_no_value() -> None:
    def ignoring(x: Any) -> Any:
        try:
            raise ValueError(f"no {x}")
        except ValueError:
            return x + 1

    assert tm.compile(ignoring, backend="numpy")(1.5) == 2.5


def test_a_message_that_is_raised_again_is_completed_by_the_program() -> None:
    def again(x: Any) -> Any:
        try:
            raise ValueError(f"no {x}")
        except ValueError as error:
            raise error

    compiled = tm.compile(again, backend="numpy")
    for number in (1.5, 2.5):
        with pytest.raises(ValueError, match=f"no {number}"):
            compiled(number)
