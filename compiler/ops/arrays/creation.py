"""Creating arrays."""

import numpy as np

from ...dtypes import BOOL, INT64, DType
from ...errors import DTypeError, ShapeError
from ...ir import ArrayType
from ...nesting import shown
from ...op import Op, never_batched, not_linear, register, zero_derivative
from ...symbolic_size import SymbolicSize

FAMILY = "creation"


def _iota_type(length: int, dtype: DType) -> ArrayType:
    if length < 0:
        raise ShapeError("negative dimensions are not allowed")
    if dtype == BOOL:
        raise DTypeError("iota is not defined for bool")
    return ArrayType(dtype, (length,))


register(
    Op(
        "iota",
        FAMILY,
        _iota_type,
        lambda length, dtype: np.arange(length, dtype=dtype),
        zero_derivative,
        not_linear,
        never_batched,
        spelling=None,
        effect=None,
        doc="0, 1, …, length − 1.",
    )
)


def _size_type(of: int) -> ArrayType:
    if not isinstance(of, int | SymbolicSize):
        raise DTypeError(f"a size is an int, not {shown(of)}")
    return ArrayType(INT64, ())


register(
    Op(
        "size",
        FAMILY,
        _size_type,
        lambda of: np.int64(of),
        zero_derivative,
        not_linear,
        never_batched,
        spelling=None,
        effect=None,
        doc="A size of arrays as a number, such as the ``x.shape[0]`` of a symbolic shape.",
    )
)
