"""DLPack: a pointer, a shape and a dtype in a capsule, which array libraries exchange without copies.

The layouts are those of version 0 of the standard, ``DLManagedTensor`` in dlpack.h, which all libraries support.
"""

import ctypes
from typing import Any, Final, NamedTuple

import numpy as np

from ...compiler.dtypes import DType, dtype_named
from ...compiler.errors import ForeignArrayError

HOST: Final = 1
CUDA: Final = 2
CUDA_MANAGED: Final = 13
"""Memory that migrates between host and GPU."""

_FRESH: Final = b"dltensor"
_USED: Final = b"used_dltensor"

_KINDS: Final = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_BFLOAT: Final = 4
_LETTERS: Final = {code: letter for letter, code in _KINDS.items()}


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


_Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_pointer_at = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_SetName", ctypes.pythonapi)
)


# ---- ours, for others ----------------------------------------------------------------------------------

_given: dict[int, object] = {}
"""Exported arrays by the address of their structure: structure, what it points to, owner of the memory."""


def _delete(address: int) -> None:
    _given.pop(address, None)


def _destroy(capsule: int) -> None:
    """Called when Python drops a capsule. If it was not consumed, its contents are deleted here."""
    if _is_valid(capsule, _FRESH):
        _delete(_pointer_at(capsule, _FRESH))


_deleter, _destructor = _Deleter(_delete), _Destructor(_destroy)
_DELETER_ADDRESS: Final = ctypes.cast(_deleter, ctypes.c_void_p).value
_DESTRUCTOR_ADDRESS: Final = ctypes.cast(_destructor, ctypes.c_void_p).value


def capsule(pointer: int, shape: tuple[int, ...], dtype: DType, ordinal: int, owner: object) -> Any:
    """A capsule with an array in C order on GPU `ordinal`. `owner` lives as long as the array is used."""
    integers = ctypes.c_int64 * len(shape)
    sizes, strides = integers(*shape), integers()
    step = 1
    for axis in reversed(range(len(shape))):
        strides[axis] = step
        step *= shape[axis]
    code = _BFLOAT if dtype.name == "bfloat16" else _KINDS[dtype.kind]
    tensor = _Tensor(pointer, CUDA, ordinal, len(shape), code, dtype.itemsize * 8, 1, sizes, strides, 0)
    managed = _Managed(tensor, None, _DELETER_ADDRESS)
    address = ctypes.addressof(managed)
    _given[address] = (managed, sizes, strides, owner)
    return _new_capsule(address, _FRESH, _DESTRUCTOR_ADDRESS)


# ---- others', for us -----------------------------------------------------------------------------------


class Borrowed:
    """An array from another library, which is notified when this object is destroyed."""

    __slots__ = ("_address", "_managed")

    def __init__(self, address: int) -> None:
        self._address = address
        self._managed = _Managed.from_address(address)

    def __del__(self) -> None:
        if self._managed.deleter:
            _Deleter(self._managed.deleter)(self._address)


class Layout(NamedTuple):
    """An array in the memory of another library."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    """In bytes; None is C order."""
    dtype: DType
    owner: object


def taken(given: Any, name: str) -> Layout:
    """The array in a capsule, which this consumes. `name` is the name of the library's class in messages.

    Raises:
        ForeignArrayError: its dtype is none that NumPy has.
    """
    address = _pointer_of(given, _FRESH)
    _rename(given, _USED)
    owner = Borrowed(address)
    tensor = owner._managed.tensor
    dtype = _dtype(tensor.code, tensor.bits, tensor.lanes, name)
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = (
        tuple(stride * dtype.itemsize for stride in tensor.strides[: tensor.ndim]) if tensor.strides else None
    )
    return Layout((tensor.data or 0) + tensor.byte_offset, shape, strides, dtype, owner)


def _dtype(code: int, bits: int, lanes: int, name: str) -> DType:
    if lanes == 1 and code == _BFLOAT and bits == 16:
        return dtype_named("bf16")
    try:
        if lanes == 1 and code in _LETTERS:
            return np.dtype(f"{_LETTERS[code]}{bits // 8}")
    except TypeError:  # for example floating-point numbers of 8 bits
        pass
    raise ForeignArrayError(
        f"{name} has elements of DLPack's type {code} with {bits} bits and {lanes} lanes, which is not a NumPy dtype:"
        " convert it in its library"
    )
