"""Loops over arrays as in NumPy: rows are views, and variables may share an array from one iteration to the next."""

from collections.abc import Callable
from typing import Any

import numpy as np
import optree
import pytest

import tracemill as tm
from frontend.comparing import check
from tracemill.compiler.errors import UnsupportedFunctionError
from tracemill.runtime.staging.loops import unrolling

pytestmark = pytest.mark.usefixtures("lightly_optimised")

LONG = 300
"""A loop of this many iterations is a loop of the program."""
WRITTEN_OUT = 40
"""The length of a loop that is traced as one, and then written out."""
TABLE = np.arange(4.0 * LONG).reshape(LONG, 4)


# ---- rows --------------------------------------------------------------------------------------------


def adds_to_rows(x: Any) -> Any:
    for row in x:
        row += 1
    return x


def writes_an_entry(x: Any) -> Any:
    for row in x:
        row[0] = row.sum()
    return x


def writes_to_the_array(x: Any) -> Any:
    total = np.zeros(4)
    for row in x:
        x[-1] += row
        total += row
    return x, total


def entries_that_change(x: Any) -> Any:
    for entry in x[:, 0]:
        x[-1, 0] += entry
    return x


def numbered(x: Any) -> Any:
    for number, row in enumerate(x):
        row *= number
    return x


def side_by_side(x: Any) -> Any:
    y = np.zeros_like(x)
    for one, other in zip(x, y, strict=True):
        other[:] = one * 2
    return y


def backwards(x: Any) -> Any:
    for row in reversed(x):
        row += x[0]
    return x


def columns(x: Any) -> Any:
    for column in x.T:
        column += column[0]
    return x


def entries_of_rows(x: Any) -> Any:
    for row in x:
        for entry in row:
            row[-1] += entry
    return x


def ended_by_a_value(x: Any) -> Any:
    total = 0.0
    for row in x:
        row += 1
        if row[0] > 2.5:
            break
        total += row[1]
    return x, total


def rows_of_a_table(x: Any) -> Any:
    table, total = TABLE.copy(), 0.0
    for row in table:
        row += x[0]
        total += row[1]
    return table, total


def entries_of_a_table(x: Any) -> Any:
    column, total = TABLE.copy()[:, 0], 0.0
    for entry in column:
        column[-1] += entry * x[0, 0]
        total += entry
    return column, total


def kept_and_read(x: Any) -> Any:
    total = np.zeros(4)
    for row in x:
        last = row
        total[0] += last[1]
    return total, last  # pyright: ignore[reportPossiblyUnboundVariable]


# ---- variables that are one array ----------------------------------------------------------------------


def seen_in_the_first_turn(x: Any) -> Any:
    first, total = x[0], 0.0
    for _ in range(len(x)):
        x[0, 0] += 1.0
        total += first[0]
        first = first + 0.0
    return total


def exchanged(x: Any) -> Any:
    one, other = x[0] * 1, x[1] * 1
    for i in range(len(x)):
        one, other = other, one
        one += x[i]
    return one, other


def handed_on(x: Any) -> Any:
    one, other = x[0] * 1, x[1] * 1
    for i in range(len(x)):
        other[0] += 1
        other = one
        one = x[i]
    return one, other, x


# ---- whole numbers -------------------------------------------------------------------------------------


def powers_of_the_counter(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total = total + x[i, 0] * i**9
    return total


def powers_until(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total = total + x[i, 0] * i**9
        if total > 1e300:
            break
    return total


def products_of_the_counter(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total = total + x[i, 0] * (i * i * i * i * (i + 1) * (i - 1) * i * i * i)
    return total


def bits(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total = total + x[i, 0] * (1 << i)
    return total


PROGRAMS = (
    adds_to_rows, writes_an_entry, writes_to_the_array, entries_that_change, numbered, side_by_side, backwards, columns,
    entries_of_rows, ended_by_a_value, rows_of_a_table, entries_of_a_table, kept_and_read, seen_in_the_first_turn,
    exchanged, handed_on, powers_of_the_counter, products_of_the_counter, bits,
)  # fmt: skip


@pytest.mark.sampled("entries_of_a_table-numpy-False", every=7, slow=5)
@pytest.mark.parametrize(
    ("backend", "is_dynamic"), [("numpy", False), pytest.param("c", True, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("program", PROGRAMS)
def test_long_loops_match_python(program: Callable[..., Any], is_dynamic: bool, backend: str) -> None:
    compiled = tm.compile(program, dynamic=is_dynamic, backend=backend, on_recompile="ignore")
    for size in (LONG, 5, 4):
        mine = np.random.default_rng(size).uniform(-1, 1, (size, 4))
        numpys = mine.copy()
        found, expected = (optree.tree_leaves(f(x)) for f, x in ((compiled, mine), (program, numpys)))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10)
        np.testing.assert_allclose(mine, numpys, rtol=1e-10)


def test_powers_in_a_loop_that_a_value_ends_match_python() -> None:
    x = np.ones((40, 4)) * 1e4
    assert tm.compile(powers_until, backend="numpy")(x) == pytest.approx(powers_until(x), rel=1e-12)


# ---- writes to what may be several arrays --------------------------------------------------------------


def last_row(x: Any) -> Any:
    for row in x:
        last = row
    last += 1  # pyright: ignore[reportPossiblyUnboundVariable]
    return x


def last_by_number(x: Any) -> Any:
    for i in range(len(x)):
        last = x[i]
    last += 1  # pyright: ignore[reportPossiblyUnboundVariable]
    return x


def greatest_row(x: Any) -> Any:
    greatest = x[0]
    for row in x:
        if row[0] > greatest[0]:
            greatest = row
    greatest[1] = 9.0
    return x


def greatest_by_number(x: Any) -> Any:
    greatest = x[0]
    for i in range(len(x)):
        if x[i, 0] > greatest[0]:
            greatest = x[i]
    greatest[1] = 9.0
    return x


def in_a_list(x: Any) -> Any:
    kept = [x[0]]
    for row in x:
        kept[0] = row
    kept[0] += 1
    return x


@pytest.mark.parametrize("program", [last_row, last_by_number, in_a_list])
def test_a_write_to_the_last_row_of_a_loop_changes_the_array(program: Callable[..., Any]) -> None:
    rows = np.random.default_rng(0).normal(size=(LONG, 4))
    mine, numpys = rows.copy(), rows.copy()
    np.testing.assert_array_equal(tm.compile(program, backend="numpy")(mine), program(numpys))
    np.testing.assert_array_equal(mine, numpys)


@pytest.mark.slow
@pytest.mark.parametrize("program", [greatest_row, greatest_by_number])
def test_a_write_to_the_row_that_a_loop_has_chosen_changes_the_array(program: Callable[..., Any]) -> None:
    """The program is for calls that choose the same row."""
    compiled = tm.compile(program, backend="numpy", on_recompile="ignore")
    for seed in (0, 1, 0):
        rows = np.random.default_rng(seed).normal(size=(LONG, 4))
        mine, numpys = rows.copy(), rows.copy()
        np.testing.assert_array_equal(compiled(mine), program(numpys))
        np.testing.assert_array_equal(mine, numpys)


def test_a_write_to_an_array_that_branches_may_have_bound_to_an_argument_reaches_it() -> None:
    def program(x: Any, b: Any) -> Any:
        if x > 1:
            b = b * 0.5
        elif x > 0:
            b = np.tanh(b)
        b[1] = 3.0
        return b

    check(program, *((x, np.ones(3)) for x in (-1.0, 0.5, 2.0)))


def test_a_write_to_an_array_that_a_loop_may_have_bound_to_an_argument_reaches_it() -> None:
    def program(n: Any, a: Any, b: Any) -> Any:
        for _ in range(n[0]):
            a, b = b, a
        b[1] = 3.0
        return a

    check(program, *((np.array([n]), np.ones(3), np.zeros(3)) for n in range(3)))


# ---- arrays that NumPy makes in an iteration ---------------------------------------------------------


def makes_its_own(x: Any) -> Any:
    total = 0.0
    for _ in range(WRITTEN_OUT):
        row = TABLE[0] * 2
        row[0] += x
        total = total + row[0]
    return total


def makes_its_own_in_a_function(x: Any) -> Any:
    def entry() -> Any:
        row = TABLE[1].copy()
        row[1] += x
        return row[1]

    total = 0.0
    for _ in range(WRITTEN_OUT):
        total = total + entry()
    return total


def makes_it_before(x: Any) -> Any:
    row = TABLE[0] * 2
    for _ in range(WRITTEN_OUT):
        row[0] += x
    return row


def makes_it_in_the_loop_around(x: Any) -> Any:
    total = 0.0
    for _ in range(3):
        row = TABLE[0] * 2
        for i in range(WRITTEN_OUT):
            row[i % 4] += x
        total = total + row[0]
    return total


@pytest.mark.parametrize(
    "program",
    [makes_its_own, makes_its_own_in_a_function, makes_it_before, makes_it_in_the_loop_around],
    ids=lambda program: program.__name__,
)
def test_each_iteration_has_the_arrays_that_it_makes(
    program: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unrolling, "VERY_LONG", WRITTEN_OUT - 8)
    before = TABLE.copy()
    compiled = tm.compile(program, backend="numpy")
    for x in (2.0, -0.5):
        np.testing.assert_allclose(compiled(x), program(x))
    np.testing.assert_array_equal(TABLE, before)


def test_an_array_that_numpy_makes_in_a_loop_on_values_is_not_written_to() -> None:
    def summed(x: Any, made: Callable[[Any], Any]) -> Any:
        total = 0.0
        while total < 50:
            row = made(TABLE[1] * 2)
            row[0] += x
            total = total + row[0]
        return total

    with pytest.raises(UnsupportedFunctionError, match=r"np\.array\(\.\.\.\), which each iteration repeats"):
        tm.compile(lambda x: summed(x, lambda row: row))(2.0)
    assert tm.compile(lambda x: summed(x, np.array))(2.0) == summed(2.0, np.array)
