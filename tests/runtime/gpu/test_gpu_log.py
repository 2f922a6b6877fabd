"""Programs for GPUs are logged and dumped as those for the host are."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from gpu.stub_gpu import StubGpu
from graphs.row_programs import softmax

if find_spec("triton") is None:
    pytest.skip("Triton is not installed; it is for Linux on x86", allow_module_level=True)


X = np.ones((5, 37), np.float32)


def test_times_fusion_and_the_cache_are_logged(
    card: StubGpu, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TRACEMILL_CACHE", "1")
    monkeypatch.setenv("TRACEMILL_LOG", "timing,cache,fusion")
    for _ in range(2):
        tm.compile(softmax, backend="triton")(X)
    lines = [(record.name.rpartition(".")[2], record.getMessage()) for record in caplog.records]
    assert [topic for topic, _ in lines] == [
        "cache",
        "cache",
        "timing",
        "fusion",
        "cache",
        "timing",
        "fusion",
    ]
    assert lines[0][1].endswith("no program called softmax is stored for triton")
    assert all(f" {stage} " in lines[2][1] for stage in ("trace", "fuse", "print", "compile", "load"))
    assert lines[5][1].endswith(", from the disk cache")
    assert lines[3][1].startswith("softmax: 1 kernel, ")


def test_a_dump_has_the_plan_and_says_what_could_not_be_shown(
    card: StubGpu, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where Triton's interpreter is loaded, nothing can be compiled."""

    def refuse(*of: Any) -> Any:
        raise tm.errors.KernelError("Triton does not compile this here")

    monkeypatch.setattr("tracemill.runtime.gpu_programs.machine_code.build_program", refuse)
    monkeypatch.setenv("TRACEMILL_DUMP", str(tmp_path))
    tm.compile(softmax, backend="triton")(X)
    (folder,) = tmp_path.iterdir()
    assert "launch " in (folder / "plan.txt").read_text()
    assert "@triton.jit" in (folder / "kernels" / "softmax_0.py").read_text()
    log = json.loads((folder / "log.json").read_text())
    assert log["backend"] == "triton"
    assert log["problems"] == ["softmax_0.ptx: Triton does not compile this here"]
