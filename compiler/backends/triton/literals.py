"""Numbers as Triton expressions that give the same bits."""

import math
from typing import Any, Final

import numpy as np

from ...dtypes import dtype_name, kind
from .types import triton_type

_BARE: Final = frozenset({"bool", "i32", "f32"})
"""What Triton makes of a number of Python."""


def triton_literal(number: np.ndarray[Any, Any]) -> str:
    """An array of one element as an expression of its dtype."""
    name, element = dtype_name(number.dtype), number[()]
    if name == "bool":
        return str(bool(element))
    text = _real(float(element), name) if kind(number.dtype) == "f" else str(int(element))
    if name in _BARE and text != str(-(2**31)):
        return text if not text.startswith("-") else f"({text})"
    return f"tl.full((), {text}, {triton_type(number.dtype)})"


def _real(number: float, name: str) -> str:
    if math.isnan(number):
        return 'float("nan")'
    if math.isinf(number):
        return 'float("inf")' if number > 0 else '-float("inf")'
    return repr(float(str(np.float32(number)))) if name == "f32" else repr(number)
