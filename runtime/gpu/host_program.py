"""`HostProgram`: a program of the host, for arrays on a GPU for which there is no GPU program."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ...compiler.errors import GpuCodeError, HostFallbackWarning, KernelError, MissingPackageError
from .device import Device
from .device_array import DeviceArray, on_device

REASONS = (GpuCodeError, KernelError, MissingPackageError)
"""Errors that say, before anything has run, that there is no program for the GPU."""

_said: set[str] = set()


class HostProgram:
    """Computes on the host with copies of GPU arrays, and copies the results back."""

    def __init__(self, function: Callable[..., tuple[Any, ...]], device: Device) -> None:
        self.function = function
        self.device = device

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        outputs = self.function(*(x.numpy() if isinstance(x, DeviceArray) else x for x in inputs))
        return tuple(on_device(np.asarray(x), self.device.ordinal) for x in outputs)


def warn_of_host_fallback(name: str, error: GpuCodeError | KernelError | MissingPackageError) -> None:
    """`HostFallbackWarning` for a program with this name; missing packages are reported once for all of them."""
    about = "programs" if isinstance(error, MissingPackageError) else name
    message = (
        f"backend='auto' computes {about} on the host, and copies the arrays to and fro in each call: {error.message}."
        " backend='triton' raises this error"
    )
    if message not in _said:
        _said.add(message)
        warnings.warn(message, HostFallbackWarning, stacklevel=2)
