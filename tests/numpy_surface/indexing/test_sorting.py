"""Sorting, searching and sets: as in NumPy, with ties, NaN and complex numbers; misuse refused."""
# ruff: noqa: PLW0108  (the lambdas look functions up while tracing)

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from numpy_surface.differential import check, check_both_raise
from samples.grouping import in_groups
from samples.numpy_math import TOLERANCE, Use, X, cases

GRID = X["f64"]
NUMBERS = np.array([3, 1, 2, 3, 1])
WITH_NAN = np.array([2.5, 1.0, 2.5, np.nan, np.nan, -1.0])
COMPLEX_NAN = np.array(
    [1 + 1j, complex(np.nan, 1), complex(1, np.nan), complex(np.nan, np.nan), 1 - 1j, complex(0, np.nan)]
)


@pytest.mark.sampled("sort_complex", "searchsorted", slow=2)
@in_groups(cases("sorting"))
def test_this_use_does_what_numpy_does(use: Use, dtype: str) -> None:
    tolerance = TOLERANCE.get(dtype, 1e-12)
    check(use, X[dtype], rtol=tolerance)


def test_an_array_is_sorted_in_place() -> None:
    def sort_rows(x: Any) -> Any:
        x.sort()
        x[:, ::-1].sort(axis=0)
        return x

    check(sort_rows, GRID)


@pytest.mark.parametrize("side", ["left", "right"])
def test_complex_numbers_with_nan_have_numpys_order(side: Any) -> None:
    check(lambda z: (np.sort(z), np.argsort(z, kind="stable")), COMPLEX_NAN)
    check(lambda z: np.searchsorted(np.sort(z), z, side), COMPLEX_NAN)


@pytest.mark.parametrize("count", range(10))
def test_bisection_finds_every_place(count: int) -> None:
    ordered = np.arange(0, 2 * count, 2)
    check(
        lambda a, v: (np.searchsorted(a, v), np.searchsorted(a, v, "right")),
        ordered,
        np.arange(-1, 2 * count + 1),
    )


@pytest.mark.parametrize("known", [NUMBERS, WITH_NAN], ids=["integers", "nan"])
@pytest.mark.parametrize(
    "use",
    [
        lambda k: np.unique(k),
        lambda k: np.unique(k, return_index=True, return_inverse=True, return_counts=True),
        lambda k: np.unique(k, equal_nan=False),
        lambda k: np.unique(k[:, None] * np.ones(2), axis=0),
        lambda k: tuple(np.unique_all(k)),
        lambda k: tuple(np.unique_counts(k)),
        lambda k: tuple(np.unique_inverse(k)),
        lambda k: np.sort(np.unique_values(k)),
        lambda k: np.union1d(k, [7.5, 2]),
        lambda k: np.intersect1d(k, [7, 2, 1]),
        lambda k: np.intersect1d(k, [7, 2, 1], return_indices=True),
        lambda k: np.setdiff1d(k, [2, 9]),
        lambda k: np.setxor1d(k, [2, 9]),
    ],
)
def test_sets_of_known_numbers_are_numpys(use: Use, known: Any) -> None:
    check(lambda x: (x, use(np.asarray(known) * 1)), GRID)


@pytest.mark.parametrize(
    "misuse",
    [
        lambda x: np.sort(x, axis=2),
        lambda x: np.sort(x[0, 0]),
        lambda x: np.partition(x, 9),
        lambda x: np.lexsort([]),
        lambda x: np.searchsorted(x, 1),
        lambda x: np.searchsorted(x[0], 1, side="middle"),  # type: ignore[call-overload]
        lambda x: np.sort(x, order="name"),
        lambda x: np.sort(x, kind="bubble"),  # type: ignore[call-overload]
        lambda x: np.sort(x, kind=3),  # type: ignore[call-overload]
        lambda x: np.argsort(x, kind="stable", stable=True),
        lambda x: np.argsort(x[0, 0], axis=1),
        lambda x: np.lexsort((x, x[0])),
        lambda x: np.partition(x, 1, kind="quickselect"),  # type: ignore[call-overload]
        lambda x: np.partition(x, 1.0),  # type: ignore[call-overload]
        lambda x: np.partition(x, True),
        lambda x: np.partition(x, [[1, 2]]),
        lambda x: np.partition(x, []),
        lambda x: np.argpartition(x[0, 0], 1),
        lambda x: np.searchsorted(x[0], 1, sorter=np.array([0, 1])),
        lambda x: np.searchsorted(x[0], 1, sorter=np.arange(4.0)),  # type: ignore[arg-type]
    ],
)
def test_what_numpy_refuses_is_refused(misuse: Callable[[Any], Any]) -> None:
    check_both_raise(misuse, GRID)


def test_a_place_to_partition_at_may_be_computed() -> None:
    compiled = tm.compile(lambda x, k: (np.partition(x, k)[k], np.partition(x[x > 1], [k, 0])[k]))
    x = np.array([3.0, -1.0, 2.0, 5.0, 4.0])
    for k in (0, 2, -1):
        assert compiled(x, np.int64(k)) == (np.sort(x)[k], np.sort(x[x > 1])[k])
    for k, wanted in ((5, r"kth\(=5\) out of bounds \(5\)"), (-5, r"kth\(=-1\) out of bounds \(4\)")):
        with pytest.raises(ValueError, match=wanted):
            compiled(x, np.int64(k))


def test_a_number_is_ordered_as_a_line() -> None:
    check(lambda x: (np.argsort(x[0, 0]), np.argpartition(x[0, 0], 0), np.lexsort((x[0, 0],))), GRID)


def test_without_entries_every_place_is_partitioned() -> None:
    check(lambda x: (np.partition(x, 9, axis=0), np.argpartition(x, 9, axis=1)), np.zeros((3, 0)))


def searched(ordered: Any, wanted: Any) -> Any:
    return np.searchsorted(ordered, wanted, "right", sorter=np.argsort(ordered))


@pytest.mark.parametrize("in_dims", [(0, None), (None, 1), (1, 0)])
def test_vmap_of_a_search_is_the_loop(in_dims: tuple[int | None, int | None]) -> None:
    rng = np.random.default_rng(4)
    batches = [
        rng.normal(size=shape if dim is None else np.insert(shape, dim, 3))
        for shape, dim in zip(((5,), (2, 4)), in_dims, strict=True)
    ]
    rows = [
        searched(*(x if dim is None else np.take(x, i, dim) for x, dim in zip(batches, in_dims, strict=True)))
        for i in range(3)
    ]
    for function in (tm.vmap(searched, in_dims), tm.compile(tm.vmap(searched, in_dims))):
        np.testing.assert_array_equal(function(*batches), np.stack(rows))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_gradient_of_a_partition_goes_to_the_entries_that_are_there(dtype: str) -> None:
    x = np.array([3.0, 1.0, 4.0, 1.5], dtype)
    smallest = tm.grad(lambda x: np.sum(np.partition(x, 1)[:2]))
    for gradient in (smallest(x), tm.compile(smallest)(x)):
        assert gradient.dtype == x.dtype
        assert gradient.tolist() == [0, 1, 0, 1]


def test_the_derivative_of_sorting_sorts_once() -> None:
    lowered = tm.compile(tm.grad(lambda x: np.sum(np.sort(x) * np.arange(3.0)))).lower(np.ones(3))
    assert [call.op for call in lowered.graph.calls].count("sort") == 1
    values, tangents = tm.jvp(np.sort, (np.array([2.0, 1.0]),), (np.array([5.0, 7.0]),))
    assert (values.tolist(), tangents.tolist()) == ([1, 2], [7, 5])
