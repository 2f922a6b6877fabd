"""Functions with ``size=``: the first entries are NumPy's, the rest is filled; traced and not."""

import doctest
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from numpy_surface.differential import assert_same
from tracemill.compiler.dtypes import Array
from tracemill.compiler.numpy_surface.indexing import sized

ROW = np.array([3.0, 0.0, -1.0, 3.0, 0.0, 2.0])
OTHER = np.array([2.0, 5.0, 0.0, 2.0])
MATRIX = np.array([[0, 1, 0, 2], [3, 0, 0, 4]])
MASK = np.array([True, False, True, True, False, False])
NAMES = np.array([np.nan, 1.0, np.nan, 0.0])


def everywhere(function: Callable[..., Any], *args: Array) -> Any:
    """The result on NumPy arrays, which compiled and mapped calls must repeat."""
    expected = function(*args)
    assert_same(expected, tm.compile(function, backend="numpy")(*args))
    batches = [np.stack([x, x[::-1]]) for x in args]
    rows = [function(*(batch[i] for batch in batches)) for i in range(2)]
    mapped = tm.vmap(function)(*batches)
    for both, pair in zip(_as_tuple(mapped), zip(*map(_as_tuple, rows), strict=True), strict=True):
        assert_same(np.stack(pair), both)
    return expected


def _as_tuple(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def filled(found: Any, size: int, fill: Any) -> Array:
    """NumPy's result cut or filled to `size`."""
    out = np.full((size, *found.shape[1:]), fill, found.dtype)
    out[: min(size, len(found))] = found[:size]
    return out


@pytest.mark.parametrize("size", [0, 2, 4, 9])
def test_positions_of_what_is_not_zero(size: int) -> None:
    assert_same(
        filled(np.flatnonzero(ROW), size, -1),
        everywhere(lambda x: sized.flatnonzero(x, size=size, fill_value=-1), ROW),
    )
    rows, columns = everywhere(lambda x: sized.nonzero(x, size=size, fill_value=7), MATRIX)
    assert_same([filled(found, size, 7) for found in np.nonzero(MATRIX)], [rows, columns])
    assert_same(
        filled(np.argwhere(MATRIX), size, 0), everywhere(lambda x: sized.argwhere(x, size=size), MATRIX)
    )


@pytest.mark.parametrize("size", [0, 1, 3, 8])
def test_entries_where_a_mask_holds(size: int) -> None:
    assert_same(
        filled(ROW[MASK], size, 0), everywhere(lambda m, x: sized.extract(m, x, size=size), MASK, ROW)
    )
    table = np.arange(12.0).reshape(6, 2)
    assert_same(
        filled(table[MASK], size, 9.0),
        everywhere(lambda m, x: sized.compress(m, x, size=size, fill_value=9.0), MASK, table),
    )
    assert_same(
        filled(table[MASK], size, 0.0).T,
        everywhere(lambda m, x: sized.compress(m, x.T, axis=1, size=size), MASK, table),
    )


@pytest.mark.parametrize("trim", ["fb", "f", "b"])
def test_zeros_at_the_ends_are_trimmed(trim: Any) -> None:
    for vector in (np.array([0, 0, 5, 0, 6, 0]), np.array([1, 0, 0]), np.zeros(3)):
        found = np.trim_zeros(vector, trim)
        assert_same(
            filled(found, 5, -1),
            everywhere(lambda x: sized.trim_zeros(x, trim, size=5, fill_value=-1), vector),
        )


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("size", [1, 3, 6])
@pytest.mark.parametrize("x", [ROW, MATRIX, NAMES, np.array([7])])
def test_different_elements_with_their_places_and_counts(x: Array, size: int) -> None:
    values, index, inverse, counts = everywhere(
        lambda x: sized.unique(x, True, True, True, size=size), x.astype(float)
    )
    expected, first, places, many = np.unique(x.astype(float), True, True, True)
    assert_same(filled(expected, size, expected[0]), values)
    assert_same(filled(first, size, first[0]), index)
    assert_same(np.minimum(places, size - 1), inverse)
    assert_same(filled(many, size, 0), counts)
    assert_same(filled(expected, size, 99.0), sized.unique(x.astype(float), size=size, fill_value=99.0))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["union1d", "intersect1d", "setdiff1d", "setxor1d"])
def test_operations_on_sets(name: str) -> None:
    expected = getattr(np, name)(ROW, OTHER)
    for size in (0, 2, 7):
        found = everywhere(lambda x, y, size=size: getattr(sized, name)(x, y, size=size), ROW, OTHER)
        assert_same(filled(expected, size, expected[0]), found)
    nothing = everywhere(lambda x, y: getattr(sized, name)(x, y, size=2, fill_value=-5.0), ROW[:1], ROW[:1])
    assert_same(filled(getattr(np, name)(ROW[:1], ROW[:1]), 2, -5.0), nothing)


def test_what_is_extracted_can_be_differentiated() -> None:
    gradient = tm.grad(lambda x: np.sum(sized.extract(x > 0, x**2, size=4)))(ROW)
    assert_same(np.where(ROW > 0, 2 * ROW, 0.0), gradient + 0.0)


def test_the_examples_hold() -> None:
    results = doctest.testmod(sized, extraglobs={"np": np})
    assert results.attempted >= 5
    assert not results.failed
