"""A GPU: its context, the stream on which all work is queued, and its memory, which is freed when unused."""

import gc
import sys
import threading
from collections import deque
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final, NoReturn, Protocol, Self

import numpy as np

from ...compiler.dtypes import Array, DType
from ...compiler.errors import GpuMemoryError, NoGpuError, TracemillError
from ...compiler.locks import reentrant_lock
from .driver import checked, driver, failure

LEGACY_STREAM = 1
"""The driver's handle of the stream on which other libraries work by default."""
_STAGED: Final = 1 << 16
"""An array with up to this many bytes is copied on the host first, so that nothing waits for the GPU to read it."""

_NAME_BYTES: Final = 256
_NON_BLOCKING: Final = 1
_WITHOUT_TIME: Final = 2

_devices: dict[int, "Device"] = {}
_opening = reentrant_lock()


def gpu(ordinal: int = 0) -> "Device":
    """The GPU with a number. It is opened once and stays open.

    Raises:
        MissingPackageError, NoDriverError: cuda-bindings, or NVIDIA's driver, is not there.
        NoGpuError: there is no GPU of this number.
    """
    found = _devices.get(ordinal)
    if found is not None:
        return found
    with _opening:
        if ordinal not in _devices:
            _devices.setdefault(ordinal, Device(ordinal))
        return _devices[ordinal]


def gpus() -> list["Device"]:
    """All GPUs, opened.

    Raises:
        MissingPackageError, NoDriverError, NoGpuError: there is none, or nothing to reach it by.
    """
    return [gpu(ordinal) for ordinal in range(_count())]


class Device:
    """One GPU. ``with device:`` locks it for this thread, and makes its context the current one.

    All work is queued on one stream, so it runs in the order of the requests, from any thread. To keep several pieces
    of work together, queue them inside one ``with device:``. Every method enters by itself; the lock is re-entrant.
    """

    def __init__(self, ordinal: int) -> None:
        self._driver = driver()
        count = _count()
        if not 0 <= ordinal < count:
            raise NoGpuError(
                f"there is no GPU {ordinal}: they are numbered from 0, and there {_count_text(count)}"
                " (CUDA_VISIBLE_DEVICES hides those that it does not name)"
            )
        self.ordinal = ordinal
        self.name = f"cuda:{ordinal}"
        self.product = _text(
            checked(self._driver.cuDeviceGetName(_NAME_BYTES, ordinal), f"naming {self.name}")
        )
        self.driver_version: int = checked(
            self._driver.cuDriverGetVersion(), "asking for the driver's version"
        )
        self.capability = (
            self._attribute("COMPUTE_CAPABILITY_MAJOR"),
            self._attribute("COMPUTE_CAPABILITY_MINOR"),
        )
        self.multiprocessors = self._attribute("MULTIPROCESSOR_COUNT")
        self.shared_limit = self._attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        self.cache_bytes = self._attribute("L2_CACHE_SIZE")
        self._lock = threading.RLock()
        self._depth = 0
        """How often the thread that has the lock has entered."""
        self._context = checked(self._driver.cuDevicePrimaryCtxRetain(ordinal), f"opening {self.name}")
        self._pool = checked(self._driver.cuDeviceGetDefaultMemPool(ordinal), f"opening {self.name}")
        self._keep_freed_memory()
        self._kept: deque[tuple[Any, object]] = deque()
        self._is_recording = False
        self._late: deque[Callable[[], None]] = deque()
        """Released once nothing is being recorded."""
        with self:
            self.stream = int(checked(self._driver.cuStreamCreate(_NON_BLOCKING), f"opening {self.name}"))

    @property
    def target(self) -> str:
        """The target of kernels, such as ``cuda:sm_90``."""
        major, minor = self.capability
        return f"cuda:sm_{major}{minor}"

    @property
    def cuda_version(self) -> str:
        """The driver's release of CUDA, such as ``13.0``."""
        return f"{self.driver_version // 1000}.{self.driver_version % 1000 // 10}"

    def __repr__(self) -> str:
        return f"<{self.name}, {self.target}>"

    def __enter__(self) -> Self:
        self._lock.acquire()
        result = self._driver.cuCtxPushCurrent(self._context)
        if result[0]:
            self._lock.release()
            raise failure(result[0], f"entering {self.name}")
        self._depth += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        self._driver.cuCtxPopCurrent()
        self._lock.release()

    @contextmanager
    def left(self) -> Generator[None]:
        """Other threads may take the lock inside the block, however often this one has entered: for Python code that
        waits for them."""
        depth = self._depth
        for _ in range(depth):
            self.__exit__()
        try:
            yield
        finally:
            for _ in range(depth):
                self.__enter__()

    # ---- memory ----------------------------------------------------------------------------------------

    def allocate(self, nbytes: int) -> "Memory":
        """Uninitialised memory of at least one byte, aligned to 256 bytes.

        Raises:
            GpuMemoryError: the memory is full, even after unused arrays have been collected.
        """
        with self:
            self._drop_finished()
            result = self._driver.cuMemAllocAsync(max(nbytes, 1), self.stream)
            if result[0] == self._driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
                self._gather_memory()
                result = self._driver.cuMemAllocAsync(max(nbytes, 1), self.stream)
            if result[0]:
                raise self._full(result[0], nbytes)
            return Memory(self, int(result[1]), nbytes)

    def free(
        self,
        pointer: int,
        readers: Collection[int | None] = (),
        is_over: Callable[[], bool] = sys.is_finalizing,
    ) -> None:
        """Free memory after all work that is queued on this device's stream, and on those of `readers`.

        It is called when objects are destroyed, in any thread at any time: so it takes no lock and raises nothing.
        """
        if is_over():  # the driver frees all memory when the process ends
            return
        if self._is_recording:
            self._late.append(partial(self.free, pointer, readers))
            return
        self._driver.cuCtxPushCurrent(self._context)
        if any(stream != LEGACY_STREAM for stream in readers):
            self._driver.cuCtxSynchronize()  # their stream may be gone, so it cannot be asked
        elif readers:
            with suppress(TracemillError):
                self._order(LEGACY_STREAM, self.stream)
        self._driver.cuMemFreeAsync(pointer, self.stream)
        self._driver.cuCtxPopCurrent()

    def memory(self) -> tuple[int, int]:
        """The free bytes, for all processes together, and the total."""
        with self:
            free, total = checked(self._driver.cuMemGetInfo(), f"measuring the memory of {self.name}")
            return int(free), int(total)

    def copy_in(self, array: Array) -> "Memory":
        """Copy a contiguous array to new memory. It may be changed as soon as this returns."""
        memory = self.allocate(array.nbytes)
        self.write(memory.pointer, array)
        return memory

    def write(self, pointer: int, array: Array) -> None:
        """Copy a contiguous array to `pointer`. It may be changed as soon as this returns."""
        if not array.nbytes:
            return
        is_small = array.nbytes <= _STAGED
        source = array.copy() if is_small else array
        with self:
            self._do(
                self._driver.cuMemcpyHtoDAsync(pointer, source.ctypes.data, source.nbytes, self.stream),
                "copying to",
            )
            if is_small:
                self.keep(source)
            else:
                self.synchronize()

    def copy_out(self, pointer: int, shape: tuple[int, ...], dtype: DType) -> Array:
        """A new array on the host with the contents at `pointer`, after all queued work."""
        array: Array = np.empty(shape, dtype)
        if array.nbytes:
            with self:
                self._do(
                    self._driver.cuMemcpyDtoHAsync(array.ctypes.data, pointer, array.nbytes, self.stream),
                    "copying from",
                )
                self.synchronize()
        return array

    def copy(self, to: int, source: int, nbytes: int, stream: int | None = None) -> None:
        """Copy between two places on this GPU, on this device's stream or another one."""
        if nbytes:
            with self:
                on = self.stream if stream is None else stream
                self._do(self._driver.cuMemcpyDtoDAsync(to, source, nbytes, on), "copying on")

    def copied(self, source: int, nbytes: int) -> "Memory":
        """A copy, on this GPU too."""
        memory = self.allocate(nbytes)
        self.copy(memory.pointer, source, nbytes)
        return memory

    def copy_from(self, source: "Located") -> "Memory":
        """Copy from another GPU to this one."""
        memory = self.allocate(source.nbytes)
        if not source.nbytes:
            return memory
        other = source.device
        with other:
            ready = self._recorded(other.stream)
        with self:
            self._do(self._driver.cuStreamWaitEvent(self.stream, ready, 0), "waiting on")
            self._do(
                self._driver.cuMemcpyPeerAsync(
                    memory.pointer, self._context, source.pointer, other._context, source.nbytes, self.stream
                ),
                "copying to",
            )
            self.keep(source)
            self._driver.cuEventDestroy(ready)
        return memory

    def zero(self, pointer: int, nbytes: int) -> None:
        """Fill memory with zeros."""
        if nbytes:
            with self:
                self._do(self._driver.cuMemsetD8Async(pointer, 0, nbytes, self.stream), "clearing memory of")

    # ---- order -----------------------------------------------------------------------------------------

    def synchronize(self) -> None:
        """Wait until all work that is queued is done.

        Raises:
            GpuError: some of it has failed.
        """
        with self:
            self._do(self._driver.cuStreamSynchronize(self.stream), "waiting for")
            self._drop_finished()

    def wait_for(self, stream: int) -> None:
        """Make later work on this device's stream wait for the work queued on another one."""
        with self:
            self._order(stream, self.stream)

    def let_wait(self, stream: int) -> None:
        """Make later work on another stream wait for the work queued on this device's."""
        with self:
            self._order(self.stream, stream)

    def show(self, readers: Collection[int | None]) -> None:
        """Make writes visible on the streams of others that share the memory."""
        if any(stream != LEGACY_STREAM for stream in readers):
            self.synchronize()  # their stream may be unknown, or may no longer exist
        elif readers:
            self.let_wait(LEGACY_STREAM)

    def keep(self, owner: object, is_over: Callable[[], bool] = sys.is_finalizing) -> None:
        """Keep an object alive until all work that is queued now is done.

        Like `free`, it is called when objects are destroyed, so it takes no lock and raises nothing.
        """
        if is_over():
            return
        self._driver.cuCtxPushCurrent(self._context)
        with suppress(TracemillError):  # after a failed kernel there is no work left
            self._kept.append((self._recorded(self.stream), owner))
        self._driver.cuCtxPopCurrent()

    def _order(self, first: int, then: int) -> None:
        if first != then:
            event = self._recorded(first)
            self._do(self._driver.cuStreamWaitEvent(then, event, 0), "waiting on")
            self._driver.cuEventDestroy(event)

    def _recorded(self, stream: int) -> Any:
        event = checked(self._driver.cuEventCreate(_WITHOUT_TIME), f"making an event of {self.name}")
        self._do(self._driver.cuEventRecord(event, stream), "marking a place in the work of")
        return event

    def _drop_finished(self) -> None:
        """Release objects that were kept for finished work, and those that waited for a recording."""
        while self._late and not self._is_recording:
            self._late.popleft()()
        while self._kept and not self._driver.cuEventQuery(self._kept[0][0])[0]:
            event, _ = self._kept.popleft()
            self._driver.cuEventDestroy(event)

    def discard(
        self, destroy: Callable[[Any], object], handle: Any, is_over: Callable[[], bool] = sys.is_finalizing
    ) -> None:
        """Let the driver unload a module or a graph once the queued work no longer needs it."""
        if is_over():
            return
        if self._is_recording:
            self._late.append(partial(self.discard, destroy, handle))
            return
        self._driver.cuCtxPushCurrent(self._context)
        self._driver.cuStreamSynchronize(self.stream)
        destroy(handle)
        self._driver.cuCtxPopCurrent()

    @contextmanager
    def recording(self) -> Generator[None]:
        """Nothing is unloaded while recording: unloading may wait for the whole GPU, which would break the
        recording."""
        self._is_recording = True
        try:
            yield
        finally:
            self._is_recording = False
            self._drop_finished()

    # ---- the driver ------------------------------------------------------------------------------------

    def _do(self, result: tuple[Any, ...], doing: str) -> None:
        if result[0]:
            raise failure(result[0], f"{doing} {self.name}")

    def _attribute(self, name: str) -> int:
        attribute = getattr(self._driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(
            checked(self._driver.cuDeviceGetAttribute(attribute, self.ordinal), f"describing {self.name}")
        )

    def _keep_freed_memory(self) -> None:
        """Freed memory stays in the pool, where the next array finds it at once."""
        attribute = self._driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        most = self._driver.cuuint64_t(2**64 - 1)
        checked(self._driver.cuMemPoolSetAttribute(self._pool, attribute, most), f"opening {self.name}")

    def _gather_memory(self) -> None:
        """Free unused memory: arrays in reference cycles, and pieces of the pool."""
        gc.collect()
        self.synchronize()
        self._driver.cuMemPoolTrimTo(self._pool, 0)

    def _full(self, status: Any, nbytes: int) -> Exception:
        found = failure(status, f"allocating {nbytes} bytes on {self.name}")
        if not isinstance(found, GpuMemoryError):
            return found
        free, total = self.memory()
        return GpuMemoryError(
            f"{nbytes} bytes do not fit on {self.name}: {free} of its {total} bytes are free. Delete arrays "
            "that you no longer need, compute in chunks (vmap(chunk_size=...)), or keep less for the backward pass "
            "(checkpoint)"
        )


def _count() -> int:
    return int(checked(driver().cuDeviceGetCount(), "counting GPUs"))


def _text(padded: bytes) -> str:
    return padded.partition(b"\0")[0].decode()


def _count_text(count: int) -> str:
    return "is 1" if count == 1 else f"are {count}"


class Located(Protocol):
    """Bytes on a GPU: an array, or memory."""

    @property
    def device(self) -> Device: ...
    @property
    def pointer(self) -> int: ...
    @property
    def nbytes(self) -> int: ...


class HasMemory(Located, Protocol):
    """The memory of arrays: Tracemill's own or that of another library."""

    @property
    def readers(self) -> Collection[int | None]:
        """Streams of others that may use this memory; None is an unknown one."""
        ...

    @property
    def is_read_only(self) -> bool: ...


class Memory:
    """A piece of a GPU's memory.

    It is freed in the order of the stream: when it is no longer referenced, later work on the stream may reuse it,
    but not work that is already queued. So it must live until all work that uses it is queued, and no longer.
    """

    __slots__ = ("__weakref__", "device", "nbytes", "pointer", "readers")

    is_read_only = False

    def __init__(self, device: Device, pointer: int, nbytes: int) -> None:
        self.device = device
        self.pointer = pointer
        self.nbytes = nbytes
        self.readers: set[int | None] = set()

    def __del__(self) -> None:
        self.device.free(self.pointer, self.readers)

    def __reduce__(self) -> NoReturn:
        raise TypeError("memory of a GPU cannot be pickled: copy it out first")
