"""The machine code of a program's kernels for a GPU that this machine need not have, as assembly and as
instructions."""

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from ...compiler.backends.triton.kernels.definitions import definitions
from ...compiler.backends.triton.kernels.kernel import TritonKernel
from ...compiler.backends.triton.planning.module import Module
from ...compiler.backends.triton.planning.program import triton_program
from ...compiler.errors import BackendError, KernelError, MissingPackageError, NoDriverError, NoGpuError
from ...compiler.ir import Call, Graph
from ..files.scratch_folder import ScratchFolder
from ..gpu.device import gpu
from ..gpu_choices.known_choices import known_choices
from ..machine.target import Target
from ..machine.triton_compiler import BuiltKernel, build_program, target_named

USUAL: Final = "cuda:sm_90"
"""The target for which machine code is shown without a GPU."""

_DISASSEMBLERS: Final = {"nvdisasm": ("-c",), "cuobjdump": ("-sass",)}
_SECONDS: Final = 60.0


def functions_if_any(call: Call, target: Target) -> TritonKernel | None:
    """The Triton functions that compute a call; None if NumPy or a step on the host computes it."""
    return Module(known_choices(target), target.options.fast_math).kernel(call)


def functions_of(call: Call, target: Target) -> TritonKernel:
    """The same for a call that has some."""
    found = functions_if_any(call, target)
    if found is None:
        raise BackendError(f"{call.op} is computed by NumPy on the host, and has no code for GPUs")
    return found


def architecture_here(target: Target) -> str:
    """The target of the GPU for which a program is, such as ``cuda:sm_90``; the default if there is none."""
    try:
        return gpu(target.gpu).target
    except (MissingPackageError, NoDriverError, NoGpuError):
        return USUAL


def text_of(kernel: TritonKernel, target: Target) -> str:
    """The functions of a kernel, after the definitions that they call."""
    return "\n\n".join([*definitions(kernel.needs, fast_math=target.options.fast_math), *kernel.functions])


def build_all(graph: Graph, target: Target, architecture: str | None) -> tuple[BuiltKernel, ...]:
    """The functions of an optimised graph in machine code. Raises like `triton_build.build_program`."""
    program = triton_program(graph, known_choices(target), fast_math=target.options.fast_math)
    return tuple(build_program(program, target_named(architecture or architecture_here(target))).values())


def assembly(kernels: Iterable[BuiltKernel]) -> str:
    """Their PTX, each after a line with its resources."""
    return "\n".join(f"// {facts_text(kernel)}\n{kernel.assembly.strip()}\n" for kernel in kernels)


def facts_text(kernel: BuiltKernel) -> str:
    """``name: 24 registers, nothing spilled, 1024 B shared, 4 warps``."""
    parts = [f"{kernel.shared_bytes} B shared", f"{kernel.warps} warps"]
    if kernel.facts is not None:
        spilled = f"{kernel.spilled_bytes} B spilled" if kernel.spilled_bytes else "nothing spilled"
        parts = [f"{kernel.facts.registers} registers", spilled, *parts]
    return f"{kernel.name}: {', '.join(parts)}"


def instructions(kernels: Sequence[BuiltKernel]) -> str:
    """The instructions of the processor, each function's after a line with its resources.

    Raises:
        MissingPackageError: there is no disassembler.
        KernelError: it does not read the code.
    """
    command = disassembler()
    with ScratchFolder() as folder:
        return "\n".join(
            f"// {facts_text(kernel)}\n{_disassembled(kernel, command, folder.path).strip()}\n"
            for kernel in kernels
        )


def disassembler() -> list[str]:
    """The command that shows a cubin: that of the CUDA toolkit, or the one in Triton's package.

    Raises:
        MissingPackageError: there is none.
    """
    places = [os.defpath if (path := os.environ.get("PATH")) is None else path]
    triton = find_spec("triton")
    if triton is not None and triton.origin is not None:
        places.append(str(Path(triton.origin).parent / "backends" / "nvidia" / "bin"))
    for place in places:
        for name, options in _DISASSEMBLERS.items():
            if (found := shutil.which(name, path=place)) is not None:
                return [found, *options]
    raise MissingPackageError(
        "instructions of a GPU's processor are shown by nvdisasm or cuobjdump, and neither is on the PATH nor in"
        " Triton: install the CUDA toolkit, or look at the PTX instead"
    )


def _disassembled(kernel: BuiltKernel, command: Sequence[str], folder: Path) -> str:
    if kernel.facts is None:
        raise BackendError(f"{kernel.name} is not NVIDIA's code, and nothing here shows its instructions")
    file = folder / "kernel.cubin"
    file.write_bytes(kernel.code)
    ran = subprocess.run(
        [*command, str(file)], capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False
    )
    if ran.returncode:
        reason = (ran.stderr.strip().splitlines() or [f"exit status {ran.returncode}"])[-1]
        raise KernelError(f"{Path(command[0]).name} does not read the code of {kernel.name}: {reason}")
    return ran.stdout
