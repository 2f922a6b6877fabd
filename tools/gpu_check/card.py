"""The GPU: the card and its software, and how fast it copies and multiplies."""

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

import numpy as np

from ...compiler.dtypes import dtype_named
from ...runtime.compilation.compile import compile
from ...runtime.gpu.device import Device
from ...runtime.gpu.device_put import device_put
from ...runtime.gpu_programs.timer import measure
from ...runtime.machine.package_versions import version_of_package
from .row import Unit
from .rows import ROWS

_COPIED: Final = 1 << 30
"""Bytes that are copied to measure the speed; fewer if memory is short."""
_CALLS: Final = 200

PEAKS: Final[Mapping[str, Mapping[Unit, float]]] = {
    "H200": {"f32": 67e12, "f64": 67e12, "tf32": 494e12, "bf16": 989e12},
    "H100 PCIe": {"f32": 51e12, "f64": 51e12, "tf32": 378e12, "bf16": 756e12},
    "H100": {"f32": 67e12, "f64": 67e12, "tf32": 494e12, "bf16": 989e12},
    "A100": {"f32": 19.5e12, "f64": 19.5e12, "tf32": 156e12, "bf16": 312e12},
    "L40S": {"f32": 91.6e12, "tf32": 183e12, "bf16": 362e12},
}
"""Operations per second from NVIDIA's data sheets, without sparsity; f64 on tensor cores where they exist."""


@dataclass(frozen=True, slots=True)
class Card:
    """The card on which everything is measured."""

    name: str
    target: str
    driver: str
    cuda: str
    """The release of CUDA of the driver."""
    memory: int
    multiprocessors: int
    versions: dict[str, str]

    @property
    def peaks(self) -> Mapping[Unit, float]:
        """The data sheet's numbers; empty for unknown cards."""
        return next((peaks for name, peaks in PEAKS.items() if name in self.name), {})

    def __str__(self) -> str:
        packages = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        return (
            f"{self.name}, {self.target}, {self.multiprocessors} multiprocessors, {self.memory / 2**30:.0f} GiB; "
            f"driver {self.driver}, CUDA {self.cuda}; {packages}"
        )


@dataclass(frozen=True, slots=True)
class Ceilings:
    """The maximum speeds of the card, as measured."""

    copied: float
    """Bytes per second, read and written."""
    multiplied: float
    """Operations per second of a product of large bf16 matrices, computed by Tracemill."""
    call: float
    """The host's seconds per call of a compiled function with one kernel."""

    def __str__(self) -> str:
        return (
            f"copies {self.copied / 1e9:,.0f} GB/s, multiplies bf16 at {self.multiplied / 1e12:,.0f} TFLOP/s, "
            f"takes {self.call * 1e6:.1f} µs of the host for a call"
        )


def card_of(device: Device) -> Card:
    return Card(
        name=device.product,
        target=device.target,
        driver=_driver_release(),
        cuda=device.cuda_version,
        memory=device.memory()[1],
        multiprocessors=device.multiprocessors,
        versions={
            name: version_of_package(name) for name in ("tracemill", "triton", "cuda-bindings", "numpy")
        },
    )


def ceilings_of(device: Device, *, small: bool) -> Ceilings:
    """Measures them, in a few seconds."""
    nbytes = 1 << 20 if small else min(_COPIED, device.memory()[0] // 4)
    one, other = device.allocate(nbytes), device.allocate(nbytes)
    device.zero(one.pointer, nbytes)
    copy = measure(lambda: device.copy(other.pointer, one.pointer, nbytes), device)
    row = ROWS["matmul bf16"]
    size = row.small if small else row.size
    arguments = [device_put(array, device.ordinal) for array in row.arrays(size)]
    product = compile(row.plain(), backend="triton")
    product(*arguments)
    multiplied = measure(lambda: product(*arguments), device)
    return Ceilings(2 * nbytes / copy.median, 2.0 * size**3 / multiplied.median, _call_seconds(device))


def _call_seconds(device: Device) -> float:
    """Only on the host: the GPU runs it later."""
    x = device_put(np.zeros(16, dtype_named("f32")), device.ordinal)
    add: Any = compile(lambda x: x + 1, backend="triton")
    add(x)
    device.synchronize()
    started = perf_counter()
    for _ in range(_CALLS):
        add(x)
    passed = perf_counter() - started
    device.synchronize()
    return passed / _CALLS


def _driver_release() -> str:
    """The driver's own version, which Linux has in a file."""
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as file:
            words = file.readline().split()
    except OSError:
        return "unknown"
    return next((word for word in words if word[0].isdigit() and "." in word), "unknown")
