"""Derivatives of powers whose exponents are computed, of any order."""

import math
from typing import TypeAlias

from ...builder import bind
from ...dtypes import is_complex
from ...ir import ArrayType, Value
from ...op import not_linear
from ...value_ops import add, equal, greater, log, logical_and, multiply, power, subtract, where
from ..composite import composite
from .broadcasting import batch_elementwise, check_order, elementwise_type, jvp_of, same_dtype

FAMILY = "powers"

_Factor: TypeAlias = Value | int


def _decomposed(x: Value, y: Value, by_x: int, by_y: int) -> Value:
    """xʸ⁻ⁿ times a sum, by Leibniz' rule, of derivatives by y of y·(y − 1)···(y − n + 1) and of powers of log x.

    Where that sum is 0, so is the derivative, even if xʸ⁻ⁿ overflows.
    """
    vanishes = equal(x, 0) if is_complex(x.dtype) else logical_and(equal(x, 0), greater(y, by_x))
    log_x = log(where(vanishes, 1, x)) if by_y else 1
    factor: _Factor = 0
    log_power: _Factor = 1
    for count in range(by_y + 1):
        falling = _times(_falling(y, by_x, by_y - count), math.comb(by_y, count))
        factor = _plus(factor, _times(falling, log_power))
        log_power = _times(log_power, log_x)
    if isinstance(factor, int):
        return multiply(power(x, y), factor)
    return multiply(power(where(equal(factor, 0), 1, x), subtract(y, by_x)) if by_x else power(x, y), factor)


def _falling(y: Value, length: int, order: int) -> _Factor:
    """The derivative of that order of y·(y − 1)···(y − length + 1)."""
    if not length:
        return 0 if order else 1
    last = y if length == 1 else subtract(y, length - 1)
    derived = _times(_falling(y, length - 1, order - 1), order) if order else 0
    return _plus(_times(last, _falling(y, length - 1, order)), derived)


def _times(a: _Factor, b: _Factor) -> _Factor:
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if isinstance(a, int):
        a, b = b, a
    return b if b == 0 else a if b == 1 else multiply(a, b)


def _plus(a: _Factor, b: _Factor) -> _Factor:
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    return a if b == 0 else b if a == 0 else add(a, b)


def _check(*types: ArrayType, by_x: int, by_y: int) -> None:
    check_order("the derivative of a power by its base", by_x, 0, 32)
    check_order("the derivative of a power by its exponent", by_y, 0, 32)
    elementwise_type("power_derivative", 2, "fc", same_dtype)(*types)


def _jvp(
    inputs: tuple[Value, ...],
    tangents: tuple[Value | None, ...],
    outputs: tuple[Value, ...],
    by_x: int,
    by_y: int,
) -> Value | None:
    rule = jvp_of(
        (
            lambda out, x, y: bind("power_derivative", x, y, by_x=by_x + 1, by_y=by_y),
            lambda out, x, y: bind("power_derivative", x, y, by_x=by_x, by_y=by_y + 1),
        )
    )
    found: Value | None = rule(inputs, tangents, outputs)
    return found


composite(
    "power_derivative", _decomposed, check=_check, jvp=_jvp, transpose=not_linear,
    batch=batch_elementwise("power_derivative"), family=FAMILY,
    doc="The derivative of x to the power y, `by_x` times by x and `by_y` times by y.",
)  # fmt: skip
