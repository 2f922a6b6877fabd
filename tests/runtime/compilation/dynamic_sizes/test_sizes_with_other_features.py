"""Named sizes with containers, writes, derivatives, threads, pickles, stages and the disk cache."""

import pickle
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracemill as tm
from support.threading_together import run_in_threads
from symbolic.functions_of_any_size import W, clipped, rows, shown
from tracemill.compiler.errors import (
    DimMismatchError,
)
from tracemill.runtime.cache.disk_cache import default_cache


class Pair(NamedTuple):
    first: Any
    second: Any


def test_containers_numbers_settings_methods_and_captured_arrays_go_with_names() -> None:
    bias = np.arange(3.0)

    class Model:
        @tm.compile(static_argnames="mode")
        def run(self, pair: Any, scale: Any, *, mode: str = "up") -> Any:
            y = pair.first["x"] * scale + bias
            return Pair(y if mode == "up" else -y, pair.second)

    model = Model()
    for n in (2, 4, 6):
        bias += 1
        for mode in ("up", "down"):
            x = np.ones((n, 3), np.float32)
            got = model.run(Pair({"x": x}, 2), 3.0, mode=mode)
            expected = (x * 3.0 + bias) * (1 if mode == "up" else -1)
            np.testing.assert_array_equal(got.first, expected)
            assert got.first.dtype == np.float64
            assert got.second == 2
    assert len(Model.run.signatures()) == 4


def test_arrays_that_are_written_to_are_updated_at_every_size() -> None:
    @tm.compile
    def step(x: Any, y: Any) -> Any:
        x += y
        return x.sum(), x.shape[0]

    for n in (3, 5, 8, 5):
        x = np.ones(n)
        assert step(x, 2.0) == (3 * n, n)
        assert x.tolist() == [3.0] * n
    both = np.zeros(6)
    shifted = tm.compile(lambda a, b: a.__iadd__(b).sum(), dynamic=True)
    shifted(np.ones(4), np.ones(4))
    plain = np.zeros(6)
    plain[:4] += plain[2:]
    assert shifted(both[:4], both[2:]) == plain[:4].sum()


def test_donated_arguments_may_be_of_any_size() -> None:
    step = tm.compile(lambda w, g: (w - 0.1 * g, w.shape[0]), donate_argnums=0, dynamic=True)
    for n in (3, 5, 8):
        weights, size = step(np.ones(n), np.ones(n))
        np.testing.assert_allclose(weights, np.full(n, 0.9))
        assert size == n
    assert len(step.signatures()) == 1


def test_a_captured_array_that_the_trace_relied_on_is_looked_at_again() -> None:
    mask = np.array([True, False, True])
    f = tm.compile(lambda x, y: y * x[mask].sum(), dynamic={"y": "[N]", "x": False})
    for kept in (2, 3):
        for n in (2, 5):
            assert f(np.ones(3), np.ones(n)).tolist() == [kept] * n
        mask[:] = True
    assert len(f.signatures()) == 1


def test_derivatives_take_all_sizes() -> None:
    f = tm.compile(tm.grad(lambda w, x: (np.tanh(x @ w) ** 2).sum()))
    for n in (3, 5, 9):
        expected = tm.grad(lambda w, x: (np.tanh(x @ w) ** 2).sum())(W, rows(n))
        np.testing.assert_allclose(f(W, rows(n)), expected, rtol=1e-12)
    assert len(f.signatures()) == 2


def test_inside_of_another_function_sizes_are_those_of_its_call() -> None:
    inner = tm.compile(clipped, dynamic=False)
    outer = tm.compile(lambda x: inner(x) + 1, dynamic=True)
    for n in (10, 4, 12, 5):
        assert outer(np.ones(n)) == clipped(np.ones(n)) + 1
    assert len(outer.signatures()) == 2
    assert inner.signatures() == ()


def test_many_threads_with_many_sizes_share_programs() -> None:
    f = tm.compile(clipped, on_recompile="ignore")
    failures: list[int] = []

    def work(seed: int) -> None:
        sizes = np.random.default_rng(seed).integers(0, 30, 150).tolist()
        failures.extend(n for n in sizes if f(np.ones(n)) != clipped(np.ones(n)))

    run_in_threads(work, 6)
    assert not failures
    assert len(f.signatures()) <= 5


def test_a_function_with_descriptions_can_be_pickled() -> None:
    f = tm.compile(np.linalg.norm, dynamic={"x": "[B, 4]"}, constraints="B <= 9")
    again = pickle.loads(pickle.dumps(f))
    np.testing.assert_allclose(again(rows(3)), np.linalg.norm(rows(3)))
    with pytest.raises(DimMismatchError, match="B <= 9"):
        again(rows(10))


def test_stages_are_those_of_the_program_that_serves_the_call() -> None:
    f = tm.compile(clipped, dynamic=True)
    before = f.lower(np.ones(20))
    assert str(before.guards) == "x_0 >= 9"
    (line,) = before.guards.described()
    assert "if x.shape[0] > 8:" in line
    f(np.ones(20))
    lowered = f.lower(np.ones(40))  # of the same class
    assert lowered.graph == before.graph
    assert "x_0" in str(lowered.graph)
    assert lowered.source in str(lowered)
    assert lowered.cost.flops > 0
    assert lowered.memory.peak > 0
    assert "f64[x_0]" in lowered.html()
    assert str(tm.compile(clipped).lower(np.ones(10)).guards) == "True"
    assert lowered.compile().build.function(np.ones(30))[0] == 22.0


@pytest.mark.slow
def test_guards_come_back_from_the_disk_with_the_program(private_cache: Path) -> None:
    program = textwrap.dedent(
        """
        import numpy as np, tracemill as tm
        from tracemill.runtime.programs.built import statistics

        def clipped(x):
            return x.sum() - 8 if x.shape[0] > 8 else x.sum() * 2

        f = tm.compile(clipped, dynamic=True, backend="numpy")
        print([float(f(np.ones(n))) for n in (10, 3, 12, 9)], statistics.compiled, statistics.from_disk)
        print(*map(str, f.signatures()), sep="; ")
        """
    )
    file = private_cache.parent / "program.py"
    file.write_text(program)
    first, second = (
        subprocess.run([sys.executable, file], capture_output=True, text=True, check=True).stdout.splitlines()
        for _ in range(2)
    )
    assert first[0] == "[2.0, 6.0, 4.0, 1.0] 2 0"
    assert second[0] == "[2.0, 6.0, 4.0, 1.0] 0 2"
    assert first[1] == second[1]


def test_what_making_a_program_assumed_is_stored_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from tracemill.runtime.programs import optimize

    unpatched = optimize.optimize
    asked: list[bool] = []

    def assuming(graph: Any, backend: str) -> Any:
        (size,) = graph.inputs[0].shape
        asked.append(bool(size > 100))  # as a pass may
        return unpatched(graph, backend)

    monkeypatch.setattr(optimize, "optimize", assuming)
    for number, sizes in enumerate([(70, 200), (70, 200), (120, 70), (90, 110)]):
        f = tm.compile(lambda x: x * 2, dynamic=True, backend="numpy")
        for size in sizes:
            assert f(np.ones(size)).shape == (size,)
        assert {text.split(" and ")[1] for text in shown(f)} == {"x_0 <= 100", "x_0 >= 101"}
        assert number > 1 or asked == [False, True]
    assert default_cache().statistics.hits >= 2
