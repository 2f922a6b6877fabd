"""Mutable objects of Python's library that a function makes and returns are new ones in each call."""

import array
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import tracemill as tm

BYTES, COUNTS, NUMBERS = bytearray(b"outside"), Counter(b=1), array.array("d", [1.0])
HELD = [bytearray(b"held")]


def twice(x: Any) -> Any:
    made = bytearray(b"twice")
    return made, made, x


@pytest.mark.parametrize(
    "function",
    [
        lambda x: bytearray(b"made"),
        lambda x: Counter("abca"),
        lambda x: array.array("d", [1.0, 2.0]),
        lambda x: (bytearray(b"made"), x),
        lambda x: [Counter(a=1)],
    ],
)
def test_each_call_returns_an_object_of_its_own(function: Callable[[Any], Any]) -> None:
    def made(result: Any) -> Any:
        return result[0] if isinstance(result, (tuple, list)) else result

    compiled = tm.compile(function)
    first, second = made(compiled(1.0)), made(compiled(1.0))
    assert first is not second
    assert first == second == made(function(1.0))
    assert type(first) is type(made(function(1.0)))


def test_an_object_in_two_places_is_one() -> None:
    compiled = tm.compile(twice)
    first, again, _ = compiled(1.0)
    other, _, _ = compiled(1.0)
    assert first is again
    assert first is not other


@pytest.mark.parametrize(
    "function", [lambda x: BYTES, lambda x: COUNTS, lambda x: NUMBERS, lambda x: HELD[0]]
)
def test_an_object_from_outside_is_returned_itself(function: Callable[[Any], Any]) -> None:
    compiled = tm.compile(function)
    assert compiled(1.0) is compiled(2.0) is function(1.0)
