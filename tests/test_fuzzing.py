"""Whatever is in a file, it loads or is refused by name, in little time and memory, and nothing else happens."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tracemill as tm
from fuzzing.bundles import bundles
from fuzzing.confinement import MOST_SECONDS
from fuzzing.mutation import Mutator
from fuzzing.readers import READERS
from tracemill.runtime.bundle.writing import bundle_bytes

HERE = Path(__file__).resolve().parent
MOST_MEMORY = 64 << 20
"""Bytes that reading all inputs of a process may add to what it has in memory."""

HALVES = (
    ("zip files", "bytes", "graphs", "arrays", "entries", "cubins"),
    ("manifests", "texts", "programs", "lock files"),
)


def fuzzed(first: int, hundreds: int, *names: str) -> dict[str, Any]:
    """The report of a confined process about this many inputs, none of which may have had another effect."""
    path = os.pathsep.join(map(str, (HERE / ".root", HERE)))
    command = [sys.executable, "-m", "fuzzing.worker", str(first), str(hundreds), *names]
    run = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    last = run.stdout.strip().rpartition("\n")[2]
    assert run.returncode == 0, f"not survived: {last}\n{run.stderr[-4000:]}"
    found: dict[str, Any] = json.loads(last)
    assert not found["failures"], "\n".join(found["failures"])
    assert found["memory"] < MOST_MEMORY
    assert found["slowest"] < MOST_SECONDS
    return found


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("names", HALVES, ids=["files", "documents"])
def test_many_damaged_inputs_do_no_harm(names: tuple[str, ...], more: int) -> None:
    assert sorted(sum(HALVES, ())) == sorted(READERS)
    hundreds = 20 * more
    kinds = fuzzed(10**6, hundreds, *names)["kinds"]
    assert sum(kinds.values()) == hundreds * sum(READERS[name].share for name in names) >= 500
    loaded = {kind.partition(":")[0] for kind in kinds if kind.endswith(": loads")}
    assert loaded >= {*names} - {"arrays"}, "readers that nothing passes are not tested in depth"


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(random=st.randoms(use_true_random=False))
def test_what_loads_is_sound_and_all_else_is_refused_by_name(name: str, random: Random) -> None:
    """Hypothesis shrinks what goes wrong. Readers check what they have read."""
    reader = READERS[name]
    with suppress(*reader.errors):
        reader.read(reader.make(Mutator(random)))


@pytest.mark.parametrize("name", ["zip files", "bytes"])
def test_a_reader_tells_a_bundle_that_loads_as_another_one(name: str) -> None:
    assert bundles()
    assert all(READERS[name].read(content) is None for content in bundles())
    other = tm.export(lambda x: x * 3.0, "x: f64[2]")
    with pytest.raises(AssertionError):
        READERS[name].read(bundle_bytes(other))
