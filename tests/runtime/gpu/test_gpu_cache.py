"""Programs for GPUs on disk: stored, loaded, and made anew where what is stored is damaged."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from gpu.stub_gpu import StubGpu

if find_spec("triton") is None:
    pytest.skip("Triton is not installed; it is for Linux on x86", allow_module_level=True)

TESTS = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_stored_program_launches_the_same_and_one_that_is_damaged_or_fast_is_made_anew(
    stub_library: StubGpu, tmp_path: Path
) -> None:
    variables = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    paths = f"{TESTS / '.root'}{os.pathsep}{TESTS}"
    done = subprocess.run(
        [sys.executable, str(TESTS / "gpu" / "stored_programs.py"), stub_library.library],
        env=variables | {"PYTHONPATH": paths, "TRACEMILL_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    first, again, damaged = found["first"], found["again"], found["damaged"]
    assert first["compiled"] == 1
    assert len(first["launches"]) > 3
    assert again == first | {"compiled": 0}
    assert (found["fast"]["compiled"], found["fast again"]["compiled"]) == (1, 0)
    assert {Path(name).suffix for name in damaged} == {".bin", ".cubin", ".json", ".py", ".txt"}
    for name, call in damaged.items():
        assert call == first | {"warnings": ["CacheWarning"]}, name
