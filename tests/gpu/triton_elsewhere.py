"""Runs kernels in the process of `triton_native`, and tells why where this machine cannot."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from support.recording import array_type
from tracemill.compiler.backends.triton.kernels.kernel import TritonKernel
from tracemill.compiler.dtypes import Array
from tracemill.compiler.ir import ArrayType

TESTS = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Launch:
    """A function, how many programs of it run, and which buffers are its arguments."""

    function: str
    programs: int
    buffers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """What the other process needs of a kernel, and the arrays that it reads."""

    text: str
    launches: tuple[Launch, ...]
    buffers: tuple[ArrayType, ...]
    outputs: int
    inputs: tuple[Array, ...]


class NativeError(Exception):
    """What went wrong in the other process."""


class Elsewhere:
    """The other process: it is sent the names of folders that hold requests, and leaves the outputs in them.

    Where a kernel ends it, the next one finds a new process.
    """

    def __init__(self, compiler: str) -> None:
        self._command = [
            sys.executable,
            "-X",
            "faulthandler",
            str(TESTS / "gpu" / "triton_native.py"),
            compiler,
        ]
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Wait until the process can run kernels.

        Raises:
            NativeError: this machine, or the Triton that is installed, does not allow it.
        """
        variables = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
        variables["PYTHONPATH"] = f"{TESTS / '.root'}{os.pathsep}{TESTS}"
        self._complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115  (closed by `stop`)
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            env=variables,
            text=True,
        )
        self._expect("ready")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._complaints.close()
            self._process = None

    def run(self, kernel: TritonKernel, inputs: Sequence[Array]) -> list[Array]:
        """The outputs of a kernel.

        Raises:
            NativeError: it could not be compiled, wrote where it should not, or ended the process.
        """
        if self._process is None:
            self.start()
        assert self._process is not None
        assert self._process.stdin is not None
        given = [*inputs, *(constant.array for constant in kernel.constants)]
        with tempfile.TemporaryDirectory() as name:
            write_request(Path(name), kernel, given)
            print(name, file=self._process.stdin, flush=True)
            self._expect("done")
            types = kernel.buffers[len(given) : len(given) + kernel.outputs]
            return [_loaded(Path(name, f"output_{i}.npy"), t) for i, t in enumerate(types)]

    def _expect(self, wanted: str) -> None:
        """Wait for an answer, which should be this one."""
        assert self._process is not None
        assert self._process.stdout is not None
        answer = self._process.stdout.readline().strip()
        if answer == wanted:
            return
        if answer:
            raise NativeError(json.loads(answer))
        status = self._process.wait()
        self._complaints.seek(0)
        last = "".join(self._complaints.readlines()[-20:])
        self.stop()
        raise NativeError(f"the process ended with {status}: {last}")


# ---- folders --------------------------------------------------------------------------------------------


def write_request(folder: Path, kernel: TritonKernel, inputs: Sequence[Array]) -> None:
    content = {
        "text": kernel.text,
        "launches": [(launch.function, launch.programs, launch.buffers) for launch in kernel.launches],
        "buffers": [str(t) for t in kernel.buffers],
        "outputs": kernel.outputs,
    }
    (folder / "kernel.json").write_text(json.dumps(content), encoding="utf-8")
    for number, array in enumerate(inputs):
        np.save(folder / f"input_{number}.npy", array)


def read_request(folder: Path) -> Request:
    content: dict[str, Any] = json.loads((folder / "kernel.json").read_text(encoding="utf-8"))
    buffers = tuple(map(array_type, content["buffers"]))
    inputs = sorted(folder.glob("input_*.npy"), key=lambda path: int(path.stem.removeprefix("input_")))
    return Request(
        content["text"],
        tuple(
            Launch(function, programs, tuple(numbers)) for function, programs, numbers in content["launches"]
        ),
        buffers,
        content["outputs"],
        tuple(_loaded(path, t) for path, t in zip(inputs, buffers, strict=False)),
    )


def _loaded(path: Path, of: ArrayType) -> Array:
    """An array; NumPy's files do not tell what numbers of other packages are."""
    array: Array = np.load(path)
    return np.ascontiguousarray(array).view(of.dtype).reshape(of.shape)
