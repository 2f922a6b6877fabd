"""Functions and loops that meet Python's own numbers only run in Python, as they are written, without trials."""

import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np
import pytest

import tracemill as tm

FIRST = [2, 3]
STEP = 6
SEEN: dict[int, Any] = {}


def is_prime(number: int) -> bool:
    if number in FIRST:
        return True
    if number < 2 or number % 2 == 0 or number % 3 == 0:
        return False
    return all(number % i and number % (i + 2) for i in range(5, int(number**0.5) + 1, STEP))


def largest_factor(number: int) -> int:
    for i in range(number // 2, 0, -1):
        if number % i == 0:
            return i
    return number


def counted(codes: CodeType, function: Callable[..., Any], *args: Any) -> tuple[Any, int]:
    """The result of a call, and how often Python ran this code or a part of it under its name."""
    count = 0

    def note(frame: Any, event: str, _: Any) -> None:
        nonlocal count
        count += event == "call" and frame.f_code.co_name == codes.co_name

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        result = function(*args)
    finally:
        sys.setprofile(before)
    return result, count


def test_a_function_of_numbers_runs_as_often_as_in_python() -> None:
    def weighted(x: Any) -> Any:
        total = x[0] * 0.0
        for number in range(40, 60):
            total = total + x[0] * largest_factor(number)
        return total

    x = np.array([0.5, 2.0])
    expected, calls = counted(largest_factor.__code__, weighted, x)
    compiled = tm.compile(lambda x: sum(largest_factor(k) * x[0] for k in range(40, 60)))
    assert calls == 20
    assert counted(largest_factor.__code__, compiled, x) == (expected, calls)


def test_a_loop_on_numbers_is_seldom_tried() -> None:
    least = 2

    def smallest(number: int) -> int:
        for i in range(least, number + 1):
            if number % i == 0:
                return i
        return number

    def total(x: Any) -> Any:
        found = 0
        for number in range(1000, 1200):
            found += smallest(number)
        return x * found

    expected, calls = counted(smallest.__code__, total, 2.0)
    found, tried = counted(smallest.__code__, tm.compile(total), 2.0)
    assert found == expected
    assert tried < 2 * calls


def test_tracing_for_many_sizes_ends_when_one_is_fixed() -> None:
    def table(n: int) -> dict[int, int]:
        found = {}
        for number in range(n):
            found[number * number] = largest_factor(number + 1)
        return found

    compiled = tm.compile(table, on_recompile="ignore")
    for n in (3, 50, 60):
        expected, calls = counted(largest_factor.__code__, table, n)
        found, traced = counted(largest_factor.__code__, compiled, n)
        assert found == expected
        assert n == 3 or traced < 2 * calls
    assert "compiled only for these sizes" in compiled.explain_recompile()


def test_a_list_of_many_items_is_not_set_item_by_item() -> None:
    def marked(x: Any) -> Any:
        flags = [0.0] * 5000
        flags[int(np.argmax(x))] = x[0]
        return sum(flags) + flags[1]

    x = np.array([1.0, 3.0, 2.0])
    compiled = tm.compile(marked, on_recompile="ignore")
    for given in (x, -x, x[::-1]):
        assert compiled(given) == marked(given)
    with pytest.raises(tm.errors.ConcretizationError, match="for more than 256 entries, use an array"):
        tm.vmap(marked)(np.stack([x, -x]))


def test_a_function_of_numbers_sees_rebound_names(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = tm.compile(lambda x, n: x * sum(map(is_prime, range(n))), on_recompile="ignore")
    assert compiled(2.0, 100) == 50.0
    monkeypatch.setattr(sys.modules[__name__], "STEP", 600)
    assert compiled(2.0, 100) == 2.0 * sum(map(is_prime, range(100)))
    FIRST.append(1)
    try:
        assert compiled(2.0, 100) == 2.0 * sum(map(is_prime, range(100)))
    finally:
        FIRST.pop()


def kept(number: int) -> Any:
    return SEEN.get(number, 0) if SEEN[0] > 1.0 else -1.0


def test_a_function_of_numbers_has_hooks_for_traced_values_in_globals() -> None:
    def store(x: Any) -> Any:
        SEEN[0] = x
        found = kept(0)
        SEEN[0] = 0.0
        return found

    SEEN[0] = 0.0
    compiled = tm.compile(store, on_recompile="ignore")
    assert [compiled(x) for x in (2.0, 0.5, 3.0)] == [2.0, -1.0, 3.0]


def shown(number: int) -> int:
    print("number", number)
    return number + 1


def drawn(number: int) -> Any:
    return np.random.default_rng(number).integers(10)


def test_functions_that_do_more_have_hooks(capsys: pytest.CaptureFixture[str]) -> None:
    compiled = tm.compile(lambda x: x * shown(4) + drawn(3))
    assert [compiled(1.0), compiled(2.0)] == [5.0 + drawn(3), 10.0 + drawn(3)]
    assert capsys.readouterr().out == "number 4\nnumber 4\n"


def appended(numbers: list[int], number: int) -> int:
    numbers.append(number)
    return len(numbers)


def test_a_function_of_numbers_may_change_lists_that_the_program_made() -> None:
    def lengths(x: Any) -> Any:
        numbers: list[int] = []
        if x > 0:
            return x * appended(numbers, 3) + len(numbers)
        return x * (appended(numbers, 4) + appended(numbers, 5)) + len(numbers)

    compiled = tm.compile(lengths)
    assert [compiled(2.0), compiled(-2.0)] == [lengths(2.0), lengths(-2.0)]


def test_an_exception_of_a_function_of_numbers_is_pythons() -> None:
    def checked(number: int, x: Any) -> Any:
        return x / inverse(number)

    compiled = tm.compile(checked, on_recompile="ignore")
    assert compiled(4, 2.0) == 8.0
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        compiled(0, 2.0)


def inverse(number: int) -> float:
    return 1 / (number if is_prime(number) or number else 0)
