"""`import tracemill` stays cheap: it brings little time beyond NumPy's, and none of the slow packages."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tracemill as tm

TREE = Path(__file__).resolve().parent / ".root"
MOST_SECONDS = 0.1
MOST_RATIO = 1.5
"""Of an import of both to one of NumPy alone, which needs about 0.06 s."""
RUNS = 7
SLOW_PACKAGES = ("click", "cupy", "jax", "numba", "rich", "scipy", "sympy", "torch", "triton")

MEASURE = """
import time
started = time.process_time()
import {module}
print(time.process_time() - started)
"""


def run_python(program: str) -> str:
    """What a fresh interpreter prints that finds this checkout first."""
    environment = {**os.environ, "PYTHONPATH": str(TREE), "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def import_seconds(module: str) -> float:
    """Processor time of one import. Unlike the clock's, it leaves out the wait for a busy machine."""
    return float(run_python(MEASURE.format(module=module)))


@pytest.mark.slow
def test_importing_costs_little_more_than_importing_numpy() -> None:
    import_seconds("tracemill")  # the first run may compile bytecode
    numpy_runs: list[float] = []
    tracemill_runs: list[float] = []
    for _ in range(RUNS):  # alternately, so that a change of the machine's speed meets both
        numpy_runs.append(import_seconds("numpy"))
        tracemill_runs.append(import_seconds("tracemill"))
    more = min(tracemill_runs) - min(numpy_runs)
    assert more <= MOST_SECONDS, (numpy_runs, tracemill_runs)
    assert min(tracemill_runs) / min(numpy_runs) <= MOST_RATIO, (numpy_runs, tracemill_runs)


def test_importing_brings_no_slow_package() -> None:
    loaded = run_python("import sys, tracemill; print(*sorted({name.split('.')[0] for name in sys.modules}))")
    assert not set(SLOW_PACKAGES) & set(loaded.split())


FIRST_CALL = """
import sys
import numpy as np
import tracemill as tm
gradient = tm.compile(tm.grad(lambda x: np.sum(np.sin(x) ** 2)), backend="{backend}")
before = set(sys.modules)
gradient(np.ones(3))
print(*sorted(set(sys.modules) - before))
"""


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.usefixtures("c_compiler")
def test_a_first_call_that_is_in_the_disk_cache_loads_nothing(backend: str) -> None:
    program = FIRST_CALL.format(backend=backend)
    run_python(program)
    assert run_python(program).split() == []


DRAWS = """
from tracemill.compiler.errors import RandomStateError
import sys
import numpy as np
import tracemill as tm
def f(x):
    {draw}
assert "numpy.random" not in sys.modules
try:
    tm.compile(f)(np.ones(3))
except RandomStateError:
    print("refused", isinstance(np.random.normal(), float))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "draw",
    [
        "return x + np.random.normal()",
        "import numpy.random; return x + numpy.random.normal()",
        "from numpy.random import normal; return x + normal()",
    ],
)
def test_draws_are_refused_though_the_traced_function_is_the_first_to_load_random_numbers(draw: str) -> None:
    assert run_python(DRAWS.format(draw=draw)).split() == ["refused", "True"]


MOST_FOR_A_CALL, MOST_TO_LOAD, MOST_FOR_A_GRADIENT = 454, 479, 490
"""Tracemill's modules: a limit above the current number, with less room than another family would need."""

COLD_START = """
import sys
import numpy as np
before = set(sys.modules)
import tracemill as tm
{call}
print(*sorted(set(sys.modules) - before))
"""
COMPILED = 'tm.compile(lambda x: np.sum(np.sin(x) * 2), backend="numpy")(np.ones(3))'
LOADED = 'tm.load({path!r}, backend="numpy")(np.ones(3))'
GRADIENT = "tm.grad(lambda x: np.sum(np.sin(x) * 2))(np.ones(3))"
NOT_NEEDED = (
    *SLOW_PACKAGES,
    "email",
    "importlib.metadata",
    "tracemill.compiler.backends.c.module.source",
    "tracemill.compiler.backends.numpy",
    "tracemill.compiler.backends.python.module",
    "tracemill.compiler.backends.triton",
    "tracemill.compiler.loops",
    "tracemill.passes.optimizations.fuse",
    "tracemill.passes.simplification.simplify",
    "tracemill.runtime.artifact.saving",
    "tracemill.runtime.bundle.writing",
    "tracemill.runtime.inspection.lowered",
    "tracemill.runtime.random",
    "tracemill.runtime.report",
)
"""What generates code, shows it or writes it: not what finds it on disk and runs it."""


def brought(call: str) -> list[str]:
    """The modules that a first call imports beyond NumPy's, if its code is on disk."""
    program = COLD_START.format(call=call)
    run_python(program)
    return run_python(program).split()


def not_needed(modules: list[str]) -> list[str]:
    return [name for name in modules if any(f"{name}.".startswith(f"{slow}.") for slow in NOT_NEEDED)]


@pytest.mark.parametrize("before", ["enable", "disable"])
def test_imports_leave_the_collector_of_garbage_as_it_was(before: str) -> None:
    program = f"import gc; gc.{before}(); import tracemill as tm; tm.grad; print(gc.isenabled())"
    assert run_python(program).strip() == str(before == "enable")


@pytest.mark.slow
def test_a_first_call_imports_only_what_it_needs() -> None:
    modules = brought(COMPILED)
    assert not not_needed(modules)
    assert len([name for name in modules if name.startswith("tracemill")]) <= MOST_FOR_A_CALL


@pytest.mark.slow
def test_a_first_gradient_without_compile_imports_no_pass_of_compiled_programs() -> None:
    modules = brought(GRADIENT)
    passes = [name for name in modules if name.startswith("tracemill.passes.")]
    assert not [name for name in passes if name.split(".")[2] in ("fusion", "optimizations", "rerolling")]
    assert len([name for name in modules if name.startswith("tracemill")]) <= MOST_FOR_A_GRADIENT


@pytest.mark.slow
def test_loading_a_file_imports_only_what_it_needs(tmp_path: Path) -> None:
    path = tmp_path / "f.tmill"
    tm.export(lambda x: np.sum(np.sin(x) * 2), "f64[3]").save(path)
    modules = brought(LOADED.format(path=str(path)))
    assert not not_needed(modules)
    assert len([name for name in modules if name.startswith("tracemill")]) <= MOST_TO_LOAD
