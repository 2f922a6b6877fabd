"""Compiled functions in other processes: by name where both have the module, by value where only one has it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2] / ".root"

MAIN = """
import multiprocessing
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import tracemill as tm

SCALE = 2.0

@tm.compile(static_argnums=1)
def scaled(x, copies=1):
    return np.concatenate([SCALE * x] * copies)

@tm.compile
def halved(x):
    return halved(x[1:]) if len(x) > 2 else x / 2  # calls itself by its name

class Model:
    shift = 1.0

    @tm.compile
    def shifted(self, x):
        return scaled(x) + self.shift

def plain(x):
    return 3 * x

tripled = tm.compile(plain)
{body}
"""

EXPECTED = """
x = np.arange(1.0, 4.0)
def check(run):
    assert np.array_equal(run(scaled, x), [2, 4, 6])
    assert np.array_equal(run(scaled, x, 2), [2, 4, 6, 2, 4, 6])
    assert np.array_equal(run(halved, x), [1, 1.5])
    assert np.array_equal(run(tripled, x), [3, 6, 9])
    assert np.array_equal(run(Model().shifted, x), [3, 5, 7])
    print("all equal")
"""

SPAWNED = """
if __name__ == "__main__":
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        check(lambda f, *args: pool.submit(f, *args).result())
"""
JOBLIB = """
if __name__ == "__main__":
    import joblib
    with joblib.Parallel(n_jobs=2) as parallel:
        check(lambda f, *args: parallel(joblib.delayed(f)(*args) for _ in range(2))[1])
"""
BY_VALUE = """
import cloudpickle

OTHER = "import pickle, sys; f, args = pickle.load(sys.stdin.buffer); sys.stdout.buffer.write(pickle.dumps(f(*args)))"
def elsewhere(f, *args):
    done = subprocess.run([sys.executable, "-c", OTHER], input=cloudpickle.dumps((f, args)), capture_output=True)
    assert not done.returncode, done.stderr.decode()
    return pickle.loads(done.stdout)
check(elsewhere)
"""
IN_PLACE = """
assert pickle.loads(pickle.dumps(scaled)) is scaled
assert pickle.loads(pickle.dumps(Model.shifted)) is Model.shifted
assert scaled.__name__ == scaled.__qualname__ == scaled.__wrapped__.__qualname__ == "scaled"
import cloudpickle
copy = cloudpickle.loads(cloudpickle.dumps(scaled))
assert copy is not scaled
assert (copy.__name__, copy.__qualname__) == ("scaled", "scaled")
check(lambda f, *args: cloudpickle.loads(cloudpickle.dumps(f))(*args))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "body", [SPAWNED, JOBLIB, BY_VALUE, IN_PLACE], ids=["spawned", "joblib", "by value", "in place"]
)
def test_compiled_functions_of_a_program_run_in_its_workers(body: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(MAIN.format(body=EXPECTED + body), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(TREE)}
    done = subprocess.run(
        [sys.executable, str(program)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, "all equal\n"), done.stderr
