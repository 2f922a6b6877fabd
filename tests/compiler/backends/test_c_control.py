"""Loops and choices in C: memory that steps share in every way, and what their graphs mean."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiling import Compiled, compiled
from recording import assert_same, recorded
from tracemill.compiler import functions as fn
from tracemill.compiler.backends.c_function import CFunction, COptions
from tracemill.compiler.backends.c_source import print_function
from tracemill.compiler.ir import Graph, Value
from tracemill.compiler.trace import bind, bind_all, evaluate

FOUR = "f64[4]"
ONE = {"axis": 0, "reverse": False}


def total(x: Value) -> Value:
    return bind("cumsum", x, **ONE)


def peak(x: Value) -> Value:
    return bind("cummax", x, **ONE)


def place(x: Value, new: Value, at: Value, mode: str = "set") -> Value:
    return fn.scatter(x, new, [at], (0,), mode)


def turned(x: Value) -> Value:
    return fn.reshape(fn.reshape(x, (2, 2)), (4,))


# A step from a constant w, two carried a and b, places i and an entry x; to the carried and what is stacked.
STEPS: dict[str, Callable[..., tuple[Value, ...]]] = {
    "exchanges": lambda w, a, b, i, x: (b, a, x),
    "gives the same twice": lambda w, a, b, i, x: (total(a), fn.reshape(total(a), (4,)), a),
    "hands on as it is": lambda w, a, b, i, x: (a, total(b), b),
    "hands on a constant and a slice": lambda w, a, b, i, x: (w, x, w),
    "hands on what is known": lambda w, a, b, i, x: (fn.constant(np.array([1, -0.0, np.nan, 4])), x, b),
    "gives one result to all": lambda w, a, b, i, x: (y := total(w), y, y),
    "overwrites what it gives out": lambda w, a, b, i, x: (total(x), peak(b), a),
    "renames what it carries": lambda w, a, b, i, x: (turned(a), turned(b), turned(x)),
    "writes to a place": lambda w, a, b, i, x: (place(a, b, i), total(b), x),
    "writes to a place twice": lambda w, a, b, i, x: (place(place(a, x, i), w, i, "add"), b, peak(x)),
    "writes and gives out the old": lambda w, a, b, i, x: (place(a, x, i), b, a),
    "writes and gives out the new": lambda w, a, b, i, x: (y := place(a, x, i), b, y),
    "writes after a reader": lambda w, a, b, i, x: (place(a, total(a), i), peak(a), b),
    "writes before a reader of another name": lambda w, a, b, i, x: (
        place(a, x, i),
        peak(turned(a)),
        turned(b),
    ),
    "writes to what it renamed": lambda w, a, b, i, x: (place(turned(a), x, i), b, b),
    "writes what it writes to": lambda w, a, b, i, x: (place(a, a, i), place(b, a, i), x),
    "writes across": lambda w, a, b, i, x: (place(b, x, i), place(a, x, i), x),
    "writes to a constant": lambda w, a, b, i, x: (place(w, x, i), place(w, a, i), w),
    "writes to what it made": lambda w, a, b, i, x: (place(total(a), x, i), place(total(b), a, i), total(x)),
}


def loop(step: Callable[..., tuple[Value, ...]], length: int, **more: Any) -> Graph:
    body = recorded(step, FOUR, FOUR, FOUR, "i64[4]", FOUR)
    rows = (f"i64[{length}, 4]", f"f64[{length}, 4]")
    return recorded(
        lambda *v: bind_all("scan", *v, graph=body, counts=(1, 2), length=length, **more),
        *(FOUR, FOUR, FOUR, *rows),
    )


def c_functions(graphs: dict[str, Graph]) -> dict[str, CFunction]:
    """The C functions of graphs of one call."""
    found: dict[str, CFunction] = {}
    for number, (name, graph) in enumerate(graphs.items()):
        (call,) = graph.calls
        function = print_function(call, f"control_{number}", COptions())
        assert function, name
        found[name] = function
    return found


VARIANTS: dict[str, dict[str, Any]] = {"": {}, " backwards": {"reverse": True}, " unrolled": {"unroll": 2}}
LOOPS = {
    f"{name}, {length} times{variant}": loop(step, length, **more)
    for name, step in STEPS.items()
    for length in (1, 4, 5)
    for variant, more in VARIANTS.items()
}


def compiled_by_name(
    graphs: dict[str, Graph], compiler: str, folder: Path
) -> dict[str, tuple[Graph, Compiled]]:
    functions = c_functions(graphs)
    made = compiled(list(functions.values()), compiler, folder, level=2)
    return {name: (graphs[name], run) for name, run in zip(functions, made, strict=True)}


@pytest.fixture(scope="module")
def loops(c_compiler: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Graph, Compiled]]:
    return compiled_by_name(LOOPS, c_compiler, tmp_path_factory.mktemp("loops"))


def arrays_for(graph: Graph) -> list[Any]:
    """Random arrays; whole numbers are places, of which some lie outside of four."""
    rng = np.random.default_rng(len(graph.calls))
    return [
        rng.integers(-1, 5, v.shape).astype(v.dtype)
        if v.dtype.kind in "iu"
        else rng.normal(size=v.shape).astype(v.dtype)
        for v in graph.inputs
    ]


@pytest.mark.parametrize("name", LOOPS)
def test_steps_that_share_memory_in_every_way(name: str, loops: dict[str, tuple[Graph, Compiled]]) -> None:
    graph, run = loops[name]
    arrays = arrays_for(graph)
    before = [x.copy() for x in arrays]
    expected = evaluate(graph, *arrays)
    for threads in (1, 2):
        assert_same(run(*arrays, threads=threads)[: len(expected)], expected)
    assert_same(arrays, before)


def test_what_is_carried_and_written_to_is_copied_once(c_compiler: str, tmp_path: Path) -> None:
    def step(table: Value, i: Value, x: Value) -> tuple[Value, ...]:
        return (place(table, x, i),)

    body = recorded(step, "f64[100000]", "i64[1]", "f64[1]")
    graph = recorded(
        lambda *v: bind_all("scan", *v, graph=body, counts=(0, 1), length=50_000),
        "f64[100000]",
        "i64[50000, 1]",
        "f64[50000, 1]",
    )
    ((_, run),) = compiled_by_name({"": graph}, c_compiler, tmp_path).values()
    arrays = [np.zeros(100_000), np.arange(50_000).reshape(-1, 1) * 2, np.ones((50_000, 1))]
    (written,) = run(*arrays)  # would take half a minute with a copy in each step
    np.testing.assert_array_equal(written, np.arange(100_000) % 2 == 0)


def test_a_loop_within_a_loop_works_in_the_memory_it_is_given(c_compiler: str, tmp_path: Path) -> None:
    inner = recorded(lambda a, x: (total(peak(total(a))), total(x)), "f64[40, 30]", "f64[30]")
    outer = recorded(
        lambda a, x: bind_all("scan", a, x, graph=inner, counts=(0, 1), length=3), "f64[40, 30]", "f64[3, 30]"
    )
    graph = recorded(
        lambda *v: bind_all("scan", *v, graph=outer, counts=(0, 1), length=4), "f64[40, 30]", "f64[4, 3, 30]"
    )
    ((_, run),) = compiled_by_name({"": graph}, c_compiler, tmp_path).values()
    arrays = [x / 9 for x in arrays_for(graph)]
    expected = evaluate(graph, *arrays)
    assert_same(run(*arrays)[: len(expected)], expected)


@pytest.mark.parametrize(("dtype", "indices"), [("i64", (-5, 0, 1, 2, 9)), ("bool", (0, 1))])
def test_a_choice_takes_the_branch_that_its_index_names(
    dtype: str, indices: tuple[int, ...], c_compiler: str, tmp_path: Path
) -> None:
    forms = (lambda x: (total(x),), lambda x: (peak(x),), lambda x: (x,))
    branches = tuple(recorded(form, FOUR) for form in forms[: 2 if dtype == "bool" else 3])
    graph = recorded(lambda i, x: bind_all("switch", i, x, branches=branches), f"{dtype}[]", FOUR)
    ((_, run),) = compiled_by_name({"": graph}, c_compiler, tmp_path).values()
    for index in indices:
        arrays = [np.array(index, graph.inputs[0].dtype), np.array([1.0, -2.0, 3.0, -4.0])]
        assert_same(run(*arrays), evaluate(graph, *arrays))


def test_a_loop_over_what_only_numpy_can_do_stays_a_loop_of_python() -> None:
    body = recorded(lambda a: (bind("cholesky", a),), "f64[40, 40]")
    graph = recorded(lambda a: bind_all("scan", a, graph=body, counts=(0, 1), length=3), "f64[40, 40]")
    assert print_function(graph.calls[0], "name", COptions()) is None
