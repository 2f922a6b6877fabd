"""The arguments of a generator's methods: sizes, dtypes, parameters of distributions."""

from math import prod
from typing import Any

import numpy as np

from ...compiler.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError
from ...compiler.nesting import shown
from ...compiler.symbolic_size import is_known, joint_shape
from ...compiler.tracing.array_values import array_from, as_size, as_value
from ...compiler.tracing.outside.foreign_array import as_seen_inside
from ...compiler.tracing.trace import array_type, current_trace
from ...compiler.tracing.traced_array import TracedArray, wrap
from ...compiler.tracing.traced_memory import contains_traced, is_numpy_array, is_traced
from .stream import Size

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def dtype_of(given: Any) -> Any:
    """The intended dtype; that of objects for invalid ones."""
    try:
        return np.dtype(given)
    except TypeError:
        return np.dtype(object)


def float_dtype(method: str, dtype: Any) -> Any:
    """The dtype of a draw of real numbers."""
    found = dtype_of(dtype)
    if found not in FLOATS:
        raise DTypeError(f"{method}: random numbers are float32 or float64, not {shown(dtype, 40)}")
    return found


def size_of(method: str, size: Any, *parameters: Any) -> Size:
    """The shape of a draw: `size`, to which the parameters must broadcast, or otherwise their common shape."""
    shapes = [np.shape(parameter) for parameter in parameters]
    common = joint_shape(*shapes)
    if common is None:
        raise ShapeError(f"{method}: the parameters of shapes {shapes} do not broadcast")
    if size is None:
        return common
    shape = whole_size(method, size)
    if not fits(common, shape):
        raise ShapeError(f"{method}: parameters of shape {common} do not broadcast to size={shape}")
    return shape


def fits(shape: Size, target: Size) -> bool:
    """Whether one shape broadcasts to another."""
    joint = joint_shape(shape, target)
    return joint is not None and joint == target


def whole_size(method: str, size: Any) -> Size:
    """`size=` as a shape."""
    items = size if isinstance(size, (tuple, list)) else (size,)
    try:
        shape = tuple(map(as_size, items))
    except TypeError:
        raise ArgumentTypeError(
            f"{method}: size must be an int or a tuple of ints, not {shown(size)}"
        ) from None
    if any(item < 0 for item in shape):
        raise ArgumentValueError(f"{method}: size must not be negative, but is {shape}")
    if is_known(prod(shape) > np.iinfo(np.int64).max):
        raise ArgumentValueError(f"{method}: no array can have the entries of size={shape}")
    return shape


def as_array(x: Any) -> Any:
    """An array, or an object that becomes one; inside a trace as the trace sees it, outside arrays by reference."""
    trace = current_trace()
    x = as_seen_inside(x)
    if trace is None or is_traced(x):
        return x if is_traced(x) or isinstance(x, np.ndarray) else array_from(x)
    if isinstance(x, np.ndarray):
        return TracedArray(trace.storage_of_array(x), array_type(x))
    return wrap(as_value(x))


def real(
    method: str,
    name: str,
    parameter: Any,
    dtype: Any,
    *,
    at_least: float = -np.inf,
    at_most: float = np.inf,
    above: float = -np.inf,
    is_nan_allowed: bool = True,
) -> Any:
    """A parameter of a distribution, in the dtype of the draw. Known values are checked, others are not."""
    array = as_array(parameter)
    if array.dtype.kind not in "biuf":
        raise DTypeError(f"{method}: {name} must be real, not {array.dtype}")
    values = known(parameter, array)
    if values is not None:
        _require(is_nan_allowed or not np.any(np.isnan(values)), f"{method}: {name} must not be NaN")
        _require(not np.any(values < at_least), f"{method}: {name} must not be less than {at_least:g}")
        _require(not np.any(values > at_most), f"{method}: {name} must not be greater than {at_most:g}")
        _require(
            above == -np.inf or not np.any(values <= above),
            f"{method}: {name} must be greater than {above:g}",
        )
    return array.astype(dtype)


def known(parameter: Any, array: Any) -> Any:
    """The values of a parameter from which `as_array` made `array`; None while they are not known."""
    return array if is_numpy_array(array) else None if is_traced(parameter) else constant_in(parameter)


def constant_in(parameter: Any) -> Any:
    """A parameter that is a constant in a trace, as an array; None if it is not one."""
    return None if isinstance(parameter, np.ndarray) or contains_traced(parameter) else array_from(parameter)


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ArgumentValueError(message)
