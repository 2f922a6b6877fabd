"""Variables that are one of several arrays, depending on values, are read and written as in Python."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

pytestmark = pytest.mark.usefixtures("lightly_optimised", "shorter_loops_are_very_long")

TABLE = np.array([1.0, 2.0, 3.0])
BEGIN = TABLE.copy()
LONG = 84
"""A loop of this many iterations is a loop of the program."""


def one_new_array_under_two_names(c: Any, x: Any, z: Any) -> Any:
    p, q = np.zeros(3), np.zeros(3)
    if c > 0:
        p = q = np.ones(3)
    p[0] = 5 + x
    return p, q


def a_new_array_and_a_view_of_it(c: Any, x: Any, z: Any) -> Any:
    p, q = np.zeros(3), np.zeros(2)
    if c > 0:
        p = np.ones(3) * x
        q = p[1:]
    p[2] = 5 + x
    return p, q


def the_same_array_after_a_while(c: Any, x: Any, z: Any) -> Any:
    p, q = np.zeros(3), np.zeros(3)
    while x < 5:
        p = q = np.ones(3) * x
        x = x + 1
    p[0] = 7
    return p, q


def a_view_after_a_long_loop(c: Any, x: Any, z: Any) -> Any:
    p, q = np.zeros(3) * x, np.zeros(2)
    for t in range(LONG):
        p = p + t
        q = p[1:]
    p[2] = 7
    return p, q


def an_array_of_numpys_in_a_branch(c: Any, x: Any, z: Any) -> Any:
    t, y = BEGIN * 2, np.ones(3)
    if c > 0:
        y = t
    y[0] = x
    return t, y


def an_array_of_numpys_in_a_loop(c: Any, x: Any, z: Any) -> Any:
    t, y = BEGIN.copy(), np.ones(3)
    while x < 5:
        y = t
        x = x + 1
    y[0] = x
    return t, y


def an_array_from_outside(c: Any, x: Any, z: Any) -> Any:
    y = np.ones(3)
    if c > 0:
        y = TABLE
    elif x > 1:
        y = z
    w = y[1:]
    w += 1
    if c > 0.5:
        w = z[:2]
    w[0] = 9
    return TABLE.copy(), y.copy(), w.copy()


def views_of_an_array_from_outside(c: Any, x: Any, z: Any) -> Any:
    w = TABLE[1:]
    if c > 0:
        w = TABLE[:2]
    w[0] += x
    return w.copy(), TABLE.copy()


def an_argument_in_a_short_loop(c: Any, x: Any, z: Any) -> Any:
    for t in range(3):
        if c > 0:
            z = z * 0.5
        z[1] = t
        c = c - 0.6
    return z, c


def arrays_that_may_swap(c: Any, x: Any, z: Any) -> Any:
    old, new, first = z, z * 2.0, z
    for t in range(LONG):
        new[t % 3] = old[(t + 1) % 3] + 0.5
        if new[1] > c + t % 5:
            old, new = new, old
            first[0] = 0.25 * t
    return old, new, first


def returned_from_a_loop(c: Any, x: Any, z: Any) -> Any:
    y = z
    while x < 6:
        y[0] += x
        if y[0] > 8 + c:
            return y, x
        y = y * 0.5
        x = x + 1
    y[1] = -1.0
    return y, x


def entries_of_a_list(c: Any, x: Any, z: Any) -> Any:
    row = [z, z + 1]
    while x < 5:
        if c > 0:
            row[0], row[1] = row[1], row[0]
        row[0][1] = x
        x, c = x + 1, -c
    return row[0], row[1]


def the_result_of_a_function(c: Any, x: Any, z: Any) -> Any:
    def clipped(a: Any) -> Any:
        if x > 1:
            return a
        return np.minimum(a, x)

    y = clipped(z)
    y *= 3
    return z.copy(), y


PROGRAMS = [
    one_new_array_under_two_names,
    a_new_array_and_a_view_of_it,
    the_same_array_after_a_while,
    a_view_after_a_long_loop,
    an_array_of_numpys_in_a_branch,
    an_array_of_numpys_in_a_loop,
    an_array_from_outside,
    views_of_an_array_from_outside,
    an_argument_in_a_short_loop,
    arrays_that_may_swap,
    returned_from_a_loop,
    entries_of_a_list,
    the_result_of_a_function,
]
CALLS = [(1.0, 2.0), (-1.0, 8.0), (-1.0, 0.5), (0.3, 0.5)]
Z = np.array([0.5, 1.5, 2.5])


def outcome(function: Callable[..., Any], c: float, x: float) -> list[Any]:
    """The results of a call, and what it has written to arrays."""
    TABLE[:] = BEGIN
    z = Z.copy()
    found = [np.copy(one) for one in function(c, x, z)]
    return [*found, z, TABLE.copy()]


@pytest.mark.parametrize("backend", ["numpy", pytest.param("c", marks=pytest.mark.slow)])
@pytest.mark.parametrize("program", PROGRAMS)
def test_writes_reach_the_array_that_a_variable_is(program: Callable[..., Any], backend: str) -> None:
    compiled = tm.compile(program, backend=backend)
    for c, x in CALLS:
        for found, expected in zip(outcome(compiled, c, x), outcome(program, c, x), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert len(compiled.signatures()) == 1


OF_ARGUMENTS = [one for one in PROGRAMS if one not in (an_array_from_outside, views_of_an_array_from_outside)]


@pytest.mark.parametrize("program", OF_ARGUMENTS)
def test_each_example_of_a_batch_has_its_own_array(program: Callable[..., Any]) -> None:
    def results(c: Any, x: Any, z: Any) -> Any:
        z = z.copy()
        return (*program(c, x, z), z)

    c, x = np.array(CALLS).T
    z = np.stack([Z, Z[::-1], -Z, 3 * Z])
    expected = [results(*one) for one in zip(c, x, z, strict=True)]
    for found, wanted in zip(tm.vmap(results)(c, x, z), zip(*expected, strict=True), strict=True):
        np.testing.assert_allclose(found, np.stack(wanted), rtol=1e-12)


@pytest.mark.parametrize("program", OF_ARGUMENTS)
def test_compiled_gradients_go_through_the_array_that_a_variable_is(program: Callable[..., Any]) -> None:
    def total(x: Any, z: Any, c: Any) -> Any:
        z = z.copy()
        p, q, *_ = program(c, x, z)
        return np.sum(p * (1 + np.arange(np.size(p)))) + np.sum(np.sin(q)) + np.sum(z**2)

    gradient = tm.compile(tm.grad(total, (0, 1)))
    for c, x in CALLS:
        for found, expected in zip(gradient(x, Z, c), tm.grad(total, (0, 1))(x, Z, c), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_one_program_serves_arrays_of_all_sizes() -> None:
    def moved(c: Any, z: Any) -> Any:
        y = np.zeros(len(z))
        for t in range(len(z)):
            if z[t] > c:
                y = z
            y[t] += 1.0
        return y, z

    compiled = tm.compile(moved, dynamic=True)
    for size in (3, 9, 50):
        values = np.random.default_rng(size).normal(size=size)
        found, expected = compiled(0.7, values.copy()), moved(0.7, values.copy())
        np.testing.assert_array_equal(found, expected)
    assert len(compiled.signatures()) == 1


# ---- what remains refused ------------------------------------------------------------------------------


def other_dtypes(c: Any, z: Any) -> Any:
    y = np.zeros(4, np.float32)
    if c > 0:
        y = z
    y[0] = 7.0
    return y


def other_strides(c: Any, z: Any) -> Any:
    y = np.zeros(2)
    if c > 0:
        y = z[::2]
    y[0] = 7.0
    return y


def a_row_that_a_loop_finds(c: Any, z: Any) -> Any:
    best, rows = z[:2], np.outer(np.arange(LONG), z[:2])
    for row in rows:
        if row[0] > best[0]:
            best = row
    best[1] = c
    return best


@pytest.mark.parametrize("program", [other_dtypes, other_strides, a_row_that_a_loop_finds])
def test_a_write_to_arrays_that_cannot_be_told_apart_is_for_the_call_at_hand(
    program: Callable[..., Any],
) -> None:
    compiled = tm.compile(program, backend="numpy", on_recompile="ignore")
    for c in (1.0, -1.0, 2.0):
        for z in (np.ones(4), np.array([0.5, 3.0, 0.0, 1.0])):
            ours, theirs = z.copy(), z.copy()
            found, expected = compiled(c, ours), program(c, theirs)
            np.testing.assert_array_equal(found, expected, strict=True)
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.slow
@pytest.mark.parametrize("program", [other_dtypes, other_strides, a_row_that_a_loop_finds])
def test_in_a_batch_such_a_write_is_refused(program: Callable[..., Any]) -> None:
    with pytest.raises(
        tm.errors.SharedMemoryError, match=r"which binds `(y|best)`, decides which. Bind a copy"
    ):
        tm.compile(tm.vmap(program), backend="numpy")(np.ones(2), np.ones((2, 4)))
