"""`top_k`: values, order, ties and NaN, derivatives, batches, misuse."""

from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import ArgumentTypeError, AxisError, ShapeError

X = np.random.default_rng(2).normal(size=(3, 5, 4))


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("k", [0, 1, 3])
def test_the_largest_entries_come_first_with_their_indices(k: int, axis: int) -> None:
    values, indices = tm.top_k(X, k, axis)
    order = np.argsort(-X, axis=axis, kind="stable")
    np.testing.assert_array_equal(indices, np.take(order, range(k), axis))
    np.testing.assert_array_equal(values, np.take_along_axis(X, indices, axis))
    for got, want in zip(tm.compile(lambda x: tm.top_k(x, k, axis))(X), (values, indices), strict=True):
        np.testing.assert_array_equal(got, want)


def test_nan_is_the_largest_and_equal_entries_keep_their_order() -> None:
    values, indices = tm.top_k(np.array([1.0, np.nan, 2.0, 2.0]), 3)
    np.testing.assert_array_equal(values, [np.nan, 2, 2])
    assert indices.tolist() == [1, 2, 3]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_gradient_goes_to_the_entries_that_are_taken(dtype: str) -> None:
    x = np.array([3.0, 1.0, 4.0, 1.0, 5.0], dtype)

    def weighted(x: Any) -> Any:
        return np.sum(tm.top_k(x, 2)[0] * np.array([10, 1], dtype))

    for function in (weighted, tm.compile(weighted)):
        gradient = tm.grad(function)(x)
        assert gradient.dtype == x.dtype
        assert gradient.tolist() == [0, 0, 1, 0, 10]


def test_vmap_of_the_largest_is_the_loop() -> None:
    for in_dims in (0, 1, 2):
        rows = [tm.top_k(np.take(X, i, in_dims), 2, 0) for i in range(X.shape[in_dims])]
        mapped = tm.vmap(lambda x: tm.top_k(x, 2, 0), in_dims)(X)
        for got, *want in zip(mapped, *rows, strict=True):
            np.testing.assert_array_equal(got, np.stack(want))


def test_misuse_is_named() -> None:
    with pytest.raises(ShapeError, match="axis 2 does not have 5 entries"):
        tm.top_k(X, 5)
    with pytest.raises(AxisError, match="axis 3 is out of bounds"):
        tm.top_k(X, 1, 3)
    with pytest.raises(ArgumentTypeError, match=r"whole numbers, not 2\.5"):
        tm.top_k(X, 2.5)  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match=r"does not have 9(\n|.)*at test_top_k\.py:\d+"):
        tm.vmap(lambda x: tm.top_k(x, 9))(X)
