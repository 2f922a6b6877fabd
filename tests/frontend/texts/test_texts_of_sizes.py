"""Texts show the numbers of sizes, also of those that depend on values; messages get them from the program."""

from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import ConcretizationError

Pair = namedtuple("Pair", "first second")


@dataclass
class Holder:
    size: Any
    shape: Any


def named(x: Any) -> Any:
    return x


def computed(x: Any) -> Any:
    return x[x > 0]


TEXTS: dict[str, Callable[[Any], str]] = {
    "str": lambda m: str(m.shape) + repr([len(m)]) + str(len(m)),
    "join": lambda m: "x".join(map(str, m.shape)) + "x".join(str(one) for one in m.shape),
    "format": lambda m: (
        "{} {:>3d} {n}".format(m.shape, len(m), n=m.shape[0])  # noqa: UP032 (older code has these)
        + format(len(m), "03d")
    ),
    "f-string": lambda m: f"{m.shape} {len(m):>4} {m.shape!r:>8} {[m.shape]!s:_<9} {2 * len(m) + 1}",
    "percent": lambda m: "%s %d %r" % (m.shape, len(m), [m.shape]),  # noqa: UP031 (older code has these)
    "nested": lambda m: str({"k": [len(m), {"z": m.shape}]}),
    "objects": lambda m: str(Pair(len(m), m.shape)) + str(Holder(len(m), m.shape)),
}


@pytest.mark.parametrize("take", [named, computed])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_texts_are_those_of_numbers(text: Callable[[Any], str], take: Callable[[Any], Any]) -> None:
    def function(x: Any) -> Any:
        return text(take(x))

    compiled = tm.compile(function, on_recompile="ignore")
    for count in (3, 4, 5):
        x = np.arange(count) - 1.0
        assert compiled(x) == function(x)


@pytest.mark.parametrize("take", [named, computed])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_printed_lines_show_numbers(
    text: Callable[[Any], str], take: Callable[[Any], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    def function(x: Any) -> Any:
        m = take(x)
        print(text(m), m.shape, len(m), [m.shape], {"n": len(m)})
        return m * 2

    compiled = tm.compile(function, on_recompile="ignore")
    for count in (3, 4, 5):
        x = np.arange(count) - 1.0
        function(x)
        expected = capsys.readouterr().out
        compiled(x)
        assert capsys.readouterr().out == expected


def test_one_program_prints_many_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    def function(x: Any) -> Any:
        print(x.shape, f"{len(x):>3}")
        return x * 2

    compiled = tm.compile(function)
    for count in (3, 4, 5, 6):
        compiled(np.ones(count))
    assert capsys.readouterr().out == "(3,)   3\n(4,)   4\n(5,)   5\n(6,)   6\n"
    assert len(compiled.signatures()) == 2


def test_exceptions_hold_numbers() -> None:
    def told(x: Any) -> Any:
        m = computed(x)
        if len(m) > 1:
            raise ValueError(f"got {m.shape}, {len(m):>3}")
        return m

    def given(x: Any) -> Any:
        m = computed(x)
        raise ValueError("got", m.shape, len(m))

    for function in (told, given):
        compiled = tm.compile(function, on_recompile="ignore")
        for count in (4, 5):
            x = np.arange(count) - 1.0
            with pytest.raises(ValueError, match="got") as expected:
                function(x)
            with pytest.raises(ValueError, match="got") as found:
                compiled(x)
            assert found.value.args == expected.value.args


def test_the_text_of_a_container_with_values_cannot_be_padded() -> None:
    def function(x: Any) -> Any:
        print(f"{[x[0]]!s:>20}")
        return x

    with pytest.raises(ConcretizationError, match="padded"):
        tm.compile(function)(np.ones(2))


def test_texts_that_values_choose_are_joined() -> None:
    def function(x: Any) -> Any:
        return "".join("+" if one > 0 else "-" for one in x)

    compiled = tm.compile(function, on_recompile="ignore")
    for x in (np.array([1.0, -2.0, 3.0]), -np.ones(3)):
        assert compiled(x) == function(x)


def test_a_text_that_values_choose_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    def function(x: Any) -> Any:
        level = "high" if x.max() > 1 else "low"
        print(level, level.upper(), f"{level:>6}")
        return x

    compiled = tm.compile(function, on_recompile="ignore")
    compiled(np.array([0.0, 2.0]))
    compiled(np.array([0.0, 1.0]))
    assert capsys.readouterr().out == "high HIGH   high\nlow LOW    low\n"
