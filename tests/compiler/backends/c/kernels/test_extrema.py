"""Largest and smallest numbers in C are NumPy's: NaN wherever it lies, infinities, and the same on all threads."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracemill as tm


def extrema(x: Any) -> Any:
    return np.max(x, axis=-1), np.min(x, axis=-1), np.max(x), np.min(x), np.max(x, axis=0)


def log_sums(x: Any) -> Any:
    largest = np.max(x, axis=-1, keepdims=True)
    return largest[..., 0] + np.log(np.sum(np.exp(x - largest), axis=-1))


@pytest.fixture
def threads() -> Iterator[Any]:
    before = tm.get_num_threads()
    yield tm.set_num_threads
    tm.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 17), (1, 300), (2, 4099), (700, 1000)])
def test_they_are_numpys_with_nan_in_any_part(shape: tuple[int, int], dtype: str, threads: Any) -> None:
    program = tm.compile(extrema, backend="c")
    plain = np.random.default_rng(0).normal(size=shape).astype(dtype)
    for put in ({}, {0: np.nan}, {-1: np.nan}, {0: np.inf, -1: -np.inf}, {plain.size // 2: -np.nan}):
        x = plain.copy()
        for place, special in put.items():
            x.flat[place] = special
        for count in (1, 2, 3, 8):
            threads(count)
            for ours, numpys in zip(program(x), extrema(x), strict=True):
                np.testing.assert_array_equal(ours, numpys)


@pytest.mark.parametrize("special", [-np.inf, np.inf, np.nan, -0.0])
def test_rows_of_one_number_alone_have_it(special: float) -> None:
    x = np.full((5, 77), special)
    for ours, numpys in zip(tm.compile(extrema, backend="c")(x), extrema(x), strict=True):
        np.testing.assert_array_equal(ours, numpys)


def test_nan_in_a_row_stays_in_it_with_unknown_sizes() -> None:
    program = tm.compile(log_sums, backend="c", dynamic=True)
    for rows, columns in ((4, 9), (5, 260), (300, 1003)):
        x = np.random.default_rng(rows).normal(size=(rows, columns))
        x[1, columns // 2] = np.nan
        np.testing.assert_allclose(program(x), log_sums(x), 1e-12)
        np.testing.assert_allclose(program(x.T.copy().T), log_sums(x), 1e-12)


def test_derivatives_and_batches_of_extrema_are_those_of_numpy_statements() -> None:
    x = np.random.default_rng(2).normal(size=(3, 20, 41)).astype("f4")
    slope = tm.vmap(tm.grad(lambda x: np.sum(log_sums(x)) + np.sum(np.max(x, axis=1) ** 2)))
    ours, numpys = (tm.compile(slope, backend=backend)(x) for backend in ("c", "numpy"))
    np.testing.assert_allclose(ours, numpys, 1e-5, 1e-6)


def test_there_is_none_of_no_numbers() -> None:
    with pytest.raises(ValueError, match="zero-size array to reduction operation max"):
        tm.compile(lambda x: np.max(x, axis=1), backend="c")(np.zeros((3, 0)))
    assert tm.compile(lambda x: np.max(x, axis=1), backend="c")(np.zeros((0, 3))).shape == (0,)
