"""A program with symbolic sizes is printed once, assumes nothing of them for that, and is right for all sizes."""

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracemill as tm
from c.through_c import assert_close as assert_equal_but_for_rounding
from graphs.kernels import as_kernel
from graphs.matrix_graphs import matrix_graphs
from samples.grouping import of_each_sample
from samples.sample import Sample, entries
from samples.thinning import some_of
from support.comparing import assert_close
from support.recording import assert_same
from symbolic.programs import OBSERVED, OTHERS, PROGRAMS, SymbolicProgram
from symbolic.sized_samples import allowed, sized
from symbolic.test_samples import PLAIN
from symbolic.test_tracing import traced
from symbolic.texts import TEXTS, graph_of
from tracemill.compiler.backends.numpy.writer import NUMPY
from tracemill.compiler.backends.python.empty_module import entry_name
from tracemill.compiler.backends.python.printer import callbacks, print_module
from tracemill.compiler.dtypes import FLOAT64, Array
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import ArrayType, Graph
from tracemill.compiler.shapes import Observed, answering
from tracemill.passes.lowering.decompose import decompose_composites
from tracemill.passes.lowering.fix_sizes import fix_sizes
from tracemill.passes.optimizations.tile import tile
from tracemill.runtime.programs.canonicalize import inline_user_rules
from tracemill.runtime.programs.load_module import load_module
from tracemill.runtime.programs.optimize import optimize_in_stages


def arrays_for(graph: Graph, sizes: Mapping[str, int]) -> list[Array]:
    """Inputs for a graph where the sizes have these values."""
    rng = np.random.default_rng(0)
    values = fix_sizes(graph, sizes).inputs
    return [
        rng.integers(-1, 4, v.shape).astype(v.dtype)
        if v.dtype.kind in "iu"
        else np.asarray(rng.normal(size=v.shape)).astype(v.dtype)
        for v in values
    ]


def loaded(graph: Graph) -> Callable[..., tuple[Any, ...]]:
    """What is printed of a graph under the sizes in force."""
    known = {"threads": lambda: 2, **callbacks(graph, NUMPY)}
    return load_module(print_module(graph, NUMPY), entry_name(graph), known)


def assert_right(
    function: Callable[..., Any], graph: Graph, sizes: Mapping[str, int], arrays: Sequence[Any]
) -> None:
    """The function gives what the graph means for arrays of these sizes, again and again."""
    before = [array.copy() for array in arrays]
    expected = evaluate(fix_sizes(graph, sizes), *arrays)
    for _ in range(2):
        found = function(*arrays)[: len(expected)]  # without what checks have found
        for ours, theirs in zip(found, expected, strict=True):
            assert_close(ours, theirs)
    for array, same in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, same)


def of_all_texts(first: int, second: int) -> dict[str, int]:
    """Sizes for any of the texts."""
    return {
        "B": first,
        "N": second,
        "K": 6 * first,
        "i": 3,
        "idle": 2,
        "len": first,
        "memory": second,
        "np": 2,
    }


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_what_is_printed_once_is_right_for_all_sizes(text: str) -> None:
    scope = Observed(of_all_texts(6, 6))
    with answering(scope):
        graph = graph_of(text)
        function = loaded(graph)
    assert str(scope.guards) == "True"
    for first, second in ((2, 2), (5, 20), (40, 3), (6, 8), (2, 2)):
        sizes = of_all_texts(first, second)
        assert_right(function, graph, sizes, arrays_for(graph, sizes))


def test_rows_are_summed_in_the_same_way_as_those_of_known_length() -> None:
    """By BLAS up to 1024 elements, whatever was observed. Both ways are covered."""
    with answering(Observed({"B": 6, "N": 8})):
        graph = graph_of(TEXTS["sums"])
        function = loaded(graph)
    for n in (4, 1000, 1024, 1025, 5000):
        sizes = {"B": 6, "N": n}
        x, y = (np.abs(array) for array in arrays_for(graph, sizes))
        static = loaded(fix_sizes(graph, sizes))
        for ours, theirs in zip(function(x, y)[:3], static(x, y), strict=False):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("tiles", "((8, 8), np.float64), ((8,), np.float64)"),
        ("multiples", "((37, 18), np.float64), ((6,), np.float64)"),  # 32 is not a multiple of 6
    ],
)
def test_a_generated_file_checks_itself_at_sizes_that_may_be(tmp_path: Path, name: str, inputs: str) -> None:
    with answering(Observed({"B": 6, "N": 9, "K": 18})):
        text = print_module(graph_of(TEXTS[name]), NUMPY)
    assert f"INPUTS = [{inputs}]" in text
    file = tmp_path / "program.py"
    file.write_text(text, "utf-8")
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("ok: max difference ")


@pytest.mark.parametrize("n", [4, 100])
def test_tiles_are_right_for_all_sizes_in_planes_and_not(n: int) -> None:
    program = PROGRAMS["statistics:softmax"]
    scope = Observed({**OBSERVED, "B": 4096, "N": n})
    with answering(scope):
        graph = traced(program, program.types()).graph
        tiled = tile(as_kernel(graph), tile_bytes=1 << 13, smallest=0)
        text = print_module(tiled, NUMPY)
        function = loaded(tiled)
    assert str(scope.guards) == "True"
    assert "in_tiles(" in text
    assert ("in_planes(" in text) == (n == 4)
    for sizes in ({"B": 1000, "N": 5}, {"B": 3, "N": 2}, {"B": 2, "N": 3000}, {"B": 513, "N": 64}):
        assert_right(function, graph, sizes, arrays_for(graph, sizes))


def test_python_functions_get_the_sizes_of_the_call() -> None:
    def doubled(x: Any) -> Any:
        called.append(x.shape)
        return np.concatenate([x, x])

    def f(x: Any) -> Any:
        return tm.pure_callback(doubled, np.concatenate([x, x]), x) + 1

    called: list[tuple[int, ...]] = []
    scope = Observed({"B": 6})
    rows_of_any_call: Any = tm.Dim("B")
    with answering(scope):
        graph = traced(SymbolicProgram(f, ("f64[B, 3]",)), [ArrayType(FLOAT64, (rows_of_any_call, 3))]).graph
        function = loaded(graph)
    assert str(scope.guards) == "True"
    for rows in (1, 6, 40):
        x = np.ones((rows, 3))
        (y,) = function(x)
        np.testing.assert_array_equal(y, np.full((2 * rows, 3), 2.0), strict=True)
    assert called == [(1, 3), (6, 3), (40, 3)]


@pytest.mark.sampled(slow=4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_traced_program_is_printed_once_for_all_sizes(name: str) -> None:
    program = PROGRAMS[name]
    scope = Observed(OBSERVED)
    with answering(scope):
        once = traced(program, program.types())
        optimised, _ = optimize_in_stages(inline_user_rules(once.graph), "numpy")
        function = loaded(optimised)
    assert str(scope.guards) == program.guards
    for sizes in (OBSERVED, *OTHERS):
        if allowed(scope.guards, sizes):
            assert_right(function, once.graph, sizes, [*program.arrays(sizes), *once.captured])


@pytest.mark.slow
@of_each_sample(some_of(PLAIN, share=0.2), quick=some_of(PLAIN), slow=some_of(PLAIN, share=0.05))
def test_samples_of_every_op_are_printed_once_for_all_sizes(sample: Sample) -> None:
    symbolic = sized(sample)
    scope = Observed(symbolic.hints, symbolic.assumptions)
    with answering(scope):
        function = loaded(decompose_composites(symbolic.graph))
    assert str(scope.guards) == "True"
    for sizes in (symbolic.hints, *symbolic.others):
        graph = symbolic.at(sizes)
        rng = np.random.default_rng(0)
        domains = zip(sample.domains, graph.inputs, strict=True)
        arrays = [entries(domain, value.dtype, value.shape, rng) for domain, value in domains]
        expected = evaluate(graph, *arrays)
        for ours, theirs in zip(function(*arrays), expected, strict=True):
            assert_equal_but_for_rounding(ours, theirs, str(sizes), 256)


@pytest.mark.slow
def test_generated_text_is_what_the_formatter_would_write(tmp_path: Path) -> None:
    with answering(Observed(of_all_texts(6, 6))):
        for number, text in enumerate(TEXTS.values()):
            (tmp_path / f"text_{number}.py").write_text(print_module(graph_of(text), NUMPY), "utf-8")
    for number, program in enumerate([*PROGRAMS.values()][::5]):
        with answering(Observed(OBSERVED)):
            graph, _ = optimize_in_stages(inline_user_rules(traced(program, program.types()).graph), "numpy")
            (tmp_path / f"program_{number}.py").write_text(print_module(graph, NUMPY), "utf-8")
    command = [sys.executable, "-m", "ruff", "format", "--diff", "--isolated", "--line-length=110"]
    run = subprocess.run([*command, tmp_path], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout


@settings(deadline=None)
@given(st.data())
def test_random_graphs_are_right_for_all_sizes(data: st.DataObject) -> None:
    """Their steps are exact, so that even the last bit agrees."""
    scope = Observed({"S": 64})
    side: Any = tm.Dim("S", min=4, multiple_of=2)
    with answering(scope):
        graph = data.draw(matrix_graphs(side=side))
        function = loaded(graph)
        optimised, _ = optimize_in_stages(inline_user_rules(graph), "numpy")
        through_passes = loaded(optimised)
    assert str(scope.guards) == "True"
    rng = np.random.default_rng(0)
    for size in (4, 6, 66, 64):
        arrays = [rng.integers(-2, 3, (size, size)).astype(np.float64) for _ in range(2)]
        expected = evaluate(fix_sizes(graph, {"S": size}), *arrays)
        for printed in (function, through_passes, function):
            assert_same(printed(*arrays), expected)


def test_memory_for_any_sizes_begins_with_a_line_of_the_cache() -> None:
    text = """
def products(x: f64[N]) -> f64[N, N]:  # N in 2..
    reshape_1: f64[N, 1] = reshape(x, shape=(N, 1))
    outer_1: f64[N, N] = multiply(reshape_1, x)
    dot_1: f64[N, N] = dot(outer_1, outer_1, contract_x=(1,), contract_y=(0,))
    return dot_1
"""
    with answering(Observed({"N": 500})):
        function: Any = loaded(graph_of(text))
    for nbytes in (1, 1000, 100_000, 10_000_000):
        memory = function.__globals__["new_memory"](nbytes)
        assert (memory.dtype, memory.shape) == (np.uint8, (nbytes,))
        assert memory.ctypes.data % 64 == 0
