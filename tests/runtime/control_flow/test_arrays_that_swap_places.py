"""Loops on values in which arrays swap their memory, ``old, new = new, old``, do what Python does."""

from collections.abc import Callable
from typing import Any

import numpy as np
import optree
import pytest

import tracemill as tm


def two_buffers(x: Any, least: Any) -> Any:
    """Steps between two buffers until the values settle."""
    old, new, steps = x.copy(), x.copy(), 0
    while np.max(np.abs(old[1:-1])) > least and steps < 20:
        new[1:-1] = 0.5 * (old[2:] + old[:-2]) - 0.1
        old, new = new, old
        steps += 1
    return old, new, steps


def three_buffers(x: Any, least: Any) -> Any:
    before, now, after = x.copy(), x * 1.1, x * 0.0
    steps = 0
    while np.abs(now[2]) > least and steps < 15:
        after[1:-1] = 2 * now[1:-1] - before[1:-1] + 0.1 * (now[2:] - 2 * now[1:-1] + now[:-2])
        before, now, after = now, after, before
        steps += 1
    return before, now, after


def both_written(x: Any, least: Any) -> Any:
    one, other, total = x.copy(), x * 2.0, 0.0
    while total < 10 * least:
        one[1] += 0.5 * other[2]
        other[0] -= one[1]
        one, other = other, one
        total += 1.0
    return one, other


def written_afterwards(x: Any, least: Any) -> Any:
    old, new, steps = x.copy(), x.copy(), 0
    while old[2] > least and steps < 9:
        new[1:-1] = 0.5 * (old[2:] + old[:-2]) - 0.2
        old, new = new, old
        steps += 1
    old[0] = 5.0
    new *= 2.0
    return old, new


def one_is_made_anew(x: Any, least: Any) -> Any:
    old, new, steps = x.copy(), x.copy(), 0
    while old[2] > least and steps < 9:
        new[1:-1] = 0.5 * (old[2:] + old[:-2])
        old, new = new, old * 1.5
        new[0] = steps
        steps += 1
    return old, new


PROGRAMS = (two_buffers, three_buffers, both_written, written_afterwards, one_is_made_anew)
X = np.array([0.9, 0.7, 1.3, 0.2, 0.8, 1.0])


@pytest.mark.parametrize("backend", ["numpy", pytest.param("c", marks=pytest.mark.slow)])
@pytest.mark.parametrize("program", PROGRAMS)
def test_arrays_that_swap_places_are_pythons(program: Callable[..., Any], backend: str) -> None:
    compiled = tm.compile(program, backend=backend)
    for least in (0.05, 0.35, 0.6, 9.0):
        mine = X.copy()
        found: list[Any] = optree.tree_leaves(compiled(mine, least))
        expected: list[Any] = optree.tree_leaves(program(X, least))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
        np.testing.assert_array_equal(mine, X)


@pytest.mark.sampled("both_written")
@pytest.mark.parametrize("program", PROGRAMS)
def test_arrays_that_swap_places_have_derivatives_and_batches(program: Callable[..., Any]) -> None:
    def total(x: Any, least: Any) -> Any:
        one, other, *_ = program(x, least)
        return np.sum(one * np.arange(6)) + np.sum(other**2)

    plain, compiled = tm.grad(total), tm.compile(tm.grad(total))
    for least in (0.05, 0.6):
        np.testing.assert_allclose(compiled(X, least), plain(X, least), rtol=1e-10)
    batch, bounds = np.stack([X, X[::-1], 0.3 * X]), np.array([0.05, 0.35, 0.6])
    expected = [total(batch[i], bounds[i]) for i in range(3)]
    np.testing.assert_allclose(tm.vmap(total)(batch, bounds), expected, rtol=1e-12)


def seen_under_another_name(x: Any, least: Any) -> Any:
    old, new, steps = x.copy(), x.copy(), 0
    first = old
    while old[2] > least and steps < 9:
        new[1:-1] = 0.5 * (old[2:] + old[:-2])
        old, new = new, old
        steps += 1
    return old, first


def read_under_another_name(x: Any, least: Any) -> Any:
    old, new, steps, total = x.copy(), x.copy(), 0, 0.0
    first = old
    while old[2] > least and steps < 9:
        new[1:-1] = 0.5 * (old[2:] + old[:-2])
        old, new = new, old
        total, steps = total + first[1], steps + 1
    return old, total


def of_an_argument(x: Any, least: Any) -> Any:
    old, new, steps = x, x.copy(), 0
    while old[2] > least and steps < 9:
        new[1:-1] = 0.5 * (old[2:] + old[:-2])
        old, new = new, old
        steps += 1
    return old


def both_are_one(x: Any, least: Any) -> Any:
    old, new, steps = x.copy(), x.copy(), 0
    while old[2] > least and steps < 9:
        new[1:-1] = 0.5 * (old[2:] + old[:-2])
        old = new
        steps += 1
    return old, new


def swapped_by_a_value(x: Any, least: Any) -> Any:
    old, new, steps = x.copy(), x * 2.0, 0
    while old[2] > least and steps < 9:
        new[1:-1] = 0.5 * (old[2:] + old[:-2])
        if new[1] > 0.5:
            old, new = new, old
        steps += 1
    return old, new


@pytest.mark.parametrize(
    "program",
    [seen_under_another_name, read_under_another_name, of_an_argument, both_are_one, swapped_by_a_value],
)
def test_memory_that_something_else_sees_is_told_apart(program: Callable[..., Any]) -> None:
    compiled = tm.compile(program, backend="numpy")
    for least in (0.6, 0.35, 0.1, -1.0):
        mine, theirs = X.copy(), X.copy()
        found, expected = compiled(mine, least), program(theirs, least)
        for one, other in zip(optree.tree_leaves(found), optree.tree_leaves(expected), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


@pytest.mark.parametrize("backend", ["numpy", pytest.param("c", marks=pytest.mark.slow)])
def test_a_branch_that_the_program_cannot_hold_has_neither_written_nor_printed(
    backend: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """The rest of the function is a branch, because of the `return`. It is recorded with its writes before the arrays
    are found that may be the same; then the program is made for calls in which Python takes the other branch."""

    def swapped(i: int, a: Any, b: Any) -> Any:
        b = b.copy()
        if a[0] > a[i % 4]:
            pass
        elif i < 0:
            return a, b
        print("swapping")
        b[i % 4] += 1.0
        a, b = b, a
        b[1:] *= 0.5
        return a, b

    mine, theirs = np.arange(4.0), np.arange(4.0)
    expected = swapped(0, theirs, np.ones(4))
    said = capfd.readouterr().out
    found = tm.compile(swapped, backend=backend)(0, mine, np.ones(4))
    assert capfd.readouterr().out == said == "swapping\n"
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize(("i", "x"), [(0, 3.0), (2, 3.0), (0, 0.5)])
def test_a_value_that_a_program_is_made_for_is_found_without_a_print_or_an_error_of_its_own(
    i: int, x: float, capfd: pytest.CaptureFixture[str]
) -> None:
    """The test of the second `if` depends on a loop that prints, and that raises an error where it does not run."""

    def swapped(i: int, x: float, a: Any, b: Any) -> Any:
        b = b.copy()
        if i > 1:
            k = 0
            while k < 3 and a[0] < x:
                k += 1
                print("step", k)
                if x < 1.0:
                    raise ValueError(k)
                x = x - 1.0
        else:
            for _ in range(2):
                if x < 2.0:
                    x = x + 1.0
        if a[0] > a[i % 4] + x:
            pass
        elif i < 0:
            return x, a, b
        b[i % 4] += x
        a, b = b, a
        b[1:] *= 0.5
        return x, a, b

    expected = swapped(i, x, np.arange(4.0), np.ones(4))
    said = capfd.readouterr().out
    found = tm.compile(swapped, backend="numpy")(i, x, np.arange(4.0), np.ones(4))
    assert capfd.readouterr().out == said
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
