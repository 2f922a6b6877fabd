"""Functions of Python's library take traced numbers: `heapq`, `bisect`, `statistics`, caches, generators."""

import bisect
import decimal
import heapq
import statistics
import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from frontend.comparing import check

X = np.array([0.5, -1.2, 2.0, 0.3, 0.9])


def heaps(v: Any) -> Any:
    heap: list[Any] = []
    for x in v:
        heapq.heappush(heap, x)
    popped = [heapq.heappop(heap) for _ in range(3)]
    heapq.heapify(popped)
    replaced = heapq.heapreplace(popped, 0.2)
    pushed = heapq.heappushpop(popped, 0.1)
    ends = sum(heapq.nlargest(2, v)) + sum(heapq.nsmallest(2, v, key=lambda x: -x))
    return np.array([*heap, *popped, replaced, pushed, ends])


def sorted_places(v: Any) -> Any:
    entries = sorted(v)
    place = bisect.bisect_left(entries, 0.4)
    bisect.insort(entries, v[0] * 0.4)
    bisect.insort_left(entries, 0.4)
    return place, np.array(entries)


def moments(v: Any) -> Any:
    data, sizes = list(v), [abs(x) for x in v]
    known = [1.0, 2.0, 3.0, 4.0, 7.0]
    fit = statistics.linear_regression(known, data)
    return np.array([
        statistics.mean(data), statistics.fmean(v, weights=known), statistics.median(data),
        statistics.median_low(data), statistics.median_high(data[:4]), statistics.variance(data),
        statistics.pvariance(v), statistics.stdev(v), statistics.pstdev(data), statistics.harmonic_mean(sizes),
        statistics.geometric_mean(sizes), statistics.covariance(data, known), statistics.correlation(known, data),
        fit.slope, fit.intercept, *statistics.quantiles(data, n=4), *statistics.quantiles(v, n=3, method="inclusive"),
    ])  # fmt: skip


@lru_cache
def cached(x: Any) -> Any:
    return x * 2 if x > 0 else x


def with_cache(v: Any) -> Any:
    return cached(v[0]) + cached(v[1]) + cached(2.0)


def running(v: Any) -> Any:
    def walk() -> Any:
        total = 0.0
        for x in v:
            if x > 0:
                total += x
            elif x < -1:
                total -= 1
            yield total

    return np.fromiter(walk(), float) * sum(walk())


PROGRAMS = [heaps, sorted_places, moments, with_cache, running]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("backend", ["numpy", pytest.param("c", marks=pytest.mark.slow)])
def test_library_functions_take_traced_numbers(program: Callable[..., Any], backend: str) -> None:
    check(program, (X,), (X[::-1] * 0.7,), backend=backend)


@pytest.mark.parametrize("program", [pytest.param(moments, marks=pytest.mark.slow), with_cache, running])
def test_library_functions_batch_and_differentiate(program: Callable[..., Any]) -> None:
    rows = np.stack([X, X[::-1] * 0.7])
    np.testing.assert_allclose(tm.compile(tm.vmap(program))(rows), [program(x) for x in rows], rtol=1e-9)

    def total(v: Any) -> Any:
        return np.sum(program(v) * 1.5)

    expected = [(total(X + step) - total(X - step)) / 2e-6 for step in 1e-6 * np.eye(len(X))]
    np.testing.assert_allclose(tm.compile(tm.grad(total))(X), expected, rtol=1e-6, atol=1e-7)


def test_statistics_raises_pythons_errors() -> None:
    with pytest.raises(statistics.StatisticsError, match="two data points"):
        tm.compile(lambda v: statistics.stdev([v[0]]))(X)


def packed(x: float) -> Any:
    return struct.unpack(">i", struct.pack(">f", x))[0] + x


def digits_of_root(count: int, n: int) -> str:
    with decimal.localcontext(prec=count):
        return str(decimal.Decimal(n).sqrt())


def listed(entries: list[float]) -> Any:
    return (np.array(entries) * 2).tolist(), np.array(entries).sum().item()


@pytest.mark.parametrize(
    ("function", "calls"),
    [
        (packed, [(1.0,), (0.375,), (2,)]),
        (digits_of_root, [(5, 2), (9, 2), (9, 3)]),
        (listed, [([1.0, 2.5],), ([3.0, -1.0],)]),
    ],
)
def test_code_in_c_gets_pythons_numbers(function: Callable[..., Any], calls: Any) -> None:
    compiled: Any = tm.compile(function, on_recompile="ignore")
    for call in calls:
        assert repr(compiled(*call)) == repr(function(*call))


def test_bisect_begins_with_an_empty_list() -> None:
    def in_order(x: Any) -> Any:
        found: list[Any] = []
        first = bisect.bisect(found, x)
        for k in range(3):
            bisect.insort(found, x * (k - 1))
        return first, found

    compiled = tm.compile(in_order)
    for x in (3.0, -3.0):
        assert compiled(x) == in_order(x)
