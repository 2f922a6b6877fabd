"""C functions that are printed once compute, for arrays of any size, what static graphs of that size mean."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from c.compiling import Compiled, compiled, shape_at, when_asked
from graphs.kernels import as_kernel
from graphs.symbolic_kernels import EMPTY, HINTS, KERNELS, OTHER_SIZES, SIZES, STEPS, drawn, in_c, printed
from samples.thinning import in_parts
from symbolic.texts import TEXTS, graph_of
from tracemill.compiler.backends.c.function import CFunction, COptions
from tracemill.compiler.backends.c.module.library import CLibrary
from tracemill.compiler.backends.c.module.source import print_function, print_source
from tracemill.compiler.backends.numpy.writer import NUMPY
from tracemill.compiler.backends.python.empty_module import entry_name
from tracemill.compiler.backends.python.printer import print_module
from tracemill.compiler.dtypes import Array, is_inexact, real_dtype
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph
from tracemill.compiler.shapes import Declared, Observed, answering
from tracemill.compiler.text.parser import parse
from tracemill.compiler.text.printer import HEADER
from tracemill.passes.lowering.fix_sizes import fix_sizes
from tracemill.runtime.machine.compiler_process import compiled as build
from tracemill.runtime.machine.toolchain import Toolchain
from tracemill.runtime.programs.canonicalize import canonicalize
from tracemill.runtime.programs.load_module import load_module
from tracemill.runtime.programs.optimize import optimize
from tracemill.runtime.programs.shared_library import link

NAMES = (*KERNELS, *STEPS)


def assert_close(found: Sequence[Array], expected: Sequence[Array]) -> None:
    """Integers equal; numbers as near as the order of additions lets them be."""
    for x, y in zip(found, expected, strict=False):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        if not is_inexact(y.dtype):
            np.testing.assert_array_equal(x, y)
            continue
        eps = float(np.finfo(real_dtype(y.dtype)).eps)
        largest = float(np.abs(y).max(initial=0.0))
        np.testing.assert_allclose(x, y, rtol=64 * eps, atol=64 * eps * largest)


def function_of(name: str) -> CFunction:
    return printed(name)[1]


@pytest.fixture(scope="module")
def kernels(c_toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Compiled]:
    """Compiles kernels when the first of them is asked for."""
    functions = {name: partial(function_of, name) for name in NAMES}
    return when_asked(functions, c_toolchain, tmp_path_factory.mktemp("symbolic"), level=1)


@pytest.mark.parametrize("name", NAMES)
def test_printing_assumes_nothing_of_the_sizes(name: str) -> None:
    _, function, scope = printed(name)
    assert str(scope.guards) == "True"
    assert function.sizes


@pytest.mark.slow
@pytest.mark.parametrize("name", in_parts(NAMES, parts=6, some=3))
def test_functions_give_what_they_mean_for_each_size(name: str, kernels: Callable[[str], Compiled]) -> None:
    graph, _, _ = printed(name)
    for sizes in OTHER_SIZES.get(name, SIZES):
        arrays = drawn(graph, sizes, name)
        with np.errstate(all="ignore"):
            expected = [np.asarray(x) for x in evaluate(fix_sizes(graph, sizes), *arrays)]
        found = kernels(name)(*arrays, sizes=sizes)
        assert_close(found, expected)
        for threads in (2, 3):
            again = kernels(name)(*arrays, sizes=sizes, threads=threads)
            for x, y in zip(found[: len(expected)], again, strict=False):
                np.testing.assert_array_equal(x, y)


def test_loops_are_split_where_conditions_change_so_that_no_choice_is_left() -> None:
    _, function, _ = printed("on_a_torus")
    chosen = [line for line in function.text.splitlines() if "?" in line or "if (" in line]
    assert all("chunk" in line or "? end" in line or "threads" in line for line in chosen)


def test_short_sums_of_any_length_are_gathered_side_by_side() -> None:
    _, function, _ = printed("pairs_of_any_width")
    innermost = re.findall(r"simd\n *for \(long (\w+) = .*\n.*\n.*\n *(sum_1\w*)\[", function.text)
    assert ("j_in_part", "sum_1_so_far_block") in innermost


def test_short_rows_run_on_narrow_vectors_where_wide_ones_would_leave_much_over() -> None:
    _, function, _ = printed("few_columns")
    heads = re.findall(
        r"( *)if \(dim_M < 64 && dim_M % 16 >= 4\) {\n *#pragma omp simd simdlen\(4\)", function.text
    )
    assert heads
    _, function, _ = printed("on_a_torus")  # with rows that are typically longer
    assert "simdlen" not in function.text


def test_few_columns_have_functions_of_their_own() -> None:
    _, function, _ = printed("few_columns")
    assert re.findall(r"if \((dim_M == \d)\) {\n *(\w+)\(", function.text) == [
        (f"dim_M == {length}", f"c_few_columns_for_{length}") for length in (2, 3, 4)
    ]
    (short,) = re.findall(r"// c_few_columns where M is 3\.\n(.*?\n}\n)", function.text, re.DOTALL)
    assert "dim_M" not in short


MAY_BE_EMPTY = (
    "bits",
    "places",
    "products",
    "recurrence",
    "running_sums",
    "side_by_side",
    "sorted_pairs",
    "sums",
    "taken_apart",
    "transposed",
    "written",
)


def test_declared_sizes_may_be_0_and_1(c_toolchain: Toolchain, tmp_path: Path) -> None:
    graphs: list[Graph] = []
    functions: list[CFunction] = []
    with answering(Declared()):
        for name in MAY_BE_EMPTY:
            graph, function = in_c(name, {**KERNELS, **STEPS}[name].replace(" in 2..", " in 0.."))
            graphs.append(graph)
            functions.append(function)
    made = compiled(functions, c_toolchain, tmp_path, level=1)
    for sizes in EMPTY:
        for name, graph, run in zip(MAY_BE_EMPTY, graphs, made, strict=True):
            arrays = drawn(graph, sizes, name)
            expected = [np.asarray(x) for x in evaluate(fix_sizes(graph, sizes), *arrays)]
            assert_close(run(*arrays, sizes=sizes, threads=2), expected)


@pytest.mark.parametrize("name", NAMES)
def test_a_library_of_one_function_holds_all_that_it_and_its_wrapper_call(name: str) -> None:
    _, function, _ = printed(name)
    text = print_source(name, [function])
    called = set(re.findall(r"(?<!long )\b(tm_size_\w+)\(", text))
    assert called <= set(re.findall(r"\blong (tm_size_\w+)\(", text))


def loaded(graphs: Sequence[Graph], toolchain: Toolchain) -> list[Callable[..., tuple[Any, ...]]]:
    """The functions of optimised graphs, with all their C functions in one library."""
    library = CLibrary(partial(print_function, options=COptions()))
    for graph in graphs:  # a module lists all functions of the library: then they are known
        print_module(graph, NUMPY, library=library)
    flags = (*toolchain.flags_for(fast_math=False), "-O1")
    shared = build(toolchain.command, flags, print_source("all", library.functions))
    made: list[Callable[..., tuple[Any, ...]]] = []
    for graph in graphs:
        function = load_module(print_module(graph, NUMPY, library=library), entry_name(graph))
        link(function, shared, None)
        made.append(function)
    return made


@pytest.mark.sampled("bits")
@pytest.mark.parametrize("name", in_parts(NAMES, parts=6, some=3))
def test_results_are_the_same_in_the_memory_of_inputs(name: str, kernels: Callable[[str], Compiled]) -> None:
    graph, function, _ = printed(name)
    for sizes in OTHER_SIZES.get(name, SIZES):
        arrays = drawn(graph, sizes, name)
        expected = kernels(name)(*arrays, sizes=sizes)[: len(graph.outputs)]
        for output, places in function.in_place.items():
            for place in places:
                given = [x.copy() for x in arrays]
                outputs = [np.full(shape_at(type, sizes), 1, type.dtype) for type in function.outputs]
                outputs[output] = given[place]
                found = kernels(name)(*given, sizes=sizes, threads=2, outputs=tuple(outputs))
                for x, y in zip(found, expected, strict=False):
                    np.testing.assert_array_equal(x, y)


# ---- what Python calls ---------------------------------------------------------------------------------


def of_all_texts(first: int, second: int) -> dict[str, int]:
    """Sizes for any of the texts."""
    return {
        **dict.fromkeys(("B", "len"), first),
        **dict.fromkeys(("N", "memory"), second),
        **dict.fromkeys(("i", "idle", "np"), 3),
        "K": 6 * first,
    }


@pytest.mark.slow
def test_programs_are_right_for_all_sizes(c_toolchain: Toolchain) -> None:
    graphs: dict[str, Graph] = {}
    scope = Observed(of_all_texts(6, 6))
    with answering(scope):
        graphs = {name: graph_of(text) for name, text in TEXTS.items()}
        made = loaded([optimize(canonicalize(graph, "c"), "c") for graph in graphs.values()], c_toolchain)
    assert str(scope.guards) == "True"
    for (name, graph), function in zip(graphs.items(), made, strict=True):
        for b, n in ((2, 2), (5, 20), (40, 3), (6, 8)):
            sizes = of_all_texts(b, n)
            arrays = drawn(graph, sizes, name)
            with np.errstate(all="ignore"):
                expected = [np.asarray(x) for x in evaluate(fix_sizes(graph, sizes), *arrays)]
            assert_close([np.asarray(x) for x in function(*arrays)], expected)


@pytest.fixture(scope="module")
def differences(c_toolchain: Toolchain) -> Any:
    """A function of a library as Python calls it: of two sizes, an array and its result."""
    with answering(Observed(HINTS)):
        graph = as_kernel(parse(f"{HEADER}{KERNELS['differences']}"))
        (function,) = loaded([graph], c_toolchain)
    (name,) = (name for name in function.__globals__ if name.startswith("c_"))
    return function.__globals__[name]


def test_operands_are_copied_where_they_are_not_in_order(differences: Any) -> None:
    x = np.arange(60, dtype=np.float32).reshape(5, 12)[:, ::2] ** 2
    out = np.empty((5, 5), np.float32)
    differences(5, np.int64(6), x, out)
    np.testing.assert_array_equal(out, x[:, 1:] - x[:, :-1])


@pytest.mark.parametrize(
    ("sizes", "shape", "match"),
    [
        ((5, 6), (6, 5), "argument 0 has another shape"),
        ((5, 6), (30,), "needs float32 of shape"),
        ((5,), (5, 6), "takes 2 sizes first|int"),
        ((5, -6), (5, 6), "takes 2 sizes first"),
        ((5, 6.0), (5, 6), "int"),
        ((5, 6, 7), (5, 6), "takes 2 arrays, not 3"),
    ],
)
def test_what_does_not_fit_is_refused(
    differences: Any, sizes: tuple[Any, ...], shape: tuple[int, ...], match: str
) -> None:
    with pytest.raises(TypeError, match=match):
        differences(*sizes, np.zeros(shape, np.float32), np.empty((5, 5), np.float32))


def test_results_that_do_not_fit_are_refused(differences: Any) -> None:
    with pytest.raises(TypeError, match="argument 1"):
        differences(5, 6, np.zeros((5, 6), np.float32), np.empty((5, 6), np.float32))
