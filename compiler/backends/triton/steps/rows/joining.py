"""The dtype in which entries are combined one after another, and how the result is converted back."""

import numpy as np

from .....dtypes import FLOAT32, INT32, DType, kind
from ...types import triton_type


def joining_dtype(dtype: DType) -> DType:
    """Entries of two bytes and less are combined in four."""
    if kind(dtype) == "f":
        return FLOAT32 if dtype.itemsize == 2 else dtype
    if kind(dtype) == "b":
        return INT32
    return dtype if dtype.itemsize >= 4 else np.dtype(f"{dtype.kind}4")


def widened(dtype: DType) -> str:
    """The suffix of an entry before it is combined."""
    wide = joining_dtype(dtype)
    return "" if wide == dtype else f".to({triton_type(wide)})"


def narrowed(dtype: DType) -> str:
    """The suffix of the name of a combined result."""
    if joining_dtype(dtype) == dtype:
        return ""
    return " != 0" if kind(dtype) == "b" else f".to({triton_type(dtype)})"
