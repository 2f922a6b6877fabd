"""Several names of one list, depending on values: a write by one name shows in the others, or is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from optree import tree_leaves

import tracemill as tm
from tracemill.compiler.errors import TracemillError

X = (np.array([5.0, 4.0, 3.0, 2.0]), np.array([0.0, 4.0, 9.0, 2.0]), np.array([2.0, 0.0, 1.0, 3.0]))


def a_row_of_each_iteration(x: Any) -> Any:
    total, t = 0.0, 0
    while t < x[0]:
        row = [x[1], 0.0]
        if row[0] > t:
            row[1] = 5.0
        total += row[1]
        t += 1
    return total


def a_row_that_is_carried(x: Any) -> Any:
    row, t = [x[1], 0.0], 0
    while t < x[0]:
        row = [x[1] + row[1], 0.0]
        if row[0] > t:
            row[1] = 5.0
        t += 1
    return row


def exchanged_and_written_in_a_loop(x: Any) -> Any:
    row, other, t = [x[1], 0.0], [1.0, x[2]], 0
    while t < x[0]:
        row, other = other, row
        if row[0] > t:
            row[1] = 5.0
        row[0] = row[0] + 1
        t += 1
    return row, other


def exchanged_while_another_name_stays(x: Any) -> Any:
    a, b = [x[0], x[1]], [x[2], x[3]]
    first, n = a, 0
    while n < x[0]:
        a[0] = a[0] + 1
        a, b = b, a
        n += 1
    return first[0]


def written_after_an_exchange(x: Any) -> Any:
    m = [[x[0], x[1]], [x[2], x[3]]]
    a, b = m
    while a[0] > b[0]:
        a, b = b, a
    a[0] = 100.0
    return m


def exchanged_until_a_break(x: Any) -> Any:
    a, b = [x[0], x[1]], [x[2], x[3]]
    for _ in range(2):
        a, b = b, a
        if a[0] > b[0]:
            break
        a[0] = a[0] + 1.5
    return b[0], a[0]


def another_list_in_some_iterations(x: Any) -> Any:
    a, b = [x[0], x[1]], [x[2], x[3]]
    p, n = a, 0
    while n < x[1]:
        if n > 1:
            p = b
        p[0] = p[0] - 1
        n += 1
    return a, b


def exchanged_rows(x: Any) -> Any:
    m = [[x[0], x[1]], [x[2], x[3]]]
    first = m[0]
    if m[0][0] > m[1][0]:
        m[0], m[1] = m[1], m[0]
    m[0][0] = 99.0
    first[1] = 7.0
    return m, first


def an_entry_that_is_another_list(x: Any) -> Any:
    m = [[x[0], x[1]], [x[2], x[3]]]
    h = m[0]
    if x[0] > 1:
        m[0] = m[1]
    h[0] = 70.0
    m[0][1] = 71.0
    return h, m


def an_attribute_that_is_another_list(x: Any) -> Any:
    class Rows:
        pass

    rows = Rows()
    rows.one, rows.other = [x[0]], [x[1]]  # type: ignore[attr-defined]
    if x[0] > 1:
        rows.one = rows.other  # type: ignore[attr-defined]
    rows.one[0] = 70.0  # type: ignore[attr-defined]
    return rows.one, rows.other  # type: ignore[attr-defined]


def a_chosen_tuple(x: Any) -> Any:
    a, b = [x[0]], [x[1]]
    t = (a, b) if x[0] > 1 else (b, a)
    t[0][0] = 70.0
    return a, b


def of_a_helper(x: Any) -> Any:
    a, b = [x[0]], [x[1]]

    def ordered() -> Any:
        if x[0] > 1:
            return a, b
        return b, a

    p, q = ordered()
    p[0] = 70.0
    q.append(1.0)
    return a, b


def a_nested_list_that_is_replaced(x: Any) -> Any:
    a, b = [[x[0]], [x[1]]], [[x[2]], [x[3]]]
    p = a if x[0] > 1 else b
    r = p[0]
    a[0] = [1.25]
    r[0] = 8.0
    return p, a, r


def methods_of_both(x: Any) -> Any:
    a, b = [x[0], x[1]], [x[2], x[3]]
    p = a if x[0] > 1 else b
    a.append(1.0)
    b.append(2.0)
    n = len(p)
    a.reverse()
    b.reverse()
    return n, p[0], p


def deleted_entries(x: Any) -> Any:
    a, b = [x[0], x[1]], [x[2], x[3]]
    p = a if x[0] > 1 else b
    del a[0]
    del b[0]
    return p[0]


def grown_in_place(x: Any) -> Any:
    a, b = [x[0], x[1]], [x[2], x[3]]
    p = a if x[0] > 1 else b
    a += [x[3]]
    b += [x[0]]
    return p[-1]


def a_choice_among_choices(x: Any) -> Any:
    a, b = [x[0], x[1]], [x[2], x[3]]
    p = a if x[0] > 1 else b
    q = b if x[1] > 9 else p
    q[0] = 20.0
    p[1] = q[0] + 1
    return q, p


def a_list_or_a_dict(x: Any) -> Any:
    a, b = [x[0], x[1]], {0: x[2], 1: x[3]}
    p = a if x[0] > 1 else b
    a[0] = 7.0
    b[0] = 8.0
    return p[0]


def a_list_or_none(x: Any) -> Any:
    a, p = [x[0]], None
    if x[0] > 1:
        p = a
    if p is not None:
        p[0] = 7.0
    return a


def chosen_twice(x: Any) -> Any:
    a, b = [x[0], x[1]], [x[2], x[3]]
    p = a
    if x[0] > 1:
        if x[1] > 1:
            p = b
        b[0] = 3.5
    b[1] = 4.5
    return p


def rolling_rows_with_continue(x: Any) -> Any:
    a, b = [0.0] * 3, [0.0] * 3
    for v in x:
        if v < 2:
            continue
        for i in range(3):
            b[i] = a[i - 1] + v
        a, b = b, a
    return a


def rolling_rows_with_break(x: Any) -> Any:
    before, now = [1.0, x[0], 0.0], [0.0] * 3
    for _ in range(200):
        for i in range(3):
            now[i] = before[i - 1] * 0.5 + x[i]
        if now[0] > 7:
            break
        before, now = now, before
    return before


def exchanged_stand_ins(x: Any) -> Any:
    a, b = [x[0], x[1]], [x[2], x[3]]
    p, q = (a, b) if x[0] > 1 else (b, a)
    n = 0
    while n < x[2]:
        p, q = q, p
        p[1] += 1
        n += 1
    return a, b


def the_same_object(x: Any) -> Any:
    m = [[x[0], x[1]], [x[2], x[3]]]
    r = m[0] if m[0][0] > m[1][0] else m[1]
    if r is m[0]:
        return 1
    return 2 if r is not m[1] else 3


def put_at_a_computed_place(x: Any) -> Any:
    m = [[x[0]], [x[1]], [x[2]]]
    i = int(np.argmin(x[:3]))
    m[i] = m[1]
    m[1][0] = 8.0
    return m


def sorted_rows(x: Any) -> Any:
    m = [[x[0], 1.0], [x[1], 2.0], [x[2], 3.0]]
    for row in sorted(m, key=lambda row: row[0]):
        row[1] = row[0] + 1
        break
    return m


def written_by_a_call_in_one_branch(x: Any) -> Any:
    def written(row: Any, y: float) -> Any:
        row[1] = y
        return 3.0

    one, other, third = [x[0], 1.0], [x[1], 2.0], [x[2], 3.0]
    found = written(one, 9.0) if x[0] > 3 else written(other, x[2])
    if x[0] > 1 or written(third, 5.0) > 4:
        found += 1.0
    more = [written(third, y) if y > 3 else 0.0 for y in x]
    return one, other, third, found, more


def entries_of_different_lengths(x: Any) -> Any:
    m = [[x[0], x[1], 1.0], [x[2], x[3]], [x[1], x[2]]]
    b = m[1]
    m.sort(key=lambda row: row[0])
    b[0] = 50.0
    return m, b


def entries_of_different_kinds(x: Any) -> Any:
    return [1, 2.5, "a", None, x.tolist()][int(x[0]) % 4]


def compared_in_a_loop(x: Any) -> Any:
    a, b = [x[0], x[1]], [x[2], x[3]]
    n, same = 0, 0
    while n < x[1]:
        if a is b:
            same += 1
        a = b
        n += 1
    return same


def repeated_in_place(x: Any) -> Any:
    a, b = [x[0], x[1]], [x[2], x[3]]
    p = a if x[0] > 1 else b
    a *= 2
    b *= 2
    return p


def written_by_a_loop_target(x: Any) -> Any:
    a, b = [x[0], x[1]], [x[2], x[3]]
    p = a if x[0] > 1 else b
    for p[0] in (1.0, 2.0):
        pass
    return a, b, p


def keys_in_another_order(x: Any) -> Any:
    a, b = {"u": x[0], "v": x[1]}, {"v": x[2], "u": x[3]}
    p = a if x[0] > 1 else b
    return [v * 2 for v in p.values()]


def new_in_two_places(x: Any) -> Any:
    if x[0] > 1:
        c = [x[1], 1.0]
        m = [c, c]
    else:
        c = [x[2], 2.0]
        m = [[x[3], 3.0], c]
    m[0][0] = 50.0
    m[1][1] = 60.0
    return c, m


def ordered_in_a_loop(x: Any) -> Any:
    m, n = [[x[0], 1.0], [x[1], 2.0]], 0
    while n < x[2]:
        m.reverse()
        m[0][0] += 1
        m.sort(key=lambda row: row[0])
        n += 1
    return m


PROGRAMS: list[Callable[[Any], Any]] = [
    a_row_of_each_iteration, a_row_that_is_carried, exchanged_and_written_in_a_loop,
    exchanged_while_another_name_stays, written_after_an_exchange, exchanged_until_a_break,
    another_list_in_some_iterations, exchanged_rows, an_entry_that_is_another_list,
    an_attribute_that_is_another_list, a_chosen_tuple, of_a_helper, a_nested_list_that_is_replaced,
    methods_of_both, deleted_entries, grown_in_place, a_choice_among_choices, a_list_or_a_dict, a_list_or_none,
    chosen_twice, the_same_object, put_at_a_computed_place, sorted_rows, written_by_a_call_in_one_branch,
    entries_of_different_lengths, entries_of_different_kinds, compared_in_a_loop, repeated_in_place,
    written_by_a_loop_target, keys_in_another_order, new_in_two_places, ordered_in_a_loop,
]  # fmt: skip


NOT_ONE_PROGRAM = (
    exchanged_while_another_name_stays, written_after_an_exchange, another_list_in_some_iterations, of_a_helper,
    methods_of_both, deleted_entries, grown_in_place, a_list_or_a_dict, a_list_or_none, chosen_twice,
    compared_in_a_loop, repeated_in_place, written_by_a_loop_target, new_in_two_places, ordered_in_a_loop,
)  # fmt: skip
REFUSED = {entries_of_different_lengths, exchanged_stand_ins}


@pytest.mark.sampled(every=4, slow=4)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_write_by_one_name_shows_in_the_others_or_is_refused(program: Callable[[Any], Any]) -> None:
    compiled = tm.compile(program, backend="numpy", on_recompile="ignore")
    refused = 0
    for x in X:
        try:
            found = compiled(x)
        except TracemillError:
            refused += 1
        else:
            assert found == program(x)
    assert bool(refused) == (program in REFUSED)


@pytest.mark.parametrize("program", NOT_ONE_PROGRAM)
def test_what_no_program_can_hold_is_refused_in_a_batch(program: Callable[[Any], Any]) -> None:
    with pytest.raises(TracemillError):
        tm.compile(tm.vmap(program), backend="numpy")(np.stack(X))


# ---- lists of arrays -------------------------------------------------------------------------------------


def places_of(x: Any) -> tuple[int, int]:
    return int(np.argmax(x[:3])), int(np.argmin(x[:3]))


def rows_of(x: Any) -> list[Any]:
    return [x[:2] * 1.0, x[1:3] + 10.0, x[2:] + 20.0]


def put_from_another_place(x: Any) -> Any:
    m, (i, j) = rows_of(x), places_of(x)
    m[i] = m[j]
    m[j][0] = 50.0
    return m


def exchanged_at_computed_places(x: Any) -> Any:
    m, (i, j) = rows_of(x), places_of(x)
    first = m[0]
    m[i], m[j] = m[j], m[i]
    m[0][0] = 60.0
    first[1] = 70.0
    return m, first


def put_by_name(x: Any) -> Any:
    m, (i, _) = rows_of(x), places_of(x)
    row = x[1:3] * 5.0
    m[i] = row
    row[0] = 80.0
    m[1][1] = 90.0
    return m, row


def written_in_order(x: Any) -> Any:
    m = rows_of(x)
    for row in sorted(m, key=lambda row: -row[0]):
        row[0] = row[1] + 1
        break
    m.sort(key=lambda row: row[1])
    m[0][1] = 30.0
    return m


def the_best_is_written(x: Any) -> Any:
    m = rows_of(x)
    best = max(m, key=lambda row: row[0] % 4)
    best += 1.0
    m[1][1] = 40.0
    return m, best


def updated_in_place(x: Any) -> Any:
    m, (i, j) = rows_of(x), places_of(x)
    row = m[i]
    m[i] += m[j]
    row *= 2.0
    return m, row


def shifted(x: Any) -> Any:
    m, (i, j) = rows_of(x), places_of(x)
    row = m.pop(i)
    m.insert(j, row)
    row[0] = 5.0
    m[0][1] = 6.0
    return m


def views_of_an_entry(x: Any) -> Any:
    m, (i, j) = rows_of(x), places_of(x)
    u = m[i][1:]
    u[0] += 1
    w = m[j].reshape(2, 1)
    w[0] = 2.5
    m[i][0:1][0] = 3.5
    return m


def matrices(x: Any) -> Any:
    m, (i, j) = [np.eye(2) * k + x[0] for k in range(3)], places_of(x)
    m[i][0][1] = 5.0
    row = m[j][1]
    row[0] = 9.0
    return m


def chosen_by_expressions(x: Any) -> Any:
    m, (i, j) = rows_of(x), places_of(x)
    r = m[i] if x[1] > 2 else m[j]
    r[1] += 7

    def one() -> Any:
        if x[2] > 1:
            return m[i]
        return m[j]

    one()[0] = 5.5
    rows = [m[i] if v > 2 else m[j] for v in x]
    rows[0][1] = 6.5
    return m


def sorted_in_a_loop(x: Any) -> Any:
    m, n = rows_of(x), 0
    b = m[0]
    while n < x[2]:
        b = sorted(m, key=lambda row: row[0])[1]
        n += 1
    b[1] = 50.0
    return m


ARRAYS: list[Callable[[Any], Any]] = [
    put_from_another_place, exchanged_at_computed_places, put_by_name, written_in_order, the_best_is_written,
    updated_in_place, shifted, views_of_an_entry, matrices, chosen_by_expressions, sorted_in_a_loop,
]  # fmt: skip


@pytest.mark.parametrize("program", ARRAYS)
def test_an_array_at_a_computed_place_is_itself(program: Callable[[Any], Any]) -> None:
    compiled = tm.compile(program, backend="numpy", on_recompile="ignore")
    for x in X:
        for found, expected in zip(tree_leaves(compiled(x)), tree_leaves(program(x)), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_arrays_of_a_callers_list_are_written_to() -> None:
    def written(m: Any) -> None:
        i = 0 if m[0][0] > m[1][0] else 1
        m[i] = m[0]
        m[0][0] = 8.0
        m.sort(key=lambda row: row[1])
        m[0][1] = 7.0

    for rows in ([[0.0, 1.0], [3.0, 4.0]], [[3.0, 4.0], [0.0, 1.0]]):
        ours, theirs = ([np.array(row) for row in rows] for _ in range(2))
        kept, theirs_kept = list(ours), list(theirs)
        tm.compile(written, backend="numpy")(ours)
        written(theirs)
        for found, expected in zip([*ours, *kept], [*theirs, *theirs_kept], strict=True):
            np.testing.assert_array_equal(found, expected)
