"""Texts that show traced numbers: those of ints hold for one value, those of floats are refused."""

import pprint
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import ConcretizationError

TEXTS: list[Callable[[Any], Any]] = [
    lambda n: f"{n} {n!r:>4} {n:b}",
    lambda n: "{} {:>5d}".format(n, n),  # noqa: UP032
    lambda n: "%d %s %r %05.1f %%" % (n, n, n, n),  # noqa: UP031
    lambda n: str(n) + repr(n) + format(n, "x") + ascii(n),
    lambda n: str([n, (n + 1,)]),
    lambda n: "".join(map(str, [n, n + 1])),
    lambda n: sum(int(digit) for digit in str(n)),
    lambda n: len({n, n + 1, n}),
    lambda n: {n: "found"}[n],
]


@pytest.mark.parametrize("text", TEXTS)
def test_the_text_of_an_int_is_that_of_its_value(text: Callable[[Any], Any]) -> None:
    compiled = tm.compile(text, backend="numpy", on_recompile="ignore")
    for number in (25, 7):
        assert compiled(number) == text(number)


@pytest.mark.parametrize("text", TEXTS[:6])
def test_the_text_of_an_element_is_that_of_its_value(text: Callable[[Any], Any]) -> None:
    compiled = tm.compile(lambda x: text(x[0]), backend="numpy", on_recompile="ignore")
    for number in (25, 7):
        assert compiled(np.array([number])) == text(np.int64(number))


@pytest.mark.parametrize("text", TEXTS[:6])
def test_the_text_of_a_float_that_the_program_computes_is_refused(text: Callable[[Any], Any]) -> None:
    with pytest.raises((ConcretizationError, TypeError, ValueError), match=r"text|format|integer"):
        tm.compile(lambda x: text(x[0] * 2), backend="numpy")(np.ones(2))


def test_other_code_such_as_a_debugger_sees_the_type() -> None:
    seen: list[str] = []

    def shown(x: Any) -> Any:
        seen.append(pprint.pformat(x))
        return x * 2

    tm.compile(shown, backend="numpy")(np.ones(3))
    assert seen[-1] == "TracedArray(f64[3])"
