"""`ForeignMemory`: the base class of arrays outside NumPy's memory, such as those on a GPU."""

from typing import Any

from ..dtypes import DType
from ..ir import ArrayType, Shape


class ForeignMemory:
    """Base of arrays that a trace captures by reference, and whose elements it cannot look at."""

    __slots__ = ()

    shape: Shape
    dtype: DType

    @property
    def type(self) -> ArrayType:
        """Dtype and shape."""
        raise NotImplementedError


def is_outside(x: Any) -> bool:
    return isinstance(x, ForeignMemory)
