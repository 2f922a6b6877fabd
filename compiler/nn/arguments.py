"""Converting arguments: arrays of numbers in one floating-point dtype; and calling an op on them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arguments.leaves import weak_type
from ..callers.user_code import user_location
from ..dtypes import dtype_name, is_inexact
from ..errors import DTypeError, ShapeError
from ..ir import Param
from ..numpy_surface.ufuncs.eager_ops import apply_op, as_numbers
from ..symbolic_size import joint_shape, same_shape
from ..tracing.array_values import as_value
from ..tracing.traced_array import located, wrap
from ..tracing.traced_memory import is_traced


def floating(x: Any) -> Any:
    """The array as real floating-point numbers: integers and booleans become f64, complex raises a `DTypeError`."""
    return in_one_dtype(as_numbers(x))[0]


def in_one_dtype(*required: Any, optional: Sequence[Any] = ()) -> list[Any]:
    """The arrays in the floating-point dtype to which NumPy promotes them, all traced or none; an optional None stays
    None."""
    arrays = (*required, *optional)
    present = [*required, *(x for x in optional if x is not None)]
    given, weak = [as_numbers(x) for x in present], [weak_type(x) for x in present]
    dtype = np.result_type(
        *[x.dtype if number is None else number(0) for x, number in zip(given, weak, strict=True)]
    )
    if dtype.kind == "c":
        raise DTypeError(f"expected an array of real numbers, not {dtype_name(dtype)}", user_location())
    if not is_inexact(dtype):
        dtype = np.dtype(float)
    converted = iter([x if x.dtype == dtype else x.astype(dtype) for x in all_traced_or_none(given)])
    return [None if x is None else next(converted) for x in arrays]


def broadcast(function: str, *arrays: Any) -> Sequence[Any]:
    """The arrays, broadcast to their common shape."""
    shapes = [np.shape(x) for x in arrays]
    shape = joint_shape(*shapes)
    if shape is None:
        raise ShapeError(
            f"{function}: the shapes {' and '.join(map(str, shapes))} do not broadcast", user_location()
        )
    return [x if same_shape(x.shape, shape) else np.broadcast_to(x, shape) for x in arrays]


def all_traced_or_none(arrays: list[Any]) -> list[Any]:
    """The arrays, traced if one is. A closed-over array becomes an input of the graph and can be updated there."""
    traced = next(filter(is_traced, arrays), None)
    if traced is None:
        return arrays
    return [x if is_traced(x) else traced._located(_as_traced, x) for x in arrays]


def _as_traced(x: Any) -> Any:
    return wrap(as_value(x))


def call(op: str, *arrays: Any, **params: Param) -> Any:
    """``op(*arrays, **params)`` without the arrays that are None: computed, or recorded if one is traced.

    Several outputs are a tuple; outputs without axes are scalars, as from NumPy's functions.
    """
    results = located(apply_op, op, *[x for x in arrays if x is not None], **params)
    scalars = tuple(x if x.ndim else x[()] for x in results)
    return scalars[0] if len(scalars) == 1 else scalars
