"""`OperandType`: the type of an operand of an evaluated call. One object per type makes it a fast key."""

from typing import Any, Final

import numpy as np

from ...compiler.dtypes import is_inexact
from ...compiler.ir import ArrayType, Shape

_MOST: Final = 1 << 16


class OperandType:
    """The type of an array, or of a Python number."""

    __slots__ = ("is_inexact", "type", "weak")

    def __init__(self, type: ArrayType, weak: "type[Any] | None" = None) -> None:
        self.type = type
        self.weak = weak
        """The Python type of a number that takes the dtype of the array that it meets."""
        self.is_inexact = is_inexact(type.dtype)

    def __repr__(self) -> str:
        return str(self.type) if self.weak is None else self.weak.__name__


_kinds: dict[tuple[int, Shape], OperandType] = {}


def operand_type(array: Any) -> OperandType:
    """The kind of a NumPy array or scalar in native byte order."""
    found = _kinds.get((array.dtype.num, array.shape))
    return from_array_type(ArrayType(array.dtype, array.shape)) if found is None else found


def from_array_type(type: ArrayType) -> OperandType:
    """The kind of an array of this type."""
    key = type.dtype.num, type.shape
    found = _kinds.get(key)
    if found is None:
        if len(_kinds) > _MOST:
            _kinds.clear()
        found = _kinds[key] = OperandType(type)
    return found


COMPLEX: Final = OperandType(ArrayType(np.dtype(complex), ()), complex)
"""A complex Python number."""

NUMBER: Final = OperandType(ArrayType(np.dtype(float), ()), float)
"""A real Python number beside a floating-point array."""
