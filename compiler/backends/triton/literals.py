"""Numbers as Triton expressions with the same bits."""

import math
from typing import Any, Final

import numpy as np

from ...dtypes import dtype_name, kind
from .types import triton_type

_BARE: Final = frozenset({"bool", "i32", "f32"})
"""How Triton converts a Python number."""


def triton_literal(number: np.ndarray[Any, Any]) -> str:
    """An array of one element as an expression of its dtype."""
    return f"tl.full((), {_python_number(number)}, {triton_type(number.dtype)})"


def bare_literal(number: np.ndarray[Any, Any]) -> str:
    """The same, where a Python number takes the dtype of another operand, or of memory."""
    text = _python_number(number)
    if dtype_name(number.dtype) not in _BARE or text == str(-(2**31)):
        return triton_literal(number)
    return text if not text.startswith("-") else f"({text})"


def _python_number(number: np.ndarray[Any, Any]) -> str:
    name, element = dtype_name(number.dtype), number[()]
    if name == "bool":
        return str(bool(element))
    return _real(float(element), name) if kind(number.dtype) == "f" else str(int(element))


def _real(number: float, name: str) -> str:
    if math.isnan(number):
        return 'float("nan")'
    if math.isinf(number):
        return 'float("inf")' if number > 0 else '-float("inf")'
    return repr(float(str(np.float32(number)))) if name == "f32" else repr(number)
