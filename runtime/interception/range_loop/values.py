"""What variables may hold in loops that are read: arrays, numbers and sizes, of exactly these types."""

from types import EllipsisType, NoneType
from typing import Any, Final

import numpy as np

from ....compiler.symbolic_size import SymbolicSize
from ....compiler.tracing.traced_array import TracedArray
from .counted import BoundedInt

NUMBERS: Final = (bool, int, float, complex)
_PLAIN: Final = frozenset({*NUMBERS, NoneType, str, EllipsisType, BoundedInt})
_SCALARS: Final = frozenset(x for x in np.sctypeDict.values() if issubclass(x, np.number | np.bool_))
TYPES: Final = _SCALARS | {bool, int, float, complex}
"""What ``dtype=`` takes."""


class NotInLanguageError(Exception):
    """A loop does something else than compute; the text says what: "it calls `append`"."""


def is_traced_exactly(x: Any) -> bool:
    """Whether it is a traced array, and of no class that does more."""
    return type(x) is TracedArray


def is_array(x: Any) -> bool:
    """An array, or a scalar of NumPy's, whose dtype counts in what it meets; not one of the user's objects."""
    if type(x) is TracedArray:
        return x.weak is None
    return (type(x) is np.ndarray and not x.dtype.hasobject) or type(x) in _SCALARS


def is_weak_float(x: Any) -> bool:
    """A float of the program that stands for one of Python's."""
    return type(x) is TracedArray and x.weak is float


def is_admitted(x: Any) -> bool:
    """Whether a variable may hold it."""
    if type(x) is tuple:
        return all(map(is_admitted, x))
    kind = type(x)  # `isinstance` would ask the object, which may be anyone's
    if kind in _PLAIN or issubclass(kind, SymbolicSize | np.dtype):
        return True
    return is_array(x) or is_weak_float(x) or is_dtype_type(x)


def is_dtype_type(x: Any) -> bool:
    """Whether it is a class that stands for a dtype: ``float``, ``np.float32``."""
    return any(x is kind for kind in TYPES)


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are the same for good: the same array, or equal numbers of one type."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if type(one) is tuple:
        return len(one) == len(other) and all(map(is_same, one, other))
    if type(one) in _SCALARS:
        return bool(one.tobytes() == other.tobytes())
    return type(one) in _PLAIN - {BoundedInt} and repr(one) == repr(other)
