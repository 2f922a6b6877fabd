"""Variables that are one of several lists, depending on values: reads and writes reach the chosen one, or are refused.

Also entries that are None until a number is put there.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import SideEffectError

ROWS = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
CALLS = ((1, 1), (2, 0), (0, 2), (2, 3))


def by_expression(rows: Any, i: int, c: int) -> Any:
    rows = [list(row) for row in rows]
    row = rows[1] if c > 1 else rows[0]
    row[1] = 50 + i
    rows[1][0] = 8
    return rows, row[0], row


def by_statement(rows: Any, i: int, c: int) -> Any:
    one, other = {"a": 1, "b": i}, {"a": c, "b": 2}
    found = one if c > 1 else other
    found["a"] = 10
    return one, other, found


def new_in_each_branch(rows: Any, i: int, c: int) -> Any:
    found = [i, 2] if c > 1 else [3, c]
    found.append(5)
    found[0] = found[1]
    return found


def nested(rows: Any, i: int, c: int) -> Any:
    cube = [[list(row), list(row)] for row in rows]
    cube[i][1][2] = 77
    row = cube[i][0]
    row[0] = 5
    pair = cube[1] if c > 1 else cube[2]
    pair[0][1] = 66
    return cube


def inside_a_loop(rows: Any, i: int, c: int) -> Any:
    rows = [list(row) for row in rows]
    k = 0
    while k < c:
        rows[i][k] = rows[i - 1][k] + 1
        if rows[i][k] > 2:
            rows[i][k] = rows[i][k] + rows[i - 1][0]
        k += 1
    return rows


def best_row(rows: Any, i: int, c: int) -> Any:
    best = rows[0]
    for row in rows:
        if row[0] < c * 3:
            best = row
    return best[1], best


def exchanged_in_a_loop(rows: Any, i: int, c: int) -> Any:
    before, now, k = [0, 0, 0], [1, 1, 1], 0
    while k < c:
        before = now
        now = [before[0] + 1, before[1] * 2, k]
        k += 1
    now[0] = 100
    return before, now


@pytest.mark.parametrize(
    "function",
    [
        by_expression, by_statement, new_in_each_branch, nested, inside_a_loop, best_row, exchanged_in_a_loop,
    ],
)  # fmt: skip
def test_the_chosen_list_is_read_and_written(function: Callable[..., Any]) -> None:
    compiled = tm.compile(function, backend="numpy", on_recompile="ignore")
    for i, c in CALLS:
        assert compiled(ROWS, i, c) == function(ROWS, i, c)


def written_after_a_branch(rows: Any, i: int, c: int) -> Any:
    rows = [list(row) for row in rows]
    row = rows[i] if c > 0 else rows[0]
    row[1] = 50
    return rows


def written_after_a_loop(rows: Any, i: int, c: int) -> Any:
    rows = [list(row) for row in rows]
    row, k = rows[0], 0
    while k < c:
        row = rows[i]
        k += 1
    row[1] = 50
    return rows


def read_after_a_write(rows: Any, i: int, c: int) -> Any:
    rows = [list(row) for row in rows]
    row = rows[0]
    if c > 0:
        row = rows[i]
        row[0] = 7
    rows[1][1] = 50
    return row


@pytest.mark.parametrize("function", [written_after_a_branch, written_after_a_loop, read_after_a_write])
def test_writes_that_the_chosen_list_would_not_show_are_for_the_call_at_hand(
    function: Callable[..., Any],
) -> None:
    compiled = tm.compile(function, backend="numpy", on_recompile="ignore")
    for i, c in CALLS:
        assert compiled(ROWS, i, c) == function(ROWS, i, c)


@pytest.mark.parametrize("function", [written_after_a_branch, written_after_a_loop, read_after_a_write])
def test_in_a_batch_such_writes_are_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(SideEffectError, match=r"one of several lists, .* np\.stack"):
        tm.compile(tm.vmap(function, in_dims=(None, 0, 0)))(ROWS, np.array([1, 0]), np.array([1, 0]))


def in_order(first: Any, second: Any, limit: Any) -> Any:
    place = 0 if first < second else 1
    found: list[Any] = [None, None]
    found[place] = first
    found[1 - place] = second
    kept, i = [None, None], 0
    while i < 2 and found[i] < limit:
        kept[i] = found[i]
        i += 1
    return kept


def exchanged(first: Any, second: Any, limit: Any) -> Any:
    found = [first, None, second]
    if limit > 0:
        found[1] = limit
    kept = [None]
    kept[0 if limit > 1 else -1] = found[0 if first < second else 2]
    return kept


@pytest.mark.parametrize("function", [in_order, exchanged])
def test_entries_that_are_none_until_they_are_numbers_keep_them_apart(function: Callable[..., Any]) -> None:
    compiled = tm.compile(function, backend="numpy", on_recompile="ignore")
    for given in ((3, 1, 5), (1, 3, 5), (1, 3, 2), (4, 2, -1)):
        assert compiled(*given) == function(*given)


def peak(v: Any) -> Any:
    """The peak of numbers that rise and then fall: the half that cannot have it may be too short to look at."""
    middle = len(v) // 2
    before, here, after = v[middle - 1], v[middle], v[middle + 1]
    if before < here > after:
        return here
    return peak(v[middle:]) if before < after else peak(v[: middle + 1])


def test_an_error_of_a_branch_that_is_not_taken_is_not_raised() -> None:
    compiled = tm.compile(peak, backend="numpy")
    for v in ([1, 2, 3, 4, 5, 4, 3], [1, 9, 8, 7, 6, 5, 4]):
        assert compiled(v) == peak(v)


def test_an_error_of_the_branch_that_is_taken_is_raised() -> None:
    def looked_up(v: Any, c: Any) -> Any:
        return v[5] if c > 0 else v[0]

    compiled = tm.compile(looked_up, backend="numpy")
    assert compiled([1.0, 2.0], -1.0) == 1.0
    with pytest.raises(IndexError, match="list index out of range"):
        compiled([1.0, 2.0], 1.0)
