"""An array that the body of a loop writes to is not constant, even if its contents are known while tracing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

X = np.array([1.0, 2.0, 0.5, 3.0])


def positions_in_fori_loop(x: Any) -> Any:
    at, out = np.zeros(3, int), np.zeros(9)

    def body(i: Any, carry: Any) -> Any:
        out[at[0]] = x[i]
        at[0] += 2
        return carry

    tm.fori_loop(0, 4, body, 0)
    return out


def positions_in_scan(x: Any) -> Any:
    at, out = np.zeros(3, int), np.zeros(9)

    def body(carry: Any, entry: Any) -> Any:
        out[at[0]] = entry
        at[0] += 2
        return carry, entry

    tm.scan(body, 0, x)
    return out


def count_that_the_test_reads(x: Any) -> Any:
    count = np.zeros(1, int)

    def body(carry: Any) -> Any:
        count[0] += 1
        return carry + x[0]

    last = tm.while_loop(lambda carry: count[0] + carry < 7, body, 0.0)
    return np.array([last, count[0]])


def positions_that_a_branch_moves(x: Any) -> Any:
    at, out = np.zeros(3, int), np.zeros(9)
    for i in range(40):
        if x[i % 4] > 1:
            at[0] = (at[0] + 2) % 9
        out[at[0]] += x[at[0] % 4]
    return out


def lengths_that_a_branch_sets(x: Any) -> Any:
    length, total = np.ones(1, int), x * 0
    for i in range(40):
        if x[i % 4] > 1:
            length[0] = length[0] % 3 + 1
        for j in range(length[0]):
            total = total + x * j
    return total


def done_when_an_entry_says_so(x: Any) -> Any:
    done, count = np.zeros(1, bool), np.zeros(1, int)
    while not done[0] and count[0] < 10:
        count[0] += 1
        done[0] = x[count[0] % 4] > 2
    return count


def entries_that_mark_others(adjacent: Any) -> Any:
    colours = np.zeros(4, int)
    for v in range(4):
        used = np.zeros(4, bool)
        for u in range(4):
            if adjacent[v] > u:
                used[colours[u]] = True
        colours[v] = used.sum()
    return colours


PYTHONS = (
    positions_that_a_branch_moves,
    lengths_that_a_branch_sets,
    done_when_an_entry_says_so,
    entries_that_mark_others,
)
"""Python runs their loops where nothing is traced."""

OURS = (
    (positions_in_fori_loop, [1, 0, 2, 0, 0.5, 0, 3, 0, 0]),
    (positions_in_scan, [1, 0, 2, 0, 0.5, 0, 3, 0, 0]),
    (count_that_the_test_reads, [4, 4]),
)
"""Their loops are traced wherever they run."""


@pytest.mark.sampled(every=8)
@pytest.mark.parametrize("program", PYTHONS)
@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.usefixtures("c_compiler")
def test_positions_lengths_and_tests_are_those_of_each_turn(
    program: Callable[[Any], Any], backend: str
) -> None:
    np.testing.assert_array_equal(tm.compile(program, backend=backend)(X), program(X))


@pytest.mark.sampled(every=6, slow=2)
@pytest.mark.parametrize(("program", "expected"), OURS)
@pytest.mark.parametrize("backend", ["interpreted", "numpy", "c"])
@pytest.mark.usefixtures("c_compiler")
def test_bodies_of_loops_of_the_library_see_what_they_have_written(
    program: Callable[[Any], Any], expected: list[float], backend: str
) -> None:
    compiled = program if backend == "interpreted" else tm.compile(program, backend=backend)
    np.testing.assert_array_equal(compiled(X), expected)
