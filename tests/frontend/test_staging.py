"""Compiled branches and loops on values, int arguments and tables match Python; side effects are refused."""

import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from frontend.comparing import check
from programs.sorting import bubble_sort
from tracemill.compiler.errors import (
    BranchMismatchError,
    CarryMismatchError,
    ConcretizationError,
    RandomStateError,
    SideEffectError,
)
from tracemill.runtime.staging.loops import staged_loop

BACKENDS = pytest.mark.parametrize("backend", ["numpy", pytest.param("c", marks=pytest.mark.slow)])


# ---- branches --------------------------------------------------------------------------------------------


def clamp(x: Any, lo: Any, hi: Any) -> Any:
    if x < lo:
        return lo
    if x > hi:
        return hi
    return x


def grade(x: Any) -> Any:
    mark: float
    if x > 90:
        mark = 1
    elif x > 50:
        mark = 2
    else:
        mark = 3.5
        x = x * 2
    return mark, x


def rows_in_place(a: Any, x: Any) -> Any:
    v = a[1:]
    if x > 0:
        v[0] = x
        a[-1] *= 2.0
    else:
        a += 1.0
    return a.sum()


def test_an_early_return_and_an_elif_are_branches() -> None:
    check(clamp, (0.5, 0.0, 1.0), (-1.0, 0.0, 1.0), (3.0, 0.0, 1.0))
    check(grade, (95.0,), (60.0,), (10.0,))


@BACKENDS
def test_a_branch_writes_through_views(backend: str) -> None:
    check(rows_in_place, (np.arange(3.0), 2.0), (np.arange(3.0), -2.0), backend=backend)


def test_only_the_taken_branch_runs() -> None:
    def roots(x: Any) -> Any:
        if x > 0:
            return np.sqrt(x)
        return 0.0 * x

    with np.errstate(all="raise"):
        assert tm.compile(roots)(-1.0) == 0.0
    gradient = tm.compile(tm.grad(roots))
    assert (gradient(4.0), gradient(-4.0)) == (0.25, 0.0)


def test_a_loop_that_python_keeps_from_returning_is_followed_by_the_rest() -> None:
    def doubled(x: Any) -> Any:
        total = x[0]
        while total < 50:
            total = total * 2
            if len(x) > 100:
                return total * 7
        return total + 1

    check(doubled, (np.ones(3),), (np.full(3, 90.0),))
    check(doubled, (np.ones(101),))


def test_a_variable_that_one_side_sets_is_unset_after_the_other() -> None:
    def unset(x: Any) -> Any:
        if x > 0:
            y = x
        return y  # pyright: ignore[reportPossiblyUnboundVariable]

    compiled = tm.compile(unset)
    assert compiled(1.0) == 1.0
    with pytest.raises(UnboundLocalError, match="'y'"):
        compiled(-1.0)
    assert compiled(2.0) == 2.0
    with pytest.raises(UnboundLocalError, match="'y'"):
        tm.vmap(unset)(np.ones(2))


def halved(x: Any) -> Any:
    return x if x < 1 else halved(x / 2)


def factorial(n: Any) -> Any:
    return 1 if n <= 1 else n * factorial(n - 1)


def divisor(n: Any, m: Any) -> Any:
    return n if m == 0 else divisor(m, n % m)


def place_of(row: Any, x: Any, low: Any, high: Any) -> Any:
    if low > high:
        return -1
    middle = (low + high) // 2
    if row[middle] == x:
        return middle
    if row[middle] < x:
        return place_of(row, x, middle + 1, high)
    return place_of(row, x, low, middle - 1)


@pytest.mark.parametrize(
    ("function", "calls"),
    [
        (halved, [(8.0,), (3.0,), (0.5,)]),
        (factorial, [(3,), (10,), (0,)]),
        (divisor, [(12, 18), (7, 5), (7, 0)]),
        (place_of, [(np.arange(10.0), x, 0, 9) for x in (3.0, 9.0, 3.5)]),
    ],
)
def test_a_recursion_that_values_end_follows_the_call(function: Callable[..., Any], calls: list[Any]) -> None:
    compiled = tm.compile(function, on_recompile="ignore")
    for args in calls:
        assert compiled(*args) == function(*args)


def test_a_recursion_that_values_would_end_is_a_named_error_in_a_batch() -> None:
    with pytest.raises(ConcretizationError, match="`halved` calls itself while it is traced"):
        tm.vmap(halved)(np.array([8.0, 3.0]))


def endless(x: Any) -> Any:
    return endless(x) + 1


def nested_calls(n: int, x: Any) -> Any:
    return x if n == 0 else nested_calls(n - 1, x) + 1


@pytest.mark.parametrize("transform", [tm.compile, tm.vmap, tm.grad])
def test_an_endless_recursion_raises_pythons_error_with_the_users_line(transform: Callable[..., Any]) -> None:
    x: Any = np.ones(2) if transform is tm.vmap else 1.0
    with pytest.raises(RecursionError, match="maximum recursion depth exceeded") as found:
        transform(endless)(x)
    assert "endless" in [entry.name for entry in found.traceback]


def test_a_recursion_that_is_as_deep_as_python_allows_runs_uncompiled() -> None:
    frames = len(inspect.stack())
    depth = sys.getrecursionlimit() - frames - 15
    compiled = tm.compile(nested_calls)
    with pytest.warns(
        tm.errors.RecompileWarning, match="runs uncompiled: tracing nested_calls fails: maximum"
    ):
        assert compiled(depth, 1.0) == depth + 1
    assert compiled(3, 1.0) == 4.0


def test_a_loop_that_changes_the_structure_of_a_variable_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        staged_loop, "_MOST_FORMS", 6
    )  # each of the forms is twice as large as the one before

    def nested(v: Any) -> Any:
        y: Any = 1.0
        while v[0] > 0:
            y = (y, 2.0)
            v = v - 1
        return y

    with pytest.raises(CarryMismatchError, match=r"`y` is .* before an iteration and .* after it"):
        tm.vmap(nested)(np.ones((3, 2)))
    assert tm.compile(nested)(2 * np.ones(2)) == ((1.0, 2.0), 2.0)


def test_branches_of_different_shapes_are_a_named_error_with_the_line_in_a_batch() -> None:
    def shapes(x: Any) -> Any:
        if x[0] > 0:
            y = x
        else:
            y = x[1:]
        return y

    with pytest.raises(BranchMismatchError, match=r"`if` at test_staging.py:\d+: `y` is f64\[2\].*f64\[3\]"):
        tm.vmap(shapes)(np.ones((2, 3)))


# ---- loops -----------------------------------------------------------------------------------------------


def collatz(n: Any) -> Any:
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def first_above(x: Any, limit: Any) -> Any:
    for i in range(len(x)):
        if x[i] > limit:
            return i
    return -1


def skipping(x: Any, n: Any) -> Any:
    total = 0.0
    for i in range(n):
        if x[i] < 0:
            continue
        if x[i] > 10:
            break
        total += x[i] * i
    return total


def heat(u: Any, steps: int) -> Any:
    u = u.copy()
    v = np.empty_like(u)
    for _ in range(steps):
        v[0], v[-1] = u[0], u[-1]
        v[1:-1] = 0.5 * (u[:-2] + u[2:])
        u, v = v, u
    return u


def eliminated(a: Any) -> Any:
    a = a.copy()
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


@BACKENDS
def test_loops_on_values_are_loops(backend: str) -> None:
    check(collatz, (27,), (97,), (1,), backend=backend)
    row = np.array([1.0, -2.0, 3.0, 20.0, 4.0])
    check(first_above, (row, 2.5), (row, 50.0), (row, 0.0), backend=backend)


@BACKENDS
def test_an_int_that_bounds_a_loop_is_part_of_the_signature(backend: str) -> None:
    row = np.array([1.0, -2.0, 3.0, 20.0, 4.0])
    check(skipping, (row, 3), (row, 5), backend=backend, programs=2)
    check(heat, (np.arange(6.0) ** 2, 3), (np.arange(6.0) ** 2, 40), backend=backend, programs=2)


@BACKENDS
def test_long_loops_with_inner_loops_are_traced_once(backend: str) -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(20, 20)) + 20 * np.eye(20)
    check(eliminated, (a,), backend=backend)
    check(bubble_sort, (rng.normal(size=30),), backend=backend)
    assert len(tm.compile(eliminated, backend=backend).lower(a).graph.calls) < 10


@BACKENDS
def test_long_loops_without_branches_are_traced_once(backend: str) -> None:
    def smoothed(x: Any) -> Any:
        level, total = x[0], 0.0
        for entry in x:
            level = 0.9 * level + 0.1 * entry
            total += level
        return level, total

    def swept(u: Any) -> Any:
        u = u.copy()
        for _ in range(40):
            for i in range(1, len(u) - 1):
                u[i] = 0.5 * (u[i - 1] + u[i + 1])
        return u

    rng = np.random.default_rng(0)
    check(smoothed, (rng.normal(size=1000),), backend=backend)
    check(swept, (rng.normal(size=20),), backend=backend)
    for function, size in ((smoothed, 1000), (swept, 20)):
        assert len(tm.compile(function, backend=backend).lower(rng.normal(size=size)).graph.calls) < 20


def test_a_loop_has_derivatives_and_batches() -> None:
    def newton(a: Any) -> Any:
        x = a
        while abs(x * x - a) > 1e-12:
            x = 0.5 * (x + a / x)
        return x

    _, tangent = tm.jvp(tm.compile(newton), (2.0,), (1.0,))
    np.testing.assert_allclose(tangent, 0.5 / np.sqrt(2.0))
    np.testing.assert_allclose(
        tm.compile(tm.vmap(newton))(np.array([2.0, 3.0, 50.0])), np.sqrt([2.0, 3.0, 50.0])
    )
    long = tm.compile(tm.grad(lambda x: heat(x, 40).sum()))
    x = np.linspace(0.0, 1.0, 6)
    e = 1e-6 * np.eye(6)
    expected = [(heat(x + d, 40).sum() - heat(x - d, 40).sum()) / 2e-6 for d in e]
    np.testing.assert_allclose(long(x), expected, rtol=1e-6)


def test_products_of_pythons_ints_keep_all_digits_in_loops_of_known_length() -> None:
    def factorial(x: Any) -> Any:
        product = 1
        for i in range(1, 26):
            product *= i
        return x / product

    check(factorial, (1.0,))


@BACKENDS
def test_a_while_with_a_jump_on_values_is_a_loop_and_others_are_unrolled(backend: str) -> None:
    def until(x: Any, limit: Any) -> Any:
        steps = 0
        while True:
            steps += 1
            x = x * 0.5
            if x < limit:
                break
        return x, steps

    def known(x: Any) -> Any:
        k = 1
        while True:
            k += 1
            if k % 2:
                continue
            if k * k > 20:
                break
        return np.zeros(k) + x.sum()

    check(until, (8.0, 1.5), (100.0, 0.1), backend=backend)
    check(known, (np.ones(3),), backend=backend)


def test_draws_and_iterators_are_refused_in_branches_and_loops_on_values() -> None:
    rng, entries = np.random.default_rng(0), iter([1.0, 2.0, 3.0])

    def draws(x: Any) -> Any:
        while x > 1:
            x = x * 0.5 * rng.random()
        return x

    def takes(x: Any) -> Any:
        if x > 1:
            x = x + next(entries)
        return x

    with pytest.raises(RandomStateError, match=r"frozen into the graph"):
        tm.compile(draws)(8.0)
    with pytest.raises(SideEffectError, match=r"next returns something new at each call"):
        tm.compile(takes)(8.0)


# ---- what a branch or a loop must not do -----------------------------------------------------------------


class Counter:
    def __init__(self) -> None:
        self.count = 0


KEPT: list[Any] = []


def appends(x: Any) -> Any:
    out: list[Any] = []
    while x > 1:
        out.append(x)
        x = x / 2
    return x


def appends_elsewhere(x: Any) -> Any:
    def note(one: Any) -> None:
        KEPT.append(one)

    if x > 1:
        note(x)
    return x


def counts(x: Any, counter: Counter) -> Any:
    if x > 1:
        counter.count += 1
    return x


def test_side_effects_of_a_branch_on_values_are_refused_in_a_batch() -> None:
    with pytest.raises(
        SideEffectError, match=r"one trace of `while` at test_staging.py:\d+ .*changes `out`, a list"
    ):
        tm.compile(tm.vmap(appends))(np.array([8.0, 4.0]))


def test_side_effects_of_a_branch_on_values_happen_once_in_a_call() -> None:
    before, counter = list(KEPT), Counter()
    assert tm.compile(appends_elsewhere)(8.0) == appends_elsewhere(8.0)
    added = KEPT[len(before) :]
    assert added
    assert added[: len(added) // 2] == added[len(added) // 2 :]
    assert tm.compile(lambda x: counts(x, counter))(8.0) == counts(8.0, Counter())
    other = Counter()
    counts(8.0, other)
    assert counter.count == other.count > 0


def test_a_loop_of_known_length_that_appends_is_unrolled() -> None:
    def listed(x: Any, n: int) -> Any:
        out = []
        for i in range(n):
            out.append(x * i)  # noqa: PERF401
        return tuple(out)

    check(listed, (2.0, 3), (2.0, 30), programs=2)


def test_a_write_to_one_of_several_arrays_is_seen_under_its_other_name() -> None:
    def either(x: Any) -> Any:
        y = np.zeros(2)
        if x[0] > 0:
            y = x
        y[0] = 7.0
        return y

    def alone(x: Any) -> Any:
        y = x * 2.0
        if x[0] > 0:
            y = y + 1.0
        y[0] = 7.0
        return y

    check(either, (np.ones(2),), (-np.ones(2),))
    check(alone, (np.ones(2),), (-np.ones(2),))


def test_a_loop_that_grows_a_list_is_written_out_for_the_values_of_a_call() -> None:
    def halves(x: Any, least: float) -> Any:
        out: list[Any] = []
        while x.max() > least:
            out.append(x.sum())
            x = x / 2
        return np.array(out), len(out)

    def stops(x: Any, step: float) -> Any:
        times, t = [], 0.0
        while t < 1.0:
            times.append(t)
            t += step
        return tuple(x * t for t in times)

    check(halves, (np.ones(3) * 8, 0.5), (np.ones(3) * 60, 0.5), (np.zeros(3), 0.5), programs=3)
    check(stops, (np.ones(2), 0.25), (np.ones(2), 0.5), programs=2)


def test_a_loop_that_changes_a_shape_or_sets_a_variable_alone_is_for_the_values_of_a_call() -> None:
    def grows(x: Any) -> Any:
        while x.sum() < 10:
            x = np.concatenate([x, x])
        return x

    def sets(x: Any) -> Any:
        while x > 1:
            x = x / 2
            last = x
        return last  # pyright: ignore[reportPossiblyUnboundVariable]

    with pytest.raises(
        CarryMismatchError, match=r"`x` is f64\[2\] before an iteration and f64\[4\] after it"
    ):
        tm.compile(tm.vmap(grows))(np.ones((3, 2)))
    with pytest.raises(
        CarryMismatchError, match=r"`last` is set only in the loop.*set `last` before the loop"
    ):
        tm.compile(tm.vmap(sets))(np.array([8.0, 2.0]))
    check(grows, (np.ones(2),), (np.ones(3) * 4,), (np.ones(2) * 9,), programs=2)
    check(sets, (np.ones(1) * 8.0,), (np.ones(1) * 1.5,), programs=2)
