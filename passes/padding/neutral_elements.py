"""The numbers that change nothing in a reduction."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from ...compiler.dtypes import DType, is_inexact


def lowest(dtype: DType) -> Any:
    """A number that is not greater than any other."""
    return -np.inf if is_inexact(dtype) else np.iinfo(dtype).min if dtype.kind in "iu" else False


def highest(dtype: DType) -> Any:
    """A number that is not less than any other."""
    return np.inf if is_inexact(dtype) else np.iinfo(dtype).max if dtype.kind in "iu" else True


NEUTRAL: Final[Mapping[str, Callable[[DType], Any]]] = {
    "all": lambda dtype: True,
    "any": lambda dtype: False,
    "max": lowest,
    "min": highest,
    "prod": lambda dtype: 1,
    "sum": lambda dtype: 0,
}
"""By op, and by the dtype of its operand."""
