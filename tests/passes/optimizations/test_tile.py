"""Kernels in tiles: which axis is cut, what is done before and after, and what is not worth it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from graphs.kernels import as_kernel, kernel_of
from support.recording import ops
from tracemill.compiler.analysis.fusible_ops import is_loop_call
from tracemill.compiler.ir import Call, Graph
from tracemill.passes.optimizations.tile import tile
from tracemill.passes.pipeline import run
from tracemill.runtime.programs.canonicalize import CANONICAL, inline_user_rules
from tracemill.runtime.programs.optimize import PASSES


def the_tiles(graph: Graph) -> Any:
    """The parameters of the one call of tiles."""
    (call,) = [call for call in graph.calls if call.op == "tiled"]
    return call.params


def body(graph: Graph) -> str:
    return "\n".join(line for line in str(graph).splitlines() if not line.startswith("# tracemill"))


def test_a_reduction_over_the_cut_axis_is_finished_after_the_tiles() -> None:
    graph = tm.parse(
        "# tracemill ir 1\n"
        "def f(x: f64[101, 3]) -> (f64[101, 3], f64[3]):\n"
        "    exp_1: f64[101, 3] = exp(x)\n"
        "    max_1: f64[3] = max(exp_1, axes=(0,))\n"
        "    sin_1: f64[3] = sin(max_1)\n"
        "    return exp_1, sin_1\n"
    )
    assert body(tile(as_kernel(graph), tile_bytes=960, smallest=0)) == (
        "def f(x: f64[101, 3]) -> (f64[101, 3], f64[3]):\n"
        "    def f(x: f64[40, 3]) -> (f64[40, 3], f64[1, 3]):\n"
        "        exp_1: f64[40, 3] = exp(x)\n"
        "        max_1: f64[3] = max(exp_1, axes=(0,))\n"
        "        reshape_1: f64[1, 3] = reshape(max_1, shape=(1, 3))\n"
        "        return exp_1, reshape_1\n"
        "    def f_2(x: f64[21, 3]) -> (f64[21, 3], f64[1, 3]):\n"
        "        exp_1: f64[21, 3] = exp(x)\n"
        "        max_1: f64[3] = max(exp_1, axes=(0,))\n"
        "        reshape_1: f64[1, 3] = reshape(max_1, shape=(1, 3))\n"
        "        return exp_1, reshape_1\n"
        "    tiled_1: f64[101, 3], tiled_2: f64[3, 3] = "
        "tiled(x, graph=f, rest=f_2, cuts=(0,), joins=(0, 0), count=2)\n"
        "    max_1: f64[3] = max(tiled_2, axes=(0,))\n"
        "    sin_1: f64[3] = sin(max_1)\n"
        "    return tiled_1, sin_1"
    )


def test_a_reduction_of_what_the_tiles_read_is_one_of_their_results() -> None:
    def checked(x: Any) -> Any:
        return np.any(x < 0), np.exp(x) * x

    tiles = the_tiles(tile(kernel_of(checked, np.ones((1000, 4))), tile_bytes=32 * 180, smallest=0))
    assert [value.shape for value in tiles["graph"].outputs] == [(1,), (125, 4)]


def test_what_the_tiles_need_completely_is_computed_before_them() -> None:
    def centred(x: Any) -> Any:
        return np.exp(x - x.mean(0)) * x

    graph = tile(kernel_of(centred, np.ones((1000, 4))), tile_bytes=32 * 180, smallest=0)
    assert "sum" in ops(graph)[: ops(graph).index("tiled")]
    assert "sum" not in ops(the_tiles(graph)["graph"])


def test_several_reductions_of_one_array_share_tiles() -> None:
    def extent(x: Any) -> Any:
        return x.max(0) - x.min(0)

    graph = tile(kernel_of(extent, np.ones((1000, 4))), tile_bytes=32 * 180, smallest=0)
    assert sorted(ops(the_tiles(graph)["graph"])) == ["max", "min", "reshape", "reshape"]
    assert ops(graph) == ["tiled", "max", "min", "subtract"]


def test_values_that_only_meet_after_their_sums_share_tiles() -> None:
    def sums(x: Any, y: Any) -> Any:
        return np.sum(np.exp(x), 0) - np.sum(np.sin(y), 0)

    graph = tile(kernel_of(sums, np.ones((1000, 4)), np.ones((1000, 4))), tile_bytes=32 * 180, smallest=0)
    assert {"exp", "sin", "sum"} <= {*ops(the_tiles(graph)["graph"])}
    assert {*ops(graph)} == {"tiled", "sum", "subtract"}


def test_tiles_are_as_long_as_fits_without_a_rest_if_one_length_divides_the_axis() -> None:
    graph = kernel_of(lambda x: np.tanh(x) * x, np.ones((1000, 4)))
    tiles = the_tiles(tile(graph, tile_bytes=32 * 180, smallest=0))
    assert (tiles["count"], tiles["graph"].inputs[0].shape) == (8, (125, 4))
    assert "rest" not in tiles


def test_an_array_of_all_pairs_is_never_made() -> None:
    def attraction(points: Any) -> Any:
        d = points[None] - points[:, None]
        return (d / ((d * d).sum(-1) + 0.1)[..., None]).sum(1)

    graph = tile(kernel_of(attraction, np.ones((3000, 3))))
    tiles = the_tiles(graph)
    assert tiles["cuts"] == (0, None)
    assert [value.shape for value in tiles["graph"].inputs] == [(6, 3), (3000, 3)]


def test_tiles_are_twice_as_long_if_everything_that_they_need_at_one_time_fits_into_the_cache() -> None:
    def nearest(x: Any, y: Any) -> Any:
        return np.min(np.sum(np.abs(x[:, None, :] - y), axis=-1), axis=1)

    def chain(x: Any, y: Any) -> Any:
        apart = x[:, None, :] - y
        return np.min(np.sum(np.sin(apart) * np.cos(apart) * np.exp(apart) + apart, axis=-1), axis=1)

    arrays = np.ones((512, 16)), np.ones((250, 16))  # the largest value has 32 kB per row
    lengths = [
        the_tiles(tile(kernel_of(function, *arrays), tile_bytes=1 << 17, smallest=0))["graph"]
        .inputs[0]
        .shape[0]
        for function in (nearest, chain)
    ]
    assert lengths == [8, 4]


def test_along_rows_too_long_for_a_tile_the_columns_are_cut() -> None:
    graph = kernel_of(lambda x, w: np.tanh(x) * w[:, None], np.ones((2, 100_000)), np.ones(2))
    tiles = the_tiles(tile(graph, tile_bytes=1 << 14, smallest=0))
    assert (tiles["cuts"], tiles["joins"]) == ((1, None), (1,))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sqrt(x.T * x.T + 1) / x.T,
        lambda x: ((x - x.mean(0)) ** 2).mean(0),
    ],
)
def test_columns_are_not_cut_into_strips_that_would_be_too_narrow(
    function: Callable[..., Any],
) -> None:
    graph = run(
        inline_user_rules(tm.compile(function).lower(np.ones((1000, 100))).graph), (*CANONICAL, *PASSES)
    )
    found = tile(graph, tile_bytes=1 << 14, smallest=1 << 10)
    tiles: list[Any] = [call.params for call in found.calls if call.op == "tiled"]
    assert all(cut in (0, None) for params in tiles for cut in params["cuts"])


@pytest.mark.parametrize("columns", [10, 200_000])
def test_small_kernels_and_those_without_an_axis_of_their_own_are_dissolved(columns: int) -> None:
    graph = kernel_of(lambda x: np.exp(x)[::-1] / np.exp(x), np.ones(columns))
    assert all(map(is_loop_call, tile(graph).calls))


def test_kernels_in_the_steps_of_loops_are_cut_too() -> None:
    kernel = kernel_of(lambda x: np.tanh(x) * x, np.ones((64, 16)))
    (call,) = kernel.calls
    step = Graph("step", kernel.inputs, (call,), kernel.outputs)
    outer = tm.compile(lambda x: tm.scan(lambda y, _: (y, None), x, length=3)).lower(np.ones((64, 16))).graph
    (scan,) = [call for call in outer.calls if call.op == "scan"]
    scanned = Call("scan", scan.inputs, {**scan.params, "graph": step}, scan.outputs)
    graph = tile(Graph("f", outer.inputs, (scanned,), outer.outputs), tile_bytes=512, smallest=0)
    steps: Any = graph.calls[0].params["graph"]
    assert ops(steps) == ["tiled"]


def test_an_axis_along_which_nothing_is_read_is_not_cut() -> None:
    graph = tm.parse(
        "# tracemill ir 1\n"
        "def f(row: f64[1, 64]) -> (f64[64, 64], f64[64]):\n"
        "    broadcast_to_1: f64[64, 64] = broadcast_to(row, shape=(64, 64))\n"
        "    add_1: f64[64, 64] = add(broadcast_to_1, broadcast_to_1)\n"
        "    sign_1: f64[64, 64] = sign(add_1)\n"
        "    sum_1: f64[64] = sum(sign_1, axes=(0,))\n"
        "    return add_1, sum_1\n"
    )
    tiles = the_tiles(tile(as_kernel(graph), tile_bytes=512, smallest=0))
    assert (tiles["cuts"], tiles["joins"]) == ((1,), (1, 0))


def test_a_program_whose_tiles_would_compute_nothing_has_none() -> None:
    def function(x: Any, y: Any) -> Any:
        return x + y, np.exp(-np.abs(y)).argmax()

    x, y = np.ones((1000, 300)), np.asfortranarray(np.random.default_rng(0).normal(size=(1000, 300)))
    total, place = tm.compile(function, backend="numpy")(x, y)
    np.testing.assert_array_equal(total, x + y)
    assert place == np.abs(y).argmin()
