"""Distributions of integers."""

from typing import Any

import numpy as np

from ...compiler.errors import ArgumentValueError, DTypeError
from ...compiler.nesting import shown
from . import continuous
from .arguments import as_array, dtype_of, known
from .source import Source
from .stream import Size

LARGEST = 2.0**63 - 1024
"""The largest float64 that is an int64."""
HALF = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
INTEGERS = tuple(np.dtype(name) for name in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64".split())


def bernoulli(source: Source, shape: Size, dtype: Any, p: Any) -> Any:
    return source.uniform(shape, dtype) < p


def geometric(source: Source, shape: Size, dtype: Any, p: Any) -> Any:
    """The number of trials up to the first success: an exponential number rounded up."""
    trials = np.ceil(continuous.standard_exponential(source, shape, dtype) / -np.log1p(-p))
    return np.clip(trials, 1, LARGEST).astype(np.int64)


def categorical(source: Source, shape: Size, dtype: Any, logits: Any) -> Any:
    """The largest of the logits with Gumbel noise, along the last axis."""
    noise = -np.log(continuous.standard_exponential(source, (*shape, logits.shape[-1]), dtype))
    return np.argmax(logits + noise, axis=-1)


# ---- integers in a range --------------------------------------------------------------------------------


def integers_between(source: Source, shape: Size, low: Any, count: Any, dtype: Any, *, small: bool) -> Any:
    """``low + floor(count * r)`` for a random r in [0, 1) of 64 bits if the range is `small`, else of 128.

    Some integers are then more probable than others by a factor of less than 1 + 2⁻³² if `small`, where `count` is at
    most 2³², otherwise 1 + 2⁻⁶⁴. All values are u64: `count` 0 stands for 2⁶⁴, and `low` wraps around.
    """
    bits = source.bits((2, *shape), np.uint32 if small else np.uint64)
    if small:
        high, less = bits[0].astype(np.uint64) * count, bits[1].astype(np.uint64) * count
        number = (high + (less >> HALF)) >> HALF
    else:
        product = bits[0] * count
        carry = product + high_product(bits[1], count) < product
        number = high_product(bits[0], count) + carry.astype(np.uint64)
        number = np.where(count == 0, bits[0], number)
    return (low + number).astype(dtype)


def high_product(x: Any, y: Any) -> Any:
    """The upper 64 bits of a product of two u64."""
    x_low, x_high, y_low, y_high = x & LOW, x >> HALF, y & LOW, y >> HALF
    middle = x_high * y_low + (x_low * y_low >> HALF)
    return x_high * y_high + (middle >> HALF) + ((x_low * y_high + (middle & LOW)) >> HALF)


def range_of(low: Any, high: Any, dtype: Any, endpoint: bool) -> tuple[Any, Any, bool]:
    """``(low, count, small)`` as u64, for `integers_between`; 2³² or fewer integers are a small range."""
    kind = dtype_of(dtype)
    if kind not in INTEGERS:
        raise DTypeError(f"integers: the dtype must be an integer or bool, not {shown(dtype, 40)}")
    info: Any = None if kind.kind == "b" else np.iinfo(kind.name)
    least, most = (0, 1) if info is None else (int(info.min), int(info.max))
    if isinstance(low, (int, np.integer)) and isinstance(high, (int, np.integer)):
        low, last = int(low), int(high) - (not endpoint)
        if low > last:
            raise ArgumentValueError(f"integers: low={low} must be less than high={high}, or endpoint=True")
        if low < least or last > most:
            raise ArgumentValueError(f"integers: from {low} to {last} is out of bounds for {kind}")
        count = last - low + 1
        return np.uint64(low % 2**64), np.uint64(count % 2**64), count <= 2**32
    first, stop = _whole("low", low), _whole("high", high)
    least_known, most_known = known(low, first), known(high, stop)
    if least_known is not None and most_known is not None:
        if np.any(least_known > most_known) or (not endpoint and np.any(least_known == most_known)):
            raise ArgumentValueError("integers: low must be less than high, or endpoint=True")
        if np.any(least_known < least) or np.any(most_known > most + (not endpoint)):
            raise ArgumentValueError(f"integers: the range is out of bounds for {kind}")
    start = first.astype(np.uint64)
    count = stop.astype(np.uint64) - start + np.uint64(1 if endpoint else 0)
    return start, count, kind.itemsize < 4


def _whole(name: str, bound: Any) -> Any:
    array = as_array(bound)
    if array.dtype.kind not in "biu":
        raise DTypeError(f"integers: {name} must be an integer, not {array.dtype}")
    return array
