"""Ops on arrays, traced or not, for functions that NumPy has no name for."""

from typing import Any

import numpy as np

from ...builder import as_tuple, bind_all
from ...callers.user_code import user_location
from ...dtypes import is_supported
from ...errors import DTypeError
from ...nesting import shown
from ...op import lookup
from ...tracing.array_values import array_from, as_value
from ...tracing.trace import array_type
from ...tracing.traced_array import wrap
from ...tracing.traced_memory import contains_traced, is_traced


def as_numbers(x: Any) -> Any:
    """`x` as an array; `DTypeError` if it does not hold numbers."""
    if not is_traced(x) and contains_traced(x):
        return wrap(as_value(x))
    array = x if is_traced(x) or isinstance(x, np.ndarray) else array_from(x)
    if not is_supported(array.dtype):
        raise DTypeError(
            f"expected an array of numbers, not {type(x).__name__} of dtype {array.dtype}: {shown(x)}",
            user_location(),
        )
    return array


def apply_op(name: str, *arrays: Any, **params: Any) -> tuple[Any, ...]:
    """The outputs of an op on arrays. It is recorded if one of them is traced, and computed by NumPy otherwise."""
    traced = next(filter(is_traced, arrays), None)
    if traced is not None:
        return traced._located(_recorded, name, arrays, params)  # type: ignore[no-any-return]
    op = lookup(name)
    op.type(*map(array_type, arrays), **params)
    return as_tuple(op.numpy(*arrays, **params))


def _recorded(name: str, arrays: Any, params: Any) -> tuple[Any, ...]:
    return tuple(map(wrap, bind_all(name, *map(as_value, arrays), **params)))
