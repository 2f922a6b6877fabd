"""Benchmarks report a row per case. Nothing is timed here: each function runs once, on small arrays."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import optree
import pytest

import tracemill as tm
from tracemill.compiler.errors import MissingPackageError
from tracemill.tools.bench import artifacts, conversion, transforms
from tracemill.tools.bench.eager import against_autograd
from tracemill.tools.bench.eager.programs import CURVED, PROGRAMS
from tracemill.tools.bench.loops import against_numba
from tracemill.tools.bench.loops.cases import ELEMENTS, NUMBERS
from tracemill.tools.bench.suite import checks, sizes, starts
from tracemill.tools.bench.suite.frameworks import OURS
from tracemill.tools.bench.suite.rows import ROWS


def ratio(
    one: Callable[[], Any], other: Callable[[], Any], *, rounds: int, calls: int
) -> tuple[float, float]:
    """In place of a measurement: both compute the same, one in half a second, the other in a quarter."""
    for left, right in zip(*map(optree.tree_leaves, (one(), other())), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-8)
    return 2.0, 0.5


def seconds(functions: Sequence[Callable[[], Any]], *, rounds: int, calls: int) -> list[float]:
    """In place of a measurement: one second for the first, two for the next, and so on."""
    for function in functions:
        function()
    return [1.0 + number for number in range(len(functions))]


@pytest.fixture
def untimed(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for module in (against_autograd, against_numba, checks, sizes):
        monkeypatch.setattr(module, "ratio_in_turn", ratio)
    for module in (checks, sizes, transforms):
        monkeypatch.setattr(module, "seconds_in_turn", seconds)
    for module in (sizes, transforms):
        monkeypatch.setattr(module, "seconds_to_compile", lambda make, x, **options: make()(x).sum() * 0 + 1)
    return monkeypatch


def stand_in(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, **attributes: Any) -> None:
    """A package in place of one that is compared with."""
    made = ModuleType(name)
    for attribute, value in attributes.items():
        setattr(made, attribute, value)
        if isinstance(value, ModuleType):
            monkeypatch.setitem(sys.modules, f"{name}.{attribute}", value)
    monkeypatch.setitem(sys.modules, name, made)
    monkeypatch.setattr(module, "find_spec", lambda wanted: made if wanted == name else None)


# ---- beside other packages -----------------------------------------------------------------------------


def test_loops_are_compared_with_the_same_loops_of_numba(
    untimed: pytest.MonkeyPatch, c_toolchain: object
) -> None:
    stand_in(untimed, against_numba, "numba", njit=lambda function: function)
    in_numpy = partial(tm.compile, backend="numpy", convert=against_numba.HERE)
    untimed.setattr(against_numba, "compile", lambda function, **options: in_numpy(function))
    untimed.setattr(against_numba, "ELEMENTS", ELEMENTS[:1])
    untimed.setattr(against_numba, "NUMBERS", NUMBERS[:1])
    untimed.setattr(against_numba, "SCALE", 0.0)
    rows = list(against_numba.measure(1))
    names = ELEMENTS[0].name, NUMBERS[0].name
    assert [row.case for row in rows] == [
        names[0], "elements, geometric mean", names[1], "numbers, geometric mean", "array of 1000 on c",
        "array of 1000 on numpy",
    ]  # fmt: skip
    assert [row.value for row in rows] == pytest.approx([2.0] * 6)
    assert rows[1].detail == "Numba / Tracemill, 1 of 1 programs"


def test_a_loop_that_does_not_compile_is_reported_with_the_reason(untimed: pytest.MonkeyPatch) -> None:
    def raising(function: Any, **options: Any) -> Any:
        def call(*arguments: Any) -> Any:
            raise MissingPackageError("no C compiler")

        return call

    stand_in(untimed, against_numba, "numba", njit=lambda function: function)
    untimed.setattr(against_numba, "compile", raising)
    untimed.setattr(against_numba, "SCALE", 0.0)
    row = against_numba._beside_numba(NUMBERS[0], 1)
    assert (row.value, row.detail[:31]) == (0.0, "does not compile: no C compiler")


def test_gradients_are_compared_with_those_of_autograd(untimed: pytest.MonkeyPatch) -> None:
    stand_in(untimed, against_autograd, "autograd", grad=tm.grad, numpy=np)
    untimed.setattr(against_autograd, "PROGRAMS", PROGRAMS[:2])
    rows = list(against_autograd.measure(1))
    names = [program.name for program in PROGRAMS[:2]]
    products = [f"hvp of {program.name}" for program in CURVED]
    assert [row.case for row in rows] == [*names, "geometric mean", *products]
    assert [row.value for row in rows] == pytest.approx([2.0] * 6)
    assert rows[0].detail == "autograd 500 ms, Tracemill 250 ms"


@pytest.mark.parametrize("module", [against_autograd, against_numba])
def test_without_the_other_package_an_error_says_how_to_install_it(
    module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match="pip install"):
        next(module.measure(1))


# ---- beside the same without something -----------------------------------------------------------------


def test_checks_are_compared_with_the_same_function_without(untimed: pytest.MonkeyPatch) -> None:
    found = checks.cases(64)
    assert set(found) == {"gelu", "black_scholes", "layer_norm", "softmax", "cross_entropy", "n_body"}
    untimed.setattr(checks, "BACKENDS", ("numpy",))
    untimed.setattr(checks, "SIZE", 64)
    untimed.setattr(checks, "cases", lambda size: {"gelu": found["gelu"]})
    rows = list(checks.measure(1))
    guards = [f"guard on a sum of {size} numbers (numpy)" for size in (16, 64)]
    assert [(row.case, row.unit) for row in rows] == [
        ("gelu (numpy)", "x"), *((guard, "µs") for guard in guards)
    ]  # fmt: skip
    assert [row.value for row in rows] == [2.0, -4e6, -4e6]
    with pytest.raises(ValueError, match="an entry is far too small"):
        checks.checked(lambda xp, x: x)(np.array([-1e10]))


def test_programs_for_all_sizes_are_compared_with_those_for_one(untimed: pytest.MonkeyPatch) -> None:
    untimed.setattr(sizes, "BATCHES", 3)
    untimed.setattr(sizes, "COMPILED", (4,))
    untimed.setattr(sizes, "BACKENDS", ("numpy",))
    row = ROWS["gelu"]
    untimed.setattr(sizes, "ROWS", {"gelu": replace(row, size=row.small)})
    rows = list(sizes.measure(1))
    values = {row.case: row.value for row in rows}
    assert values["3 batch sizes"] == 2
    assert values["3 declared batch sizes"] == 1
    assert values["compiling 4 nodes"] == 1.0
    assert values["guards of a call on 2 arrays"] == -1e6
    assert values["checks of 3 arrays, many sizes and 5 guards"] == 3e6
    assert (values["numpy, gelu"], values["numpy, geometric mean"]) == pytest.approx((2.0, 2.0))


def test_transforms_are_compared_with_what_they_are_made_of(untimed: pytest.MonkeyPatch) -> None:
    untimed.setattr(transforms, "SIZE", 100)
    untimed.setattr(transforms, "STRAIGHT_LINE", transforms.STRAIGHT_LINE[1:2])
    untimed.setattr(transforms, "PAIRS", {"form": transforms.PAIRS["form"]})
    untimed.setattr(transforms, "NODES", 4)
    nodes, gradient, batch, second = transforms.measure(1)
    assert nodes.case == "grad of quadratic, nodes"
    assert 0 < nodes.value <= 4
    assert (gradient.value, gradient.detail) == (0.5, "1000.00 ms; 0.33 × the compiled function")
    assert (batch.case, batch.value) == ("vmap of form / NumPy by hand", 0.5)
    assert second.case == "hessian of 4 nodes, compile"


# ---- what the rows are about ---------------------------------------------------------------------------


def test_the_dense_function_solves_equations_and_refuses_singular_ones() -> None:
    x, count = conversion.dense(np.array([[0.0, 2.0], [4.0, 1.0]]), np.array([6.0, 7.0]), np.zeros(2), 2)
    assert x.tolist() == [1.0, 3.0]
    assert count == 3  # one exchange of rows, and two steps
    with pytest.raises(ValueError, match="singular at 1"):
        conversion.dense(np.ones((2, 2)), np.ones(2), np.zeros(2), 2)


def test_files_are_exported_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []

    def process(program: str, *arguments: str, folder: Path | None = None) -> float:
        asked.append((program, *arguments))
        assert all(Path(argument).exists() for argument in arguments)
        assert folder is None or any(folder.glob("*.py"))
        return 0.25

    monkeypatch.setattr(artifacts, "_in_fresh_process", process)
    monkeypatch.setattr(artifacts, "FORMATS", ("bundle",))
    monkeypatch.setattr(artifacts, "NODES", 3)
    monkeypatch.setattr(artifacts, "REPORTED", 3)
    rows = list(artifacts.measure(1))
    assert [row.case for row in rows] == [
        "export, 3 nodes, bundle", "load and first call", "import of a Python file", "digit network, bundle",
        "report, 3 nodes", "report, 3 nodes, page",
    ]  # fmt: skip
    assert rows[1].value == 250.0
    assert 1.0 < rows[3].value <= 1.2
    assert [program for program, *_ in asked] == [artifacts._LOAD, artifacts._LOAD, artifacts._IMPORT]


def test_a_start_is_of_the_process_with_empty_caches_and_of_the_call_with_full_ones(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answers = iter([(3.0, 2.0), (1.5, 0.5), ("no such backend", "no such backend")] * 2)
    monkeypatch.setattr(starts, "_run", lambda contestant, threads, folder: next(answers))
    ours, other = OURS + "numpy", "jax"
    cold, warm = starts.starts([ours], rounds=1, threads=1, folder=tmp_path)
    assert (cold.values, warm.values) == ({ours: [3.0]}, {ours: [0.5]})
    cold, warm = starts.starts([other], rounds=1, threads=1, folder=tmp_path)
    assert cold.problems == {other: "no such backend"}
    assert warm.values == {other: [2.0]}
    assert "jax.grad" in starts.program("jax")
    assert "backend='numpy'" in starts.program(ours)
