"""What a compiled function does before an exception happens as in Python, and once."""

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import RecompileWarning

LOG: list[Any] = []


def raised_by_a_handler(a: Any, x: Any) -> Any:
    a[0] = x
    print("hi")
    try:
        if x < 0:
            raise ValueError("neg")
    except ValueError:
        raise RuntimeError("r")  # noqa: B904 (as written by a user)
    return a


def always_raised(a: Any, x: Any) -> None:
    a += x
    raise ValueError("always")


def raised_again(x: Any) -> Any:
    print("one", x)
    try:
        y = 1 / x
    except ZeroDivisionError:
        print("two")
        raise
    return y


def raised_again_after_a_change(values: Any, x: Any) -> Any:
    try:
        values.append(x)
        y = math.log(x)
    except ValueError:
        values.clear()
        raise
    return y


def raised_by_python(values: Any, x: Any) -> None:
    values.append(x)
    int("zz")


def of_a_missing_attribute(a: Any) -> Any:
    a[0] = 9
    return a.missing


def of_a_missing_name(x: Any) -> Any:
    print("a")
    return missing_name + x  # type: ignore[name-defined]  # noqa: F821


def printed_in_a_branch(x: Any) -> Any:
    print("one", x)
    if x > 0:
        print("three")
        raise ValueError("v")
    return x


def printed_in_both_branches(x: Any) -> Any:
    if x > 0:
        print("in")
    else:
        print("neg")
        raise ValueError("n")
    return x


def appended_in_a_branch(values: Any, x: Any) -> Any:
    if x > 0:
        values.append(x)
        raise ValueError("v")
    return x


def with_a_log(x: Any) -> None:
    LOG.append("x")
    print("a")
    raise ValueError("v")


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (raised_by_a_handler, lambda: (np.zeros(2), -1.0)),
        (raised_by_a_handler, lambda: (np.zeros(2), 1.0)),
        (always_raised, lambda: (np.zeros(2), 1.0)),
        (raised_again, lambda: (0.0,)),
        (raised_again, lambda: (2.0,)),
        (raised_again_after_a_change, lambda: ([1.0], -1.0)),
        (raised_by_python, lambda: ([1.0], 2.0)),
        (of_a_missing_name, lambda: (1.0,)),
        (printed_in_a_branch, lambda: (1.0,)),
        (printed_in_a_branch, lambda: (-1.0,)),
        (printed_in_both_branches, lambda: (1.0,)),
        (printed_in_both_branches, lambda: (-1.0,)),
        (appended_in_a_branch, lambda: ([], 1.0)),
        (appended_in_a_branch, lambda: ([], -1.0)),
        (with_a_log, lambda: (1.0,)),
    ],
)
def test_what_happens_before_an_exception(
    function: Callable[..., Any], arguments: Callable[[], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    compiled = tm.compile(function, on_recompile="ignore")
    for _ in range(3):
        outcomes = []
        for called in (function, compiled):
            LOG.clear()
            given = arguments()
            try:
                found = called(*given)
            except Exception as error:
                found = type(error), str(error), type(error.__context__)
            outcomes.append(repr((found, given, LOG, capsys.readouterr().out)))
        assert outcomes[0] == outcomes[1]


def test_an_attribute_that_arrays_do_not_have() -> None:
    compiled, a = tm.compile(of_a_missing_attribute), np.zeros(2)
    with pytest.raises(AttributeError, match=r"'numpy.ndarray' object has no attribute 'missing'"):
        compiled(a)
    assert a[0] == 9


def test_what_only_tracing_refuses_runs_uncompiled_with_a_warning() -> None:
    def wary(a: Any) -> Any:
        a[0] = 9
        if hasattr(a, "_storage"):
            raise TypeError("a traced array")
        return a[0]

    compiled, a = tm.compile(wary), np.zeros(2)
    with pytest.warns(RecompileWarning, match="runs uncompiled: tracing wary fails: a traced array"):
        assert compiled(a) == 9
    a[0] = 0
    assert compiled(a) == 9
    assert a[0] == 9


GENERATOR = np.random.default_rng(0)


@pytest.mark.parametrize("draw", [lambda: random.random(), lambda: GENERATOR.random()])  # noqa: PLW0108 (found by name)
def test_numbers_are_not_drawn_twice(draw: Callable[[], float], capsys: pytest.CaptureFixture[str]) -> None:
    def drawn(x: Any) -> None:
        print(draw())
        raise ValueError("v")

    states = GENERATOR.bit_generator.state, random.getstate()
    first, second = draw(), draw()
    GENERATOR.bit_generator.state, _ = states
    random.setstate(states[1])
    compiled = tm.compile(drawn)
    for _ in range(2):
        with pytest.raises(ValueError, match="v"):
            compiled(1.0)
    assert capsys.readouterr().out == f"{first}\n{second}\n"
