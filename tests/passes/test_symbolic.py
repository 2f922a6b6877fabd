"""Passes on graphs with symbolic sizes: what they make holds for all sizes, and they assume nothing of them."""

from typing import Any

import numpy as np
import pytest

import tracemill as tm
from kernels import as_kernel
from tracemill.compiler.ir import Graph
from tracemill.compiler.shapes import Observed, answering
from tracemill.compiler.trace import evaluate
from tracemill.passes.fix_sizes import fix_sizes
from tracemill.passes.tile import tile

TILED = """# tracemill ir 1
def f(x: f64[B, 3], w: f64[3]) -> (f64[B, 3], f64[3], f64[B]):  # B in 2..
    add_1: f64[B, 3] = add(x, w)
    exp_1: f64[B, 3] = exp(add_1)
    sum_1: f64[B] = sum(exp_1, axes=(1,))
    max_1: f64[3] = max(exp_1, axes=(0,))
    sin_1: f64[3] = sin(max_1)
    return exp_1, sin_1, sum_1
"""


@pytest.mark.parametrize("rows", [2, 3, 31, 32, 33, 64, 100])
def test_an_axis_of_any_length_is_cut_into_tiles_of_so_many_rows_and_a_rest(rows: int) -> None:
    scope = Observed({"B": 1000})
    with answering(scope):
        graph = tm.parse(TILED)
        tiled = tile(as_kernel(graph), tile_bytes=960, smallest=0)
        tiled.lint()
        assert tm.parse(str(tiled)) == tiled
    assert str(scope.guards) == "True"
    (params,) = [call.params for call in tiled.calls if call.op == "tiled"]
    assert str(params["count"]) == "(B + 31) // 32 - 1"
    x, w = np.random.default_rng(0).normal(size=(rows, 3)), np.ones(3)
    assert_same(tiled, graph, {"B": rows}, x, w)


def assert_same(optimised: Graph, graph: Graph, sizes: dict[str, int], *inputs: Any) -> None:
    """Both compute the same where the named sizes have these values."""
    found, wanted = (fix_sizes(one, sizes) for one in (optimised, graph))
    found.lint()
    for ours, theirs in zip(evaluate(found, *inputs), evaluate(wanted, *inputs), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, strict=True)
