"""Reductions over the first axis whose results become columns beside other numbers, in one kernel."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm


def assigned(x: Any) -> Any:
    z = np.zeros((x.shape[1], 5))
    z[:, 1] = np.sum(x, axis=0)
    return z


def chosen(x: Any) -> Any:
    return np.where(np.arange(6)[None, :] < 2, np.sum(x, axis=0)[:, None], 0.0)


def accumulated(x: Any) -> Any:
    return np.sum(np.cumsum(x[:, 1][None, :] * x[:, 0][:, None], axis=1) ** 2)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "assigned": assigned,
    "padded": lambda x: np.pad(np.sum(x, axis=0)[:, None], ((0, 0), (1, 3))),
    "before ones": lambda x: np.concatenate([np.sum(x, axis=0)[:, None], np.ones((x.shape[1], 4))], axis=1),
    "between": lambda x: np.concatenate(
        [np.zeros((x.shape[1], 1)), np.max(x, axis=0)[:, None], np.ones((x.shape[1], 7))], axis=1
    ),
    "chosen": chosen,
}


@pytest.mark.parametrize("shape", [(15, 15), (7, 3), (40, 6), (300, 5)])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_columns_hold_whole_reductions(function: Callable[[Any], Any], shape: tuple[int, int]) -> None:
    x = np.random.default_rng(0).integers(-9, 9, shape).astype(float)  # whole numbers, whose sums are exact
    np.testing.assert_array_equal(tm.compile(function, backend="c")(x), function(x))


def test_the_gradient_of_sums_along_rows_of_products() -> None:
    x = np.random.default_rng(0).normal(size=(9, 2))
    expected = tm.compile(tm.grad(accumulated), backend="numpy")(x)
    np.testing.assert_allclose(tm.compile(tm.grad(accumulated), backend="c")(x), expected, rtol=1e-12)
    assert np.abs(expected).max() > 1


@pytest.mark.parametrize("shape", [(3, 64), (40, 70), (300, 20)])
@pytest.mark.parametrize("reduction", [np.sum, np.max, np.argmin])
def test_sums_of_rows_that_the_loop_stores_and_reads_beside_columns(
    reduction: Any, shape: tuple[int, int]
) -> None:
    def function(x: Any, c: Any, d: Any) -> Any:
        q = x * x.sum(1)[:, None] + c.T * d.T
        return q, reduction(q, axis=1)

    rng = np.random.default_rng(0)
    x, (c, d) = rng.normal(size=shape), rng.normal(size=(2, *shape[::-1]))
    for found, wanted in zip(tm.compile(function, backend="c")(x, c, d), function(x, c, d), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
