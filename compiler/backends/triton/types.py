"""Triton's names of the dtypes."""

from collections.abc import Mapping
from typing import Final

from ...dtypes import DType, dtype_name, real_dtype
from ...errors import InternalError

_NAMES: Final[Mapping[str, str]] = {
    "bool": "tl.int1",
    "i8": "tl.int8",
    "i16": "tl.int16",
    "i32": "tl.int32",
    "i64": "tl.int64",
    "u8": "tl.uint8",
    "u16": "tl.uint16",
    "u32": "tl.uint32",
    "u64": "tl.uint64",
    "f16": "tl.float16",
    "bf16": "tl.bfloat16",
    "f32": "tl.float32",
    "f64": "tl.float64",
}


def has_type(dtype: DType) -> bool:
    """Whether Triton supports such numbers; it has no complex ones."""
    return dtype_name(dtype) in _NAMES


def triton_type(dtype: DType) -> str:
    """The name in Triton's language: ``tl.float32``."""
    name = dtype_name(dtype)
    if name not in _NAMES:
        raise InternalError(f"Triton has no {name}")
    return _NAMES[name]


def pointer_type(dtype: DType) -> str:
    """Triton's type of a pointer to such numbers, or to their parts: ``*fp32``."""
    name = dtype_name(real_dtype(dtype))
    if name == "bool":
        return "*i1"
    return f"*fp{name[1:]}" if name.startswith("f") else f"*{name}"
