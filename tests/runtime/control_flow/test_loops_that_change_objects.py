"""Loops of functions that change objects in any way are loops of Python in uncompiled derivatives."""

import bisect
import heapq
import io
import itertools
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

X = np.array([1.0, 2.0, 3.0])


def extended_by_name() -> Callable[[], float]:
    entries: list[int] = []

    def count() -> float:
        same = entries
        same += [1]
        return len(entries)

    return count


def kept_in_a_heap() -> Callable[[], float]:
    entries: list[int] = []

    def count() -> float:
        heapq.heappush(entries, 1)
        return len(entries)

    return count


def inserted_in_order() -> Callable[[], float]:
    entries: list[int] = []

    def count() -> float:
        bisect.insort(entries, 1)
        return len(entries)

    return count


def stored_by_a_function() -> Callable[[], float]:
    counts = {"n": 0}

    def count() -> float:
        operator.setitem(counts, "n", counts["n"] + 1)
        return counts["n"]

    return count


def taken_from_an_iterator() -> Callable[[], float]:
    numbers = iter(range(1, 100))

    def count() -> float:
        (number,) = itertools.islice(numbers, 1)
        return number

    return count


def of_a_generator() -> Callable[[], float]:
    return (number for number in range(1, 100)).__next__


def written_to_a_file() -> Callable[[], float]:
    file = io.StringIO()

    def count() -> float:
        file.write("a")
        return len(file.getvalue())

    return count


def in_a_tuple() -> Callable[[], float]:
    held: tuple[list[int]] = ([],)

    def count() -> float:
        entries = held[0]
        entries += [1]
        return len(entries)

    return count


def in_a_default() -> Callable[[], float]:
    def count(entries: list[int] = []) -> float:  # noqa: B006 (that is what is tested)
        entries += [1]
        return len(entries)

    return count


def by_a_kept_method() -> Callable[[], float]:
    entries: list[int] = []
    add = entries.append

    def count() -> float:
        add(1)
        return len(entries)

    return count


class Tally:
    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: list[int] = []

    def count(self) -> float:
        self.entries.extend([1])
        return len(self.entries)


def in_slots() -> Callable[[], float]:
    return Tally().count


def by_a_found_method() -> Callable[[], float]:
    entries: list[int] = []

    def count() -> float:
        getattr(entries, "app" + "end")(1)
        return len(entries)

    return count


COUNTERS = (
    by_a_kept_method,
    in_slots,
    by_a_found_method,
    extended_by_name,
    kept_in_a_heap,
    inserted_in_order,
    stored_by_a_function,
    taken_from_an_iterator,
    of_a_generator,
    written_to_a_file,
    in_a_tuple,
    in_a_default,
)


def weighted(count: Callable[[], float], x: Any) -> Any:
    """x₀ + 2 x₁ + 3 x₂."""
    return tm.fori_loop(0, 3, lambda i, total: total + x[i] * count(), 0.0)


def scanned(count: Callable[[], float], x: Any) -> Any:
    return tm.scan(lambda total, entry: (total + entry * count(), ()), 0.0, x)[0]


@pytest.mark.parametrize("loop", [weighted, scanned])
@pytest.mark.parametrize("counter", COUNTERS)
def test_derivatives_see_each_change_once(counter: Any, loop: Any) -> None:
    assert loop(counter(), X) == 14.0
    count = counter()
    np.testing.assert_array_equal(tm.grad(lambda x: loop(count, x))(X), [1.0, 2.0, 3.0])
    count = counter()
    value, tangent = tm.jvp(lambda x: loop(count, x), (X,), (np.ones(3),))
    assert (value, tangent) == (14.0, 6.0)
    count = counter()
    np.testing.assert_array_equal(tm.vmap(lambda x: loop(count, x))(np.stack([X, 2 * X])), [14.0, 28.0])


def test_what_a_step_returns_keeps_its_value_when_a_later_step_writes_to_it() -> None:
    def f(x: Any) -> Any:
        entries: list[int] = []
        z = x * 1.0

        def body(total: Any, entry: Any) -> Any:
            entries.append(1)
            z[0] += entry
            return total + entry, z

        return tm.scan(body, 0.0, x)[1]

    wanted = [[2.0, 2.0, 3.0], [4.0, 2.0, 3.0], [7.0, 2.0, 3.0]]
    np.testing.assert_array_equal(f(X), wanted)
    np.testing.assert_array_equal(tm.jvp(f, (X,), (np.ones(3),))[0], wanted)
    np.testing.assert_array_equal(tm.vmap(f)(np.stack([X, X])), [wanted, wanted])


def test_containers_that_no_code_changes_leave_a_loop_one_step_of_a_graph() -> None:
    weights: dict[str, Any] = {"w": np.full(3, 2.0), "b": [np.ones(3)]}
    frames: set[int] = set()

    def step(total: Any, entry: Any) -> Any:
        return np.tanh(weights["w"] * total + weights["b"][0] * entry), total[0]

    def watched(frame: Any, event: str, arg: Any) -> None:
        if event == "call" and frame.f_code.co_name == "step":
            frames.add(len(frames))

    before = sys.getprofile()
    sys.setprofile(watched)
    try:
        tm.grad(tm.checkpoint(lambda x: np.sum(tm.scan(step, np.zeros(3), x)[1])))(np.ones(50))
    finally:
        sys.setprofile(before)
    assert 1 <= len(frames) <= 2
