"""Kernels in machine code, loaded onto a GPU, and their launches."""

import ctypes
from collections.abc import Sequence
from typing import Any, Final

from ...compiler.errors import GpuCodeError, InternalError
from .device import Device
from .driver import checked, driver, failure

_WARP: Final = 32
_SHARED_AT_FIRST: Final = 48 << 10
"""Bytes of shared memory that a block gets by default."""

_OWN: Final = 2
"""Triton adds two pointers to every kernel: its own memory, and that of its profiler."""


class LoadedKernel:
    """One function of machine code on one GPU. Its parameters are pointers, numbers, and two pointers of Triton's.

    Args:
        device: the GPU.
        code: a cubin, or PTX with a zero behind it, which the driver compiles.
        name: the function in it.
        warps: how many groups of 32 threads a program has.
        shared_bytes: the shared memory of a program.
        pointers: how many arrays it takes.
        numbers: how many whole numbers it takes behind them.
        scratch_bytes: memory that Triton wants of us, for each program.

    Raises:
        GpuCodeError: the code is for another kind of GPU, or the driver is too old for it.
    """

    def __init__(
        self,
        device: Device,
        code: bytes,
        name: str,
        *,
        warps: int,
        shared_bytes: int,
        pointers: int,
        numbers: int = 0,
        scratch_bytes: int = 0,
    ) -> None:
        self._module: Any = None
        self.device = device
        self.name = name
        self.threads = warps * _WARP
        self.shared_bytes = shared_bytes
        self.pointers = pointers
        self.numbers = numbers
        self.scratch_bytes = scratch_bytes
        if shared_bytes > device.shared_limit:
            raise GpuCodeError(
                f"{device.name} cannot run {name}: it needs {shared_bytes} bytes of shared memory, and a program"
                f" gets {device.shared_limit} on {device.target}"
            )
        found = driver()
        doing = f"loading {name}"
        with device:
            result = found.cuModuleLoadData(code)
            if result[0]:
                raise _refused(result[0], device, name)
            self._module = result[1]
            self.function = checked(found.cuModuleGetFunction(self._module, name.encode()), doing)
            if shared_bytes > _SHARED_AT_FIRST:
                most = found.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                checked(found.cuFuncSetAttribute(self.function, most, shared_bytes), doing)

    def __del__(self) -> None:
        if self._module is not None:
            self.device.discard(driver().cuModuleUnload, self._module)

    def prepare(
        self, programs: int, pointers: Sequence[int], numbers: Sequence[int] = ()
    ) -> "PreparedLaunch":
        """A launch that can be repeated. Its pointers can be changed in between."""
        return PreparedLaunch(self, programs, pointers, numbers)

    def launch(self, stream: int, programs: int, pointers: Sequence[int]) -> None:
        """Queue one run with this many programs on a stream. Call inside ``with device:``, like all launches."""
        self.prepare(programs, pointers)(stream)


class PreparedLaunch:
    """A kernel on a grid, and its parameters where the driver reads them: ``launch.pointers[1] = x`` changes one.

    Calling it queues it on a stream, inside ``with device:``. There is one parameter block, so only one thread at a
    time may change and launch it; that lock is enough. An empty grid is not launched.
    """

    __slots__ = ("_addresses", "_kernel", "_launch", "_scratch", "_shape", "_where", "pointers", "programs")

    def __init__(
        self, kernel: LoadedKernel, programs: int, pointers: Sequence[int], numbers: Sequence[int] = ()
    ) -> None:
        for what, wanted, given in (
            ("pointers", kernel.pointers, len(pointers)),
            ("numbers", kernel.numbers, len(numbers)),
        ):
            if given != wanted:
                raise InternalError(f"{kernel.name} takes {wanted} {what}, not {given}")
        count = len(pointers) + len(numbers)
        scratch = kernel.device.allocate(programs * kernel.scratch_bytes) if kernel.scratch_bytes else None
        self._kernel, self._scratch, self.programs = kernel, scratch, programs
        own = scratch.pointer if scratch else 0
        # The driver reads four bytes of a number that has only four: the lower ones, which come first.
        self.pointers = (ctypes.c_uint64 * (count + _OWN))(*pointers, *numbers, own, 0)
        start, size = ctypes.addressof(self.pointers), ctypes.sizeof(ctypes.c_uint64)
        self._addresses = (ctypes.c_void_p * (count + _OWN))(*(start + size * i for i in range(count + _OWN)))
        self._where = ctypes.addressof(self._addresses)
        self._shape = (kernel.function, programs, 1, 1, kernel.threads, 1, 1, kernel.shared_bytes)
        self._launch = driver().cuLaunchKernel

    def __call__(self, stream: int) -> None:
        if not self.programs:
            return
        result = self._launch(*self._shape, stream, self._where, 0)
        if result[0]:
            raise failure(result[0], f"launching {self._kernel.name} on {self._kernel.device.name}")


def _refused(status: Any, device: Device, name: str) -> Exception:
    found = failure(status, f"{device.name} cannot run {name}")
    if not isinstance(found, GpuCodeError):
        return found
    return GpuCodeError(
        f"{found.message}. {device.name} is a {device.target}, and its driver knows CUDA {device.cuda_version}: the"
        " code must be compiled for that target, by no newer release of ptxas"
    )
