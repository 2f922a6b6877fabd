"""`reduction` and `value_and_grad`: sums over blocks of rows equal those over all rows."""

from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import BlockError, TransformArgumentError

RNG = np.random.default_rng(0)
ROWS, LABELS = RNG.normal(size=(20, 3)), np.arange(20.0) % 2
X, Y = da.from_array(ROWS, chunks=(3, 3)), da.from_array(LABELS, chunks=3)


def values(tree: Any) -> Any:
    """The computed result, of the types that Dask was told."""
    (found,) = dask.compute(tree, scheduler="sync")
    if isinstance(tree, da.Array):
        assert (tree.dtype, tree.shape) == (found.dtype, found.shape)
    return found


def loss(parameters: Any, x: Any, y: Any, penalty: Any = 0.0) -> Any:
    z = x @ parameters["w"] + parameters["b"]
    return np.sum(np.logaddexp(0.0, z) - y * z) + penalty


@pytest.mark.parametrize("rows", [20, 7, 3, 1])
@pytest.mark.parametrize("split_every", [2, 8])
def test_a_gradient_is_that_of_all_rows(rows: int, split_every: int) -> None:
    parameters = {"w": np.array([0.5, -1.0, 2.0]), "b": 0.25}
    x, y = X.rechunk((rows, 3)), Y.rechunk(rows)
    found, slopes = values(tm.dask.value_and_grad(loss, split_every=split_every)(parameters, x, y))
    expected, others = tm.value_and_grad(loss)(parameters, ROWS, LABELS)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert set(slopes) == {"w", "b"}
    for name in slopes:
        np.testing.assert_allclose(slopes[name], others[name], rtol=1e-12)


@pytest.mark.slow
def test_a_gradient_may_be_of_several_arguments_and_feed_another_one_unseen() -> None:
    def squares(w: Any, b: Any, x: Any) -> Any:
        return np.sum((x @ w - b) ** 2)

    w, b = np.ones(3), np.array(2.0)
    gradient = tm.dask.value_and_grad(squares, argnums=(0, 1))
    _, (slope, other) = gradient(w, b, X)
    _, again = tm.dask.value_and_grad(lambda x, w, b: squares(w, b, x), argnums=(1, 2))(X, w, b)
    np.testing.assert_array_equal(values(slope), values(again[0]))
    np.testing.assert_allclose(values(other), -2 * np.sum(ROWS.sum(axis=1) - 2), rtol=1e-12)
    moved = tm.dask.reduction(lambda x, w: np.sum(x @ w), X, w=w - 0.1 * slope)
    expected = np.sum(ROWS @ (w - 0.1 * 2 * ROWS.T @ (ROWS @ w - 2)))
    np.testing.assert_allclose(values(moved), expected, rtol=1e-10)


def test_parameters_are_one_key_of_the_graph() -> None:
    value, _ = tm.dask.value_and_grad(loss)({"w": np.ones(3), "b": 0.5}, X, Y)
    names = [key for key in value.dask if isinstance(key, str)]
    assert len([name for name in names if name.startswith("argument-of-loss")]) == 1
    assert len([name for name in names if name.startswith("program-of-loss")]) == 1


def test_second_derivatives_are_added_as_well() -> None:
    def hessian(w: Any, x: Any) -> Any:
        return tm.hessian(lambda w: np.sum(np.logaddexp(0.0, x @ w)))(w)

    found = values(tm.dask.reduction(hessian, np.ones(3), X))
    np.testing.assert_allclose(found, hessian(np.ones(3), ROWS), rtol=1e-12)


def largest(first: Any, second: Any) -> Any:
    return {"top": np.maximum(first["top"], second["top"]), "n": first["n"] + second["n"]}


@pytest.mark.parametrize("split_every", [2, 3, 100])
def test_partial_results_are_combined_and_aggregated(split_every: int) -> None:
    def partial(x: Any) -> Any:
        return {"top": np.max(x, axis=0), "n": x.shape[0]}

    whole = tm.dask.reduction(partial, X, combine=largest, split_every=split_every)
    assert whole["n"].dtype == np.int64
    found = values(whole)
    np.testing.assert_array_equal(found["top"], ROWS.max(axis=0))
    assert found["n"] == 20
    scaled = tm.dask.reduction(
        partial, X, combine=largest, aggregate=lambda all: (all["top"] / all["n"], all["n"])
    )
    np.testing.assert_array_equal(values(scaled)[0], ROWS.max(axis=0) / 20)


def test_the_order_of_additions_depends_on_the_chunks_alone() -> None:
    def tenth(x: Any) -> Any:
        return np.sum(x, axis=0) * 0.1

    total = tm.dask.reduction(tenth, X.rechunk((1, 3)), split_every=2)
    results = [total.compute(scheduler="threads", num_workers=count) for count in (1, 2, 4)]
    assert all(np.array_equal(results[0], found) for found in results[1:])
    leaves = [tenth(row[None]) for row in ROWS]
    while len(leaves) > 1:
        leaves = [sum(leaves[k + 1 : k + 2], leaves[k]) for k in range(0, len(leaves), 2)]
    np.testing.assert_array_equal(results[0], leaves[0])


def test_one_block_is_enough() -> None:
    assert values(tm.dask.reduction(np.sum, da.ones(4, chunks=4))) == 4


FAILURES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "blocks of columns": (
        lambda: tm.dask.reduction(np.sum, X.rechunk((3, 2))),
        BlockError,
        r"2 blocks along axis 1.*x\.rechunk\(\{1: -1\}\)",
    ),
    "partial results of different sizes": (
        lambda: tm.dask.reduction(lambda x: x, X),
        BlockError,
        r"returns f64\[3, 3\] for a block and f64\[2, 3\] for another one",
    ),
    "combine to another type": (
        lambda: tm.dask.reduction(np.sum, X, combine=lambda a, b: np.stack([a, b])),
        BlockError,
        r"combine makes f64\[2\] of two partial results, which are f64\[\]",
    ),
    "no axes": (lambda: tm.dask.reduction(np.sum, da.from_array(np.array(1.0))), BlockError, "no rows"),
    "rows as parameters": (
        lambda: tm.dask.value_and_grad(np.sum)(X),
        BlockError,
        r"args\[0\] is a Dask array, and derivatives are only",
    ),
    "rows of NumPy": (
        lambda: tm.dask.value_and_grad(loss)({"w": np.ones(3), "b": 0.0}, X, LABELS),
        BlockError,
        r"args\[2\] is a NumPy array of 20 entries.*from_array\(args\[2\], chunks=\{0: \(3, 3, …, 2\)\}\)",
    ),
    "a tree of one": (
        lambda: tm.dask.reduction(np.sum, X, split_every=1),
        TransformArgumentError,
        "split_every must be at least 2",
    ),
    "no partial results": (
        lambda: tm.dask.reduction(np.sum, np.ones(3)),
        BlockError,
        "no argument is a Dask array",
    ),
}


@pytest.mark.parametrize("case", FAILURES)
def test_an_error_says_what_to_write(case: str) -> None:
    call, error, message = FAILURES[case]
    with pytest.raises(error, match=message):
        call()
