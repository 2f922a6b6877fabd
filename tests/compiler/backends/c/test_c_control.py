"""Loops and choices in C: memory that steps share in every way, and what their graphs mean."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from c.compiling import Compiled, compiled, when_asked
from graphs.loop_steps import FOUR, LOOPS, arrays_for, peak, place, total, turned
from samples.grouping import of_each_sample
from samples.sample import Sample
from samples.table import SAMPLES
from samples.thinning import in_parts
from support.recording import assert_same, recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.backends.c.function import CFunction, COptions
from tracemill.compiler.backends.c.module.source import print_function
from tracemill.compiler.builder import bind, bind_all
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph, Value
from tracemill.passes.optimizations.fuse import fuse
from tracemill.runtime.machine.toolchain import Toolchain


def c_functions(graphs: dict[str, Graph]) -> dict[str, CFunction]:
    """The C functions of graphs of one call."""
    found: dict[str, CFunction] = {}
    for number, (name, graph) in enumerate(graphs.items()):
        (call,) = graph.calls
        function = print_function(call, f"control_{number}", COptions())
        assert function, name
        found[name] = function
    return found


def compiled_by_name(
    graphs: dict[str, Graph], toolchain: Toolchain, folder: Path
) -> dict[str, tuple[Graph, Compiled]]:
    functions = c_functions(graphs)
    made = compiled(list(functions.values()), toolchain, folder, level=2)
    return {name: (graphs[name], run) for name, run in zip(functions, made, strict=True)}


def loop_function(number: int, name: str) -> CFunction:
    function = print_function(LOOPS[name]().calls[0], f"loop_{number}", COptions())
    assert function, name
    return function


@pytest.fixture(scope="module")
def loops(c_toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Compiled]:
    """Compiles loops when the first of them is asked for."""
    functions = {name: partial(loop_function, number, name) for number, name in enumerate(LOOPS)}
    return when_asked(functions, c_toolchain, tmp_path_factory.mktemp("loops"), level=2, every=7)


@pytest.mark.slow
@pytest.mark.parametrize("name", in_parts(LOOPS, parts=7, some=3))
def test_steps_that_share_memory_in_every_way(name: str, loops: Callable[[str], Compiled]) -> None:
    graph, run = LOOPS[name](), loops(name)
    arrays = arrays_for(graph)
    before = [x.copy() for x in arrays]
    expected = evaluate(graph, *arrays)
    for threads in (1, 2):
        assert_same(run(*arrays, threads=threads)[: len(expected)], expected)
    assert_same(arrays, before)


def test_what_is_carried_and_written_to_is_copied_once(c_toolchain: Toolchain, tmp_path: Path) -> None:
    def step(table: Value, i: Value, x: Value) -> tuple[Value, ...]:
        return (place(table, x, i),)

    body = recorded(step, "f64[100000]", "i64[1]", "f64[1]")
    graph = recorded(
        lambda *v: bind_all("scan", *v, graph=body, counts=(0, 1), length=50_000),
        "f64[100000]",
        "i64[50000, 1]",
        "f64[50000, 1]",
    )
    ((_, run),) = compiled_by_name({"": graph}, c_toolchain, tmp_path).values()
    arrays = [np.zeros(100_000), np.arange(50_000).reshape(-1, 1) * 2, np.ones((50_000, 1))]
    (written,) = run(*arrays)  # would take half a minute with a copy in each step
    np.testing.assert_array_equal(written, np.arange(100_000) % 2 == 0)


def test_a_loop_within_a_loop_works_in_the_memory_it_is_given(c_toolchain: Toolchain, tmp_path: Path) -> None:
    inner = recorded(lambda a, x: (total(peak(total(a))), total(x)), "f64[40, 30]", "f64[30]")
    outer = recorded(
        lambda a, x: bind_all("scan", a, x, graph=inner, counts=(0, 1), length=3), "f64[40, 30]", "f64[3, 30]"
    )
    graph = recorded(
        lambda *v: bind_all("scan", *v, graph=outer, counts=(0, 1), length=4), "f64[40, 30]", "f64[4, 3, 30]"
    )
    ((_, run),) = compiled_by_name({"": graph}, c_toolchain, tmp_path).values()
    arrays = [x / 9 for x in arrays_for(graph)]
    expected = evaluate(graph, *arrays)
    assert_same(run(*arrays)[: len(expected)], expected)


@pytest.mark.parametrize(("dtype", "indices"), [("i64", (-5, 0, 1, 2, 9)), ("bool", (0, 1))])
def test_a_choice_takes_the_branch_that_its_index_names(
    dtype: str, indices: tuple[int, ...], c_toolchain: Toolchain, tmp_path: Path
) -> None:
    forms = (lambda x: (total(x),), lambda x: (peak(x),), lambda x: (x,))
    branches = tuple(recorded(form, FOUR) for form in forms[: 2 if dtype == "bool" else 3])
    graph = recorded(lambda i, x: bind_all("switch", i, x, branches=branches), f"{dtype}[]", FOUR)
    ((_, run),) = compiled_by_name({"": graph}, c_toolchain, tmp_path).values()
    for index in indices:
        arrays = [np.array(index, graph.inputs[0].dtype), np.array([1.0, -2.0, 3.0, -4.0])]
        assert_same(run(*arrays), evaluate(graph, *arrays))


@pytest.mark.parametrize("limit", [{}, {"max_steps": 3}], ids=["no limit", "three steps at most"])
def test_a_while_loop_runs_as_long_as_its_condition_holds(
    limit: dict[str, int], c_toolchain: Toolchain, tmp_path: Path
) -> None:
    types = ("i64[]", FOUR, FOUR, FOUR, "i64[]")
    cond = recorded(lambda most, w, a, b, n: fn.less(n, most), *types)
    body = recorded(
        lambda most, w, a, b, n: (fn.add(b, w), place(turned(a), fn.sum_(a, (0,)), n, "add"), fn.add(n, 1)),
        *types,
    )
    graph = recorded(lambda *v: bind_all("while_loop", *v, cond=cond, body=body, consts=2, **limit), *types)
    ((_, run),) = compiled_by_name({"": graph}, c_toolchain, tmp_path).values()
    for steps in (0, 1, 2, 5):
        arrays = [np.array(steps), *np.random.default_rng(0).normal(size=(3, 4)), np.array(0)]
        assert_same(run(*arrays), evaluate(graph, *arrays))


def test_a_loop_over_numbers_is_one_function() -> None:
    cond = recorded(
        lambda a, x: fn.greater(fn.absolute(fn.subtract(fn.square(x), a)), 1e-12), "f64[]", "f64[]"
    )
    body = recorded(lambda a, x: (fn.multiply(fn.add(x, fn.divide(a, x)), 0.5),), "f64[]", "f64[]")
    graph = recorded(lambda a: bind_all("while_loop", a, a, cond=cond, body=body, consts=1), "f64[]")
    (function,) = c_functions({"newton": fuse(graph)}).values()
    assert function.text.count("static void") == 1


def test_a_loop_over_what_only_numpy_can_do_stays_a_loop_of_python() -> None:
    body = recorded(lambda a: (bind("cholesky", a),), "f64[40, 40]")
    graph = recorded(lambda a: bind_all("scan", a, graph=body, counts=(0, 1), length=3), "f64[40, 40]")
    assert print_function(graph.calls[0], "name", COptions()) is None


OPS = ("call", "checkpoint", "custom_rule", "linear_call", "scan", "switch", "while_loop")


CONTROL = SAMPLES.where(lambda sample: sample.op in OPS)


@pytest.fixture(scope="module")
def controls(c_toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Compiled]:
    """By the id of its sample."""
    functions: dict[str, CFunction] = {}
    for number, sample in enumerate(CONTROL):
        (call,) = sample.graph().calls
        function = print_function(call, f"sample_{number}", COptions())
        assert function, sample.id
        functions[sample.id] = function
    assert {name.split("(")[0] for name in functions} == set(OPS)
    made = compiled(list(functions.values()), c_toolchain, tmp_path_factory.mktemp("controls"), level=1)
    return dict(zip(functions, made, strict=True))


@of_each_sample(CONTROL)
def test_samples_give_what_the_meaning_gives(sample: Sample, controls: dict[str, Compiled]) -> None:
    arrays = sample.arrays()
    expected = evaluate(sample.graph(), *arrays)
    actual = controls[sample.id](*arrays)[: len(expected)]
    for ours, theirs in zip(actual, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-12 if ours.dtype.itemsize == 8 else 1e-5)
