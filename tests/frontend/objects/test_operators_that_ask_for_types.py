"""Operators of the user's classes see Python's own numbers as such, wherever the object comes from."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracemill as tm


class Scale:
    def __init__(self, value: float) -> None:
        self.value = value

    def __mul__(self, other: Any) -> Any:
        return self.value * other if isinstance(other, (int, float)) else 7 * self.value

    def __radd__(self, other: Any) -> Any:
        return self.value + other if isinstance(other, float) else 7 * self.value

    def __iadd__(self, other: Any) -> Any:
        return self.value - other if isinstance(other, float) else 7 * self.value


class Ordered:
    def __init__(self, value: float) -> None:
        self.value = value

    def __lt__(self, other: Any) -> Any:
        return self.value < other if isinstance(other, float) else True

    def __eq__(self, other: object) -> Any:
        return self.value == other if isinstance(other, float) else True

    __hash__ = object.__hash__


class Checked:
    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value if isinstance(value, float) else 7.0)


class WithProperty:
    _value: Any = 0.0

    @property
    def value(self) -> Any:
        return self._value

    @value.setter
    def value(self, value: Any) -> None:
        self._value = value if isinstance(value, float) else 7.0


class Kept:
    def __get__(self, owner: Any, kind: Any) -> Any:
        return owner.__dict__["kept"]

    def __set__(self, owner: Any, value: Any) -> None:
        owner.__dict__["kept"] = value if isinstance(value, float) else 7.0


class WithDescriptor:
    value = Kept()


def added_in_place(s: Any) -> Any:
    found = SCALE
    found += s
    return found


def set_with_others(s: Any) -> Any:
    made, other = WithProperty(), WithProperty()
    made.value, (first, *other.value), third = s, (1.0, 2.0), 4.0
    return made.value, first, other.value, third


def set_in(make: Callable[[], Any]) -> Callable[[Any], Any]:
    def function(s: Any) -> Any:
        made = make()
        made.value = s
        return made.value

    return function


SCALE: Any = Scale(3.0)
ORDERED = Ordered(3.0)
HOLDER = SimpleNamespace(scale=SCALE, scales=[SCALE], table={"a": SCALE})


FUNCTIONS = pytest.mark.parametrize(
    "function",
    [
        lambda s: SCALE * s,
        lambda s: s + SCALE,
        added_in_place,
        lambda s: HOLDER.scale * s,
        lambda s: HOLDER.scales[0] * s,
        lambda s: HOLDER.table["a"] * s,
        lambda s: 1.0 if s > ORDERED else 2.0,
        lambda s: 1.0 if s == ORDERED else 2.0,
        lambda s: 1.0 if Ordered(3.0) < s else 2.0,
        set_with_others,
        set_in(Checked),
        set_in(WithProperty),
        set_in(WithDescriptor),
    ],
)


@FUNCTIONS
def test_an_operator_sees_a_python_number(function: Any) -> None:
    compiled = tm.compile(function)
    for s in (2.0, 4.0):
        assert compiled(s) == function(s)


def test_an_operator_of_an_argument_sees_a_python_number() -> None:
    compiled = tm.compile(lambda scale, s: scale * s)
    assert compiled(SCALE, 2.0) == 6.0


@FUNCTIONS
def test_an_operator_sees_a_python_number_without_compile(function: Any) -> None:
    def scaled(s: Any) -> Any:
        found = function(s)
        return s * (found[0] if isinstance(found, tuple) else found)

    step = 1e-6
    expected = (scaled(2.0 + step) - scaled(2.0 - step)) / (2 * step)
    assert tm.grad(scaled)(2.0) == pytest.approx(expected)
    value, tangent = tm.jvp(scaled, (2.0,), (1.0,))
    assert (value, tangent) == pytest.approx((scaled(2.0), expected))


def test_an_operator_of_an_argument_sees_a_python_number_without_compile() -> None:
    assert tm.grad(lambda s, scale: scale * s)(2.0, SCALE) == 3.0
    assert tm.vmap(lambda scale, s: scale * s, in_dims=(None, 0))(SCALE, np.array([2.0, 3.0])).tolist() == [
        6.0,
        9.0,
    ]
