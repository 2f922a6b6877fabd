"""Programs of Triton kernels, for a GPU of this machine."""

import logging
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ...compiler.backends.triton.choice import Choice
from ...compiler.backends.triton.plan import Plan
from ...compiler.backends.triton.planning.program import TritonProgram, triton_program
from ...compiler.errors import GpuCodeError, MissingPackageError
from ...compiler.ir import Graph
from ...compiler.text.units import show_bytes
from ..cache.disk_cache import cache_key, versions_in_use
from ..cache.entry import Entry
from ..gpu.by_cupy import is_by_cupy
from ..gpu.device import Device
from ..gpu.loading import loaded_kernels
from ..gpu.program import GpuProgram
from ..gpu_choices.lock_entry import architecture, choices_in
from ..gpu_choices.lock_file import read_lock
from ..machine.target import Target
from ..machine.triton_compiler import BuiltKernel, build_program, target_named
from ..programs.built import Build
from ..programs.strategy import Printed
from ..stage_times import stage
from .stored_code import build_of_stored
from .stored_program import KERNELS, files_of, program_in
from .tune import tuned

_log = logging.getLogger("tracemill")


def build_ahead_of_time(target: Target, graph: Graph, device: Device) -> tuple[Build | None, str]:
    """The program that was compiled ahead of time, if the target has one for this graph; otherwise why it was
    refused."""
    try:
        return build_of_stored(target.code, graph, device), ""
    except GpuCodeError as error:  # compiled again, for this GPU and driver
        return None, error.message


class GpuStrategy:
    """For the Triton backend.

    If the target has a lock file, the choices for kernels are there, or are measured now and added to it.
    """

    backend = "triton"

    def __init__(self, target: Target, device: Device, refused: str = "") -> None:
        """`refused` says why code that was compiled ahead of time cannot be used.

        Raises:
            LockFileError: the lock file is damaged.
        """
        self._target = target
        self._device = device
        self._refused = refused
        self._choices: Mapping[str, Choice] = {}
        if target.lock is not None:
            self._choices = choices_in(read_lock(target.lock), architecture(device))

    def key(self, text: str, donated: Sequence[int], sizes: str) -> str:
        try:
            triton = version("triton")
        except PackageNotFoundError:
            triton = "none"
        options: dict[str, Any] = {"fast_math": self._target.options.fast_math}
        if self._target.lock is not None:
            chosen = sorted(self._choices.items())
            options["choices"] = "; ".join(f"{kernel}: {choice}" for kernel, choice in chosen)
        if sizes:
            options["sizes"] = sizes
        versions = {**versions_in_use(), "triton": triton, "target": self._device.target}
        return cache_key(ir=text, backend=self.backend, options=options, versions=versions)

    def stored(self, entry: Entry) -> Build:
        stored = program_in(entry.members)
        return Build(stored.loaded(self._device), stored.text, entry.folder / KERNELS, from_disk=True)

    def printed(self, graph: Graph, donated: Sequence[int]) -> Printed:
        """A new program.

        Raises:
            LockFileError: the lock file cannot be written.
            MissingPackageError: there is no Triton.
            KernelError, GpuCodeError: Triton does not compile a kernel, or the GPU does not run it.
        """
        fast_math = self._target.options.fast_math
        with stage("print"):
            program = triton_program(graph, self._choices, fast_math=fast_math)
        if self._target.lock is not None:
            self._choices = tuned(program.kernels, self._device, self._target.lock, fast_math=fast_math)
            program = triton_program(graph, self._choices, fast_math=fast_math)
        _report_host_steps(program.plan)
        built = self._compiled(program)

        def load(folder: Path | None) -> Build:
            function = GpuProgram(program.plan, loaded_kernels(self._device, built), self._device)
            return Build(function, program.text, folder / KERNELS if folder else None)

        return Printed(files_of(program, built), {}, load)

    def _compiled(self, program: TritonProgram) -> Mapping[str, BuiltKernel]:
        try:
            with stage("compile"):
                return build_program(program, target_named(self._device.target))
        except MissingPackageError as error:
            if not self._refused:
                raise
            raise GpuCodeError(self._refused) from error


def _report_host_steps(plan: Plan) -> None:
    for step in plan.host_steps:
        if is_by_cupy(step):
            _log.info("%s: %s by CuPy, as no kernel computes this", plan.name, ", ".join(step.ops))
            continue
        _log.info(
            "%s: %s on the host, by NumPy: no kernel computes this, and %s are copied in each call",
            plan.name,
            ", ".join(step.ops),
            show_bytes(step.bytes_copied),
        )
