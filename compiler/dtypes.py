"""The dtypes of the IR and their short names."""

from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

DType: TypeAlias = np.dtype[Any]
Array: TypeAlias = NDArray[Any]

_SHORT = {
    "bool": "bool",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "complex64": "c64",
    "complex128": "c128",
}
_LONG = {short: long for long, short in _SHORT.items()}

BOOL = np.dtype(np.bool_)
INT32 = np.dtype(np.int32)
INT64 = np.dtype(np.int64)
FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)


@cache
def is_supported(dtype: DType) -> bool:
    """Whether the IR has this dtype: bool, integers, f16, bf16, f32, f64, c64 or c128, in native byte order."""
    return dtype.name in _SHORT and dtype.isnative


@cache
def dtype_name(dtype: DType) -> str:
    """The IR's name of a dtype, ``f32`` for float32; for messages, NumPy's name if the IR does not have the dtype."""
    return _SHORT.get(dtype.name, dtype.name)


@cache
def dtype_named(name: str) -> DType:
    """The dtype that the IR calls ``name``; KeyError if there is none."""
    long = _LONG[name]
    if long == "bfloat16":
        import ml_dtypes

        bfloat16: DType = np.dtype(ml_dtypes.bfloat16)
        return bfloat16
    return np.dtype(long)


def short_name(name: str) -> str | None:
    """What the IR calls the dtype that it, or NumPy, calls so: f32 for ``float32``; None if there is none."""
    return name if name in _LONG else _SHORT.get(name)


def dtype_names() -> tuple[str, ...]:
    """Every name that `dtype_named` knows."""
    return tuple(_LONG)


@cache
def is_inexact(dtype: DType) -> bool:
    """Real or complex floating point: differentiable. This includes bf16, although NumPy calls it void."""
    return dtype.kind in "fc" or dtype.name == "bfloat16"


@cache
def is_half(dtype: DType) -> bool:
    """Whether these are two-byte floating-point numbers."""
    return dtype.itemsize == 2 and dtype.kind not in "iu"


def kind(dtype: DType) -> str:
    """NumPy's kind letter: b bool, i and u integers, f floating point (including bf16), c complex."""
    return "f" if is_inexact(dtype) and dtype.kind != "c" else dtype.kind


def is_complex(dtype: DType) -> bool:
    return dtype.kind == "c"


def is_integer(dtype: DType) -> bool:
    return dtype.kind in "iu"


@cache
def real_dtype(dtype: DType) -> DType:
    """The dtype of the real part: f32 for c64, itself for a real dtype."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


@cache
def complex_dtype(dtype: DType) -> DType:
    """The complex dtype with parts of `dtype`: c64 up to f32, c128 for f64."""
    if dtype.kind == "c":
        return dtype
    return np.dtype(np.complex64 if dtype.itemsize <= 4 and is_inexact(dtype) else np.complex128)
