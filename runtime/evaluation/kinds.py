"""`Kind`: the type of an operand of an evaluated call. There is one object per type, which makes it a fast key."""

from typing import Any, Final

import numpy as np

from ...compiler.dtypes import is_inexact
from ...compiler.ir import ArrayType, Shape

_MOST: Final = 1 << 16


class Kind:
    """The type of an array, or of a Python number."""

    __slots__ = ("is_inexact", "type", "weak")

    def __init__(self, type: ArrayType, weak: "type[Any] | None" = None) -> None:
        self.type = type
        self.weak = weak
        """The Python type of a number that takes the dtype of the array that it meets."""
        self.is_inexact = is_inexact(type.dtype)

    def __repr__(self) -> str:
        return str(self.type) if self.weak is None else self.weak.__name__


_kinds: dict[tuple[int, Shape], Kind] = {}


def kind_of(array: Any) -> Kind:
    """The kind of a NumPy array or scalar in native byte order."""
    found = _kinds.get((array.dtype.num, array.shape))
    return kind_of_type(ArrayType(array.dtype, array.shape)) if found is None else found


def kind_of_type(type: ArrayType) -> Kind:
    """The kind of an array of this type."""
    key = type.dtype.num, type.shape
    found = _kinds.get(key)
    if found is None:
        if len(_kinds) > _MOST:
            _kinds.clear()
        found = _kinds[key] = Kind(type)
    return found


COMPLEX: Final = Kind(ArrayType(np.dtype(complex), ()), complex)
"""A complex Python number."""

NUMBER: Final = Kind(ArrayType(np.dtype(float), ()), float)
"""A real Python number beside a floating-point array."""
