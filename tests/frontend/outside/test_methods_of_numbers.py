"""Methods of objects that hold only Python's numbers run as written, at Python's speed, and see all changes."""

import dataclasses
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm


class Rate:
    factor = 2

    def __init__(self, k: Any) -> None:
        self.k = k

    def cost(self, a: Any) -> Any:
        return a * self.k + self.offset + self.shift(self.factor) + of_object(a, self)

    @property
    def offset(self) -> Any:
        return self.k // 2

    @staticmethod
    def shift(x: Any) -> Any:
        return math.floor(x + 0.5)


class Steeper(Rate):
    @property
    def offset(self) -> Any:
        return self.k * 100


@dataclasses.dataclass
class Item:
    weight: int
    value: int

    def ratio(self, a: Any) -> Any:
        return self.value * a // self.weight


class Counting(Rate):
    def cost(self, a: Any) -> Any:
        self.k += 1
        return a * self.k


class Listing:
    def __init__(self) -> None:
        self.seen: list[int] = []

    def cost(self, a: Any) -> Any:
        self.seen.append(a)
        return len(self.seen) * a


class Asked:
    def __init__(self) -> None:
        self.asked = 0

    def __getattr__(self, name: str) -> Any:
        self.asked += 1
        return self.asked

    def cost(self, a: Any) -> Any:
        return a + self.missing


class Sayer(Rate):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]

    def cost(self, a: Any) -> Any:
        return a + (self == a)


def of_object(a: Any, rate: Any) -> Any:
    return a + rate.k


def total(rate: Any, x: Any) -> Any:
    found = x * 0
    for i in range(40):
        found = found + rate.cost(i)
    return found


GLOBAL = Rate(3)


def total_of_global(x: Any) -> Any:
    return total(GLOBAL, x)


def count_of_runs(function: Callable[..., Any], *args: Any) -> int:
    """How often the body of `Rate.cost` runs as written."""
    count = 0

    def note(frame: Any, event: str, _: Any) -> None:
        nonlocal count
        count += event == "call" and frame.f_code is Rate.cost.__code__

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function(*args)
    finally:
        sys.setprofile(before)
    return count


def test_a_method_of_numbers_runs_as_written() -> None:
    assert count_of_runs(tm.compile(total), Rate(3), 1.0) >= 40
    assert count_of_runs(tm.compile(lambda x: total(Rate(3), x)), 1.0) >= 40


@pytest.mark.parametrize("made", [Rate, Steeper, Counting, lambda k: Item(k, 7), lambda _: Asked(), Sayer])
def test_methods_give_what_python_gives(
    made: Callable[[int], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    def inside(x: Any) -> Any:
        one = made(3)
        method = one.ratio if isinstance(one, Item) else one.cost
        return x * sum([method(i) for i in range(5)])

    compiled = tm.compile(inside, on_recompile="ignore")
    for x in (2.0, 3.0):
        assert compiled(x) == inside(x)


def test_each_call_sees_what_methods_read(monkeypatch: pytest.MonkeyPatch) -> None:
    rate, compiled = Rate(3), tm.compile(total, on_recompile="ignore")
    of_global = tm.compile(total_of_global, on_recompile="ignore")

    def check() -> None:
        assert compiled(rate, 1.0) == total(rate, 1.0)
        assert of_global(1.0) == total_of_global(1.0)

    check()
    rate.k = GLOBAL.k = 5
    check()
    monkeypatch.setattr(Rate, "factor", 7)
    check()
    rate.factor = GLOBAL.factor = 11
    check()
    del rate.factor, GLOBAL.factor
    check()
    GLOBAL.k = 3


def test_an_object_may_hold_traced_numbers_later() -> None:
    def mixed(x: Any) -> Any:
        rate = Rate(3)
        found = rate.cost(1) * x
        rate.k = x
        found = found + rate.cost(1)
        rate.k = 4
        return found + rate.cost(2)

    compiled = tm.compile(mixed)
    for x in (1.0, 2.5):
        assert compiled(x) == mixed(x)
    assert len(compiled.signatures()) == 1


def test_lists_of_an_object_change_as_in_python() -> None:
    compiled = tm.compile(total, on_recompile="ignore")
    ours, theirs = Listing(), Listing()
    for x in (1.0, 2.0):
        assert compiled(ours, x) == total(theirs, x)
        assert ours.seen == theirs.seen


def test_a_method_runs_in_a_loop_on_values() -> None:
    def until(rate: Any, x: Any) -> Any:
        steps = 0
        while x < 100.0:
            x = x + rate.cost(2)
            steps += 1
        return steps, x

    compiled, rate = tm.compile(until, on_recompile="ignore"), Rate(3)
    for k in (3, 4):
        rate.k = k
        assert compiled(rate, 1.0) == until(rate, 1.0)
    np.testing.assert_array_equal(
        tm.vmap(lambda x: until(rate, x)[1])(np.array([1.0, 50.0])), [until(rate, x)[1] for x in (1.0, 50.0)]
    )
