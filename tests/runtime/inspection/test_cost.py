"""The cost of a program: operations and bytes by call, and the least time that they take on a machine."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.analysis.flops import Work, work_of_graph
from tracemill.runtime.machine.measurements import Machine

X = np.random.default_rng(0).normal(size=(6, 4))
SQUARE = X.T @ X + np.eye(4)

MACHINE = Machine("a processor", 2, {}, {1: 1e9}, 1e-6, {"f32": 4e9, "f64": 2e9})

COUNTS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], Work]] = {
    "a sum of n numbers is n − 1": (np.sum, (X,), Work(23)),
    "one for each element": (lambda x: x * x + x, (X,), Work(48)),
    "square roots are arithmetic": (np.sqrt, (X,), Work(24)),
    "functions are counted apart": (lambda x: np.exp(x) + 1.0, (X,), Work(24, 24)),
    "moving elements is none": (lambda x: x.T[::2].copy(), (X,), Work()),
    "a product of matrices is 2mnk": (lambda x, y: x @ y, (X, X.T), Work(2 * 6 * 6 * 4)),
    "complex products are four times as many": (lambda x: x @ x.T, (X * 1j,), Work(8 * 6 * 6 * 4)),
    "a running sum": (np.cumsum, (X,), Work(24)),
    "Cholesky": (np.linalg.cholesky, (SQUARE,), Work(21)),
    "a system with one right side": (np.linalg.solve, (SQUARE, np.ones((4, 1))), Work(43 + 32)),
    "a transform of Fourier": (np.fft.fft, (np.ones(8, complex),), Work(5 * 8 * 3)),
    "a loop counts once per iteration": (
        lambda x: tm.scan(lambda c, _: (c * x, None), x, length=5),
        (X,),
        Work(5 * 24),
    ),
    "a loop of unknown length counts as one iteration": (
        lambda x: tm.while_loop(lambda c: c < 9, lambda c: c * 2, x),
        (1.5,),
        Work(2, is_lower_bound=True),
    ),
    "a composite op is what it is made of": (tm.nn.relu, (X,), Work(24)),
}


@pytest.mark.parametrize("name", COUNTS)
def test_operations_are_counted(name: str) -> None:
    function, arguments, expected = COUNTS[name]
    graph = tm.compile(function).lower(*arguments).graph
    converted = sum(call.op == "convert" for call in graph.calls)
    assert not converted
    assert work_of_graph(graph) == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_least_time_is_the_longer_of_memory_and_arithmetic(
    monkeypatch: pytest.MonkeyPatch, dtype: Any
) -> None:
    monkeypatch.setattr("tracemill.runtime.lowering.lowered_program.measured_machine", lambda: MACHINE)
    x = np.ones((100, 100), dtype)
    cost = tm.compile(lambda x: np.exp(x) @ x, backend="numpy").lower(x).cost
    exp, dot = cost.calls
    assert (exp.op, exp.flops, exp.transcendentals, exp.bytes_moved) == ("exp", 0, 10_000, 2 * x.nbytes)
    assert (dot.op, dot.flops, dot.bound) == ("dot", 2_000_000, "arithmetic")
    assert exp.least_time == pytest.approx(2 * x.nbytes / 1e9)
    assert dot.least_time == pytest.approx(2_000_000 / (4e9 if dtype is np.float32 else 2e9))
    assert cost.least_time == pytest.approx((exp.least_time or 0) + (dot.least_time or 0))
    assert (cost.flops, cost.transcendentals) == (2_000_000, 10_000)
    heading, *rows, total, machine = str(cost).splitlines()
    assert heading.split() == ["call", "flops", "transcendentals", "moves", "least", "time", "bound", "by"]
    assert [row.split()[0] for row in (*rows, total)] == ["exp_1", "dot_1", "all"]
    assert machine == "at 1 GB/s and 4 Gflop/s f32, 2 Gflop/s f64, as measured on this machine"


def test_kernels_are_one_row_each(c_compiler: str) -> None:
    cost = tm.compile(lambda x: np.sum(np.sin(x) * x), backend="c").lower(np.ones((100, 100))).cost
    (kernel,) = cost.calls
    assert (kernel.name, kernel.op) == ("kernel_sin_sum", "kernel")
    assert (kernel.flops, kernel.transcendentals) == (19_999, 10_000)


def test_tiles_are_counted_together() -> None:
    cost = tm.compile(lambda x: np.sin(x) * x, backend="numpy").lower(np.ones(1_000_001)).cost
    (tiled,) = cost.calls
    assert (tiled.op, tiled.flops, tiled.transcendentals) == ("tiled", 1_000_001, 1_000_001)


def test_programs_for_gpus_have_no_times() -> None:
    cost = tm.compile(lambda x: np.sin(x) @ x, backend="triton").lower(np.ones((8, 8))).cost
    assert (cost.flops, cost.least_time, cost.bandwidth) == (1024, None, None)
    assert {call.bound for call in cost.calls} == {None}
    assert "measured" not in str(cost)


def test_what_cannot_be_counted_is_marked() -> None:
    cost = tm.compile(np.linalg.pinv, backend="numpy").lower(X).cost
    assert cost.is_lower_bound
    assert "≥ " in str(cost)


def test_counts_do_not_depend_on_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = []
    for speed in (1e9, 2e9):
        machine = Machine("a processor", 2, {}, {1: speed}, 1e-6, {"f32": speed, "f64": speed})
        monkeypatch.setattr(
            "tracemill.runtime.lowering.lowered_program.measured_machine", lambda machine=machine: machine
        )
        cost = tm.compile(np.sin, backend="numpy").lower(X).cost
        found.append((cost.counts(), cost.as_dict()))
    assert found[0][0] == found[1][0]
    assert found[0][1] != found[1][1]
