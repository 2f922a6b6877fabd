"""A GPU on which Triton's interpreter runs the kernels: programs are built, loaded and launched, but not compiled."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

import numpy as np
import pytest

from gpu.stub_gpu import StubGpu, machine_code, ptx
from gpu.triton_interpreter import Memory, interpreting, module
from tracemill.compiler.backends.triton.plan import Number
from tracemill.compiler.backends.triton.planning.program import TritonProgram
from tracemill.compiler.ir import ArrayType
from tracemill.compiler.symbolic_size import SymbolicSize
from tracemill.runtime.machine.cubin import kernels_in
from tracemill.runtime.machine.triton_compiler import BuiltKernel, Target

_numbers = count(1)


@contextmanager
def interpreted(stub_gpu: StubGpu) -> Generator[None]:
    """Programs that are built here run on `stub_gpu`, each launch at once.

    Else kernels might run while the garbage collector frees memory, in the midst of ``ast.parse``, which they call.
    """
    stub_gpu.be_eager()

    def build_program(program: TritonProgram, target: Target) -> dict[str, BuiltKernel]:
        with interpreting():
            functions = module(program.text)
        built: dict[str, BuiltKernel] = {}
        for step in program.plan.launches:
            if step.function in built:
                continue
            name = f"{step.function}_{next(_numbers)}"
            types = [slot.type for slot in step.slots]
            sizes = [8 if number.is_wide else 4 for number in step.numbers]
            stub_gpu.kernels[name] = _kernel(stub_gpu, functions[step.function], types, step.numbers)
            stub_gpu.numbers[name] = len(sizes)
            architecture = int(target.architecture)
            code = machine_code(architecture, **{name: [8] * len(types) + sizes})
            variant = "a" if architecture >= 90 else ""  # as Triton does
            text = ptx(
                name, len(types), f"{architecture}{variant}", threads=32 * step.warps, numbers=sizes
            ).decode()
            facts = kernels_in(code)[name]
            built[step.function] = BuiltKernel(name, code, text, step.warps, 0, 0, facts, tuple(sizes))
        return built

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tracemill.runtime.gpu_programs.gpu_strategy.build_program", build_program)
        patch.setattr(
            "tracemill.runtime.gpu_programs.tune.build_programs",
            lambda programs, target: [build_program(program, target) for program in programs],
        )
        patch.setenv("TRACEMILL_CACHE", "0")
        yield


def _kernel(
    stub_gpu: StubGpu, function: Any, types: list[ArrayType], numbers: Sequence[Number]
) -> Callable[..., None]:
    def memory_of(pointer: int, type: ArrayType) -> Memory:
        """The place of an array; for many sizes, its start."""
        is_whole = not any(isinstance(dim, SymbolicSize) for dim in type.shape)
        shape = type.shape if is_whole else (1,)
        return Memory(stub_gpu.array(pointer, shape, type.dtype), is_whole=is_whole)

    def kernel(programs: int, *arguments: int) -> None:
        pointers, given = arguments[: len(types)], arguments[len(types) :]
        # Of a short number the driver reads the lower bytes.
        values = [
            _signed(value, 8 if number.is_wide else 4) for value, number in zip(given, numbers, strict=True)
        ]
        # Code relies on it: it loads 16 bytes at once, or leaves masks out.
        assert all(value % number.multiple_of == 0 for value, number in zip(values, numbers, strict=True))
        with interpreting(), np.errstate(all="ignore"):
            memory = [memory_of(pointer, type) for pointer, type in zip(pointers, types, strict=True)]
            function[(programs,)](*memory, *values)

    return kernel


def _signed(number: int, size: int) -> int:
    return int.from_bytes(number.to_bytes(8, "little")[:size], "little", signed=True)
