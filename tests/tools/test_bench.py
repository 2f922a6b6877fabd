"""``tracemill bench own`` measures what it says, in a table and as JSON. The numbers are not tested."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optree
import pytest

import tracemill as tm
from samples.thinning import mostly_on_numpy
from tracemill.tools.bench import (
    artifacts,
    bounds,
    compilation,
    conversion,
    overhead,
    training_step,
    transforms,
)
from tracemill.tools.bench.eager.programs import PROGRAMS, Program
from tracemill.tools.bench.loops import against_numba
from tracemill.tools.bench.loops.cases import ELEMENTS, NUMBERS, Case
from tracemill.tools.bench.suite import checks
from tracemill.tools.bench.timing import ratio_in_turn, seconds_in_turn

from .terminal import Terminal

LOOPS: dict[str, Case] = {case.name: case for case in (*ELEMENTS, *NUMBERS)}


def test_functions_are_called_in_turn() -> None:
    calls: list[str] = []
    seconds = seconds_in_turn([lambda: calls.append("a"), lambda: calls.append("b")], rounds=2, calls=2)
    assert "".join(calls) == "ab" + "bbaa" + "aabb"
    assert all(time > 0 for time in seconds)


@pytest.mark.slow
def test_a_ratio_is_of_calls_around_calls_of_the_other() -> None:
    calls: list[str] = []
    ratio, seconds = ratio_in_turn(lambda: calls.append("a"), lambda: calls.append("b"), rounds=2, calls=2)
    assert "".join(calls) == "ab" + "bb" + "aaaa" + "bb" + "aa" + "bbbb" + "aa"
    assert ratio > 0
    assert seconds > 0


def test_overhead_and_step_are_reported(monkeypatch: pytest.MonkeyPatch, terminal: Terminal) -> None:
    monkeypatch.setattr(overhead, "CALLS", 20)
    monkeypatch.setattr(training_step, "CALLS", 1)
    ran = terminal.run("bench", "own", "overhead", "step", "--rounds", "1", "--json", "found.json")
    assert (ran.status, ran.err) == (0, "")
    document = json.loads(Path("found.json").read_text())
    cases = [(row["benchmark"], row["case"]) for row in document["measurements"]]
    assert ("overhead", "dict of 5 arrays") in cases
    assert ("step", "batch 64, ratio") in cases
    assert all(case in ran.out for _, case in cases)
    assert document["machine"] in ran.out


def test_compiling_is_reported_by_size(monkeypatch: pytest.MonkeyPatch, terminal: Terminal) -> None:
    monkeypatch.setattr(compilation, "SIZES", (10, 20, 40))
    monkeypatch.setattr(compilation, "FITTED", (20, 40))
    ran = terminal.run("bench", "own", "compile", "--rounds", "1")
    assert [line.split("  ")[1] for line in ran.out.splitlines()[3:]] == [
        "10 nodes",
        "20 nodes",
        "40 nodes",
        "growth",
        "40 nodes, memory",
    ]


def test_converting_is_reported_by_file_and_function(
    monkeypatch: pytest.MonkeyPatch, terminal: Terminal
) -> None:
    monkeypatch.setattr(conversion, "COPIES", 2)
    ran = terminal.run("bench", "own", "conversion", "--rounds", "1")
    assert (ran.status, ran.err) == (0, "")
    cases = [line.split("  ")[1] for line in ran.out.splitlines()[3:]]
    assert [case.partition(" of ")[0] for case in cases] == ["file", "function"]


@pytest.mark.slow
def test_transforms_are_reported(monkeypatch: pytest.MonkeyPatch, terminal: Terminal) -> None:
    monkeypatch.setattr(transforms, "SIZE", 1000)
    ran = terminal.run("bench", "own", "transforms", "--rounds", "1", "--json", "found.json")
    assert (ran.status, ran.err) == (0, "")
    cases = [row["case"] for row in json.loads(Path("found.json").read_text())["measurements"]]
    kinds = (", nodes", " / NumPy's forward", " / NumPy by hand", "compile")
    assert [sum(case.endswith(kind) for case in cases) for kind in kinds] == [5, 5, 5, 1]


def test_the_cost_of_checking_bounds_is_reported(monkeypatch: pytest.MonkeyPatch, terminal: Terminal) -> None:
    monkeypatch.setattr(bounds, "SIZE", 1000)
    monkeypatch.setattr(bounds, "BACKENDS", ("numpy",))
    ran = terminal.run("bench", "own", "bounds", "--rounds", "1", "--json", "found.json")
    assert (ran.status, ran.err) == (0, "")
    rows = json.loads(Path("found.json").read_text())["measurements"]
    names = [
        f"{function.__name__} ({backend})" for function in bounds.cases(100) for backend in bounds.BACKENDS
    ]
    assert [row["case"] for row in rows] == names


@pytest.mark.slow
def test_the_cost_of_checks_and_guards_is_reported(
    monkeypatch: pytest.MonkeyPatch, terminal: Terminal, c_toolchain: object
) -> None:
    monkeypatch.setattr(checks, "SIZE", 2000)
    ran = terminal.run("bench", "own", "checks", "--rounds", "1", "--json", "found.json")
    assert (ran.status, ran.err) == (0, "")
    rows = json.loads(Path("found.json").read_text())["measurements"]
    assert [row["unit"] for row in rows] == ["x"] * 12 + ["µs"] * 4


@pytest.mark.slow
def test_loops_are_reported_beside_numba(
    monkeypatch: pytest.MonkeyPatch, terminal: Terminal, c_toolchain: object
) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr(against_numba, "SCALE", 0.0)
    ran = terminal.run("bench", "own", "loops", "--rounds", "1", "--json", "found.json")
    assert (ran.status, ran.err) == (0, "")
    cases = {row["case"] for row in json.loads(Path("found.json").read_text())["measurements"]}
    assert {case.name for case in (*ELEMENTS, *NUMBERS)} < cases
    assert {"elements, geometric mean", "numbers, geometric mean", "array of 1000 on numpy"} < cases


@pytest.mark.parametrize(("name", "backend"), mostly_on_numpy(LOOPS, 4))
def test_a_loop_of_the_benchmark_computes_what_python_does(
    name: str, backend: str, c_toolchain: object
) -> None:
    case = LOOPS[name]
    arguments = case.drawn(case.small)
    found, expected = tm.compile(case.function, backend=backend)(*arguments), case.function(*arguments)
    for ours, theirs in zip(optree.tree_leaves(found), optree.tree_leaves(expected), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.slow
def test_exported_files_are_reported(monkeypatch: pytest.MonkeyPatch, terminal: Terminal) -> None:
    monkeypatch.setattr(artifacts, "REPORTED", 100)
    ran = terminal.run("bench", "own", "artifacts", "--rounds", "1", "--json", "found.json")
    assert (ran.status, ran.err) == (0, "")
    rows = json.loads(Path("found.json").read_text())["measurements"]
    found = {row["case"]: row["value"] for row in rows}
    assert {f"export, 30 nodes, {format}" for format in artifacts.FORMATS} < found.keys()
    assert all(value > 0 for value in found.values())
    assert found["digit network, bundle"] <= 1.2


@pytest.mark.parametrize("name", transforms.PAIRS)
def test_both_ways_to_compute_a_batch_agree(name: str) -> None:
    pair = transforms.PAIRS[name]
    arguments = pair.arguments()
    in_dims = tuple(0 if mapped else None for mapped in pair.mapped)
    np.testing.assert_allclose(tm.vmap(pair.one, in_dims)(*arguments), pair.batch(*arguments), 1e-10, 1e-10)


@pytest.mark.parametrize("function", transforms.STRAIGHT_LINE, ids=lambda function: function.__name__)
def test_a_gradient_has_at_most_four_times_the_calls(function: Callable[[Any], Any]) -> None:
    x = np.linspace(-2.0, 2.0, 1000)
    before, after = (tm.compile(f).lower(x).optimised.calls for f in (function, tm.grad(function)))
    assert len(after) <= 4 * len(before)


def test_a_chain_has_as_many_calls_as_it_says() -> None:
    assert len(tm.compile(compilation.chain(40)).lower(np.ones(2)).optimised.calls) == 40


@pytest.mark.parametrize(
    "program",
    {program.made: program for program in reversed(PROGRAMS)}.values(),
    ids=lambda program: program.name,
)
def test_the_gradients_that_are_compared_with_autograd_are_right(program: Program) -> None:
    function, x = program.made(np), program.argument
    value, gradient = tm.value_and_grad(function)(x)
    leaves, slopes = (x, gradient) if isinstance(x, tuple) else ((x,), (gradient,))
    step = 1e-6
    moved = tuple(leaf + step * np.cos(np.arange(leaf.size)).reshape(leaf.shape) for leaf in leaves)
    there = function(moved if isinstance(x, tuple) else moved[0])
    expected = sum(np.sum(slope * (to - leaf)) for slope, to, leaf in zip(slopes, moved, leaves, strict=True))
    np.testing.assert_allclose(there - value, expected, rtol=1e-3, atol=1e-7 * abs(value))
