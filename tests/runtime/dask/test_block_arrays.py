"""`map_blocks` and `blockwise`: NumPy's values, and dtypes and chunks that are known before any run."""

import pickle
import pickletools
import sys
from collections.abc import Callable
from typing import Any, cast
from unittest.mock import patch

import dask
import dask.array as da
import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import (
    ArgumentTypeError,
    BlockError,
    DTypeError,
    MissingPackageError,
    StaticArgumentError,
    TransformTypeError,
)
from tracemill.runtime.dask import block_program

MATRIX = np.random.default_rng(0).normal(size=(7, 5))


def computed(x: Any) -> Any:
    """The value, and whether Dask was told the right dtype and chunks."""
    value = x.compute(scheduler="sync")
    assert (value.dtype, value.shape) == (x.dtype, x.shape)
    for number in np.ndindex(x.numblocks) if x.ndim else ():
        block = x.blocks[number]
        assert block.compute(scheduler="sync").shape == block.shape
    return value


def scaled(x: Any, scale: Any) -> Any:
    return np.tanh(x) * scale


@pytest.mark.parametrize("chunks", [(7, 5), (3, 2), (2, 5), ((1, 6), (4, 1))])
@pytest.mark.parametrize("function", [scaled, tm.compile(scaled), tm.compile(scaled, backend="numpy")])
def test_a_function_of_each_block_is_numpys(chunks: Any, function: Callable[..., Any]) -> None:
    x = da.from_array(MATRIX, chunks=chunks)
    found = tm.dask.map_blocks(function, x, 2.5)
    assert found.chunks == x.chunks
    np.testing.assert_allclose(computed(found), np.tanh(MATRIX) * 2.5, rtol=1e-14)


def test_nothing_runs_on_data_before_compute() -> None:
    def fail() -> Any:
        raise AssertionError("a block was computed")

    x = da.from_delayed(dask.delayed(fail)(), (4,), np.float32)
    found = tm.dask.map_blocks(lambda x: x[::2] * np.float32(2), x)
    assert (found.dtype, found.chunks) == (np.float32, ((2,),))
    with pytest.raises(AssertionError, match="a block was computed"):
        found.compute(scheduler="sync")


@pytest.mark.sampled(every=6, slow=4)
@pytest.mark.parametrize("dtype", ["?", "i4", "u1", "f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("scale", [2, 2.0, True, np.float32(2), np.ones(2, "i8")])
def test_dtypes_are_numpys_also_of_python_numbers(dtype: str, scale: Any) -> None:
    x = np.arange(6).astype(dtype)

    def times(x: Any, scale: Any) -> Any:
        return x * scale

    expected = np.concatenate([x[:2] * scale, x[2:4] * scale, x[4:] * scale])
    found = computed(tm.dask.map_blocks(times, da.from_array(x, chunks=2), scale))
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", [(), (0,), (0, 3)])
def test_arrays_without_axes_or_entries_have_blocks_as_well(shape: tuple[int, ...]) -> None:
    x = np.ones(shape)
    found = tm.dask.map_blocks(np.cos, da.from_array(x, chunks=shape or -1))
    np.testing.assert_array_equal(computed(found), np.cos(x))


def test_blocks_may_be_in_other_orders_of_memory_and_of_bytes() -> None:
    x = np.arange(12.0).reshape(4, 3)
    for given in (np.asfortranarray(x), x[::-1], x.astype(">f8")):
        split = da.from_array(given, chunks=(2, 3))
        found = computed(tm.dask.map_blocks(lambda x: x[:, ::-1] * 2, split))
        np.testing.assert_array_equal(found, given[:, ::-1] * 2)


def test_a_transform_is_applied_to_each_block() -> None:
    x = da.from_array(MATRIX, chunks=(2, 5))
    slopes = tm.dask.map_blocks(tm.vmap(tm.grad(lambda row: np.sum(np.sin(row) ** 2))), x)
    np.testing.assert_allclose(computed(slopes), np.sin(2 * MATRIX), rtol=1e-13)


def test_axes_are_dropped_and_added() -> None:
    x = da.from_array(MATRIX, chunks=(3, 2))
    rows = tm.dask.map_blocks(lambda x: np.sum(x, axis=1), x, drop_axis=-1)
    np.testing.assert_allclose(computed(rows), MATRIX.sum(axis=1), rtol=1e-13)
    pairs = tm.dask.map_blocks(lambda x: np.stack([x, 2 * x]), x, new_axis=0)
    assert pairs.chunks == ((2,), *x.chunks)
    np.testing.assert_array_equal(computed(pairs), np.stack([MATRIX, 2 * MATRIX]))


def test_arrays_are_aligned_as_numpy_broadcasts() -> None:
    x, y, z = da.from_array(MATRIX, chunks=(3, 2)), np.arange(5.0), np.arange(7.0)[:, None]
    split = [x, da.from_array(y, chunks=2), da.from_array(z, chunks=(3, 1))]
    found = tm.dask.map_blocks(lambda x, y, z: x * y + z, *split)
    np.testing.assert_allclose(computed(found), MATRIX * y + z, rtol=1e-14)


def test_a_product_joins_the_blocks_of_its_inner_axis() -> None:
    x = da.from_array(MATRIX, chunks=(3, 2))
    found = tm.dask.blockwise(np.matmul, "ij", x, "ik", x.T, "kj")
    assert found.chunks == ((3, 3, 1), (3, 3, 1))
    np.testing.assert_allclose(computed(found), MATRIX @ MATRIX.T, rtol=1e-13)


@pytest.mark.slow
def test_whole_arguments_may_be_containers_numbers_settings_and_dask_arrays() -> None:
    x = da.from_array(MATRIX, chunks=(3, 5))
    weights = {"w": np.arange(10.0).reshape(5, 2), "b": da.from_array(np.ones(2), chunks=1)}

    @tm.compile(static_argnames="kind")
    def layer(x: Any, weights: Any, kind: str = "", copies: int = 1) -> Any:
        y = x @ weights["w"] + weights["b"]
        return np.concatenate([np.tanh(y) if kind == "tanh" else y] * copies, axis=1)

    found = tm.dask.map_blocks(layer, x, weights=weights, kind="tanh", copies=2)
    expected = np.tanh(MATRIX @ weights["w"] + 1)
    np.testing.assert_allclose(computed(found), np.concatenate([expected] * 2, axis=1), rtol=1e-13)


def test_arrays_that_the_function_closes_over_travel_with_it() -> None:
    shift = np.arange(2.0)
    found = tm.dask.map_blocks(lambda x: x + shift, da.zeros(4, chunks=2))
    shift[:] = 9
    np.testing.assert_array_equal(computed(found), [0, 1, 0, 1])


def test_a_donated_block_is_not_overwritten() -> None:
    x = np.arange(4000.0)
    blocks = da.from_array(x, chunks=2000).persist(scheduler="sync")
    found = tm.dask.map_blocks(tm.compile(lambda x: x * 2 + 1, donate_argnums=0), blocks)
    np.testing.assert_array_equal(computed(found), x * 2 + 1)
    np.testing.assert_array_equal(computed(blocks), x)


def test_tasks_have_the_name_of_the_function_and_take_in_what_makes_their_blocks() -> None:
    found = tm.dask.map_blocks(tm.compile(scaled), da.ones(6, chunks=2) + 1, 3.0)
    (optimized,) = dask.optimize(found)
    names = [key[0] for key in optimized.__dask_graph__() if isinstance(key, tuple)]
    assert len([name for name in names if name.startswith("scaled-")]) == 3
    assert not [name for name in names if name.startswith("add")]


def test_the_same_call_has_the_same_keys_and_another_one_has_others() -> None:
    x = da.ones(6, chunks=2)
    names = [tm.dask.map_blocks(scaled, x, scale).name for scale in (2.0, 2.0, 3.0)]
    assert names[0] == names[1] != names[2]
    assert tm.dask.map_blocks(lambda x: x + 1, x).name != tm.dask.map_blocks(lambda x: x + 2, x).name


def test_programs_are_pickled_without_the_function() -> None:
    def secret(x: Any) -> Any:
        return x + 1

    found = tm.dask.map_blocks(secret, da.ones(6, chunks=4))
    (key,) = (key for key in found.dask if str(key).startswith("program-of-secret"))
    task = found.dask[key]
    data = pickle.dumps(getattr(task, "value", task))
    named = {argument for _, argument, _ in pickletools.genops(data) if isinstance(argument, str)}
    assert not named & {"test_block_arrays", secret.__module__, secret.__qualname__}
    program = pickle.loads(data)
    assert isinstance(program, block_program.BlockProgram)
    np.testing.assert_array_equal(block_program.run_block(program, np.zeros(2)), np.ones(2))
    np.testing.assert_array_equal(block_program.run_block(program, np.zeros(4)), np.ones(4))


def test_threads_compute_blocks_together() -> None:
    x = np.random.default_rng(1).normal(size=(64, 50))
    found = tm.dask.map_blocks(lambda x: np.cumsum(np.sin(x), axis=1), da.from_array(x, chunks=(4, 50)))
    np.testing.assert_allclose(
        found.compute(scheduler="threads", num_workers=4), np.cumsum(np.sin(x), axis=1), atol=1e-13
    )


X = da.arange(10.0, chunks=4)
FAILURES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "unknown sizes": (
        lambda: tm.dask.map_blocks(np.sin, X[X > 2]),
        BlockError,
        r"args\[0\] has chunks of unknown sizes: compute them first, x\.compute_chunk_sizes\(\)",
    ),
    "unknown sizes of a whole argument": (
        lambda: tm.dask.map_blocks(np.add, X, y=X[X > 2]),
        BlockError,
        r"unknown sizes",
    ),
    "objects": (
        lambda: tm.dask.map_blocks(np.sin, X.astype(object)),
        DTypeError,
        r"holds Python objects.*x\.astype\(np\.float64\)",
    ),
    "dates": (
        lambda: tm.dask.map_blocks(lambda x: x, X.astype("M8[s]")),
        DTypeError,
        r"args\[0\] holds datetime64\[s\]",
    ),
    "masked arrays": (
        lambda: tm.dask.map_blocks(np.sin, da.ma.masked_array(X, mask=X > 2)),
        BlockError,
        r"the blocks of args\[0\] are MaskedArray.*x\.map_blocks\(np\.asarray\)",
    ),
    "a masked array that Dask does not know of": (
        lambda: tm.dask.map_blocks(
            np.sin, X.map_blocks(np.ma.asarray, dtype=X.dtype, meta=np.empty(0))
        ).compute(scheduler="sync"),
        BlockError,
        r"a block is a masked array.*x\.filled",
    ),
    "a Delayed": (
        lambda: tm.dask.map_blocks(lambda x, s: x * s, X, dask.delayed(3)),
        BlockError,
        r"a Delayed\w* of Dask.*from_delayed\(x, shape, dtype\)",
    ),
    "a compiled function of a Dask array": (
        lambda: tm.compile(np.sin)(X),
        StaticArgumentError,
        r"args\[0\] is Array.*tm\.dask\.map_blocks\(f, x\), or compute the value first",
    ),
    "a derivative at a Dask array": (
        lambda: tm.grad(np.sum)(X),
        ArgumentTypeError,
        r"tm\.dask\.map_blocks\(f, x\)",
    ),
    "a NumPy array among Dask arrays": (
        lambda: tm.dask.map_blocks(np.add, X, np.ones(10)),
        BlockError,
        r"from_array\(args\[1\], chunks=\{0: \(4, 4, 2\)\}\), or pass it by keyword",
    ),
    "other chunks": (
        lambda: tm.dask.map_blocks(np.add, X, X.rechunk(5)),
        BlockError,
        r"args\[1\] has chunks \(5, 5\) where args\[0\] has \(4, 4, 2\).*args\[1\]\.rechunk\(\{0: args\[0\]\.",
    ),
    "other lengths": (
        lambda: tm.dask.map_blocks(np.add, X, da.ones(11, chunks=4)),
        BlockError,
        r"axis 0 of args\[1\] has 11 entries, and axis 0 of args\[0\] has 10",
    ),
    "a shape that depends on values": (
        lambda: tm.dask.map_blocks(lambda x: x[x > 0], X),
        BlockError,
        r"f64\[\w+\], depends on values.*np\.where",
    ),
    "an update": (
        lambda: tm.dask.map_blocks(lambda x: np.add.at(x, 0, 1), X),
        BlockError,
        r"updates its argument .* in place.*x = x\.copy\(\)",
    ),
    "axes that were not announced": (
        lambda: tm.dask.map_blocks(np.sum, X),
        BlockError,
        r"returns f64\[\] for a block, and 1 axes were announced.*drop_axis=1",
    ),
    "several results": (lambda: tm.dask.map_blocks(lambda x: (x, x), X), BlockError, "returns 2 arrays"),
    "a text": (
        lambda: tm.dask.map_blocks(lambda x: "x", X),
        BlockError,
        "'x' for a block, which is no array",
    ),
    "no Dask array": (lambda: tm.dask.map_blocks(np.sin, np.ones(3)), BlockError, "call sin itself"),
    "an index for a NumPy array": (
        lambda: tm.dask.blockwise(np.add, "i", X, "i", np.ones(10), "i"),
        BlockError,
        r"args\[1\] is ndarray, which has no blocks",
    ),
    "an index of another length": (
        lambda: tm.dask.blockwise(np.sin, "ij", X, "ij"),
        BlockError,
        r"args\[0\] has 1 axes, and its index 'ij' has 2",
    ),
    "half a pair": (lambda: tm.dask.blockwise(np.sin, "i", X), TransformTypeError, "in turn"),
    "no function": (
        lambda: tm.dask.map_blocks(cast(Any, 3), X),
        TransformTypeError,
        "needs a function, not 3",
    ),
    "too many shapes": (
        lambda: tm.dask.map_blocks(np.sin, da.ones(65 * 66 // 2, chunks=(tuple(range(1, 66)),))),
        BlockError,
        r"65 different shapes.*x\.rechunk\(65\)",
    ),
    "a size that depends on another axis": (
        lambda: tm.dask.map_blocks(lambda x: np.ones((x.shape[1], 1)), da.ones((4, 5), chunks=(2, 3))),
        BlockError,
        "axis 0 of the result has 3 or 2 entries",
    ),
}


@pytest.mark.parametrize("case", FAILURES)
def test_an_error_says_what_to_write(case: str) -> None:
    call, error, message = FAILURES[case]
    with pytest.raises(error, match=message):
        call()


def test_without_dask_an_error_says_how_to_install_it() -> None:
    with (
        patch.dict(sys.modules, {"dask.array": None}),
        pytest.raises(MissingPackageError, match=r'pip install "tracemill\[dask\]"'),
    ):
        tm.dask.map_blocks(np.sin, X)


@pytest.mark.parametrize("axis", [-1, -2, -3, 0, 2])
def test_a_new_axis_is_counted_from_either_end(axis: int) -> None:
    x = da.from_array(np.arange(12.0).reshape(4, 3), chunks=(2, 2))
    found = tm.dask.map_blocks(lambda x: np.stack([x, x + 1], axis), x, new_axis=axis)
    expected = np.stack([x.compute(), x.compute() + 1], axis)
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.compute(), expected)


def test_a_new_axis_beyond_those_of_the_result_is_refused() -> None:
    with pytest.raises(BlockError, match="new_axis is 3, and the result has 2 axes"):
        tm.dask.map_blocks(lambda x: x, da.ones(3, chunks=2), new_axis=3)


def test_an_array_with_the_index_none_may_be_as_long_as_an_axis() -> None:
    x, w = da.from_array(np.arange(8.0).reshape(2, 4), chunks=(1, 2)), np.arange(4.0)
    found = tm.dask.blockwise(lambda x, w: x @ w, "i", x, "ij", w, None)
    np.testing.assert_array_equal(found.compute(), x.compute() @ w)


def test_parameters_that_dask_fills_are_refused() -> None:
    def numbered(x: Any, block_id: Any = None) -> Any:
        return x if block_id is None else x + block_id[0]

    x = da.ones(4, chunks=2)
    with pytest.raises(BlockError, match=r"map_blocks\(numbered\): the function has a parameter block_id"):
        tm.dask.map_blocks(numbered, x)
    np.testing.assert_array_equal(tm.dask.map_blocks(numbered, x, block_id=(3,)).compute(), np.full(4, 4.0))


def test_an_exception_in_a_block_names_the_function_and_the_shapes() -> None:
    def positive(x: Any) -> Any:
        if np.sum(x) > 10.0:
            raise ValueError("too large")
        return x

    found = tm.dask.map_blocks(positive, da.from_array(np.arange(7.0), chunks=4))
    with pytest.raises(ValueError, match="too large") as raised:
        found.compute(scheduler="synchronous")
    notes = "\n".join(raised.value.__notes__)
    assert "in positive, for a block with arguments of the shapes (3,)" in notes
    assert "test_block_arrays.py" in notes
