"""What a lowered function says of its generated functions: their text, their machine code, files that run."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.runtime.inspection.lowered import Lowered

X = np.random.default_rng(0).normal(size=(300, 40)).astype(np.float32)


def normalised(x: Any) -> Any:
    z = np.exp(x - x.max(axis=1, keepdims=True))
    return z / z.sum(axis=1, keepdims=True)


def lowered(backend: str) -> Lowered:
    return tm.compile(normalised, backend=backend).lower(X)


def run(
    files: dict[str, str], folder: Path, *, path: str | None = None
) -> "subprocess.CompletedProcess[str]":
    """The Python file among them, as somebody runs it who has NumPy alone."""
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    (script,) = folder.glob("*.py")
    command = [sys.executable, "-P", str(script)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_kernel_of_c_is_a_python_file_and_the_c_beside_it(c_compiler: str, tmp_path: Path) -> None:
    (kernel,) = lowered("c").kernels
    assert kernel.name == "normalised_0"
    assert set(kernel.files) == {"normalised_0.py", "normalised_0.c"}
    assert "tracemill" not in kernel.files["normalised_0.py"].replace("Tracemill", "").replace(
        "tracemill_functions", ""
    )
    ran = run(dict(kernel.files), tmp_path / "kernels")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("ok: max difference ")


@pytest.mark.slow
def test_tiles_of_numpy_are_kernels_and_run(tmp_path: Path) -> None:
    big = np.ones((40_000, 30), np.float32)
    (kernel,) = tm.compile(normalised, backend="numpy").lower(big).kernels
    assert "np.exp(" in kernel.source
    assert kernel.bytes_moved == 2 * big.nbytes
    ran = run(dict(kernel.files), tmp_path / "kernels")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("ok: max difference ")


def test_a_wrong_kernel_says_so(c_compiler: str, tmp_path: Path) -> None:
    (kernel,) = lowered("c").kernels
    files = dict(kernel.files)
    assert "out[" in files["normalised_0.c"]
    name = "normalised_0.py"
    files[name] = files[name].replace(
        "rng = np.random", "global reference; correct = reference; rng = np.random", 1
    )
    files[name] = files[name].replace(
        "    try:\n",
        "    reference = lambda *inputs: [2 * array for array in correct(*inputs)]\n    try:\n",
        1,
    )
    ran = run(files, tmp_path / "kernels")
    assert ran.returncode == 1
    assert "wrong: output 0 differs by" in ran.stdout


def unwrapped(c_text: str) -> str:
    """Without what long lines are broken with, comments and directives too."""
    return re.sub(r"[\s\\/]", "", c_text)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["numpy", "c", "triton"])
def test_kernels_for_many_sizes_are_shown_as_they_are_and_counted_for_one(
    backend: str, c_compiler: str, tmp_path: Path
) -> None:
    def flat(x: Any) -> Any:
        return normalised(x).reshape(-1) * 2.0

    found = tm.compile(flat, backend=backend, dynamic=True).lower(np.ones((4_000, 300), np.float32))
    static = tm.compile(flat, backend=backend, dynamic=False).lower(np.ones((4_000, 300), np.float32))
    program = unwrapped(str(found.c_source))
    for kernel, one_size in zip(found.kernels, static.kernels, strict=True):
        assert kernel.bytes_moved == one_size.bytes_moved
        assert kernel.graph.name == one_size.graph.name
        assert "x_1" in kernel.source
        assert "4000" not in kernel.source
        if backend == "c":
            assert unwrapped(kernel.source) in program
        if backend != "triton":
            ran = run(dict(kernel.files), tmp_path / kernel.name)
            assert (ran.returncode, ran.stderr) == (0, "")
    page = found.html(machine_code=False)
    assert "x_0 = 4_000, x_1 = 300" in page
    assert "?: f32" not in page
    assert "x_0*x_1" in str(found.memory)
    assert found.memory.at(found.sizes).peak == pytest.approx(static.memory.peak, rel=0.01)


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("what", ["ptx", "sass"])
def test_programs_of_the_host_have_no_code_for_gpus(backend: str, what: str, c_compiler: str) -> None:
    found = tm.compile(normalised, backend=backend).lower(np.ones((40_000, 30), np.float32))
    for place, name in ((found, "normalised"), (found.kernels[0], "normalised_0")):
        with pytest.raises(
            tm.errors.BackendError, match=f"{name} is compiled for the host by the backend '{backend}'"
        ):
            getattr(place, what)


MACHINE_CODE = """\
import contextlib, io, json, os, sys
from unittest.mock import patch

import numpy as np

import tracemill as tm
from tracemill.tools.cli import main

lowered = tm.compile(lambda x: np.exp(x), backend="triton").lower(np.ones((30, 40)))
kernel = lowered.kernels[-1]
found = {"ptx": kernel.ptx, "sass": kernel.sass, "program": lowered.ptx}
built, *others = kernel.built("cuda:sm_80")
found["sm_80"] = built.assembly
found["registers"] = built.facts.registers
with patch.dict(os.environ, PATH=""), patch("tracemill.runtime.gpu_programs.machine_code.find_spec", lambda name: None):
    try:
        kernel.sass
    except tm.errors.MissingPackageError as error:
        found["no disassembler"] = str(error)
for stage in ("ptx", "sass"):
    sys.argv = f"tracemill inspect numpy:exp --in f32[64] --backend triton --target cuda:sm_80 --stage {stage}".split()
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.suppress(SystemExit):
        main()
    found[f"shown {stage}"] = shown.getvalue()
print(json.dumps(found))
"""
"""A process of its own: where Triton's interpreter is loaded, nothing can be compiled."""


@pytest.fixture(scope="module")
def machine_code() -> dict[str, Any]:
    if find_spec("triton") is None:
        pytest.skip("triton is not installed; it is for Linux")
    variables = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    variables["PYTHONPATH"] = str(Path(tm.__file__).parent / "tests" / ".root")
    command = [sys.executable, "-c", MACHINE_CODE]
    ran = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    document: dict[str, Any] = json.loads(ran.stdout)
    return document


@pytest.mark.slow
def test_kernels_and_programs_for_gpus_show_their_machine_code(machine_code: dict[str, Any]) -> None:
    assert " registers, nothing spilled, " in machine_code["ptx"].splitlines()[0]
    assert ".target sm_90" in machine_code["ptx"]
    assert "EXIT" in machine_code["sass"]
    assert machine_code["ptx"].splitlines()[0] in machine_code["program"]
    assert ".target sm_80" in machine_code["sm_80"]
    assert machine_code["registers"] > 0


@pytest.mark.slow
def test_machine_code_can_be_inspected(machine_code: dict[str, Any]) -> None:
    assert ".target sm_80" in machine_code["shown ptx"]
    assert "EXIT" in machine_code["shown sass"]


@pytest.mark.slow
def test_without_a_disassembler_an_error_says_what_to_install(machine_code: dict[str, Any]) -> None:
    assert (
        "nvdisasm or cuobjdump, and neither is on the PATH nor in Triton" in machine_code["no disassembler"]
    )


def test_products_and_steps_are_kernels_where_functions_compute_them(c_compiler: str) -> None:
    for_gpu = tm.compile(lambda x: np.sin(x @ x.T), backend="triton").lower(X)
    assert [kernel.graph.name for kernel in for_gpu.kernels] == ["kernel_dot_sin"]
    assert for_gpu.kernels[0].operations >= 2 * 300 * 300 * 40
    for_c = tm.compile(lambda x: np.sin(np.cumsum(x, axis=1)), backend="c").lower(X)
    assert [kernel.call.op for kernel in for_c.kernels] == ["cumsum", "kernel"]


@pytest.mark.sampled(slow=2)
@pytest.mark.parametrize(
    "function",
    [normalised, tm.nn.gelu, lambda x: np.cumsum(x, axis=1), lambda x: x * np.arange(40.0, dtype=np.float32)],
    ids=["softmax", "a function of CUDA's library", "a step", "a constant array"],
)
def test_a_kernel_for_gpus_runs_in_the_interpreter(function: Callable[..., Any], tmp_path: Path) -> None:
    if find_spec("triton") is None:
        pytest.skip("triton is not installed; it is for Linux")
    kernels = tm.compile(function, backend="triton").lower(X[:16]).kernels
    for number, kernel in enumerate(kernels):
        ran = run(dict(kernel.files), tmp_path / str(number))
        assert (ran.returncode, ran.stderr) == (0, "")
        assert ran.stdout.startswith("ok: max difference ")
