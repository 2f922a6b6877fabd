"""Ops in terms of other ops, for targets that lack them: a table of functions on values."""

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from ..builder import bind
from ..dtypes import dtype_named, kind
from ..errors import InternalError
from ..ir import Value
from ..value_ops import (
    absolute,
    add,
    concatenate,
    constant,
    divide,
    elementwise,
    equal,
    exp,
    flip,
    greater,
    imag,
    less,
    less_equal,
    log,
    logical_and,
    logical_or,
    maximum,
    minimum,
    multiply,
    negative,
    power,
    real,
    slice_axis,
    spread,
    sqrt,
    square,
    subtract,
    where,
)
from .parallel_prefix import prefix_strides

Decomposition: TypeAlias = Callable[..., Value | tuple[Value, ...] | None]
"""``decomposition(*inputs, **params)``: the outputs, computed by other ops; a single output may be bare. None if
there is no decomposition for these types."""

_TABLE: dict[str, Decomposition] = {}


def register_decomposition(op: str) -> Callable[[Decomposition], Decomposition]:
    """Register a function on values as the decomposition of `op` into other ops::

    @register_decomposition("square")
    def square(x: Value) -> Value:
        return multiply(x, x)
    """

    def enter(function: Decomposition) -> Decomposition:
        if op in _TABLE:
            raise InternalError(f"op {op!r} has two decompositions")
        _TABLE[op] = function
        return function

    return enter


def decomposition(op: str) -> Decomposition:
    """The decomposition of `op`; KeyError if there is none."""
    return _TABLE[op]


def decomposable() -> frozenset[str]:
    """The names of all ops that have a decomposition."""
    return frozenset(_TABLE)


# ---- exact -----------------------------------------------------------------------------------------


@register_decomposition("square")
def _square(x: Value) -> Value | None:
    return multiply(x, x) if x.dtype.kind != "c" else None


@register_decomposition("reciprocal")
def _reciprocal(x: Value) -> Value | None:
    return divide(constant(1, x.dtype), x) if kind(x.dtype) == "f" else None


@register_decomposition("clip")
def _clip(x: Value, low: Value, high: Value) -> Value:
    """NaN if any is."""
    raised = where(logical_or(less_equal(low, x), elementwise("not_equal", x, x)), x, low)
    return where(logical_or(less_equal(raised, high), elementwise("not_equal", raised, raised)), raised, high)


@register_decomposition("sign")
def _sign(x: Value) -> Value | None:
    """NaN is its own sign; that of −0 is 0, in bf16 −0."""
    if x.dtype.kind == "c":
        return None
    known = x if x.dtype.name == "bfloat16" else where(equal(x, 0), 0, x)
    if x.dtype.kind != "u":
        known = where(less(x, 0), -1, known)
    return where(greater(x, 0), 1, known)


@register_decomposition("trunc")
def _trunc(x: Value) -> Value | None:
    return (
        where(less(x, 0), elementwise("ceil", x), elementwise("floor", x)) if kind(x.dtype) == "f" else None
    )


@register_decomposition("copysign")
def _copysign(x: Value, y: Value) -> Value:
    magnitude = absolute(x)
    return where(elementwise("signbit", y), negative(magnitude), magnitude)


@register_decomposition("signbit")
def _signbit(x: Value) -> Value | None:
    """The top bit is the sign of the integer with the same bits."""
    if x.dtype.kind in "iu":
        return less(x, 0)
    return less(bind("bitcast", x, dtype=dtype_named(f"i{8 * x.dtype.itemsize}")), 0)


@register_decomposition("heaviside")
def _heaviside(x: Value, y: Value) -> Value:
    return where(less(x, 0), 0, where(equal(x, 0), y, where(greater(x, 0), 1, x)))


@register_decomposition("fmax")
def _fmax(x: Value, y: Value) -> Value:
    return _ignoring_nan("maximum", x, y)


@register_decomposition("fmin")
def _fmin(x: Value, y: Value) -> Value:
    return _ignoring_nan("minimum", x, y)


def _ignoring_nan(op: str, x: Value, y: Value) -> Value:
    if kind(x.dtype) != "f":
        return bind(op, x, y)
    return where(elementwise("isnan", y), x, where(elementwise("isnan", x), y, bind(op, x, y)))


@register_decomposition("isnan")
def _isnan(x: Value) -> Value:
    return elementwise("not_equal", x, x)


@register_decomposition("isinf")
def _isinf(x: Value) -> Value | None:
    return equal(absolute(x), math.inf) if kind(x.dtype) == "f" else None


@register_decomposition("isfinite")
def _isfinite(x: Value) -> Value | None:
    return less(absolute(x), math.inf) if kind(x.dtype) == "f" else None


@register_decomposition("logical_xor")
def _logical_xor(x: Value, y: Value) -> Value:
    return elementwise("not_equal", x, y)


@register_decomposition("remainder")
def _remainder(x: Value, y: Value) -> Value | None:
    """C's fmod, moved to the sign of y; a remainder of 0 has the sign of y, too."""
    if x.dtype.kind == "u":
        return elementwise("fmod", x, y)
    rest = elementwise("fmod", x, y)
    other_sign = elementwise("not_equal", less(rest, 0), less(y, 0))
    exact = equal(rest, 0)
    moved = where(logical_and(other_sign, elementwise("logical_not", exact)), add(rest, y), rest)
    return where(exact, elementwise("copysign", 0, y), moved) if kind(x.dtype) == "f" else moved


@register_decomposition("floor_divide")
def _floor_divide(x: Value, y: Value) -> Value | None:
    """(x − remainder) / y is nearly an integer, and the nearest integer is the quotient, as in NumPy."""
    if kind(x.dtype) != "f":
        return None
    rest = elementwise("fmod", x, y)
    quotient = divide(subtract(x, rest), y)
    other_sign = elementwise("not_equal", less(rest, 0), less(y, 0))
    too_high = logical_and(other_sign, elementwise("not_equal", rest, 0))
    quotient = where(too_high, subtract(quotient, 1), quotient)
    below = elementwise("floor", quotient)
    nearest = where(greater(subtract(quotient, below), 0.5), add(below, 1), below)
    signed = where(equal(quotient, 0), elementwise("copysign", 0, divide(x, y)), nearest)
    return where(equal(y, 0), divide(x, y), signed)


@register_decomposition("pad")
def _pad(x: Value, fill: Value, low: Any, high: Any, interior: Any) -> Value:
    inner = [spread(n, gap) for n, gap in zip(x.shape, interior, strict=True)]
    shape = tuple(a + n + b for a, n, b in zip(low, inner, high, strict=True))
    stop = tuple(a + n for a, n in zip(low, inner, strict=True))
    step = tuple(gap + 1 for gap in interior)
    return bind(
        "update_slice", bind("broadcast_to", fill, shape=shape), x, start=tuple(low), stop=stop, step=step
    )


# ---- within a few units in the last place ----------------------------------------------------------


@register_decomposition("exp2")
def _exp2(x: Value) -> Value | None:
    return power(constant(2, x.dtype), x) if x.dtype.kind != "c" else None


@register_decomposition("log2")
def _log2(x: Value) -> Value | None:
    return multiply(log(x), 1 / math.log(2.0)) if x.dtype.kind != "c" else None


@register_decomposition("log10")
def _log10(x: Value) -> Value | None:
    return multiply(log(x), 1 / math.log(10.0)) if x.dtype.kind != "c" else None


@register_decomposition("tan")
def _tan(x: Value) -> Value | None:
    return divide(elementwise("sin", x), elementwise("cos", x)) if x.dtype.kind != "c" else None


@register_decomposition("hypot")
def _hypot(x: Value, y: Value) -> Value:
    """larger · √(1 + (smaller / larger)²): nothing overflows. Infinity wins over NaN, as in IEEE 754."""
    x, y = absolute(x), absolute(y)
    larger, smaller = maximum(x, y), minimum(x, y)
    ratio = divide(smaller, where(equal(larger, 0), 1, larger))
    length = multiply(larger, sqrt(add(square(ratio), 1)))
    infinite = elementwise("logical_or", equal(x, math.inf), equal(y, math.inf))
    return where(infinite, math.inf, length)


@register_decomposition("logaddexp")
def _logaddexp(x: Value, y: Value) -> Value:
    """max + log1p(e^−|x − y|). The difference of equal infinities is NaN, hence the special case."""
    distance = negative(absolute(subtract(x, y)))
    apart = add(maximum(x, y), elementwise("log1p", exp(distance)))
    return where(equal(x, y), add(x, math.log(2.0)), apart)


@register_decomposition("logaddexp2")
def _logaddexp2(x: Value, y: Value) -> Value:
    distance = negative(absolute(subtract(x, y)))
    bits = multiply(elementwise("log1p", elementwise("exp2", distance)), 1 / math.log(2.0))
    return where(equal(x, y), add(x, 1), add(maximum(x, y), bits))


@register_decomposition("absolute")
def _absolute(x: Value) -> Value | None:
    return elementwise("hypot", real(x), imag(x)) if x.dtype.kind == "c" else None


# ---- running sums and extrema: log n doubling steps -------------------------------------------------


def _scan(op: str, x: Value, axis: int, reverse: bool) -> Value:
    if reverse:
        return flip(_scan(op, flip(x, (axis,)), axis, False), (axis,))
    length = x.shape[axis]
    for step in prefix_strides(length):
        early, late = slice_axis(x, 0, length - step, axis), slice_axis(x, step, length, axis)
        x = concatenate([slice_axis(x, 0, step, axis), elementwise(op, early, late)], axis)
    return x


@register_decomposition("cumsum")
def _cumsum(x: Value, axis: int, reverse: bool) -> Value:
    return _scan("add", x, axis, reverse)


@register_decomposition("cumprod")
def _cumprod(x: Value, axis: int, reverse: bool) -> Value:
    return _scan("multiply", x, axis, reverse)


@register_decomposition("cummax")
def _cummax(x: Value, axis: int, reverse: bool) -> Value:
    return _scan("maximum", x, axis, reverse)


@register_decomposition("cummin")
def _cummin(x: Value, axis: int, reverse: bool) -> Value:
    return _scan("minimum", x, axis, reverse)


@register_decomposition("cumlogsumexp")
def _cumlogsumexp(x: Value, axis: int, reverse: bool) -> Value:
    return _scan("logaddexp", x, axis, reverse)
