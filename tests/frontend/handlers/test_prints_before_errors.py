"""A compiled function that prints, and raises or handles an error, prints what it prints in Python."""

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

LOG = logging.getLogger("frontend.prints_before_errors")


def stopped(x: Any) -> Any:
    print("before", x)
    if x < 0:
        raise ValueError("negative")
    print("after")
    return x


def stopped_in_a_loop(x: Any) -> Any:
    for i in range(300):
        if i % 100 == 0:
            print(i)
        x = x - 1
        if x < 0:
            raise ValueError("negative")
    return x


def inverse(x: Any) -> Any:
    print("before")
    try:
        found = np.linalg.inv(np.ones((2, 2)) * x + np.eye(2) * (x > 0))
    except np.linalg.LinAlgError:
        print("singular")
        return x
    print("after")
    return found


def handled_after_a_loop(x: Any) -> Any:
    print("before")
    try:
        for _ in range(400):
            x = x - 1
            if x == 0:
                raise ValueError("zero")
    except ValueError:
        print("handled")
        return 7.0
    return x


def entry(x: Any, i: Any) -> Any:
    print("before")
    try:
        return x[i]
    except IndexError:
        return -1.0


def power(x: Any, y: Any) -> Any:
    print("before")
    return x**y


def power_in_a_handler(x: Any, y: Any) -> Any:
    print("before")
    try:
        found = x**y
    except ValueError:
        return -1
    print("after")
    return found


def written(a: Any, x: Any) -> Any:
    print("before")
    a[0] = x
    if x < 0:
        raise ValueError("negative")
    return a


def told_after_a_branch(x: Any) -> Any:
    if x > 0:
        print("positive")
        return x
    print("other")
    raise ValueError(f"it is {x:.2f}")


def logged(x: Any) -> Any:
    if x < 0:
        raise ValueError("negative")
    LOG.warning("it is %s", x)
    return x


CALLS: dict[Callable[..., Any], list[tuple[Any, ...]]] = {
    stopped: [(1.0,), (-1.0,)],
    stopped_in_a_loop: [(1000.0,), (150.0,)],
    inverse: [(1.0,), (-1.0,)],
    handled_after_a_loop: [(1000.5,), (150.0,)],
    entry: [(np.arange(3.0), np.array(1)), (np.arange(3.0), np.array(5))],
    power: [(2.0, 0.5), (-2.0, 0.5), (2, 3), (2, -3)],
    power_in_a_handler: [(2.0, 0.5), (-2.0, 0.5)],
    written: [(np.zeros(2), 1.0), (np.zeros(2), -1.0)],
    told_after_a_branch: [(1.0,), (-1.0,), (-2.0,)],
    logged: [(1.0,), (-1.0,)],
}


@pytest.mark.parametrize("backend", ["numpy", pytest.param("c", marks=pytest.mark.slow)])
@pytest.mark.parametrize("function", CALLS, ids=lambda function: function.__name__)
def test_a_compiled_function_prints_what_python_prints(
    function: Callable[..., Any],
    backend: str,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    compiled = tm.compile(function, backend=backend, on_recompile="ignore")
    for args in CALLS[function] * 2:
        outcomes = []
        for called in (function, compiled):
            given = [x.copy() if isinstance(x, np.ndarray) else x for x in args]
            caplog.clear()
            try:
                found = called(*given)
            except ValueError as error:
                found = str(error)
            outcomes.append(repr((found, given, capsys.readouterr().out, caplog.messages)))
        assert outcomes[0] == outcomes[1]


def test_lines_are_printed_although_the_program_ends_with_an_error_of_tracemill(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def whole(x: Any) -> Any:
        print("before", x)
        try:
            return int(x)
        except OverflowError:
            return -1

    compiled = tm.compile(whole, backend="numpy")
    with pytest.raises(tm.errors.ArgumentTypeError, match="more than 64 bits"):
        compiled(1e30)
    assert capsys.readouterr().out == "before 1e+30\n"


def test_a_line_shows_what_memory_held_when_the_program_came_to_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def doubled(a: Any, x: Any) -> Any:
        for _ in range(3):
            print(a)
            a = a * 2
        if x < 0:
            raise ValueError("negative")
        print(a)
        return a

    assert tm.compile(doubled, backend="numpy")(np.ones(1), 1.0) == [8.0]
    assert capsys.readouterr().out == "[1.]\n[2.]\n[4.]\n[8.]\n"
