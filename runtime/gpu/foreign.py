"""Arrays of other libraries on a GPU as `DeviceArray`s, without a copy."""

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...compiler.dtypes import is_supported
from ...compiler.errors import ForeignArrayError
from ...compiler.errors.tracemill_error import text_of
from . import dlpack
from .device import Device, gpu
from .device_array import DeviceArray
from .driver import driver

if TYPE_CHECKING:
    from .dlpack import Layout

_HOST: Final = (np.ndarray, np.generic, bool, int, float, complex)

_IMMUTABLE: Final = ("jax", "jaxlib")
"""Packages whose arrays are read-only, although DLPack does not say so."""


class ForeignMemory:
    """Memory that belongs to another library, which may reuse it once the queued work with it is done."""

    __slots__ = ("__weakref__", "device", "is_read_only", "nbytes", "owner", "pointer")

    readers = (None,)
    """Its owner uses several streams, and only some are known."""

    def __init__(
        self, device: Device, pointer: int, nbytes: int, owner: object, *, is_read_only: bool
    ) -> None:
        self.device = device
        self.pointer = pointer
        self.nbytes = nbytes
        self.owner = owner
        self.is_read_only = is_read_only

    def __del__(self) -> None:
        self.device.keep(self.owner)


def foreign(x: Any) -> DeviceArray | None:
    """A GPU array of another library as a `DeviceArray` that shares its memory; None if `x` is not one.

    The GPU waits for the work that its library has queued. Its owner is kept alive until the work with it is done.

    Raises:
        ForeignArrayError: its elements are not contiguous in C order, its dtype is not supported, or its library
            refuses to share it.
    """
    if isinstance(x, DeviceArray):
        return x
    if isinstance(x, _HOST):
        return None
    where = _own(x, "__dlpack_device__")
    if where is not None:
        name = type(x).__name__
        kind, ordinal = _asked(where, name)
        if kind not in (dlpack.CUDA, dlpack.CUDA_MANAGED):
            return None
        device = gpu(ordinal)
        is_read_only = type(x).__module__.partition(".")[0] in _IMMUTABLE
        capsule = _asked(partial(x.__dlpack__, stream=device.stream), name)
        return _array(dlpack.taken(capsule, name), device, name, is_read_only=is_read_only)
    interface = _own(x, "__cuda_array_interface__")
    if interface is None:
        return None
    return _by_interface(x, interface)


def _own(x: object, name: str) -> Any:
    """An attribute of an object that it or its class has. A `__getattr__` of the user's is not asked."""
    is_there = hasattr(type(x), name) or name in getattr(x, "__dict__", ())
    return getattr(x, name, None) if is_there else None


def _asked(method: Callable[[], Any], name: str) -> Any:
    """The result of a DLPack method, if the library implements it."""
    try:
        return method()
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise ForeignArrayError(f"{name} does not give its memory by DLPack: {text_of(error)}") from error


def _by_interface(x: object, interface: dict[str, Any]) -> DeviceArray:
    name = type(x).__name__
    pointer, is_read_only = interface["data"]
    pointer = pointer or 0
    if interface.get("mask") is not None:
        raise ForeignArrayError(
            f"{name} has a mask, which arrays of Tracemill do not have: fill it in its library"
        )
    device = _device_at(pointer, name)
    if interface.get("stream") is not None:
        device.wait_for(interface["stream"])
    layout = dlpack.Layout(
        pointer, tuple(interface["shape"]), interface.get("strides"), np.dtype(interface["typestr"]), x
    )
    return _array(layout, device, name, is_read_only=bool(is_read_only))


def _device_at(pointer: int, name: str) -> Device:
    """The GPU to which a pointer belongs."""
    if not pointer:  # of an empty array
        return gpu()
    found = driver()
    ordinal = found.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    with gpu():
        result = found.cuPointerGetAttribute(ordinal, pointer)
    if result[0]:
        raise ForeignArrayError(f"{name} points to {pointer:#x}, which is not memory of a GPU")
    return gpu(int(result[1]))


def _array(layout: "Layout", device: Device, name: str, *, is_read_only: bool) -> DeviceArray:
    pointer, shape, strides, dtype, owner = layout
    if not is_supported(dtype):
        raise ForeignArrayError(f"{name} has dtype {dtype}, which Tracemill does not support")
    if not _is_contiguous(shape, strides, dtype.itemsize):
        raise ForeignArrayError(
            f"{name} of shape {shape} and strides {strides} bytes is not contiguous: its elements must be adjacent"
            " in C order. Copy it first, x.contiguous() in torch, ascontiguousarray(x) in CuPy"
        )
    nbytes = math.prod(shape) * dtype.itemsize
    return DeviceArray(ForeignMemory(device, pointer, nbytes, owner, is_read_only=is_read_only), shape, dtype)


def _is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...] | None, itemsize: int) -> bool:
    if strides is None or 0 in shape:
        return True
    expected = itemsize
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length != 1 and stride != expected:
            return False
        expected *= length
    return True
