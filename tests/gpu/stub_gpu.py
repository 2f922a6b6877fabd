"""Simulated GPUs: a driver that uses host memory as device memory, in the process of the tests.

The fixture ``stub_gpu`` compiles `stub_libcuda.c` and loads it under the name of NVIDIA's driver; cuda-bindings takes a
library of that name which is loaded already. So all of ``tracemill.runtime.gpu`` runs as it is, and tests see what it
asks of the driver:

    def test_a_kernel_runs(stub_gpu: StubGpu) -> None:
        def double(programs: int, x: int, out: int) -> None:
            stub_gpu.array(out, (4,), np.float32)[:] = 2 * stub_gpu.array(x, (4,), np.float32)

        stub_gpu.kernels["double"] = double
        code = machine_code(double=2)  # or a cubin that Triton made
        ...
        stub_gpu.launches  # what has been launched: names, grids, streams, pointers

Queued work runs as late as possible: when something waits for it, at ``stub_gpu.run()``, or at once after
``stub_gpu.be_eager()``. A kernel computes if ``kernels`` has a Python function under its name, for example one that
calls Triton's interpreter. Memory contains 0xCD before it is written, and after it is freed.
"""

import ctypes
import re
import struct
import subprocess
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from tracemill.compiler.dtypes import Array
from tracemill.compiler.errors import CubinError
from tracemill.runtime.gpu import device as devices
from tracemill.runtime.gpu.driver import driver
from tracemill.runtime.machine.cubin import kernels_in, laid_out

SOURCE: Final = Path(__file__).with_name("stub_libcuda.c")
MEMORY: Final = 1 << 28
"""Bytes of each GPU."""

INVALID_IMAGE: Final = 200
NO_BINARY_FOR_GPU: Final = 209
INVALID_PTX: Final = 218
UNSUPPORTED_PTX_VERSION: Final = 222

_OnLoad = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_void_p, ctypes.c_int)
_OnFunction = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_long, ctypes.c_char_p)
_OnLaunch = ctypes.CFUNCTYPE(
    None,
    ctypes.c_char_p,
    ctypes.c_uint,
    ctypes.c_uint,
    ctypes.c_uint,
    ctypes.c_void_p,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.POINTER(ctypes.c_uint64),
)


@dataclass(frozen=True, slots=True)
class Launched:
    """A kernel that has run."""

    name: str
    programs: int
    threads: int
    shared_bytes: int
    stream: int
    device: int
    pointers: tuple[int, ...]
    """Arguments, without the two that Triton adds."""
    scratch: int


class StubGpu:
    """Up to four GPUs of `MEMORY` bytes. At first there are two, of compute capability 9.0."""

    def __init__(self, library: Path) -> None:
        self.library = str(library)
        self._library = ctypes.CDLL(self.library, ctypes.RTLD_GLOBAL)
        self._library.stub_used.restype = ctypes.c_size_t
        self._library.stub_calls.restype = self._library.stub_bad_frees.restype = ctypes.c_long
        self.launches: list[Launched] = []
        self.compiled: list[str] = []
        """PTX that has been loaded, which a driver compiles."""
        self.failures: list[Exception] = []
        """What kernels have raised. The fixture raises the first of them at the end of the test."""
        self.kernels: dict[str, Callable[..., None]] = {}
        self.numbers: dict[str, int] = {}
        """How many of a kernel's arguments are numbers; all others are pointers."""
        self._images: list[dict[str, tuple[int, int]]] = []
        """How many parameters the functions of a module have, and how many threads, or 0."""
        self._listeners = (_OnLoad(self._load), _OnFunction(self._function), _OnLaunch(self._launch))
        self._capabilities = dict[int, tuple[int, int]]()
        self._newest_ptx = _newest_ptx(13000)

    def reset(self, devices: int = 2) -> None:
        """Everything as at first, but for memory that is still in use."""
        self._library.stub_reset(devices, ctypes.c_size_t(MEMORY))
        self._library.stub_listen(*self._listeners)
        self.launches.clear()
        self.compiled.clear()
        self.failures.clear()
        self.kernels.clear()
        self.numbers.clear()
        self._capabilities.clear()
        self._newest_ptx = _newest_ptx(13000)

    # ---- what is set -----------------------------------------------------------------------------------

    def describe(
        self, device: int = 0, capability: tuple[int, int] = (9, 0), driver_version: int = 13000
    ) -> None:
        """What a GPU is, for those who open it from now on."""
        self._capabilities[device] = capability
        self._newest_ptx = _newest_ptx(driver_version)
        self._library.stub_describe(device, *capability, driver_version)

    def fail(self, function: str, result: int) -> None:
        """Let the next call of a function of the driver, ``cuMemAllocAsync``, give an error and do nothing."""
        self._library.stub_fail(function.encode(), result)

    def be_eager(self) -> None:
        """Work is done at once from now on."""
        self._library.stub_be_eager(1)

    def run(self) -> None:
        """Let all GPUs do what is queued on our streams."""
        for device in devices._devices.values():
            device.synchronize()

    @contextmanager
    def counting(self, function: str) -> Generator[Callable[[], int]]:
        """Count the calls of a function of the driver."""
        self._library.stub_count(function.encode())
        yield lambda: int(self._library.stub_calls())

    def quiet(self) -> None:
        """Launches compute nothing and are not listed, which takes no time."""
        self._library.stub_listen(*self._listeners[:2], None)

    # ---- what is asked ---------------------------------------------------------------------------------

    def used(self, device: int = 0) -> int:
        """Bytes that are allocated."""
        return int(self._library.stub_used(device))

    @property
    def bad_frees(self) -> int:
        """How often memory was freed that was not there."""
        return int(self._library.stub_bad_frees())

    @property
    def contexts(self) -> int:
        """How many contexts this thread has entered and not left."""
        return int(self._library.stub_depth())

    @staticmethod
    def array(pointer: int, shape: tuple[int, ...], dtype: Any) -> Array:
        """Memory of a GPU as an array."""
        content = np.dtype(dtype)
        count = int(np.prod(shape, dtype=np.int64)) * content.itemsize
        memory = memoryview((ctypes.c_byte * count).from_address(pointer))
        return np.frombuffer(memory, content).reshape(shape)

    # ---- what the driver asks --------------------------------------------------------------------------

    def _load(self, image: int, device: int) -> int:
        content = _content(image)
        if not content.startswith(b"\x7fELF"):
            return self._compile(content.decode("ascii", "replace"), device)
        try:
            found = {
                name: (len(facts.parameters), facts.threads) for name, facts in kernels_in(content).items()
            }
        except CubinError:
            return -INVALID_IMAGE
        major, minor = self._capabilities.get(device, (9, 0))
        wanted_major, wanted_minor = divmod(_architecture(content), 10)
        if wanted_major != major or wanted_minor > minor:
            return -NO_BINARY_FOR_GPU
        self._images.append(found)
        return len(self._images)

    def _compile(self, ptx: str, device: int) -> int:
        """What a driver does with PTX, but for its instructions."""
        version = re.search(r"^\.version (\d+)\.(\d+)$", ptx, re.MULTILINE)
        if version is None:
            return -INVALID_IMAGE
        if (int(version[1]), int(version[2])) > self._newest_ptx:
            return -UNSUPPORTED_PTX_VERSION
        target = re.search(r"^\.target sm_(\d+)(a?)$", ptx, re.MULTILINE)
        kernel = re.search(r"^\.visible \.entry (\w+)\(([^)]*)\)", ptx, re.MULTILINE)
        if target is None or kernel is None or not ptx.rstrip().endswith("}"):
            return -INVALID_PTX
        major, minor = self._capabilities.get(device, (9, 0))
        here, wanted = 10 * major + minor, int(target[1])
        if wanted > here or (target[2] and wanted != here):
            return -NO_BINARY_FOR_GPU
        self.compiled.append(ptx)
        threads = re.search(r"^\.reqntid (\d+)", ptx, re.MULTILINE)
        self._images.append({kernel[1]: (kernel[2].count(".param"), int(threads[1]) if threads else 0)})
        return len(self._images)

    def _function(self, module: int, name: bytes) -> int:
        found = self._images[module - 1].get(name.decode())
        if found is None:
            return -1
        parameters, threads = found
        return parameters + 256 * self.numbers.get(name.decode(), 0) + 65536 * threads

    def _launch(
        self,
        name: bytes,
        programs: int,
        threads: int,
        shared: int,
        stream: int,
        device: int,
        count: int,
        parameters: Any,
    ) -> None:
        *pointers, scratch, _ = parameters[:count]
        launched = Launched(
            name.decode(), programs, threads, shared, stream or 0, device, tuple(pointers), scratch
        )
        self.launches.append(launched)
        if launched.name in self.kernels:
            try:
                self.kernels[launched.name](programs, *pointers)
            except Exception as error:
                self.failures.append(error)  # the driver cannot pass it on


def compiled(compiler: str, folder: Path) -> Path:
    """The driver's library, made by a C compiler."""
    library = folder / "libcuda.so.1"
    flags = "-std=c11 -O1 -Wall -Wextra -Werror -shared -fPIC -pthread -Wl,-soname,libcuda.so.1".split()
    subprocess.run([compiler, *flags, str(SOURCE), "-o", str(library), "-ldl"], check=True)
    return library


@contextmanager
def fresh(stub: StubGpu) -> Generator[StubGpu]:
    """The driver as at first, with GPUs that are not opened yet."""
    stub.reset()
    devices._devices.clear()
    driver()
    yield stub
    stub.run()
    devices._devices.clear()
    if stub.failures:
        raise stub.failures[0]


# ---- machine code that holds nothing --------------------------------------------------------------------

_HEADER: Final = struct.Struct("<4sBB10xHHIQQQIHHHHHH")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")


def machine_code(architecture: int = 90, /, **functions: int | Sequence[int]) -> bytes:
    """A cubin for an architecture, with functions that take this many pointers, and Triton's two.

    Of one that takes numbers, too: the bytes of each of its arguments.
    """
    names = b"\0.names\0"
    sections = [(0, b""), (1, b"")]
    for name, given in functions.items():
        sizes = [8] * given if isinstance(given, int) else [*given]
        places = enumerate(laid_out([*sizes, 8, 8]))
        for section, content in (
            (f".text.{name}", b""),
            (f".nv.info.{name}", b"".join(_parameter(number, *place) for number, place in places)),
        ):
            sections.append((len(names), content))
            names += section.encode() + b"\0"
    sections[1] = (1, names)
    body, table = b"", b""
    for name_at, content in sections:
        table += _SECTION.pack(name_at, 0, 0, 0, _HEADER.size + len(body), len(content), 0, 0, 0, 0)
        body += content
    start = _HEADER.size + len(body)
    header = (
        b"\x7fELF",
        2,
        1,
        2,
        190,
        1,
        0,
        0,
        start,
        architecture,
        64,
        0,
        0,
        _SECTION.size,
        len(sections),
        1,
    )
    return _HEADER.pack(*header) + body + table


def ptx(
    name: str,
    pointers: int,
    architecture: str = "80",
    *,
    version: str = "7.8",
    threads: int = 128,
    numbers: Sequence[int] = (),
) -> bytes:
    """The same as text, for one function and a target such as "90a"; after the pointers come numbers of these sizes
    in bytes."""
    pointer = "u64 .ptr .global .align 1"
    types = [pointer] * pointers + [f"u{8 * size}" for size in numbers] + [pointer] * 2
    parameters = ",\n".join(f"\t.param .{type} {name}_param_{n}" for n, type in enumerate(types))
    return (
        f"//\n// Made for tests\n//\n\n.version {version}\n.target sm_{architecture}\n.address_size 64\n\n"
        f"\t// .globl\t{name}\n.visible .entry {name}(\n{parameters}\n)\n.reqntid {threads}\n{{\n\tret;\n}}\n"
    ).encode()


def _newest_ptx(driver_version: int) -> tuple[int, int]:
    """What a driver knows, by the release of CUDA that it belongs to: PTX is four behind it, to about its minor one."""
    return driver_version // 1000 - 4, driver_version % 1000 // 10


def _parameter(number: int, offset: int, size: int) -> bytes:
    return struct.pack("<BBHIHHI", 4, 0x17, 12, 0, number, offset, size << 18)


def _content(image: int) -> bytes:
    """The bytes of a file in memory: its table of sections is its end; a text ends with a zero."""
    start = ctypes.string_at(image, 4)
    if start != b"\x7fELF":
        return ctypes.string_at(image)
    header = _HEADER.unpack(ctypes.string_at(image, _HEADER.size))
    end: int = header[8] + header[13] * header[14]
    return ctypes.string_at(image, end)


def _architecture(content: bytes) -> int:
    """In the flags it is the lowest byte, or in files of a newer form the one after that."""
    flags: int = _HEADER.unpack_from(content)[9]
    lowest = flags & 0xFF
    return lowest if lowest >= 50 else flags >> 8 & 0xFF
