"""Compiles Triton functions for a GPU that this machine need not have."""

import linecache
import os
import re
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from ...compiler.backends.triton.kernels.kernel import TritonKernel
from ...compiler.backends.triton.plan import ALIGNED, Number
from ...compiler.backends.triton.planning.program import TritonProgram
from ...compiler.backends.triton.types import pointer_type
from ...compiler.errors import ArgumentValueError, BackendError, KernelError, MissingPackageError
from ...compiler.ir import ArrayType
from ...compiler.locks import reentrant_lock
from ..files.scratch_folder import ScratchFolder
from .cubin import KernelFacts, kernels_in, laid_out
from .triton_amd_stub import name_missing_functions

_POINTER: Final = 8
_STAGES_OF_AMD: Final = 2
"""More do not fit: the processors of AMD GPUs have 64 KiB of shared memory."""

_SIDE_OF_AMD: Final = 16
"""Rows and columns that AMD's units multiply at once: 32 need more registers, and gradients of attention spill."""

_PORTABLE: Final = (80, 86, 87, 89)
"""GPUs whose PTX newer ones can run, too. From sm_90 on, Triton uses instructions of a single architecture."""
_OLDEST_PTX: Final = 78
"""Release 7.8, of CUDA 11.8, which Triton needs for shared memory. Drivers refuse newer ones."""

_SPILLED_BY_AMD: Final = re.compile(r"\.vgpr_spill_count:\s*(\d+)")
"""Scalar registers are stored in lanes of vector registers, not in memory."""
_FUNCTION: Final = re.compile(r"^\s*\.func\b", re.MULTILINE)
_ARRAYS: Final = re.compile(r"^\s*\.local .*\[(\d+)\];", re.MULTILINE)
"""Their bytes, in PTX."""

_knobs_lock = reentrant_lock()
"""Triton's settings belong to the process."""


@dataclass(frozen=True, slots=True)
class Target:
    """The targets of kernels: ``cuda`` with 90 for compute capability 9.0, or ``hip`` with ``gfx942``."""

    platform: str
    architecture: int | str

    @property
    def threads_of_a_warp(self) -> int:
        return 64 if str(self.architecture).startswith("gfx9") else 32

    def warps(self, count: int) -> int:
        """The same number of threads as this many of NVIDIA's warps: half as many waves of 64, each thread with twice
        the registers.

        With the same number of warps, each of AMD's threads would have the registers of NVIDIA's. They need more,
        since operands shared by several warps are in the registers of each of them.
        """
        return max(1, count * 32 // self.threads_of_a_warp)


@dataclass(frozen=True, slots=True)
class BuiltKernel:
    """One Triton function in machine code."""

    name: str
    code: bytes
    """A cubin, or AMD's equivalent."""
    assembly: str
    """PTX, or AMD's equivalent."""
    warps: int
    shared_bytes: int
    """Memory of a block that its launch must request."""
    scratch_bytes: int
    """Memory of each program that its launch must provide."""
    facts: KernelFacts | None
    """The facts in the cubin; None on other platforms."""
    numbers: tuple[int, ...] = ()
    """The bytes of each integer argument after its arrays."""

    @property
    def spilled_bytes(self) -> int:
        """The bytes of a thread's values for which there were no registers.

        Memory outside registers is not only for spills: a called function, such as the one that reduces large angles,
        may need an array. A cubin contains only the sum of both, rounded up to 16 bytes.
        """
        if self.facts is None:
            return sum(4 * int(count) for count in _SPILLED_BY_AMD.findall(self.assembly))
        arrays = sum(map(int, _ARRAYS.findall(self.assembly))) if _FUNCTION.search(self.assembly) else 0
        return max(0, self.facts.local_bytes - arrays - -arrays % 16)


def target_named(name: str) -> Target:
    """``cuda:sm_90`` and ``hip:gfx942`` as targets.

    Raises:
        ArgumentValueError: the name is none of these forms.

    >>> target_named("cuda:sm_90")
    Target(platform='cuda', architecture=90)
    """
    platform, _, architecture = name.partition(":")
    if platform == "cuda" and architecture.startswith("sm_") and architecture[3:].isdecimal():
        return Target(platform, int(architecture[3:]))
    if platform == "hip" and architecture.startswith("gfx"):
        return Target(platform, architecture)
    raise ArgumentValueError(f"a target is written as cuda:sm_90 or hip:gfx942, not {name!r}")


@dataclass(frozen=True, slots=True)
class Source:
    """A Triton function in the form in which it is compiled: the types of its arrays, and how it runs, as in
    `Launch`."""

    name: str
    types: tuple[ArrayType, ...]
    warps: int
    stages: int
    fast_math: bool = False
    """Whether a multiplication and an addition may be fused into one rounding."""
    numbers: tuple[Number, ...] = ()
    """The arguments after the arrays."""


def build(kernel: TritonKernel, target: Target) -> tuple[BuiltKernel, ...]:
    """Compile the functions of a kernel, in the order of its launches.

    Raises:
        MissingPackageError: Triton is not installed.
        BackendError: Triton is set to interpret what it should compile.
        KernelError: Triton refuses a function, or its parameters do not lie where they should.
    """
    sources = [
        Source(
            launch.function,
            tuple(kernel.buffers[i] for i in launch.buffers),
            launch.warps,
            launch.stages,
            numbers=launch.numbers,
        )
        for launch in kernel.launches
    ]
    return _build(kernel.text, sources, target)


def build_program(program: TritonProgram, target: Target) -> dict[str, BuiltKernel]:
    """Compile the functions that a program launches, by their names. Raises like `build`."""
    sources = _sources(program)
    return dict(zip(sources, _build(program.text, list(sources.values()), target), strict=True))


def build_programs(
    programs: Sequence[TritonProgram], target: Target
) -> list[dict[str, BuiltKernel] | KernelError]:
    """Compile several programs at a time. Returns the error for a program that Triton refuses; raises others like
    `build`."""
    sources = [_sources(program) for program in programs]
    functions = [_functions(program.text) for program in programs]
    with _compiling(sum(map(len, sources))) as pool:
        tasks = [
            {name: pool.submit(_built, scope[name], source, target) for name, source in those.items()}
            for scope, those in zip(functions, sources, strict=True)
        ]
        return [_results(those) for those in tasks]


def _results(tasks: Mapping[str, Future[BuiltKernel]]) -> dict[str, BuiltKernel] | KernelError:
    try:
        return {name: task.result() for name, task in tasks.items()}
    except KernelError as error:
        return error


def _sources(program: TritonProgram) -> dict[str, Source]:
    return {
        step.function: Source(
            step.function,
            tuple(slot.type for slot in step.slots),
            step.warps,
            step.stages,
            program.fast_math,
            step.numbers,
        )
        for step in program.plan.launches
    }


def _build(text: str, sources: Sequence[Source], target: Target) -> tuple[BuiltKernel, ...]:
    """Compile functions of a text, several at a time."""
    if not sources:
        return ()
    functions = _functions(text)
    with _compiling(len(sources)) as pool:
        return tuple(pool.map(lambda source: _built(functions[source.name], source, target), sources))


@contextmanager
def _compiling(count: int) -> Generator[Executor]:
    """Threads for this many functions, in which Triton leaves nothing on disk."""
    from triton import knobs

    with (
        _knobs_lock,
        ScratchFolder() as folder,
        knobs.cache.scope(),
        ThreadPoolExecutor(max(1, min(count, os.cpu_count() or 1))) as pool,
    ):
        knobs.cache.dir = str(folder.path)
        yield pool


def _functions(text: str) -> Mapping[str, Any]:
    """The functions of a generated text. Triton reads their lines again, from where tracebacks look for them."""
    try:
        import triton
        import triton.language as tl
        from triton import knobs
        from triton.language.extra import libdevice
    except ImportError as error:
        raise MissingPackageError(
            "compiling for GPUs needs Triton: pip install 'tracemill[gpu]', on Linux"
        ) from error
    if knobs.runtime.interpret:
        raise BackendError("TRITON_INTERPRET is set, so that Triton compiles nothing: unset it")
    name = f"<triton {sha256(text.encode()).hexdigest()[:16]}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"__name__": name, "triton": triton, "tl": tl, "libdevice": libdevice}
    exec(compile(text, name, "exec"), scope)
    return scope


def _built(function: Any, source: Source, target: Target) -> BuiltKernel:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    pointers = [pointer_type(type.dtype) for type in source.types]
    types = [*pointers, *(number.type for number in source.numbers)]
    multiples = [ALIGNED] * len(pointers) + [number.multiple_of for number in source.numbers]
    asked = ASTSource(
        function,
        signature=dict(zip(function.arg_names, types, strict=True)),
        constexprs={},
        attrs={(n,): [["tt.divisibility", multiple]] for n, multiple in enumerate(multiples) if multiple > 1},
    )
    stages = source.stages if target.platform == "cuda" else min(source.stages, _STAGES_OF_AMD)
    options = {
        "num_warps": target.warps(source.warps),
        "num_stages": stages,
        "enable_fp_fusion": source.fast_math,
    }
    if target.platform == "cuda":
        options["enable_reflect_ftz"] = False
        if target.architecture in _PORTABLE:
            options["ptx_version"] = _OLDEST_PTX
    else:
        name_missing_functions()
        options["matrix_instr_nonkdim"] = _SIDE_OF_AMD
    gpu = GPUTarget(target.platform, target.architecture, target.threads_of_a_warp)
    try:
        try:
            found = triton.compile(asked, target=gpu, options=options)
        except SystemError:  # Python 3.11's parser counts its depth for all threads at once
            found = triton.compile(asked, target=gpu, options=options)
    except Exception as error:
        raise KernelError(f"Triton cannot compile {source.name}: {_reason(error)}") from error
    assembly = found.asm["ptx" if target.platform == "cuda" else "amdgcn"]
    code = found.asm["cubin" if target.platform == "cuda" else "hsaco"]
    facts = None
    numbers = tuple(8 if number.is_wide else 4 for number in source.numbers)
    if target.platform == "cuda":
        facts = kernels_in(code)[found.metadata.name]
        _check_layout(source.name, facts, len(pointers), numbers)
    about = found.metadata
    scratch = about.global_scratch_size if target.platform == "cuda" else 0  # Triton 3.6 has none on others
    return BuiltKernel(about.name, code, assembly, about.num_warps, about.shared, scratch, facts, numbers)


def _reason(error: BaseException) -> str:
    """The cause of a Triton error, which first shows where each function is called."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line for line in str(error).splitlines() if line.strip()]
    reason = lines[-1] if lines else type(error).__name__
    if "tf32x3" in reason:
        return (
            "AMD's GPUs have no tf32x3, which fast_math uses for products of f32: compile without fast_math"
        )
    return reason


def _check_layout(name: str, facts: KernelFacts, pointers: int, numbers: Sequence[int]) -> None:
    """Arguments are pointers, then numbers, one after another, and two pointers that Triton adds."""
    wanted = laid_out([_POINTER] * pointers + [*numbers] + [_POINTER] * 2)
    if facts.parameters != wanted:
        raise KernelError(
            f"the parameters of {name} lie at {facts.parameters}, not at {wanted}: this version of Triton"
            " passes arguments in another way than Tracemill does"
        )
