"""The user's handlers do not hide that a function cannot be traced, because Python would not raise that error."""

import contextlib
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import UnsupportedFunctionError


class Version:
    """Compares by a branch on values, which needs hooks for operators."""

    def __init__(self, number: Any) -> None:
        self.number = number

    def __lt__(self, other: "Version") -> bool:
        return True if self.number < other.number else False  # noqa: SIM210 (the branch is what counts)


class Swallows:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> bool:
        return True


def as_json(x: Any) -> Any:
    try:
        return json.loads(json.dumps(x))
    except Exception:
        return -1.0


def is_older(x: Any, y: Any) -> Any:
    try:
        return Version(x) < Version(y)
    except TypeError:
        return None


def set_on_one_side(x: Any) -> Any:
    try:
        if x > 0:
            y = x
        return y  # pyright: ignore[reportPossiblyUnboundVariable]
    except Exception:
        return -1.0


def halves(x: Any) -> Any:
    found = []
    with contextlib.suppress(Exception):
        while x > 1:
            found.append(x)
            x = x / 2
    return found


def halves_swallowed(x: Any) -> Any:
    found = []
    with Swallows():
        while x > 1:
            found.append(x)
            x = x / 2
    return found


@pytest.mark.parametrize(
    ("function", "calls"),
    [
        (as_json, [(1.5,), (2,)]),
        (is_older, [(1.0, 2.0), (2.0, 1.0)]),
        (set_on_one_side, [(1.0,), (-1.0,), (2.0,)]),
        (halves, [(8.0,), (3.0,)]),
        (halves_swallowed, [(8.0,), (3.0,)]),
    ],
)
def test_what_needs_another_trace_gets_it(function: Callable[..., Any], calls: list[Any]) -> None:
    compiled = tm.compile(function, on_recompile="ignore")
    for args in calls:
        assert compiled(*args) == function(*args)


def test_what_cannot_be_traced_is_an_error() -> None:
    def workdays(x: Any) -> Any:
        try:
            return np.busday_count("2011-01", x)
        except Exception:
            return 0

    with pytest.raises(UnsupportedFunctionError, match="busday_count"):
        tm.compile(workdays)(np.ones(2))


def test_a_text_that_ends_tracing_is_no_error_for_a_group_of_handlers() -> None:
    def text(x: Any) -> Any:
        found = ""
        try:
            found = f"{x[0]:.3f}"
        except* TypeError:
            found = "?"
        return found

    assert tm.compile(text, on_recompile="ignore")(np.ones(2)) == "1.000"


def test_numpys_own_errors_are_for_the_handler() -> None:
    def product(x: Any, y: Any) -> Any:
        try:
            return x @ y
        except ValueError:
            return -1.0

    compiled = tm.compile(product, on_recompile="ignore")
    assert [compiled(np.ones(3), np.ones(n)) for n in (3, 4)] == [3.0, -1.0]


def test_a_handler_that_names_an_error_of_tracemill_sees_it() -> None:
    def zeros(n: Any) -> Any:
        try:
            return [0.0] * n
        except tm.errors.ConcretizationError:
            return n

    np.testing.assert_array_equal(tm.vmap(zeros)(np.arange(2)), [0, 1])
