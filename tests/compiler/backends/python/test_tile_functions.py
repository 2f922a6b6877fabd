"""Kernels in tiles give what their graphs mean, whatever the size of the tiles and the number of threads."""

import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracemill as tm
from graphs.kernels import as_kernel, is_kernel_sample, kernel_of
from graphs.matrix_graphs import matrix_graphs
from graphs.row_programs import softmax
from samples.grouping import of_each_sample
from samples.sample import Sample
from samples.table import SAMPLES
from samples.thinning import some_of
from support.recording import assert_same, drawn, recorded
from support.threading_together import run_in_threads
from tracemill.compiler import value_ops as fn
from tracemill.compiler.backends.numpy.writer import NUMPY
from tracemill.compiler.backends.python.empty_module import entry_name
from tracemill.compiler.backends.python.printer import print_module
from tracemill.compiler.dtypes import Array
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph
from tracemill.passes.optimizations.tile import tile
from tracemill.runtime.programs.load_module import load_module

LOOPS = SAMPLES.where(lambda sample: is_kernel_sample(sample.graph().calls))


def loaded(graph: Graph, threads: int = 2) -> Callable[..., tuple[Any, ...]]:
    return load_module(print_module(graph, NUMPY), entry_name(graph), {"threads": lambda: threads})


def assert_near(actual: Sequence[Any], expected: Sequence[Any]) -> None:
    """Equal but for the order of sums."""
    for x, y in zip(actual, expected, strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        eps = np.finfo(y.dtype).eps if y.dtype.kind in "fc" else 0
        np.testing.assert_allclose(x, y, 64 * eps, 64 * eps)


def run_in_tiles(graph: Graph, inputs: Sequence[Array], tile_bytes: int, threads: int = 2) -> tuple[Any, ...]:
    """The outputs of a kernel in tiles, which are its own and the same at the next call."""
    function = loaded(tile(graph, tile_bytes=tile_bytes, smallest=0), threads)
    before = [x.copy() for x in inputs]
    first = function(*inputs)
    again = function(*inputs)
    is_complex = any(
        x.dtype.kind == "c" for x in first
    )  # NumPy rounds their products depending on memory layout
    (assert_near if is_complex else assert_same)(again, first)
    assert_same(inputs, before)
    arrays = [*(x for x in first if isinstance(x, np.ndarray)), *inputs]
    assert not any(np.may_share_memory(x, y) for i, x in enumerate(arrays) for y in arrays[:i] if x is not y)
    return first


# ---- what a user would write -----------------------------------------------------------------------


def layer_norm(x: Any, w: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * w


def slopes(x: Any, w: Any) -> Any:
    return tm.grad(lambda x, w: np.sum(layer_norm(x, w) ** 2), argnums=(0, 1))(x, w)


def attraction(points: Any) -> Any:
    d = points[None] - points[:, None]
    return (d / ((d * d).sum(-1) + 0.1)[..., None]).sum(1)


def whole_and_part(x: Any) -> Any:
    waves = np.cos(np.tanh(x))
    return np.sqrt(np.sum(waves)), np.max(x, axis=0) + np.min(waves, axis=0), np.any(x > 2), waves


def draw(*shapes: tuple[int, ...], dtype: type = np.float64) -> list[Array]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


PROGRAMS: dict[str, tuple[Callable[..., Any], list[Array]]] = {
    "softmax": (softmax, draw((67, 16))),
    "softmax down columns": (lambda x: softmax(x.T).T, draw((16, 67))),
    "layer norm": (layer_norm, draw((67, 16), (16,))),
    "its gradient": (slopes, draw((67, 16), (16,))),
    "its gradient in f32": (slopes, draw((67, 16), (16,), dtype=np.float32)),
    "every pair": (attraction, draw((23, 3))),
    "every pair, of many": (attraction, draw((70, 3))),
    "short rows of short rows": (
        lambda x, y: np.tanh((np.tanh(x[:, :, None, None] * y) * 2).sum(-1) - x[..., None]).max(-1),
        draw((70, 9), (3, 5)),
    ),
    "sums of all, and what needs them": (whole_and_part, draw((81, 5))),
    "one axis": (lambda x: np.tanh(x) * x + 1, draw((401,))),
    "a short axis in front": (lambda x: np.tanh(x) * x[::-1] + 1, draw((2, 101))),
    "columns and rows": (lambda x, y: np.exp(x[:, None] - y), draw((29,), (31,))),
    "padded": (lambda x: np.pad(x, ((0, 0), (1, 2)))[:, ::2] * 2, draw((59, 8))),
    "joined": (lambda x, y: np.concatenate([x * 2, y], axis=1), draw((59, 8), (59, 3))),
    "taken": (lambda x: x[:, [2, 0, 1]] + x[:, :3], draw((230, 8))),
    "numbered": (lambda x: x * np.arange(x.shape[0])[:, None], draw((59, 8))),
}
each_program = pytest.mark.parametrize("name", PROGRAMS)


def log_softmax_of_sums(x: Any, y: Any) -> Any:
    sums = np.cumsum(x / (np.abs(y) + 1), axis=0)
    shifted = sums - np.max(sums, axis=0, keepdims=True)
    logs = shifted - np.log(np.sum(np.exp(shifted), axis=0, keepdims=True))
    return np.sum((logs / (np.abs(y) + 1)) ** 2)


def test_what_tiles_make_and_others_need_is_computed_before_those() -> None:
    gradient = tm.grad(log_softmax_of_sums, argnums=(0, 1))
    arrays = draw((300, 700), (300, 700))
    for found, expected in zip(
        tm.compile(gradient, backend="numpy")(*arrays), gradient(*arrays), strict=True
    ):
        np.testing.assert_allclose(found, expected, 1e-9, 1e-9)


@pytest.mark.slow
@each_program
@pytest.mark.parametrize("tile_bytes", [500, 1200])
def test_a_program_in_tiles_gives_what_it_means(name: str, tile_bytes: int) -> None:
    function, inputs = PROGRAMS[name]
    graph = kernel_of(function, *inputs)
    tiles = tile(graph, tile_bytes=tile_bytes, smallest=0)
    assert "tiled" in [call.op for call in tiles.calls]
    expected = evaluate(graph, *inputs)
    assert_near(evaluate(tiles, *inputs), expected)
    assert_near(run_in_tiles(graph, inputs, tile_bytes), expected)


@pytest.mark.slow
@each_program
def test_the_number_of_threads_changes_no_bit(name: str) -> None:
    function, inputs = PROGRAMS[name]
    graph = kernel_of(function, *inputs)
    one, two, four = (run_in_tiles(graph, inputs, 300, threads) for threads in (1, 2, 4))
    assert_same(two, one)
    assert_same(four, one)


@pytest.mark.slow
@each_program
def test_inputs_may_be_in_memory_in_any_order(name: str) -> None:
    function, inputs = PROGRAMS[name]
    graph = kernel_of(function, *inputs)
    expected = run_in_tiles(graph, inputs, 300)
    assert_near(run_in_tiles(graph, [np.asfortranarray(x) for x in inputs], 300), expected)
    assert_near(run_in_tiles(graph, [np.repeat(x, 2, axis=-1)[..., ::2] for x in inputs], 300), expected)


# ---- every loop call, and random ones --------------------------------------------------------------


FIRST = some_of(LOOPS)


@pytest.mark.sampled("control", every=5)
@of_each_sample(LOOPS, quick=FIRST, slow=some_of(LOOPS, share=0.1))
def test_every_sample_gives_the_same_in_tiles(sample: Sample) -> None:
    """In tiles of 30 bytes; the first sample of each op in tiles of 8, too, which are one or two elements."""
    graph, inputs = as_kernel(sample.graph()), sample.arrays()
    expected = evaluate(graph, *inputs)
    for tile_bytes in (30, 8) if sample in FIRST else (30,):
        found = run_in_tiles(graph, inputs, tile_bytes)
        assert_near([np.asarray(x) for x in found], expected)


@settings(deadline=None)
@given(
    graph=matrix_graphs(without={"product"}, sums=True),
    rows=st.sampled_from((1, 5, 16)),
    fortran=st.booleans(),
)
def test_random_kernels_give_the_same_bits_in_tiles(graph: Graph, rows: int, fortran: bool) -> None:
    inputs = drawn(graph, "real")
    if fortran:
        inputs = [np.asfortranarray(x) for x in inputs]
    assert_same(run_in_tiles(as_kernel(graph), inputs, rows * 512), evaluate(graph, *inputs))


@pytest.mark.parametrize("shape", ["f64[0]", "f64[0, 3]", "f64[3, 0]", "f64[1, 1]", "f64[]"])
def test_kernels_without_an_axis_to_cut_are_dissolved(shape: str) -> None:
    graph = recorded(lambda x: fn.sin(fn.exp(x)), shape)
    assert [call.op for call in tile(as_kernel(graph), smallest=0).calls] == ["exp", "sin"]


# ---- threads, memory, errors -----------------------------------------------------------------------


def waves(rows: int) -> Graph:
    return kernel_of(lambda x: np.sin(np.exp(np.cos(x)) * x), np.ones((rows, 256)))


def test_callers_in_several_threads_do_not_disturb_each_other() -> None:
    function = loaded(tile(waves(64), tile_bytes=4096, smallest=0))
    wrong: list[int] = []

    def work(seed: int) -> None:
        x = np.random.default_rng(seed).standard_normal((64, 256))
        (expected,) = evaluate(waves(64), x)
        wrong.extend(seed for _ in range(20) if not np.array_equal(function(x)[0], expected))

    run_in_threads(work, 4)
    assert not wrong


def test_floating_point_errors_are_silent_in_all_threads() -> None:
    graph = kernel_of(lambda x: np.log(x) / (x - x), np.ones((64, 256)))
    function = loaded(tile(graph, tile_bytes=4096, smallest=0), threads=4)
    with np.errstate(all="raise"):
        (output,) = function(np.full((64, 256), -1.0))
    assert np.isnan(output).all()


def test_results_in_between_take_no_new_memory_after_the_first_call() -> None:
    function = loaded(tile(waves(4096), smallest=0), threads=1)
    x = np.ones((4096, 256))
    function(x)
    tracemalloc.start()
    try:
        function(x)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert x.nbytes <= peak < x.nbytes + 20_000


def test_an_error_in_another_thread_reaches_the_caller_and_the_next_call_works() -> None:
    graph = tile(waves(64), tile_bytes=2048, smallest=0)
    source = print_module(graph, NUMPY).replace(
        "    exp_1 = np.exp(",
        "    if threading.current_thread() is not threading.main_thread(): raise KeyError\n    exp_1 = np.exp(",
    )
    values: Any = {"threads": lambda: 2, "threading": threading}
    function = load_module(source, entry_name(graph), values)
    x = np.ones((64, 256))
    for _ in range(200):  # until the other thread gets a tile
        try:
            function(x)
        except KeyError:
            break
    else:
        raise AssertionError
    assert_same(loaded(graph)(x), evaluate(waves(64), x))


def test_a_forked_process_makes_its_own_threads(tmp_path: Path) -> None:
    script = tmp_path / "forked.py"
    graph = tile(waves(64), tile_bytes=4096, smallest=0)
    script.write_text(
        f"{print_module(graph, NUMPY, check=False)}\n\n"
        "x = np.ones((64, 256))\n"
        f"first = {entry_name(graph)}(x)[0]\n"
        "child = os.fork()\n"
        "if not child:\n"
        f"    same = np.array_equal({entry_name(graph)}(x)[0], first)\n"
        "    os._exit(0 if same else 1)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
    )
    subprocess.run([sys.executable, str(script)], check=True, timeout=60, env={"OMP_NUM_THREADS": "4"})


@pytest.mark.slow
def test_a_module_with_tiles_checks_itself(tmp_path: Path) -> None:
    graph = tile(kernel_of(softmax, np.ones((37, 16))), tile_bytes=300, smallest=0)
    source = print_module(graph, NUMPY)
    for text, status in (
        (source, 0),
        (source.replace("np.exp(subtract_1, out=", "np.sin(subtract_1, out="), 1),
    ):
        (tmp_path / "module.py").write_text(text)
        run = subprocess.run(
            [sys.executable, "-I", "-W", "error", str(tmp_path / "module.py")],
            capture_output=True,
            check=False,
        )
        assert run.returncode == status, run.stderr


def test_sums_are_written_to_parts_of_rows() -> None:
    graph = kernel_of(lambda x: np.sum(np.sin(np.exp(x)), axis=-1), np.ones((4, 200, 20)))
    in_tiles = tile(graph, tile_bytes=1 << 12, smallest=0)
    assert "[:, 5 * number : 5 * number + 5]" in print_module(in_tiles, NUMPY)
    inputs = draw((4, 200, 20))
    assert_near(run_in_tiles(graph, inputs, 1 << 12), evaluate(graph, *inputs))


def test_buffers_of_short_rows_are_stored_in_planes() -> None:
    graph = tile(kernel_of(attraction, np.ones((500, 3))), smallest=0)
    assert "np.moveaxis(np.ndarray((3, 20, 500), np.float64, arena, 0), 0, -1)" in print_module(graph, NUMPY)


@pytest.mark.parametrize("coordinates", [2, 3, 16, 64])
def test_few_coordinates_of_many_pairs_are_stored_in_planes(coordinates: int) -> None:
    def pairs(x: Any, y: Any) -> Any:
        return np.sum(np.sqrt(np.sum((x[:, None] - y) ** 2, axis=-1)), axis=1)

    shapes = (150, coordinates), (300, coordinates)
    graph = kernel_of(pairs, *map(np.ones, shapes))
    assert "in_planes(y)" in print_module(tile(graph, smallest=0), NUMPY)
    inputs = draw(*shapes)
    assert_near(run_in_tiles(graph, inputs, 1 << 18), evaluate(graph, *inputs))


def test_rows_that_are_read_and_written_as_rows_are_not_stored_in_planes() -> None:
    def norm(x: Any) -> Any:
        centred = x - np.mean(x, axis=-1, keepdims=True)
        return centred / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True))

    assert "moveaxis" not in print_module(tile(kernel_of(norm, np.ones((5000, 64))), smallest=0), NUMPY)


def test_a_program_made_for_few_rows_computes_many_in_tiles() -> None:
    def shares(x: Any) -> Any:
        powers = np.exp(x - x.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True), np.sum(np.sin(x) * np.cos(x) * np.tanh(x))

    def memory_for(rows: int) -> int:
        """This many times that of its argument: the most that a call needs, which is right."""
        x = np.random.default_rng(rows).normal(size=(rows, 8))
        for found, expected in zip(compiled(x), shares(x), strict=True):
            np.testing.assert_allclose(found, expected, 1e-9, 1e-12)
        tracemalloc.start()
        compiled(x)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak // x.nbytes

    compiled = tm.compile(shares, backend="numpy", dynamic={"x": "f64[B, 8]"})
    assert min(memory_for(rows) for rows in (3, 1000)) > 1
    assert all(memory_for(rows) for rows in (1025, 4096, 4097))
    assert memory_for(50_000) == 1  # intermediate values are in tiles
    assert len(compiled.signatures()) == 1
