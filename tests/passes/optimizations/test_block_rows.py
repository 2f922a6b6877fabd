"""Chains of matrix products are computed in blocks of rows."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from c.exported_c import loaded, program_of
from support.recording import ops, recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.builder import bind
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph, Value
from tracemill.passes.optimizations.block_rows import block_rows
from tracemill.runtime.artifact.c_export import as_c
from tracemill.runtime.machine.target import target_of
from tracemill.runtime.programs.print_program import print_program

TOLERANCE = {"f4": 2e-5, "f8": 1e-12}


def softmax(x: Any) -> Any:
    exponentials = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return exponentials / np.sum(exponentials, axis=-1, keepdims=True)


def attention(q: Any, k: Any, v: Any) -> Any:
    return softmax(np.matmul(q, np.swapaxes(k, -1, -2)) / np.sqrt(q.shape[-1]).astype(q.dtype)) @ v


def masked(q: Any, k: Any, v: Any, mask: Any) -> Any:
    scores = np.where(mask, np.matmul(q, np.swapaxes(k, -1, -2)), -np.inf)
    return softmax(scores) @ v


def drawn(*shapes: tuple[int, ...], dtype: str = "f4", seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


def assert_close(found: Any, expected: Any, tolerance: float) -> None:
    assert found.dtype == expected.dtype
    scale = np.max(np.abs(expected), initial=1, where=np.isfinite(expected))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


def assert_means_the_same(blocked: Graph, graph: Graph, arrays: list[Any]) -> None:
    for found, expected in zip(evaluate(blocked, *arrays), evaluate(graph, *arrays), strict=True):
        assert_close(found, expected, TOLERANCE["f4"])


def is_in_blocks(function: Callable[..., Any], *args: Any) -> bool:
    return "tiled" in ops(tm.compile(function, backend="c").lower(*args).after("block_rows"))


# ---- graphs ----------------------------------------------------------------------------------------


def products(x: Value, y: Value, z: Value) -> Value:
    return fn.dot(fn.exp(fn.dot(x, y, ((1,), (0,)))), z, ((1,), (0,)))


def test_a_block_has_both_products_and_means_the_same() -> None:
    graph = recorded(products, "f32[202, 8]", "f32[8, 512]", "f32[512, 4]")
    blocked = block_rows(graph)
    blocked.lint()
    assert ops(blocked) == ["tiled"]
    (call,) = blocked.calls
    block, rest = call.params["graph"], call.params["rest"]
    assert isinstance(block, Graph)
    assert isinstance(rest, Graph)
    assert ops(block) == ops(rest) == ["dot", "exp", "dot"]
    assert (call.params["cuts"], call.params["count"]) == ((0, None, None), 12)
    assert [value.shape for value in (*block.inputs, *block.outputs)] == [
        (16, 8),
        (8, 512),
        (512, 4),
        (16, 4),
    ]
    assert rest.inputs[0].shape == (10, 8)
    arrays = drawn((202, 8), (8, 512), (512, 4))
    assert_means_the_same(blocked, graph, arrays)
    assert block_rows(blocked) is blocked


@pytest.mark.parametrize(
    ("why", "shapes"),
    [
        ("the values between are small", ("f32[32, 8]", "f32[8, 512]", "f32[512, 4]")),
        ("a block has too few rows", ("f32[12, 8]", "f32[8, 8192]", "f32[8192, 4]")),
        ("sixteen rows are too large", ("f32[200, 8]", "f32[8, 10000]", "f32[10000, 4]")),
        ("sums are long", ("f32[200, 5000]", "f32[5000, 512]", "f32[512, 4]")),
        ("numbers are complex", ("c64[200, 8]", "c64[8, 512]", "c64[512, 4]")),
        ("nothing is there", ("f32[200, 0]", "f32[0, 512]", "f32[512, 4]")),
    ],
)
def test_a_chain_stays_as_it_is_if(why: str, shapes: tuple[str, ...]) -> None:
    graph = recorded(products, *shapes)
    assert block_rows(graph) is graph, why


def test_a_chain_stays_as_it_is_if_it_needs_other_rows() -> None:
    def function(x: Value, y: Value, z: Value) -> Value:
        scores = fn.dot(x, y, ((1,), (0,)))
        columns = fn.divide(scores, fn.reshape(fn.sum_(scores, (0,)), (1, 512)))
        return fn.dot(columns, z, ((1,), (0,)))

    graph = recorded(function, "f32[512, 8]", "f32[8, 512]", "f32[512, 4]")
    assert block_rows(graph) is graph


def test_a_chain_stays_as_it_is_if_a_sort_of_its_scores_is_in_between() -> None:
    def function(x: Value, y: Value, z: Value) -> Value:
        scores = fn.dot(x, y, ((1,), (0,)))
        return fn.dot(
            fn.add(scores, bind("sort", scores, axis=1, num_keys=1, descending=False)), z, ((1,), (0,))
        )

    graph = recorded(function, "f32[512, 8]", "f32[8, 512]", "f32[512, 4]")
    assert block_rows(graph) is graph


def test_what_other_calls_need_is_written_and_read_later() -> None:
    def function(x: Value, y: Value, z: Value) -> tuple[Value, Value]:
        scores = fn.dot(x, y, ((1,), (0,)))
        weights = fn.exp(fn.negative(fn.square(fn.sin(scores))))
        means = fn.sum_(weights, (0,))
        return fn.dot(fn.multiply(weights, fn.cos(scores)), z, ((1,), (0,))), fn.exp(means)

    graph = recorded(function, "f32[512, 8]", "f32[8, 512]", "f32[512, 4]")
    blocked = block_rows(graph)
    blocked.lint()
    assert ops(blocked) == ["tiled", "sum", "exp"]
    arrays = drawn((512, 8), (8, 512), (512, 4))
    assert_means_the_same(blocked, graph, arrays)


def test_a_matrix_is_transposed_before_if_its_rows_are_multiplied() -> None:
    def function(x: Value, y: Value, z: Value) -> Value:
        return fn.dot(fn.exp(fn.dot(x, y, ((1,), (1,)))), z, ((1,), (1,)))

    graph = recorded(function, "f32[512, 8]", "f32[512, 8]", "f32[4, 512]")
    blocked = block_rows(graph)
    blocked.lint()
    assert ops(blocked) == ["kernel", "kernel", "tiled"]
    arrays = drawn((512, 8), (512, 8), (4, 512))
    assert_means_the_same(blocked, graph, arrays)


# ---- through C -------------------------------------------------------------------------------------

SHAPES = [
    pytest.param((512, 64), (512, 64), (512, 64), id="no heads"),
    pytest.param((2, 3, 130, 20), (2, 3, 130, 20), (2, 3, 130, 33), id="remainders"),
    pytest.param((1, 2, 300, 3), (1, 2, 277, 3), (1, 2, 277, 2), id="short vectors"),
    pytest.param((4, 17, 7), (4, 1100, 7), (4, 1100, 65), id="few rows"),
    pytest.param((3, 400, 16), (400, 16), (400, 5), id="keys for all"),
]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("queries", "keys", "values"), SHAPES)
def test_attention_is_as_numpy_computes_it(
    queries: tuple[int, ...], keys: tuple[int, ...], values: tuple[int, ...], dtype: str, c_compiler: str
) -> None:
    args = drawn(queries, keys, values, dtype=dtype)
    assert is_in_blocks(attention, *args)
    found = tm.compile(attention, backend="c")(*args)
    assert_close(found, attention(*args), TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_masks_of_infinity_and_not_a_number_are_kept(dtype: str, c_compiler: str) -> None:
    q, k, v = drawn((2, 300, 16), (2, 300, 16), (2, 300, 16), dtype=dtype)
    mask = np.tril(np.ones((300, 300), bool))
    mask[7] = False  # a query that sees nothing gives NaN, as NumPy's softmax does
    q[1, 11, 3], v[0, 20, 5], v[1, 40, 2] = np.nan, np.inf, -np.inf
    assert is_in_blocks(masked, q, k, v, mask)
    with np.errstate(invalid="ignore"):
        expected = masked(q, k, v, mask)
    assert np.isnan(expected[:, 7]).all()
    assert np.isnan(expected[1, 11]).all()
    assert_close(tm.compile(masked, backend="c")(q, k, v, mask), expected, TOLERANCE[dtype])


@pytest.mark.parametrize(
    "shapes", [[(0, 16), (300, 16), (300, 16)], [(1, 16), (300, 16), (300, 16)], [(3, 0, 8)] * 3]
)
def test_empty_axes_and_single_rows_are_left_alone(shapes: list[tuple[int, ...]], c_compiler: str) -> None:
    def plain(q: Any, k: Any, v: Any) -> Any:
        return np.exp(np.matmul(q, np.swapaxes(k, -1, -2))) @ v

    args = drawn(*shapes, dtype="f8")
    assert not is_in_blocks(plain, *args)
    assert_close(tm.compile(plain, backend="c")(*args), plain(*args), 1e-12)


def test_named_sizes_are_left_alone(c_compiler: str) -> None:
    compiled = tm.compile(attention, backend="c", dynamic=True)
    for rows in (300, 301, 5):
        args = drawn((2, rows, 16), (2, rows, 16), (2, rows, 16))
        assert_close(compiled(*args), attention(*args), TOLERANCE["f4"])


def test_results_do_not_depend_on_the_number_of_threads(c_compiler: str) -> None:
    args = drawn((3, 530, 24), (3, 530, 24), (3, 530, 24))
    compiled = tm.compile(attention, backend="c")
    before = tm.get_num_threads()
    try:
        found = set()
        for threads in (1, 2, 3, 8):
            tm.set_num_threads(threads)
            found.add(compiled(*args).tobytes())
    finally:
        tm.set_num_threads(before)
    assert len(found) == 1


@pytest.mark.parametrize("argnums", [(0,), (0, 1, 2)])
def test_gradients_are_those_of_the_numpy_backend(argnums: tuple[int, ...], c_compiler: str) -> None:
    def loss(q: Any, k: Any, v: Any, weights: Any) -> Any:
        return np.sum(attention(q, k, v) * weights)

    args = drawn(*4 * [(2, 200, 24)], dtype="f8")
    slope = tm.grad(loss, argnums)
    assert is_in_blocks(slope, *args)
    found, expected = (tm.compile(slope, backend=name)(*args) for name in ("c", "numpy"))
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other, 1e-12)


def test_batches_are_more_blocks(c_compiler: str) -> None:
    args = drawn(*3 * [(4, 200, 16)], dtype="f8")
    batched = tm.vmap(attention)
    assert is_in_blocks(batched, *args)
    assert_close(tm.compile(batched, backend="c")(*args), attention(*args), 1e-12)


def test_a_loop_computes_its_steps_in_blocks(c_compiler: str) -> None:
    def steps(x: Any) -> Any:
        return tm.scan(lambda y, _: (attention(y, y, y), None), x, length=3)[0]

    def plain(x: Any) -> Any:
        for _ in range(3):
            x = attention(x, x, x)
        return x

    (x,) = drawn((300, 16), dtype="f8")
    assert "tiled(" in str(tm.compile(steps, backend="c").lower(x).after("block_rows"))
    assert_close(tm.compile(steps, backend="c")(x), plain(x), 1e-12)


def test_a_module_with_blocks_checks_itself(c_compiler: str, tmp_path: Path) -> None:
    args = drawn((2, 150, 20), (2, 150, 20), (2, 150, 9))
    graph = tm.compile(attention, backend="c").lower(*args).after("fuse")
    source = print_program(graph, target_of("c", fast_math=False), check=True)
    (tmp_path / "module.py").write_text(source.python, encoding="utf-8")
    assert source.c is not None
    (tmp_path / "module.c").write_text(source.c, encoding="utf-8")
    command = [sys.executable, "-I", "-W", "error", str(tmp_path / "module.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr


def test_exported_c_has_the_blocks(c_compiler: str, tmp_path: Path) -> None:
    args = drawn((2, 150, 20), (2, 150, 20), (2, 150, 9))
    args += [np.tril(np.ones((150, 150), bool))]
    files = as_c(program_of(masked, *args))
    assert any("tm_multiply_rows_f32(" in text for text in files.values())
    (found,) = loaded(files, tmp_path, f"CC={c_compiler}", "CFLAGS=-O2")(*args)
    assert_close(found, masked(*args), TOLERANCE["f4"])
