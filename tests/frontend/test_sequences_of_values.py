"""Functions of Python and NumPy on sequences of traced numbers: sorted, max, sum of a generator, …"""

import bisect
import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from frontend.comparing import check
from tracemill.compiler.errors import (
    ConcretizationError,
    SideEffectError,
    UnsupportedFunctionError,
)

BACKENDS = pytest.mark.parametrize("backend", ["numpy", pytest.param("c", marks=pytest.mark.slow)])
X = np.array([3.0, 1.0, 2.0, 5.0, 2.0])


# ---- orderings -------------------------------------------------------------------------------------------


def orderings(x: Any) -> Any:
    indices = range(len(x))
    listed = [x[2], x[1], x[0]]
    listed.sort(reverse=True)
    return (
        *sorted(x),
        *sorted(x, key=lambda one: -one),
        *sorted(indices, key=lambda i: x[i]),
        *sorted(indices, key=x.__getitem__, reverse=True),
        *itertools.chain(*sorted(zip(x, indices, strict=True))),
        *listed,
    )


def extremes(x: Any) -> Any:
    table = {0: x[0], 5: x[1], 7: x[3]}
    return (
        max(x, key=lambda one: -one),
        min([x[0], x[1], x[2]], key=lambda one: abs(one - 2.2)),
        max(range(len(x)), key=lambda i: x[i]),
        *max((one, i) for i, one in enumerate(x)),
        max((one * 2 for one in x), default=0.0),
        max(table, key=table.__getitem__),
        *max([x[:2], x[1:3]], key=np.sum),
    )


@BACKENDS
def test_numbers_are_sorted_and_the_best_is_found(backend: str) -> None:
    check(orderings, (X,), (X[::-1].copy(),), backend=backend)
    check(extremes, (X,), (X[::-1].copy(),), backend=backend)


def test_equal_keys_keep_their_order_and_the_first_wins() -> None:
    def indices(x: Any) -> Any:
        order = sorted(range(5), key=lambda i: x[i], reverse=True)
        return *order, min(range(5), key=lambda i: x[i]), max(range(5), key=lambda i: x[i])

    check(indices, (np.array([1.0, 2.0, 1.0, 2.0, 2.0]),))


@pytest.mark.parametrize("length", [5, 200])
def test_max_of_many_matches_python_with_nans_among_them(length: int) -> None:
    x = np.random.default_rng(0).normal(size=length)
    x[3] = np.nan
    check(lambda x: (max(x), min(x)), (x,), (np.roll(x, -3),))


def test_sorting_has_derivatives_and_batches() -> None:
    def function(x: Any) -> Any:
        return sorted(x, reverse=True)[1] * 2.0 + max(x, key=lambda one: -one) ** 2

    x = np.array([3.0, 1.0, 2.5])
    np.testing.assert_allclose(tm.compile(tm.grad(function))(x), [0.0, 2.0, 2.0])
    batch = np.stack([x, x[::-1] ** 2])
    np.testing.assert_allclose(tm.compile(tm.vmap(function))(batch), [function(row) for row in batch])


# ---- generators with an `if` -----------------------------------------------------------------------------


def chosen(x: Any) -> Any:
    return (
        sum(one * one for one in x if one > 2),
        sum(x[i] * x[j] for i in range(4) for j in range(i) if x[i] > x[j]),
        len([one for one in x if one > 1.5]),
        any(one > 2 for one in x if one < 4),
        all(one > 1 for one in x if one > 1.5),
        max(one for one in x if one < 4),
        max((one for one in x if one < 4), key=lambda one: -one),
        min((one for one in x if one > 100), default=-1.0),
        next(i for i in range(len(x)) if x[i] < 2),
        next((i for i in range(len(x)) if x[i] > 20), -1),
        sum(i for i in range(10) if i % 3),
    )


@BACKENDS
def test_an_if_of_a_generator_may_depend_on_values(backend: str) -> None:
    check(chosen, (X,), (X[::-1].copy(),), backend=backend)


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda x: max(one for one in x if one > 100), ValueError),
        (lambda x: next(one for one in x if one > 100), StopIteration),
    ],
)
def test_a_generator_that_values_leave_empty_raises_pythons_error(function: Any, error: Any) -> None:
    compiled: Any = tm.compile(function)
    with pytest.raises(error):
        compiled(X)
    assert compiled(X * 100) == function(X * 100)


def test_an_entry_of_a_generator_counts_only_if_its_test_holds() -> None:
    table = {1.0: 7.0, 2.0: 9.0}
    check(lambda x: sum(table[one] for one in x if one in table), (X,))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: [one for one in x if one > 2],
        lambda x: list(filter(lambda one: one > 2, x)),
        lambda x: list(itertools.takewhile(lambda one: one > 2, x)),
    ],
)
def test_a_list_whose_length_depends_on_values_is_for_the_call_at_hand(function: Any) -> None:
    compiled: Any = tm.compile(function, on_recompile="ignore")
    for x in (X, -X, X + 2):
        assert compiled(x) == function(x)
    batched: Any = tm.compile(tm.vmap(function))
    with pytest.raises(
        ConcretizationError, match=r"as many entries as values decide.*np.where\(test, x, 0\)"
    ):
        batched(np.stack([X, X]))


# ---- functions that call functions -----------------------------------------------------------------------


def doubled_or_zero(x: Any) -> Any:
    return 2 * x if x > 2 else 0.0


@BACKENDS
def test_functions_that_call_functions_call_converted_ones(backend: str) -> None:
    def function(x: Any) -> Any:
        return (
            functools.reduce(max, x),
            functools.reduce(operator.add, x, 0.0),
            *itertools.accumulate(x, max),
            *map(doubled_or_zero, x),
            *itertools.starmap(max, zip(x, x[::-1], strict=True)),
            bisect.bisect_left([1.0, 2.0, 3.0], x[0]),
            bisect.bisect([1.0, 2.0, 3.0], x[1]),
        )

    check(function, (X,), (X[::-1].copy(),), backend=backend)


@BACKENDS
def test_np_vectorize_runs_a_function_on_every_element(backend: str) -> None:
    @np.vectorize
    def steps(x: Any, y: Any = 1.0) -> Any:
        count = 0
        while x > y:
            x, count = x / 2, count + 1
        return count

    def function(x: Any, table: Any, n: int) -> Any:
        power = np.vectorize(lambda a, n: a**n, excluded=["n"])
        normed = np.vectorize(lambda row: row / row.sum(), signature="(n)->(n)")
        return (
            np.vectorize(doubled_or_zero)(x),
            np.vectorize(max)(x, table),
            np.vectorize(lambda a: int(a > 2), otypes=[float])(x),
            *np.vectorize(lambda a: (a + 1, a * 2))(x),
            power(x, n=n),
            normed(table),
            np.vectorize(np.dot, signature="(n),(n)->()")(table, x),
            steps(x),
            steps(x, y=0.5),
        )

    table = np.arange(1.0, 11.0).reshape(2, 5)
    check(function, (X, table, 3), backend=backend)
    doubled = np.vectorize(lambda a: a * 2)
    assert tm.compile(lambda x: doubled(x) + 0)(np.array([1.0], np.float32)).dtype == np.float64
    x = np.array([3.0, 1.0])
    np.testing.assert_allclose(
        tm.compile(tm.grad(lambda x: np.vectorize(doubled_or_zero)(x).sum()))(x), [2.0, 0.0]
    )


def test_np_vectorize_calls_a_function_that_counts_its_calls_or_refuses_it() -> None:
    count = [0]

    def counted(v: Any) -> Any:
        count[0] += 1
        return v * count[0]

    assert tm.compile(lambda x: x * np.vectorize(counted)(2.0))(1.0) == 4.0  # NumPy calls it twice
    with pytest.raises(SideEffectError, match=r"np.vectorize .*changes `count\[0\]`"):
        tm.compile(lambda x: np.vectorize(counted)(x) + 0)(X)


@BACKENDS
def test_elements_are_iterated_over(backend: str) -> None:
    def function(x: Any) -> Any:
        flat: Any = 0.0
        pairs = places = once = flat
        for v in x.flat:
            flat = 0.5 * flat + v
        for v in np.nditer(x):
            once = 0.5 * once + v
        for a, b in np.nditer([x, 2 * x]):
            pairs = 0.5 * pairs + a * b
        for (i, j), v in np.ndenumerate(x):
            places = 0.5 * places + v * i - j
        for v in x.ravel().tolist():
            flat += v * x[0].item(0)
        return flat, once, pairs, places

    for size in (6, 120):
        check(function, (np.linspace(1.0, 2.0, size).reshape(2, -1),), backend=backend)
    with pytest.raises(UnsupportedFunctionError, match=r"for i in np.ndindex\(x.shape\)"):
        tm.compile(lambda x: list(np.nditer(x, op_flags=["readwrite"])))(X)


# ---- indices, axes and grids -----------------------------------------------------------------------------


@BACKENDS
def test_ranges_are_indices_and_arrays_are_axes(backend: str) -> None:
    def function(x: Any, n: int) -> Any:
        y = x.copy()
        y[range(n), range(1, n + 1)] = 0.0
        order = np.argsort([1, 0])
        return y, x[range(n)], x[range(2), range(2)], np.transpose(x, order), np.moveaxis(x, order, [0, 1])

    x = np.arange(12.0).reshape(3, 4)
    check(function, (x, 2), (x, 3), backend=backend, programs=2)
    check(lambda x: (x.sum(axis=np.int64(1)), x.transpose(np.array([1, 0]))), (x,), backend=backend)


@BACKENDS
def test_grids_have_ends_that_are_arguments(backend: str) -> None:
    def function(a: Any, b: Any, n: int) -> Any:
        rows, columns = np.ogrid[:n, -n:n]
        return (
            np.mgrid[a:b:5j, 0:1:3j],
            np.mgrid[a:b:4j],
            np.mgrid[0:n, 0:2] * a,
            rows * columns * b,
            np.r_[a:b:5j, 0:n, a],
            np.c_[0:n, n:0:-1] * a,
            np.ndarray(n) * 0 + a,
        )

    with np.errstate(invalid="ignore"):
        check(lambda *given: function(*given)[:-1], (3.0, 5.0, 3), backend=backend)
    assert tm.compile(function)(3.0, 5.0, 3)[-1].shape == (3,)
    np.testing.assert_array_equal(tm.compile(lambda a: np.mgrid[a : a + 2])(3.0), np.mgrid[3.0:5.0])


# ---- what loops return -----------------------------------------------------------------------------------


def first_beyond(rows: list[Any], limit: Any) -> Any:
    place = 0
    while place < len(rows) and rows[place] < limit:
        if rows[place] * 2 == limit:
            return [place, rows[place]]
        place += 1
    return [-1, limit]


def of_a_list_made_before(rows: list[Any], limit: Any) -> Any:
    found, place = [0, 0], 0
    while place < len(rows) and rows[place] < limit:
        found[0] = place
        if rows[place] * 2 == limit:
            return {"found": found}
        place += 1
    return {"found": [9, 9]}


@pytest.mark.parametrize("function", [first_beyond, of_a_list_made_before])
def test_a_loop_returns_a_list(function: Callable[..., Any]) -> None:
    compiled: Any = tm.compile(function)
    for limit in (2, 34, 8, 3, 4):
        assert compiled([1, 4, 7], limit) == function([1, 4, 7], limit)
    assert len(compiled.signatures()) == 1


def test_an_entry_that_is_missing_counts_only_if_its_test_holds() -> None:
    def asked(x: Any, entries: list[Any]) -> Any:
        return 1 if x > 0 and entries[7] > 2 else 0

    compiled = tm.compile(asked)
    assert compiled(-1.0, [1.0]) == 0
    with pytest.raises(IndexError, match="list index out of range"):
        compiled(1.0, [1.0])
