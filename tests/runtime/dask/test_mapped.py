"""`vmap` over an axis of Dask arrays, `jacobian` by blocks of columns, and `map_overlap`."""

from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import BlockError, TransformArgumentError

RNG = np.random.default_rng(0)
MATRIX = RNG.normal(size=(7, 3))
X = da.from_array(MATRIX, chunks=(3, 3))


def computed(x: Any) -> Any:
    value = x.compute(scheduler="sync")
    assert (value.dtype, value.shape) == (x.dtype, x.shape)
    return value


@pytest.mark.parametrize("in_dim", [0, 1, -1])
@pytest.mark.parametrize("out_dim", [0, 1, -1])
def test_a_batch_in_blocks_is_the_whole_batch(in_dim: int, out_dim: int) -> None:
    weights = RNG.normal(size=(3, 4))
    batch = MATRIX if in_dim == 0 else MATRIX.T
    x = X if in_dim == 0 else X.T

    def layer(x: Any, w: Any, b: Any) -> Any:
        return np.tanh(x @ w) + b

    found = tm.dask.vmap(layer, (in_dim, None, None), out_dim)(x, weights, 2.0)
    assert found.chunks[out_dim] == (3, 3, 1)
    expected = tm.vmap(layer, (in_dim, None, None), out_dim)(batch, weights, 2.0)
    np.testing.assert_allclose(computed(found), expected, rtol=1e-13)


def test_several_arrays_are_mapped_along_their_own_axes() -> None:
    y = RNG.normal(size=(3, 7))
    found = tm.dask.vmap(np.dot, (0, 1))(X, da.from_array(y, chunks=(3, 3)))
    np.testing.assert_allclose(computed(found), np.einsum("bi,ib->b", MATRIX, y), rtol=1e-13)


def test_an_ensemble_of_a_hundred_members_is_a_loop_over_them() -> None:
    starts = RNG.normal(size=(100, 2))

    def swing(state: Any, damping: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            angle, speed = state
            speed = speed - 0.05 * (np.sin(angle) + damping * speed)
            return (angle + 0.05 * speed, speed), None

        final, _ = tm.scan(step, (state[0], state[1]), None, length=40)
        return np.stack(final)

    found = tm.dask.vmap(swing, (0, None))(da.from_array(starts, chunks=(30, 2)), 0.1)
    expected = np.stack([swing(start, 0.1) for start in starts])
    np.testing.assert_allclose(computed(found), expected, rtol=1e-12)


def test_seeds_give_each_example_its_own_stream_in_any_chunks() -> None:
    def path(seed: Any) -> Any:
        return np.sum(tm.random.default_rng([7, seed]).normal(size=5))

    expected = [path(seed) for seed in range(10)]
    assert len(set(expected)) == 10
    for chunks in (10, 4, 1):
        seeds = da.arange(10, chunks=chunks)
        found = computed(tm.dask.vmap(path, randomness="same")(seeds))
        np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("chunks", [1, 2, 3, "auto"])
def test_a_jacobian_in_blocks_of_columns_is_the_jacobian(chunks: Any) -> None:
    def outer(x: Any, scale: Any) -> Any:
        return np.outer(np.sin(x) * scale, x)

    x = np.array([0.3, 1.0, -2.0])
    found = tm.dask.jacobian(outer, chunks=chunks)(x, 2.0)
    np.testing.assert_allclose(computed(found), tm.jacobian(outer)(x, 2.0), rtol=1e-13)


def test_a_jacobian_in_a_matrix_has_its_axes() -> None:
    def gram(m: Any) -> Any:
        return np.sin(m @ m.T)

    m = RNG.normal(size=(2, 3))
    found = tm.dask.jacobian(gram, chunks=4)(m)
    np.testing.assert_allclose(computed(found), tm.jacobian(gram)(m), rtol=1e-12)


def diffused(u: Any, rate: Any) -> Any:
    p = np.pad(u, 1)
    return u + rate * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * u)


@pytest.mark.sampled(every=4, slow=4)
@pytest.mark.parametrize("boundary", [None, "periodic", "reflect", "nearest", 0.5])
@pytest.mark.parametrize("chunks", [(12, 10), (4, 5), (5, 3)])
def test_a_stencil_is_dasks_own(boundary: Any, chunks: Any) -> None:
    u = da.from_array(RNG.normal(size=(12, 10)), chunks=chunks)
    found = tm.dask.map_overlap(diffused, u, 0.1, depth=1, boundary=boundary)
    meta = np.empty((0, 0))
    expected = da.map_overlap(diffused, u, rate=0.1, depth=1, boundary=boundary, dtype=u.dtype, meta=meta)
    assert found.chunks == expected.chunks
    np.testing.assert_allclose(computed(found), computed(expected), rtol=1e-13)


def test_steps_of_a_stencil_equal_those_on_the_whole_array() -> None:
    u = RNG.normal(size=24)

    def step(u: Any) -> Any:
        return u + 0.2 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))

    split = da.from_array(u, chunks=7)
    for _ in range(4):
        u, split = step(u), tm.dask.map_overlap(step, split, depth=1, boundary="periodic")
    np.testing.assert_allclose(computed(split), u, rtol=1e-13)


FAILURES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "split elsewhere": (
        lambda: tm.dask.vmap(np.sum)(X.rechunk((3, 2))),
        BlockError,
        r"2 blocks along axis 1.*x\.rechunk\(\{1: -1\}\)",
    ),
    "a NumPy array that is mapped": (
        lambda: tm.dask.vmap(np.dot, (0, 0))(X, MATRIX),
        BlockError,
        r"args\[1\] is mapped, and is ndarray.*in_dims to None",
    ),
    "too few dims": (
        lambda: tm.dask.vmap(np.dot, (0,))(X, X),
        TransformArgumentError,
        "1 entries.*2 arguments",
    ),
    "an axis too far": (lambda: tm.dask.vmap(np.sum, (2,))(X), TransformArgumentError, "has 2 for"),
    "an axis too far in the result": (
        lambda: tm.dask.vmap(np.sum, 0, 1)(X),
        TransformArgumentError,
        "out_dim 1 is out of range",
    ),
    "numbers that would repeat": (
        lambda: tm.dask.vmap(np.sum, randomness="different"),
        TransformArgumentError,
        "the same numbers in each block",
    ),
    "a Jacobian in ints": (
        lambda: tm.dask.jacobian(np.sin)(np.arange(3)),
        BlockError,
        r"np\.asarray\(x, np\.float64\)",
    ),
    "a margin that cannot be cut off": (
        lambda: tm.dask.map_overlap(lambda u: u[1:-1], da.ones(6, chunks=3), depth=1),
        BlockError,
        "trim=False",
    ),
    "a margin of other chunks": (
        lambda: tm.dask.map_overlap(np.add, da.ones(6, chunks=3), da.ones(6, chunks=2), depth=1),
        BlockError,
        r"args\[1\]\.rechunk\(x\.chunks\)",
    ),
    "a margin of nothing": (
        lambda: tm.dask.map_overlap(np.sin, np.ones(3), depth=1),
        BlockError,
        "no argument is a Dask array",
    ),
}


@pytest.mark.parametrize("case", FAILURES)
def test_an_error_says_what_to_write(case: str) -> None:
    call, error, message = FAILURES[case]
    with pytest.raises(error, match=message):
        call()


def test_a_margin_may_be_cut_off_by_the_function() -> None:
    u = da.from_array(np.arange(6.0), chunks=3)
    found = tm.dask.map_overlap(lambda u: u[2:] - u[:-2], u, depth=1, boundary="periodic", trim=False)
    np.testing.assert_array_equal(computed(found), [-4, 2, 2, 2, 2, -4])
