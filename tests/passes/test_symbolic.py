"""Passes on graphs with symbolic sizes: what they make holds for all sizes, and they assume nothing of them."""

from collections.abc import Mapping, Sequence
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracemill as tm
from graphs.kernels import as_kernel
from graphs.symbolic_graphs import symbolic_graphs
from samples.grouping import Case, in_groups, of_each_sample
from samples.sample import Sample
from samples.thinning import some_of
from symbolic.programs import OBSERVED, OTHERS, PROGRAMS, SymbolicProgram
from symbolic.sized_samples import Sized, allowed, sized
from symbolic.test_samples import BATCH, PLAIN, arrays_for, transformed
from symbolic.test_tracing import traced
from symbolic.texts import TEXTS
from tracemill.compiler.dtypes import Array
from tracemill.compiler.free_sizes import sizes_in_graph
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph
from tracemill.compiler.shapes import Observed, answering
from tracemill.compiler.shapes.assumptions import Assumptions
from tracemill.passes.lowering.fix_sizes import fix_sizes
from tracemill.passes.optimizations.fuse import fuse, fusion_report
from tracemill.passes.optimizations.reroll import reroll
from tracemill.passes.optimizations.tile import tile
from tracemill.passes.pipeline import run
from tracemill.passes.simplification.fold_constants import fold_constants
from tracemill.runtime.lowering.cost import cost_of
from tracemill.runtime.programs.canonicalize import CANONICAL, inline_user_rules
from tracemill.runtime.programs.optimize import PASSES, costs_for, optimize_in_stages

BACKENDS = ("numpy", "c", "triton")
SMALL_TILES = partial(tile, tile_bytes=256, smallest=64)
LARGE = {"B": 5000, "N": 700}

TILED = """# tracemill ir 1
def f(x: f64[B, 3], w: f64[3]) -> (f64[B, 3], f64[3], f64[B]):  # B in 2..
    add_1: f64[B, 3] = add(x, w)
    exp_1: f64[B, 3] = exp(add_1)
    sum_1: f64[B] = sum(exp_1, axes=(1,))
    max_1: f64[3] = max(exp_1, axes=(0,))
    sin_1: f64[3] = sin(max_1)
    return exp_1, sin_1, sum_1
"""


def optimised(
    graph: Graph, backend: str, hints: Mapping[str, int], known: Assumptions | None = None
) -> Graph:
    """The graph after all passes, each of which leaves a well formed graph, and assumes nothing of sizes."""
    scope = Observed(hints, known)
    with answering(scope):
        found, stages = optimize_in_stages(inline_user_rules(graph), backend)
        for name, stage in stages:
            stage.lint()
            assert scope.assumed == (), name
    return found


def assert_same(found: Graph, graph: Graph, sizes: Mapping[str, int], arrays: Sequence[Array]) -> None:
    """Both compute the same for these sizes, but for the order of what is summed."""
    ours, theirs = (fix_sizes(one, sizes) for one in (found, graph))
    ours.lint()
    with np.errstate(all="ignore"):
        results = evaluate(ours, *arrays)[: len(theirs.outputs)]  # then comes what checks of indices found
        pairs = zip(results, evaluate(theirs, *arrays), strict=True)
    for one, other in pairs:
        if other.dtype.kind in "biu":
            np.testing.assert_array_equal(one, other)
            continue
        rtol = 1e-10 if other.dtype.itemsize >= 8 and other.dtype != np.complex64 else 2e-5
        rtol = 2e-2 if other.dtype.itemsize == 2 else rtol
        wide = np.complex128 if other.dtype.kind == "c" else np.float64
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one.astype(wide), other.astype(wide), rtol, rtol)


def random_arrays(graph: Graph, sizes: Mapping[str, int]) -> list[Any]:
    rng = np.random.default_rng(0)
    return [
        np.asarray(rng.uniform(0.5, 1.5, value.shape)).astype(value.dtype)
        for value in fix_sizes(graph, sizes).inputs
    ]


# ---- all passes ------------------------------------------------------------------------------------


def _programs() -> list[Case]:
    """Every sixth program runs always, and every other sixth is slow; each takes all backends."""
    return [
        Case(name.partition(":")[0], name, (program,), number % 6 == 3, number % 6 not in (0, 3))
        for number, (name, program) in enumerate(PROGRAMS.items())
    ]


@pytest.mark.sampled("statistics", "indexing", "creation", "products")
@in_groups(_programs())
def test_passes_keep_what_traced_programs_mean_for_all_sizes(program: SymbolicProgram) -> None:
    scope = Observed(OBSERVED)
    with answering(scope):
        found = traced(program, program.types())
    others = [sizes for sizes in OTHERS if allowed(scope.guards, sizes)][:2]
    for backend in BACKENDS:
        graph = optimised(found.graph, backend, OBSERVED, scope.assumptions)
        for sizes in others:
            arrays: list[Any] = [*program.arrays(sizes), *found.captured]
            assert_same(graph, found.graph, sizes, arrays)


@pytest.mark.slow
@of_each_sample(some_of(PLAIN, share=0.2), slow=some_of(PLAIN))
def test_passes_keep_what_ops_and_their_derivatives_mean_for_all_sizes(sample: Sample) -> None:
    """One of the op and its transforms, through the passes of one backend: both are drawn by the sample."""
    symbolic = sized(sample)
    hints = {**symbolic.hints, **BATCH}
    rng = Random(sample.id)
    graphs = [(symbolic.graph, symbolic.assumptions)]
    graphs += [(graph, scope.assumptions) for graph, scope in transformed(sample, symbolic).values()]
    graph, known = rng.choice(graphs)
    found = optimised(graph, rng.choice(BACKENDS), hints, known)
    for sizes in _allowed(symbolic, known):
        assert_same(found, graph, sizes, arrays_for(sample, fix_sizes(graph, sizes)))


def _allowed(symbolic: Sized, known: Assumptions) -> list[dict[str, int]]:
    """Sizes of which all holds that is known."""
    lists = [{**one, **BATCH} for one in (symbolic.hints, *symbolic.others)]
    return [sizes for sizes in lists if all(one.holds(sizes) for one in known.relations)]


@pytest.mark.parametrize("backend", BACKENDS)
@settings(deadline=None)
@given(
    graph=symbolic_graphs(),
    hints=st.sampled_from([{"B": 5, "N": 8}, {"B": 40, "N": 40}, LARGE]),
    sizes=st.fixed_dictionaries({"B": st.sampled_from([2, 3, 7, 33]), "N": st.sampled_from([2, 3, 7])}),
)
def test_passes_keep_what_random_graphs_mean_for_all_sizes(
    backend: str, graph: Graph, hints: dict[str, int], sizes: dict[str, int]
) -> None:
    found = optimised(graph, backend, hints)
    assert_same(found, graph, sizes, random_arrays(graph, sizes))


@settings(deadline=None)
@given(
    graph=symbolic_graphs(),
    sizes=st.fixed_dictionaries({"B": st.sampled_from([2, 3, 7, 33]), "N": st.sampled_from([2, 3, 40])}),
)
def test_tiles_keep_what_random_graphs_mean_for_all_sizes(graph: Graph, sizes: dict[str, int]) -> None:
    scope = Observed({"B": 100, "N": 80})
    with answering(scope):
        found = run(graph, [SMALL_TILES, fold_constants], check=True)
    assert scope.assumed == ()
    assert_same(found, graph, sizes, random_arrays(graph, sizes))


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", TEXTS)
def test_sizes_of_one_class_give_one_program(name: str, backend: str) -> None:
    graph = tm.parse("# tracemill ir 1\n" + TEXTS[name].strip() + "\n")
    names = {name for size in sizes_in_graph(graph) for name in size.limits}
    found = optimised(graph, backend, dict.fromkeys(names, 700))
    assert str(optimised(graph, backend, dict.fromkeys(names, 1000))) == str(found)


# ---- single passes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [2, 3, 31, 32, 33, 64, 100])
def test_an_axis_of_any_length_is_cut_into_tiles_and_a_remainder(rows: int) -> None:
    scope = Observed({"B": 1000})
    with answering(scope):
        graph = tm.parse(TILED)
        tiled = tile(as_kernel(graph), tile_bytes=960, smallest=0)
        tiled.lint()
        assert tm.parse(str(tiled)) == tiled
    assert scope.assumed == ()
    (params,) = [call.params for call in tiled.calls if call.op == "tiled"]
    assert str(params["count"]) == "(B + 31) // 32 - 1"
    x, w = np.random.default_rng(0).normal(size=(rows, 3)), np.ones(3)
    assert_same(tiled, graph, {"B": rows}, [x, w])


def test_an_axis_of_any_length_is_cut_only_if_it_is_long_in_the_call() -> None:
    with answering(Observed({"B": 20})):
        graph = as_kernel(tm.parse(TILED))
        assert not any(call.op == "tiled" for call in tile(graph, tile_bytes=960, smallest=0).calls)


def test_axes_that_happen_to_be_as_long_are_not_taken_for_one_when_kernels_are_made() -> None:
    text = """# tracemill ir 1
def f(x: f32[B, N], y: f32[N, B]) -> (f32[B], f32[N]):  # B in 2.., N in 2..
    sum_1: f32[B] = sum(x, axes=(1,))
    exp_1: f32[B] = exp(sum_1)
    sum_2: f32[N] = sum(y, axes=(1,))
    exp_2: f32[N] = exp(sum_2)
    return exp_1, exp_2
"""
    found = []
    for hints in ({"B": 1000, "N": 1000}, {"B": 1000, "N": 600}):
        with answering(Observed(hints)):
            found.append(str(fuse(tm.parse(text))))
    assert found[0] == found[1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_fusion_weighs_is_reported_for_typical_sizes(backend: str) -> None:
    with answering(Observed({"B": 1000})):
        text = str(fusion_report(run(tm.parse(TILED), (*CANONICAL, *PASSES)), costs_for(backend)))
    assert "512" in text or "_" in text  # numbers of bytes
    assert "B" not in text.replace("f: ", "")


def test_a_loop_of_python_over_symbolic_rows_is_rolled_up_again() -> None:
    def steps(x: Any, w: Any) -> Any:
        for i in range(40):
            x = np.tanh(x) * w[i] + x[:1] - x[-1:]
        return x

    program = SymbolicProgram(steps, ("f64[B]", "f64[40, B]"))
    scope = Observed(OBSERVED)
    with answering(scope):
        graph = traced(program, program.types()).graph
        rolled = reroll(graph, fewest_calls=100)
        rolled.lint()
    assert scope.assumed == ()
    assert [call.op for call in rolled.calls if call.op == "scan"] == ["scan"]
    for sizes in OTHERS:
        assert_same(rolled, graph, sizes, program.arrays(sizes))


def test_costs_are_those_of_the_sizes_that_are_given() -> None:
    graph = tm.parse(TILED)
    for backend in BACKENDS:
        found = optimised(graph, backend, {"B": 5})
        assert cost_of(fix_sizes(found, {"B": 7}), None).transcendentals == 7 * 3 + 3


def test_a_sum_over_rows_that_are_all_the_same_is_a_product_with_their_number() -> None:
    graph = tm.parse(
        "# tracemill ir 1\n"
        "def f(x: f64[3], y: f64[B, 2]) -> (f64[3], f64[B, 2]):  # B in 2..\n"
        "    broadcast_to_1: f64[B, 3] = broadcast_to(x, shape=(B, 3))\n"
        "    sum_1: f64[3] = sum(broadcast_to_1, axes=(0,))\n"
        "    return sum_1, y\n"
    )
    found = optimised(graph, "numpy", {"B": 5})
    assert [call.op for call in found.calls] == ["size", "convert", "add", "multiply"]
    assert_same(found, graph, {"B": 7}, [np.array([0.1, np.inf, -0.0]), np.ones((7, 2))])
