"""GPU programs as files: a plan, machine code, constants, and the text of the Triton functions.

Programs that were compiled ahead of time also have their kernels as PTX, which newer GPUs may run.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ...compiler.arguments.option_checks import is_int
from ...compiler.backends.triton.plan import Plan
from ...compiler.backends.triton.planning.plan_document import arrays_of, document, plan_of
from ...compiler.backends.triton.planning.program import TritonProgram
from ...compiler.dtypes import Array, dtype_name, dtype_named, dtype_names
from ...compiler.errors import CubinError, InternalError, ParseError
from ...compiler.errors.tracemill_error import text_of
from ...compiler.nesting import shown
from ..files.digests import file_of
from ..gpu.device import Device
from ..gpu.kernel import LoadedKernel
from ..gpu.loading import about_kernel, loaded_kernel
from ..gpu.program import GpuProgram
from ..machine.cubin import KernelFacts, architecture_of, kernels_in, laid_out
from ..machine.ptx import PtxFacts, kernel_in
from ..machine.triton_compiler import BuiltKernel

KERNELS: Final = "kernels.py"
"""The text of the Triton functions, only for people."""

PLAN: Final = "plan.json"

LARGEST_PLAN: Final = 1 << 24
"""Maximum bytes of a plan."""

_WARP: Final = 32
_POINTER: Final = 8
_MOST_WARPS: Final = 32
_LARGEST: Final = 1 << 48
"""Bytes: more than any GPU has."""


@dataclass(frozen=True, slots=True)
class StoredKernel:
    """One function in machine code."""

    function: str
    """Its name in the plan."""
    code: bytes
    about: Mapping[str, Any]
    ptx: bytes | None = None
    """The same as text that a driver compiles."""
    is_for_newer: bool = False
    """Whether it is for all newer GPUs."""


@dataclass(frozen=True, slots=True)
class StoredProgram:
    """A program that was compiled before, checked."""

    plan: Plan
    kernels: tuple[StoredKernel, ...]
    text: str

    @property
    def has_ptx(self) -> bool:
        return all(kernel.ptx is not None for kernel in self.kernels)

    @property
    def is_for_newer(self) -> bool:
        """Whether GPUs that are newer than the one for which it was compiled can run it, as PTX."""
        return self.has_ptx and all(kernel.is_for_newer for kernel in self.kernels)

    def loaded(self, device: Device, *, as_ptx: bool = False, origin: str = "") -> GpuProgram:
        """The program on a GPU. Raises `GpuCodeError` if the GPU cannot run it, or the driver cannot compile the
        PTX."""
        kernels: dict[str, LoadedKernel] = {}
        for kernel in self.kernels:
            code = kernel.code
            if as_ptx:
                if kernel.ptx is None:
                    raise InternalError(f"{kernel.function} has no PTX")
                code = kernel.ptx + b"\0"  # a driver reads text up to there
            kernels[kernel.function] = loaded_kernel(device, code, kernel.about)
        return GpuProgram(self.plan, kernels, device, origin)


def files_of(
    program: TritonProgram, built: Mapping[str, BuiltKernel], *, with_ptx: bool = False
) -> dict[str, bytes]:
    """The files of a program, by name."""
    kernels = [{"function": name, **about_kernel(kernel)} for name, kernel in built.items()]
    arrays = arrays_of(program.plan)
    types = {digest: [dtype_name(array.dtype), *array.shape] for digest, array in arrays.items()}
    stored = {"plan": document(program.plan), "kernels": kernels, "arrays": types}
    members = {KERNELS: program.text.encode(), PLAN: json.dumps(stored, indent=1).encode()}
    for number, kernel in enumerate(built.values()):
        members[f"kernel_{number}.cubin"] = kernel.code
        if with_ptx:
            members[f"kernel_{number}.ptx"] = kernel.assembly.encode()
    return members | {file_of(digest): array.tobytes() for digest, array in arrays.items()}


def program_in(files: Mapping[str, bytes], architecture: int | None = None) -> StoredProgram:
    """The program in files as `files_of` returns them.

    Raises:
        ParseError: the plan is none, or does not fit what lies beside it; or the code or its PTX is for another
            architecture, or takes other parameters than the plan gives it.
    """
    if len(files.get(PLAN, b"")) > LARGEST_PLAN:
        raise ParseError(f"{PLAN} has {len(files[PLAN])} bytes, and at most {LARGEST_PLAN} are read")
    try:
        stored = json.loads(files[PLAN].decode())
        arrays = {digest: _array(files[file_of(digest)], type) for digest, type in stored["arrays"].items()}
        plan = plan_of(stored["plan"], arrays)
        kernels = tuple(
            _kernel(files[f"kernel_{number}.cubin"], files.get(f"kernel_{number}.ptx"), about, architecture)
            for number, about in enumerate(stored["kernels"])
        )
        text = files[KERNELS].decode()
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        if isinstance(error, ParseError):
            raise
        raise ParseError(
            f"this is not a program for a GPU: {type(error).__name__}: {text_of(error)}"
        ) from error
    _check_launches(plan, kernels)
    if not plan.is_symbolic and plan.arena_bytes > _LARGEST:
        raise ParseError(f"a plan works in {plan.arena_bytes} bytes, more than there are")
    return StoredProgram(plan, kernels, text)


def _array(content: bytes, type: Any) -> Array:
    name, *shape = type
    if name not in dtype_names() or not all(isinstance(dim, int) and dim >= 0 for dim in shape):
        raise ParseError(f"{shown(type)} is not a type of an array")
    return np.frombuffer(content, dtype_named(name)).reshape(shape)


def _kernel(
    code: bytes, ptx: bytes | None, about: Mapping[str, Any], architecture: int | None
) -> StoredKernel:
    """One kernel, if its code agrees with the document."""
    name, function = about["name"], about["function"]
    warps, shared, pointers = _count(about, "warps"), _count(about, "shared_bytes"), _count(about, "pointers")
    scratch, numbers = _count(about, "scratch_bytes"), about.get("numbers", [])
    if not isinstance(numbers, list) or any(size not in (4, 8) for size in numbers):
        raise ParseError(f"the numbers that {shown(name)} takes have {shown(numbers)} bytes")
    sizes = [_POINTER] * pointers + numbers + [_POINTER] * 2
    try:
        found = kernels_in(code).get(name)
        made_for = architecture_of(code)
    except CubinError as error:
        raise ParseError(error.message) from error
    if found is None or not isinstance(function, str):
        raise ParseError(f"the code beside {shown(function)} has no kernel {shown(name)}")
    if not 1 <= warps <= _MOST_WARPS:
        raise ParseError(f"{name:.60} has {found.threads} threads, and {warps} warps would be launched")
    _check_facts(name, found, sizes, warps)
    if architecture is not None and made_for != architecture:
        raise ParseError(f"the code of {name:.60} is for sm_{made_for}, not for sm_{architecture}")
    portable = None if ptx is None else kernel_in(ptx)
    if portable is not None:
        if portable.name != name or portable.architecture != made_for:
            raise ParseError(
                f"the PTX of {name:.60} is of {portable.name:.60} for sm_{portable.architecture}, not sm_{made_for}"
            )
        _check_facts(name, portable, sizes, warps)
    checked = {
        "name": name,
        "warps": warps,
        "shared_bytes": shared,
        "scratch_bytes": scratch,
        "pointers": pointers,
        "numbers": numbers,
    }
    return StoredKernel(function, code, checked, ptx, portable is not None and portable.is_for_newer)


def _check_facts(name: str, found: KernelFacts | PtxFacts, sizes: Sequence[int], warps: int) -> None:
    """Its arguments and threads are those with which it will be launched."""
    if found.parameters != laid_out(sizes):
        raise ParseError(
            f"the parameters of {name:.60} lie at {shown(found.parameters, 80)}, not as those of {shown(sizes, 80)} "
            "bytes do"
        )
    if found.threads not in (0, warps * _WARP):
        raise ParseError(f"{name:.60} has {found.threads} threads, and {warps} warps would be launched")


def _count(about: Mapping[str, Any], name: str) -> int:
    number = about[name]
    if not is_int(number, 0) or number >= 1 << 31:
        raise ParseError(f"{name} of a kernel is {shown(number)}")
    return number


def _check_launches(plan: Plan, kernels: tuple[StoredKernel, ...]) -> None:
    """Each launch has its kernel, with the same number of pointers and threads."""
    by_function = {kernel.function: kernel.about for kernel in kernels}
    for step in plan.launches:
        about = by_function.get(step.function)
        if about is None:
            raise ParseError(f"a plan launches a function that is not beside it: {step.function:.60}")
        numbers = [8 if number.is_wide else 4 for number in step.numbers]
        if (about["pointers"], about["numbers"]) != (len(step.slots), numbers) or about[
            "warps"
        ] != step.warps:
            raise ParseError(f"a plan launches {step.function:.60} with other arguments than its code takes")
