"""Numbers whose value, type or message Python decides: rounding, `and` and `or`, positions in lists."""

import heapq
import itertools
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

HALVES = [0.9725, 2.675, 1.005, -2.675, 0.5, 1.5, 2.5, -0.5, 0.05, 0.15, 0.35, 123456789.123455]
ENDS = [-0.0, 0.0, math.inf, -math.inf, math.nan, 5e-324, 1e300, 1e15 + 0.5, 2.0**53 - 0.5, 9.1e16 + 16]
TENS = [1250.0, 1350.0, -1250.0, 55.0, 45.0, 15.0, -25.0, 5e17 + 64]


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("digits", [0, 1, 2, 3, 10, 15, -1, -2, -5])
def test_round_gives_the_float_nearest_to_the_exact_decimal(digits: int, backend: str) -> None:
    draw = random.Random(digits)
    drawn = [draw.uniform(-1, 1) * 10.0 ** draw.randint(-6, 18) for _ in range(300)]
    near = [round(draw.uniform(-100, 100), 2) + 0.005 for _ in range(300)]

    def rounded(x: Any) -> Any:
        return round(x, digits)

    compiled = tm.compile(rounded, backend=backend)
    numbers = [*HALVES, *ENDS, *TENS, *drawn, *near]
    assert list(map(repr, map(compiled, numbers))) == list(map(repr, map(rounded, numbers)))


def test_round_of_numpys_numbers_is_numpys() -> None:
    x = np.array([0.9725])
    assert tm.compile(lambda x: round(x[0], 3))(x) == round(x[0], 3) == 0.972


def both(a: Any, b: Any) -> Any:
    return (a > b) and a


def either(a: Any, b: Any) -> Any:
    return (a > b) or a


def quotient(a: Any, b: Any) -> Any:
    return b != 0 and a / b


@pytest.mark.parametrize("function", [both, either, quotient])
@pytest.mark.parametrize("calls", [[(1, 2), (2, 1), (3, 4)], [(1.5, 0.0), (0.0, 1.5), (2.5, 1.0)]])
def test_and_and_or_give_the_bool_or_the_number(function: Callable[..., Any], calls: list[Any]) -> None:
    compiled = tm.compile(function, on_recompile="ignore")
    for args in calls:
        assert repr(compiled(*args)) == repr(function(*args))
    assert len(compiled.signatures()) <= 2


def place(numbers: Any, x: Any) -> Any:
    return numbers.index(x)


def place_from(numbers: Any, x: Any) -> Any:
    return numbers.index(x, 1)


def without(numbers: Any, x: Any) -> Any:
    numbers.remove(x)
    return numbers


@pytest.mark.parametrize("function", [place, place_from, without])
@pytest.mark.parametrize(
    "calls", [[([1, 2, 3], 2), ([1, 2, 3], 7), ([1, 2, 3], 1)], [([1.0, 2.5], 2.5), ([1.0, 2.5], 1.5)]]
)
def test_what_is_not_in_a_list_is_an_error_with_pythons_message(
    function: Callable[..., Any], calls: list[Any]
) -> None:
    compiled = tm.compile(function, on_recompile="ignore")
    for numbers, x in calls:
        found: list[Any] = []
        for called in (compiled, function):
            try:
                found.append(called(list(numbers), x))
            except ValueError as error:
                found.append(str(error))
        assert found[0] == found[1]


def test_what_is_not_in_a_tuple_is_named_a_tuple() -> None:
    with pytest.raises(ValueError, match=r"tuple\.index\(x\): x not in tuple"):
        tm.compile(place)((1, 2), 3)


@pytest.mark.parametrize("x", [5, 5.0, True, np.float64(1.0), np.ones(2)])
def test_a_number_cannot_be_called(x: Any) -> None:
    def called(function: Any) -> Any:
        return function(1.0)

    messages = []
    for one in (called, tm.compile(called)):
        with pytest.raises(TypeError) as caught:
            one(x)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_a_result_may_be_one_of_several_dicts() -> None:
    def sides(a: float, b: float, c: float) -> dict[str, float]:
        if a == 0:
            return {"a": math.sqrt(pow(c, 2) - pow(b, 2))}
        if c == 0:
            return {"c": math.sqrt(a * a + b * b), "sum": a + b}
        raise ValueError("one of them must be 0")

    compiled = tm.compile(sides)
    for given in ((0.0, 3.0, 5.0), (3.0, 4.0, 0.0)):
        assert compiled(*given) == sides(*given)
    with pytest.raises(ValueError, match="one of them must be 0"):
        compiled(1.0, 1.0, 1.0)


def test_a_heap_orders_texts_that_values_choose() -> None:
    def least(x: Any) -> str:
        heap: list[tuple[int, str]] = []
        heapq.heappush(heap, (1, "b" if x > 0 else "d"))
        heapq.heappush(heap, (1, "a" if x > 1 else "c"))
        return heapq.heappop(heap)[1]

    compiled = tm.compile(least)
    assert [compiled(x) for x in (-1.0, 0.5, 2.0)] == [least(x) for x in (-1.0, 0.5, 2.0)] == ["c", "b", "a"]


def test_islice_takes_numbers_of_the_program() -> None:
    def part(n: int, x: Any) -> Any:
        return x * sum(itertools.islice(itertools.count(1), n, 2 * n))

    compiled = tm.compile(part, on_recompile="ignore")
    assert [compiled(n, 0.5) for n in (2, 3, 5)] == [part(n, 0.5) for n in (2, 3, 5)]
