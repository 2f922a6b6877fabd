"""`import tracemill` stays cheap: it brings little time beyond NumPy's, and none of the slow packages."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
