"""The ufuncs that consist of several ops. Their operands have the dtypes of NumPy's loop."""

from typing import Any

import numpy as np

from ...builder import bind
from ...dtypes import FLOAT32, is_complex
from ...ir import Value
from ...tracing.array_values import as_value
from ...tracing.registry import implements_ufunc
from ...tracing.traced_array import TracedArray, wrap
from ...value_ops import (
    add,
    constant,
    convert,
    elementwise,
    equal,
    greater_equal,
    less_equal,
    logical_not,
    logical_or,
    multiply,
    nonzero_mask,
    subtract,
    where,
)

Pair = tuple[Any, Any]


@implements_ufunc(np.positive)
def positive(x: TracedArray) -> TracedArray:
    return wrap(x.value)


@implements_ufunc(np.conjugate)
def conjugate(x: TracedArray) -> TracedArray:
    """Real numbers are their own conjugates."""
    return wrap(bind("conjugate", x.value) if is_complex(x.dtype) else x.value)


def _scaled(name: str) -> None:
    """A product with NumPy's own factor, in f32 for 16-bit numbers."""
    ufunc = getattr(np, name)

    @implements_ufunc(ufunc)
    def scaled(x: TracedArray) -> TracedArray:
        wide = convert(x.value, FLOAT32) if x.dtype.itemsize == 2 else x.value
        return wrap(convert(multiply(wide, constant(ufunc(np.ones((), wide.dtype)))), x.dtype))


for _name in ("degrees", "rad2deg", "radians", "deg2rad"):
    _scaled(_name)


@implements_ufunc(np.divmod)
def divmod_(x: TracedArray, y: TracedArray) -> Pair:
    return np.floor_divide(x, y), np.remainder(x, y)


def _logical(name: str) -> None:
    """Truth values of numbers: compare with zero first."""

    @implements_ufunc(getattr(np, name))
    def logical(*operands: TracedArray) -> TracedArray:
        return wrap(bind(name, *[nonzero_mask(as_value(x)) for x in operands]))


for _name in ("logical_and", "logical_or", "logical_xor", "logical_not"):
    _logical(_name)


# ---- complex extrema ---------------------------------------------------------------------------------


def _extremum(name: str, comparison: Any, *, keeps_nan: bool) -> None:
    """maximum and similar ufuncs; complex numbers are ordered by real, then by imaginary part."""

    @implements_ufunc(getattr(np, name))
    def extremum(x: TracedArray, y: TracedArray) -> TracedArray:
        a, b = x.value, y.value
        if not is_complex(a.dtype):
            return wrap(bind(name, a, b))
        nan = elementwise("isnan", a if keeps_nan else b)
        return wrap(where(logical_or(comparison(a, b), nan), a, b))


_extremum("maximum", greater_equal, keeps_nan=True)
_extremum("minimum", less_equal, keeps_nan=True)
_extremum("fmax", greater_equal, keeps_nan=False)
_extremum("fmin", less_equal, keeps_nan=False)


# ---- the parts of floating-point numbers -------------------------------------------------------------


@implements_ufunc(np.modf)
def modf(x: TracedArray) -> Pair:
    """Fraction and integer part, both with the sign of x; an infinity has the fraction 0.

    Not by `copysign`, which has derivative 0 at 0, where the fraction is x itself.
    """
    value = x.value
    whole = elementwise("trunc", value)
    infinite = elementwise("isinf", value)
    finite = where(infinite, 0, value)
    whole_of_finite = where(infinite, 0, whole)
    below = bind("negative", subtract(whole_of_finite, finite))
    fraction = where(elementwise("signbit", value), below, subtract(finite, whole_of_finite))
    return wrap(fraction), wrap(whole)


class _Layout:
    """How a floating-point format lays out its bits (IEEE 754)."""

    def __init__(self, dtype: Any) -> None:
        info = np.finfo(dtype)
        self.bits = np.dtype(f"i{dtype.itemsize}")
        self.mantissa = int(info.nmant)
        self.top = int(info.maxexp) - 1
        """The largest exponent of a number in [1, 2) · 2^exponent; also the bias."""


def _power_of_two(exponent: Value, dtype: Any) -> Value:
    """2^exponent as a normal number, by writing the exponent's bits."""
    layout = _Layout(dtype)
    biased = add(convert(exponent, layout.bits), layout.top)
    return bind("bitcast", elementwise("left_shift", biased, layout.mantissa), dtype=dtype)


def scaled_by_power_of_two(x: Value, exponent: Value) -> Value:
    """x · 2^exponent, rounded once.

    Three factors, so that none overflows. For negative exponents the first two stay one mantissa above the denormal
    numbers, so that only the last product is rounded (the method of musl's scalbn).
    """
    if x.dtype.itemsize == 2:
        return convert(scaled_by_power_of_two(convert(x, FLOAT32), exponent), x.dtype)
    layout = _Layout(x.dtype)
    up, down = layout.top, -(layout.top - 1) + layout.mantissa + 1
    exponent = elementwise("clip", convert(exponent, np.dtype(np.int32)), -4 * layout.top, 4 * layout.top)
    for _ in range(2):
        step = where(
            greater_equal(exponent, up + 1),
            up,
            where(less_equal(exponent, -layout.top), down, _zero(exponent)),
        )
        x = multiply(x, _power_of_two(step, x.dtype))
        exponent = subtract(exponent, step)
    return multiply(x, _power_of_two(elementwise("clip", exponent, 1 - layout.top, layout.top), x.dtype))


def _zero(like: Value) -> Value:
    return constant(0, like.dtype)


@implements_ufunc(np.ldexp)
def ldexp(x: TracedArray, exponent: TracedArray) -> TracedArray:
    limit = 2**30  # further from 0 the result is 0 or infinite for any x
    within = (
        elementwise("clip", exponent.value, -limit, limit) if exponent.dtype.itemsize == 8 else exponent.value
    )
    return wrap(scaled_by_power_of_two(x.value, within))


@implements_ufunc(np.frexp)
def frexp(x: TracedArray) -> Pair:
    """Mantissa in [0.5, 1) and exponent. The exponent is read from the bits, after lifting denormals to normal."""
    value = x.value
    if x.dtype.itemsize == 2:
        mantissa, exponent = frexp(wrap(convert(value, FLOAT32)))
        return wrap(convert(mantissa.value, x.dtype)), exponent
    layout = _Layout(x.dtype)
    usable = elementwise("logical_and", elementwise("isfinite", value), logical_not(equal(value, 0)))
    lifted = multiply(value, 2.0 ** (layout.mantissa + 2))
    is_small = elementwise("less", elementwise("absolute", value), float(np.finfo(x.dtype).tiny))
    bits = bind("bitcast", where(is_small, lifted, value), dtype=layout.bits)
    field = elementwise("bitwise_and", elementwise("right_shift", bits, layout.mantissa), 2 * layout.top + 1)
    offset = where(is_small, constant(layout.top + 1 + layout.mantissa, layout.bits), layout.top - 1)
    exponent_value = where(usable, convert(subtract(field, offset), np.dtype(np.int32)), 0)
    scaled = scaled_by_power_of_two(value, bind("negative", exponent_value))
    return wrap(where(usable, scaled, value)), wrap(exponent_value)
