"""Arrays out of nothing."""

from typing import Any

import numpy as np

from ..dtypes import BOOL, DType
from ..errors import DTypeError, ShapeError
from ..ir import ArrayType
from ..op import Op, not_linear, register, zero_derivative

FAMILY = "creation"


def _iota_type(length: int, dtype: DType) -> ArrayType:
    if length < 0:
        raise ShapeError(f"iota of {length} elements")
    if dtype == BOOL:
        raise DTypeError("iota is not defined for bool")
    return ArrayType(dtype, (length,))


def _never_batched(*args: Any, **params: Any) -> Any:
    raise AssertionError("an op without inputs is never mapped")


register(
    Op(
        "iota",
        FAMILY,
        _iota_type,
        lambda length, dtype: np.arange(length, dtype=dtype),
        zero_derivative,
        not_linear,
        _never_batched,
        spelling=None,
        effect=None,
        doc="0, 1, …, length − 1.",
    )
)
