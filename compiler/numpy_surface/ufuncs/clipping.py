"""`np.clip`, with the signs of zero of NumPy's loops.

NumPy has two inner loops. The one for single numbers as bounds keeps an x that equals a bound, and the one for arrays
takes the bound, so that −0 becomes 0 at a bound of 0. For bounds that are repeated along an axis, such as a column, it
depends on the sizes and on NumPy's buffers which of them runs; here, bounds of several numbers are arrays.
"""

from typing import Any

import numpy as np

from ...builder import bind
from ...dtypes import is_complex
from ...ir import Value
from ...symbolic_size import is_one, same_shape
from ...tracing.registry import implements
from ...tracing.trace import require_trace
from ...tracing.traced_array import TracedArray, wrap
from ...value_ops import constant
from .reductions import NO_VALUE
from .ufunc_calls import apply, as_array


@implements(np.clip)
def clip(
    a: Any,
    a_min: Any = NO_VALUE,
    a_max: Any = NO_VALUE,
    out: Any = None,
    *,
    min: Any = NO_VALUE,
    max: Any = NO_VALUE,
    **kwargs: Any,
) -> Any:
    """``minimum(maximum(a, low), high)``; a bound that is None, or beyond an integer dtype's range, does nothing."""
    low = next((bound for bound in (a_min, min) if bound is not NO_VALUE), None)
    high = next((bound for bound in (a_max, max) if bound is not NO_VALUE), None)
    x: Any = as_array(a)
    if x.dtype.kind in "iu":
        low = None if type(low) is int and low <= np.iinfo(x.dtype).min else low
        high = None if type(high) is int and high >= np.iinfo(x.dtype).max else high
    if low is None and high is None:
        return apply(np.positive, x, out=out, **kwargs)
    if low is None:
        return apply(np.minimum, x, high, out=out, computed=_at_most, **kwargs)
    if high is None:
        return apply(np.maximum, x, low, out=out, computed=_at_least, **kwargs)

    def between(number: TracedArray, lower: TracedArray, upper: TracedArray) -> Any:
        if is_complex(number.dtype):
            return np.minimum(np.maximum(number, lower), upper)
        operands = number.value, lower.value, upper.value
        return wrap(bind("clip", *operands) if _are_numbers(number, lower, upper) else _clipped(*operands))

    return apply(np._core.umath.clip, x, low, high, out=out, computed=between, **kwargs)  # type: ignore[attr-defined]


def _at_most(x: TracedArray, high: TracedArray) -> Any:
    """`np.minimum` with the derivative of `clip`, which is 1 on the bound."""
    if x.dtype.kind != "f":
        return np.minimum(x, high)
    return wrap(_clipped(x.value, constant(-np.inf, x.dtype), high.value))


def _at_least(x: TracedArray, low: TracedArray) -> Any:
    """`np.maximum`, likewise."""
    if x.dtype.kind != "f":
        return np.maximum(x, low)
    return wrap(_clipped(x.value, low.value, constant(np.inf, x.dtype)))


def _clipped(x: Value, low: Value, high: Value) -> Value:
    """`x` between its bounds; an x that equals a bound becomes it."""
    bounds = map(require_trace().concrete, (low, high))
    has_one_loop = x.dtype.kind != "f" or x.dtype.itemsize == 2  # that of float16 keeps x
    keeps_zeros = has_one_loop or all(bound is not None and bound.all() for bound in bounds)
    return bind("clip" if keeps_zeros else "clip_to_bounds", x, low, high)


def _are_numbers(x: TracedArray, *bounds: TracedArray) -> bool:
    """Whether NumPy's loop for single numbers as bounds runs.

    Arrays of one shape are gone through as they lie in memory, so that not even bounds that hold a single number count
    as such.
    """
    arrays = [a for a in (x, *bounds) if a.ndim]
    if all(same_shape(a.shape, arrays[0].shape) for a in arrays):
        return not any(bound.ndim for bound in bounds)
    return all(is_one(bound.size) for bound in bounds)
