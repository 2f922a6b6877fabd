"""``TRACEMILL_DUMP`` writes a folder for each program that is compiled, the same each time but for the times."""

import filecmp
import json
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from graphs.row_programs import softmax
from tracemill.runtime import log as log_module

X = np.ones((50, 40), np.float32)


@pytest.fixture(autouse=True)
def nothing_said_yet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(log_module, "_complained", set())
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(tmp_path / "cache"))


def dumped(folder: Path, monkeypatch: pytest.MonkeyPatch, backend: str) -> Path:
    """What compiling `softmax` leaves in a folder."""
    monkeypatch.setenv("TRACEMILL_DUMP", str(folder))
    compiled = tm.compile(softmax, backend=backend)
    np.testing.assert_allclose(compiled(X), softmax(X), rtol=1e-5)
    monkeypatch.delenv("TRACEMILL_DUMP")
    (found,) = folder.iterdir()
    return found


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_dump_has_every_stage_under_a_stable_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, c_compiler: str
) -> None:
    found = dumped(tmp_path / "dump", monkeypatch, "c")
    assert found.name.startswith("softmax-")
    passes = [name for name in names(found) if name[0].isdigit()]
    assert passes[0] == "00-traced.txt"
    assert passes[-1].endswith("-fuse.txt")
    others = [name for name in names(found) if not name[0].isdigit()]
    assert others == [
        "cost.json",
        "index.html",
        "kernels/softmax_0.c",
        "kernels/softmax_0.py",
        "log.json",
        "memory.txt",
        "softmax.c",
        "softmax.py",
    ]
    assert "def softmax(x: f32[50, 40]) -> f32[50, 40]:" in (found / "00-traced.txt").read_text()
    assert json.loads((found / "cost.json").read_text())["transcendentals"] == X.size
    log = json.loads((found / "log.json").read_text())
    stages = [stage["stage"] for stage in log["stages"]]
    assert (stages[0], stages[-1]) == ("trace", "load")
    assert "compile" in stages
    assert log["total"] == pytest.approx(sum(stage["seconds"] for stage in log["stages"]))


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_two_dumps_of_a_program_differ_in_times_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, backend: str, c_compiler: str
) -> None:
    first = dumped(tmp_path / "first", monkeypatch, backend)
    second = dumped(tmp_path / "second", monkeypatch, backend)  # this one comes from the disk cache
    assert first.name == second.name
    assert names(first) == names(second)
    shared = [name for name in names(first) if name != "log.json"]
    assert filecmp.cmpfiles(first, second, shared, shallow=False)[1:] == ([], [])


@pytest.mark.slow
def test_every_generated_python_file_runs_on_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, c_compiler: str
) -> None:
    found = dumped(tmp_path / "dump", monkeypatch, "c")
    for script in found.rglob("*.py"):
        ran = subprocess.run(
            [sys.executable, "-P", str(script)], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (ran.returncode, ran.stderr) == (0, "")
        assert ran.stdout.startswith("ok: max difference ")


@pytest.mark.slow
def test_each_signature_and_backend_has_a_folder_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, c_compiler: str
) -> None:
    monkeypatch.setenv("TRACEMILL_DUMP", str(tmp_path / "dump"))
    for backend in ("numpy", "c"):
        function = tm.compile(softmax, backend=backend)
        function(X)
        function(X[:, :7])
        function(X)
    assert len(list((tmp_path / "dump").iterdir())) == 4


def test_the_same_program_again_takes_the_place_of_the_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = dumped(tmp_path / "dump", monkeypatch, "numpy")
    (found / "memory.txt").write_text("old")
    assert dumped(tmp_path / "dump", monkeypatch, "numpy") == found
    assert (found / "memory.txt").read_text() != "old"
    assert [path.name for path in (tmp_path / "dump").iterdir()] == [found.name]


@pytest.mark.slow
def test_threads_that_compile_the_same_program_leave_one_whole_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = names(dumped(tmp_path / "one", monkeypatch, "numpy"))
    monkeypatch.setenv("TRACEMILL_DUMP", str(tmp_path / "dump"))
    threads = [threading.Thread(target=tm.compile(softmax, backend="numpy"), args=(X,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (found,) = (tmp_path / "dump").iterdir()
    assert names(found) == whole


def test_a_lowered_function_that_is_compiled_is_dumped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TRACEMILL_DUMP", str(tmp_path))
    tm.compile(softmax, backend="numpy").lower(X).compile()
    assert [path.name[:8] for path in tmp_path.iterdir() if path.name != "cache"] == ["softmax-"]


@pytest.mark.parametrize("kind", ["file", "inside a file", "null"])
def test_a_folder_that_cannot_be_written_is_reported_once_and_results_still_come(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "file").write_text("mine")
    place = {"file": tmp_path / "file", "inside a file": tmp_path / "file" / "a"}.get(kind)
    if place is None:
        place = tmp_path / "dump"
        make = Path.mkdir
        monkeypatch.setattr(
            "tracemill.runtime.inspection.dump.Path.mkdir",
            lambda self, *of, **options: (
                _fail() if place in (self, *self.parents) else make(self, *of, **options)
            ),
        )
    monkeypatch.setenv("TRACEMILL_DUMP", str(place))
    with pytest.warns(tm.errors.SettingWarning, match="no dump is written") as caught:
        np.testing.assert_allclose(tm.compile(softmax, backend="numpy")(X), softmax(X), rtol=1e-6)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tm.compile(softmax, backend="numpy")(X[:3])
    assert (tmp_path / "file").read_text() == "mine"


def _fail(*of: Any, **options: Any) -> None:
    raise OSError(28, os.strerror(28))


def test_what_is_not_a_dump_is_not_replaced_by_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    name = dumped(tmp_path / "first", monkeypatch, "numpy").name
    (tmp_path / "second").mkdir()
    os.mkfifo(tmp_path / "second" / name)
    with pytest.warns(tm.errors.SettingWarning, match="no dump is written"):
        dumped(tmp_path / "second", monkeypatch, "numpy")
    assert (tmp_path / "second" / name).is_fifo()


def test_a_fault_while_dumping_costs_no_result(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRACEMILL_DUMP", str(tmp_path))
    monkeypatch.setattr("tracemill.runtime.inspection.dump.files_of", lambda *of: 1 / 0)
    with pytest.warns(
        tm.errors.SettingWarning, match="cannot show how softmax is compiled: ZeroDivisionError"
    ):
        assert tm.compile(softmax, backend="numpy")(X).shape == X.shape


def test_a_dump_of_a_program_for_gpus_has_its_plan_and_its_machine_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from tracemill.runtime.inspection.dump import files_of
    from tracemill.runtime.stage_times import StageTimes

    monkeypatch.setattr("tracemill.runtime.lowering.lowered_kernel.Kernel.ptx", "// assembly")
    files = dict(files_of(tm.compile(softmax, backend="triton").lower(X), StageTimes()))
    assert "launch " in files["plan.txt"]
    assert files["kernels/softmax_0.ptx"] == "// assembly"
    assert "@triton.jit" in files["kernels/softmax_0.py"]


def test_transforms_are_dumped_from_the_innermost_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRACEMILL_DUMP", str(tmp_path / "dump"))
    compiled = tm.compile(tm.vmap(tm.grad(lambda x: np.sum(np.sin(x)))), backend="numpy")
    np.testing.assert_allclose(compiled(X), np.cos(X), rtol=1e-6)
    (found,) = (tmp_path / "dump").iterdir()
    assert names(found / "transforms") == ["00-vjp.txt", "01-vmap.txt"]
    text = (found / "transforms" / "01-vmap.txt").read_text()
    before, after = text.split("# ---- gives\n")
    assert "cos(x)" in before
    assert "f32[50, 40] = cos(x)" in after
    assert compiled.lower(X).transforms[0].name == "vjp"
