"""Chooses the parameters of kernels by timing a few alternatives on the GPU, and stores the choices in a lock file."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from ...compiler.backends.triton.choice import Choice
from ...compiler.backends.triton.kernels.kernel_key import kernel_key, kernel_text, known_graph
from ...compiler.backends.triton.planning.candidates import candidates
from ...compiler.backends.triton.planning.program import TritonProgram, program_of_kernel
from ...compiler.dtypes import Array
from ...compiler.errors import GpuCodeError, KernelError
from ...compiler.ir import Graph
from ..gpu.device import Device, Memory
from ..gpu.loaded_plan import LoadedPlan
from ..gpu.loading import loaded_kernels
from ..gpu_choices.lock_entry import Entries, LockEntry, Measured, architecture, choices_in
from ..gpu_choices.lock_file import add_to_lock, read_lock
from ..machine.package_versions import version_of_package
from ..machine.triton_compiler import BuiltKernel, build_programs, target_named
from .agreement import agree, is_finite
from .random_inputs import random_inputs
from .timer import measure

POISON: Final = 0xAB
"""The byte with which results are filled before they are computed."""

GAIN: Final = 0.02
"""An alternative must be faster than the default by at least this fraction: times vary by as much between runs."""

_log = logging.getLogger("tracemill")


def tuned(
    kernels: Iterable[Graph], device: Device, path: Path, *, fast_math: bool = False
) -> dict[str, Choice]:
    """The choices for this type of GPU, by keys: from the lock file, and measured now for other kernels.

    Raises:
        LockFileError: the file is damaged, or cannot be written.
        KernelError, GpuCodeError: Triton does not compile a kernel as the rules want it, or the GPU does not run it.
    """
    target = architecture(device)
    entries = read_lock(path)
    unknown = {
        key: known_graph(graph)
        for graph in kernels
        if (target, key := kernel_key(graph, fast_math=fast_math)) not in entries
    }
    proposed = {key: candidates(graph, target) for key, graph in unknown.items()}
    proposed = {key: choices for key, choices in proposed.items() if len(choices) > 1}
    if proposed:
        found = _measured({key: unknown[key] for key in proposed}, proposed, device, fast_math=fast_math)
        entries = add_to_lock(path, found)
    return choices_in(entries, target)


# ---- measuring -----------------------------------------------------------------------------------------


def _measured(
    graphs: Mapping[str, Graph],
    proposed: Mapping[str, Sequence[Choice]],
    device: Device,
    *,
    fast_math: bool,
) -> Entries:
    """Time all choices for all kernels; they are compiled before, together."""
    programs = [
        program_of_kernel(graphs[key], choice, fast_math=fast_math)
        for key, choices in proposed.items()
        for choice in choices
    ]
    built = iter(zip(programs, build_programs(programs, target_named(device.target)), strict=True))
    entries: dict[tuple[str, str], LockEntry] = {}
    for key, choices in proposed.items():
        with device:  # other threads' work on it would be timed, too
            found = _Trial.of(graphs[key], device).timed(choices, [next(built) for _ in choices])
        chosen = _fastest(found)
        entry = LockEntry(
            architecture(device), key, chosen.choice, tuple(found), device.product, _versions(device),
            kernel_text(graphs[key]), fast_math,
        )  # fmt: skip
        entries[entry.target, key] = entry
        _log.info(
            "kernel %s of %s: %s, %.3g ms; by the rules %.3g ms",
            key[:8], ", ".join(str(v.type) for v in graphs[key].inputs), chosen.choice, chosen.milliseconds,
            found[0].milliseconds,
        )  # fmt: skip
    return entries


def _fastest(found: Sequence[Measured]) -> Measured:
    rules, *others = found
    best = min(found, key=_time)
    return best if others and _time(best) < (1 - GAIN) * _time(rules) else rules


def _time(measured: Measured) -> float:
    return float("inf") if measured.milliseconds is None else measured.milliseconds


def _versions(device: Device) -> dict[str, str]:
    packages = {name: version_of_package(name) for name in ("tracemill", "triton")}
    return {"cuda": device.cuda_version, **packages}


@dataclass(slots=True)
class _Trial:
    """A kernel on random arrays, and its results with the default choice."""

    graph: Graph
    device: Device
    inputs: list[Array]
    expected: list[Array] | None = None
    local_bytes: int = 0
    """Bytes per thread, outside registers."""

    @classmethod
    def of(cls, graph: Graph, device: Device) -> "_Trial":
        return cls(graph, device, random_inputs([value.type for value in graph.inputs]))

    def timed(
        self,
        choices: Sequence[Choice],
        built: Sequence[tuple[TritonProgram, Mapping[str, BuiltKernel] | KernelError]],
    ) -> list[Measured]:
        """The time of each choice, or why it is rejected; the first, with which all others must agree, always has a
        time."""
        found: list[Measured] = []
        for choice, (program, kernels) in zip(choices, built, strict=True):
            try:
                if isinstance(kernels, KernelError):
                    raise kernels
                found.append(self._timed(choice, program, kernels))
            except (KernelError, GpuCodeError) as error:
                if not found:
                    raise
                found.append(Measured(choice, refused=error.message))
        return found

    def _timed(self, choice: Choice, program: TritonProgram, kernels: Mapping[str, BuiltKernel]) -> Measured:
        local_bytes = max(x.facts.local_bytes for x in kernels.values() if x.facts is not None)
        if self.expected is not None and local_bytes > self.local_bytes:
            return Measured(choice, refused="registers do not suffice")
        running = _Running(program, kernels, self.device, self.inputs)
        results = running.results()
        if self.expected is None:
            if not all(map(is_finite, results)):  # some functions are undefined for negative numbers
                self.inputs = random_inputs([v.type for v in self.graph.inputs], positive=True)
                running = _Running(program, kernels, self.device, self.inputs)
                results = running.results()
            self.expected, self.local_bytes = results, local_bytes
        elif not all(map(agree, results, self.expected)):
            return Measured(choice, refused="its results are not those of the rules")
        seconds = measure(running.run, self.device).median
        return Measured(choice, float(f"{seconds * 1e3:.4g}"))


class _Running:
    """A program in its own memory."""

    def __init__(
        self,
        program: TritonProgram,
        kernels: Mapping[str, BuiltKernel],
        device: Device,
        inputs: Sequence[Array],
    ) -> None:
        self._device, self._slots = device, program.plan.outputs
        with device:
            self._arena = _poisoned(device, program.plan.arena_bytes)
            self._inputs = [device.copy_in(np.require(array, requirements=("C", "A"))) for array in inputs]
            self._outputs = [_poisoned(device, slot.type.nbytes) for slot in self._slots]
            loaded = loaded_kernels(device, kernels)
            self._plan = LoadedPlan(program.plan, loaded, device, self._arena.pointer)

    def run(self) -> None:
        """Queue it once."""
        with self._device:
            self._plan.run(
                [x.pointer for x in self._inputs], [x.pointer for x in self._outputs], self._device.stream
            )

    def results(self) -> list[Array]:
        """Its results."""
        self.run()
        return [
            self._device.copy_out(memory.pointer, slot.type.shape, slot.type.dtype)
            for memory, slot in zip(self._outputs, self._slots, strict=True)
        ]


def _poisoned(device: Device, nbytes: int) -> Memory:
    return device.copy_in(np.full(nbytes, POISON, np.uint8))
