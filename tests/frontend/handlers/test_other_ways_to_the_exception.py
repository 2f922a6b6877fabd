"""Context managers and functions that show the exception of a handler see NumPy's own, as `except … as` does."""

import contextlib
import sys
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

X = np.array([1.0, 2.0, 5.0, 7.0])


class Seeing:
    seen: Any = ()

    def __enter__(self) -> "Seeing":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> Any:
        self.seen = None if kind is None else (kind.__name__, str(error), type(error).__name__)
        return True


def by_exit(x: Any) -> Any:
    manager = Seeing()
    with manager:
        x.reshape(3, 3)
    return x * 2, manager.seen


def by_exit_without_error(x: Any) -> Any:
    manager = Seeing()
    with manager:
        x = x.reshape(2, 2)
    return x * 2, manager.seen


def by_generator(x: Any) -> Any:
    seen: list[str] = []

    @contextlib.contextmanager
    def swallowing() -> Any:
        try:
            yield
        except ValueError as error:
            seen.append(f"{type(error).__name__}: {error}")

    with swallowing():
        x.reshape(3, 3)
    return x * 2, seen


def by_exc_info(x: Any) -> Any:
    try:
        x.reshape(3, 3)
    except ValueError:
        kind, error, _ = sys.exc_info()
        return x, kind.__name__ if kind else None, str(error), type(sys.exception()).__name__
    return x


def by_text(x: Any) -> Any:
    try:
        x.reshape(3, 3)
    except ValueError:
        return x, traceback.format_exc().splitlines()[-1]
    return x


@pytest.mark.parametrize(
    "function", [by_exit, by_exit_without_error, by_generator, by_exc_info, by_text], ids=lambda f: f.__name__
)
def test_they_see_numpys_exception(function: Callable[[Any], Any]) -> None:
    compiled = tm.compile(function)
    for x in (X, X + 1):
        assert repr(compiled(x)) == repr(function(x))


def test_a_manager_that_swallows_nothing_lets_the_error_with_the_line_through() -> None:
    class Passing(Seeing):
        def __exit__(self, kind: Any, error: Any, trace: Any) -> Any:
            return False

    def f(x: Any) -> Any:
        with Passing():
            return x.reshape(3, 3)

    with pytest.raises(tm.errors.ShapeError, match="test_other_ways_to_the_exception"):
        tm.compile(f)(X)
