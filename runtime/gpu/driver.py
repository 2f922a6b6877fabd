"""NVIDIA's driver through cuda-bindings: started once, with results as values or named errors."""

from functools import cache
from importlib import import_module
from typing import Any, Final

from ...compiler.errors import (
    GpuCodeError,
    GpuError,
    GpuMemoryError,
    MissingPackageError,
    NoDriverError,
    NoGpuError,
    TracemillError,
)

_NAME: Final = "cuda.bindings.driver"

_KINDS: Final[dict[str, type[TracemillError]]] = {
    "CUDA_ERROR_OUT_OF_MEMORY": GpuMemoryError,
    "CUDA_ERROR_STUB_LIBRARY": NoDriverError,
    "CUDA_ERROR_SYSTEM_NOT_READY": NoDriverError,
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": NoDriverError,
    "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE": NoDriverError,
    "CUDA_ERROR_NO_DEVICE": NoGpuError,
    "CUDA_ERROR_INVALID_DEVICE": NoGpuError,
    "CUDA_ERROR_DEVICE_UNAVAILABLE": NoGpuError,
    "CUDA_ERROR_INVALID_IMAGE": GpuCodeError,
    "CUDA_ERROR_NO_BINARY_FOR_GPU": GpuCodeError,
    "CUDA_ERROR_INVALID_PTX": GpuCodeError,
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": GpuCodeError,
    "CUDA_ERROR_JIT_COMPILER_NOT_FOUND": GpuCodeError,
    "CUDA_ERROR_JIT_COMPILATION_DISABLED": GpuCodeError,
    "CUDA_ERROR_NOT_FOUND": GpuCodeError,
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": GpuCodeError,
}

_REMEDIES: Final = {
    "CUDA_ERROR_NOT_INITIALIZED": "a process that was forked from one that uses a GPU cannot use it: start processes"
    " by multiprocessing's 'spawn'",
    "CUDA_ERROR_SYSTEM_NOT_READY": "where GPUs are joined by NVSwitch, NVIDIA's fabric manager must run first",
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "the driver's library does not match its kernel module: restart the"
    " machine, or the container",
    "CUDA_ERROR_NO_DEVICE": "nvidia-smi shows the GPUs, and CUDA_VISIBLE_DEVICES hides those that it does not name",
    "CUDA_ERROR_OUT_OF_MEMORY": "delete arrays that are no longer needed, or compute in chunks",
    "CUDA_ERROR_JIT_COMPILATION_DISABLED": "CUDA_DISABLE_PTX_JIT is set, so that the driver compiles nothing",
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": "the driver is older than the code: update it, or compile with an older"
    " Triton",
}

_LASTING: Final = {
    "CUDA_ERROR_ILLEGAL_ADDRESS",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION",
    "CUDA_ERROR_MISALIGNED_ADDRESS",
    "CUDA_ERROR_INVALID_ADDRESS_SPACE",
    "CUDA_ERROR_INVALID_PC",
    "CUDA_ERROR_HARDWARE_STACK_ERROR",
    "CUDA_ERROR_LAUNCH_FAILED",
    "CUDA_ERROR_LAUNCH_TIMEOUT",
    "CUDA_ERROR_ASSERT",
}
"""Failures of kernels, after which every call to this GPU fails in the same way."""


@cache
def driver() -> Any:
    """The functions of the driver, as in ``cuda.bindings.driver``.

    Raises:
        MissingPackageError: cuda-bindings is not installed.
        NoDriverError: there is no driver, or it does not start.
        NoGpuError: there is no GPU.
    """
    return started()


def started() -> Any:
    """The same, if the driver has not been started before."""
    try:
        found: Any = import_module(_NAME)
    except ImportError as error:
        raise MissingPackageError(
            'GPUs need cuda-bindings, which is not installed: pip install "tracemill[gpu]", on Linux'
        ) from error
    try:
        result = found.cuInit(0)
    except RuntimeError as error:  # cuda-bindings finds no library with that name
        raise NoDriverError(
            f"NVIDIA's driver cannot be used: {str(error).rstrip('.')}. nvidia-smi shows whether it works; start a"
            " container with access to the GPUs"
        ) from error
    if result[0]:
        failed = failure(result[0], "starting the driver")
        raise failed if isinstance(failed, NoGpuError) else NoDriverError(failed.message)
    return found


def checked(result: tuple[Any, ...], doing: str) -> Any:
    """The results of a driver function besides its status: none, a value, or a tuple.

    Raises:
        TracemillError: the status is a failure; its name decides which of the errors of GPUs this is.
    """
    if result[0]:
        raise failure(result[0], doing)
    return result[1] if len(result) == 2 else result[1:] or None


def failure(status: Any, doing: str) -> TracemillError:
    """The error for a status of the driver, a ``CUresult``."""
    text = f"{doing}: {status.name} ({int(status)}){_said(status)}"
    if status.name in _LASTING:
        text += ". A kernel has failed, perhaps an earlier one, and this process can no longer use the GPU"
    elif status.name in _REMEDIES:
        text += f". {_REMEDIES[status.name]}"
    return _KINDS.get(status.name, GpuError)(text)


def _said(status: Any) -> str:
    """The driver's description of a status, if the driver is available."""
    try:
        known, text = import_module(_NAME).cuGetErrorString(status)
    except RuntimeError:
        return ""
    return "" if known or not text else f", {text.decode()}"
