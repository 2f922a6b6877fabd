"""Constants whose elements are all the same number."""

import math
from typing import Any

import numpy as np

from ...compiler.dtypes import kind
from ...compiler.ir import Constant, Value
from ...compiler.value_ops import broadcast_to
from .rule import Site


def uniform(value: Value) -> Any:
    """The number that all elements of a constant have, as a 0-d array, or None; −0 is not 0."""
    if not isinstance(value, Constant) or value.array.size == 0:
        return None
    if value.array.size == 1:
        return value.array.reshape(())
    first = value.array.reshape(-1)[0]
    bits = np.frombuffer(value.array.tobytes(), f"V{value.dtype.itemsize}")
    return np.asarray(first) if bool((bits == bits[0]).all()) else None


def is_number(value: Value, number: float) -> bool:
    """Whether all elements of a constant are `number`, with its sign of zero."""
    found = uniform(value)
    if found is None or found.dtype.kind == "c" or found != number:
        return False
    return kind(found.dtype) != "f" or math.copysign(1, float(found)) == math.copysign(1, number)


def either_number(site: Site, number: float) -> Value | None:
    """The other operand of a binary call if all elements of one operand are `number`, in the call's shape."""
    x, y = site.inputs
    for number_operand, other in ((y, x), (x, y)):
        if is_number(number_operand, number):
            return broadcast_to(other, site.type.shape)
    return None
