"""Two-byte floating-point numbers by integer arithmetic on their bits, for targets without such numbers.

Both directions are exact, or round to the nearest, ties to even, as IEEE 754 says, including NaN, infinity and
denormals.
"""

from typing import Final

import numpy as np

from ...compiler.builder import bind
from ...compiler.dtypes import DType
from ...compiler.ir import Value
from ...compiler.value_ops import absolute, add, constant, convert, less, minimum, multiply, subtract, where

F16, F32 = np.dtype(np.float16), np.dtype(np.float32)
U16, U32 = np.dtype(np.uint16), np.dtype(np.uint32)

_FRACTION: Final = {4: 23, 8: 52}
"""The number of fraction bits, by the number of bytes."""

_BIAS: Final = {4: 127, 8: 1023}


def widened(x: Value) -> Value:
    """The numbers in f32, exactly."""
    bits = convert(_bits(x, U16), U32)
    if x.dtype != F16:
        return _bits(_up(bits, 16), F32)
    sign = _up(_and(bits, 0x8000), 16)
    size = _up(_and(bits, 0x7FFF), 13)
    finite = multiply(
        _bits(size, F32), constant(2.0**112, F32)
    )  # the exponents of f16 end 112 before those of f32
    is_finite = less(_and(bits, 0x7FFF), constant(0x7C00, U32))
    whole = where(is_finite, _bits(finite, U32), _or(size, constant(0x7F800000, U32)))
    return _bits(_or(whole, sign), F32)


def narrowed(x: Value, dtype: DType) -> Value:
    """Convert f32 or f64 to f16 or bf16, rounded. From f64 to bf16 they are rounded twice, as in ml_dtypes."""
    if dtype != F16:
        return _to_brain(convert(x, F32), dtype)
    whole = U32 if x.dtype == F32 else np.dtype(np.uint64)
    fraction, bias = _FRACTION[x.dtype.itemsize], _BIAS[x.dtype.itemsize]
    dropped = fraction - 10
    size = absolute(x)
    bits = _bits(size, whole)
    odd = _and(_down(bits, dropped), 1)
    rounded = add(add(bits, odd), constant((1 << (dropped - 1)) - 1, whole))
    normal = _down(subtract(rounded, constant((bias - 15) << fraction, whole)), dropped)
    normal = minimum(normal, constant(0x7C00, whole))
    ulp = constant(2.0 ** (fraction - 24), x.dtype)  # adding this rounds numbers to multiples of 2^-24
    small = subtract(_bits(add(size, ulp), whole), _bits(ulp, whole))
    found = where(less(size, constant(2.0**-14, x.dtype)), small, normal)
    sign = _and(_down(_bits(x, whole), 8 * x.dtype.itemsize - 16), 0x8000)
    nan = _or(constant(0x7E00, whole), _and(_down(bits, dropped), 0x3FF))
    found = where(bind("isnan", x), nan, found)
    return _bits(convert(_or(found, sign), U16), dtype)


def _to_brain(x: Value, dtype: DType) -> Value:
    bits = _bits(x, U32)
    odd = _and(_down(bits, 16), 1)
    rounded = _down(add(add(bits, odd), constant(0x7FFF, U32)), 16)
    nan = _or(_down(bits, 16), constant(0x40, U32))
    return _bits(convert(where(bind("isnan", x), nan, rounded), U16), dtype)


def _bits(x: Value, dtype: DType) -> Value:
    return bind("bitcast", x, dtype=dtype)


def _and(x: Value, mask: int) -> Value:
    return bind("bitwise_and", x, constant(mask, x.dtype))


def _or(x: Value, y: Value) -> Value:
    return bind("bitwise_or", x, y)


def _up(x: Value, places: int) -> Value:
    return bind("left_shift", x, constant(places, x.dtype))


def _down(x: Value, places: int) -> Value:
    return bind("right_shift", x, constant(places, x.dtype))
