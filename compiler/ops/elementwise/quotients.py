"""Quotients whose numerator is zero where their denominator is, such as (e^x − 1) / x.

Selecting between the quotient and its limit gives the right value but wrong derivatives: that of the limit at 0, and
one without correct digits near 0. Here the derivative of each order is an op: near 0 its Taylor series, elsewhere
f⁽ⁿ⁾ = (g⁽ⁿ⁾ − n f⁽ⁿ⁻¹⁾) / x, which follows from x·f = g.
"""

import math
from collections.abc import Callable
from typing import Any

from ...builder import bind
from ...ir import ArrayType, Value
from ...op import not_linear
from ...value_ops import (
    absolute,
    add,
    constant,
    cos,
    divide,
    equal,
    exp,
    full_like,
    greater,
    less,
    log,
    multiply,
    negative,
    power,
    reciprocal,
    sin,
    square,
    subtract,
    where,
)
from ...value_ops import elementwise as call
from ..composite import composite
from .arithmetic import POWER_DERIVATIVES
from .broadcasting import batch_elementwise, check_order, elementwise_type, jvp_of, same_dtype

FAMILY = "quotients"


def quotient(name: str, x: Value, order: int = 0) -> Value:
    """The derivative of that order of the named quotient."""
    return bind(name, x, order=order)


def _quotient(
    name: str,
    value: Callable[[Value], Value],
    numerator: Callable[[Value, int], Value],
    coefficient: Callable[[int], float],
    reach: Callable[[int], float],
    *,
    kinds: str,
    doc: str,
) -> None:
    """An op ``f(x) = g(x) / x``: its own `value`, the n-th derivative of its `numerator` g for n ≥ 1, and the k-th
    `coefficient` of the Taylor series of f, which is used for |x| < ``reach(n)``.
    """
    of_its_shape = elementwise_type(name, 1, kinds, same_dtype)

    def check(*types: ArrayType, order: int) -> None:
        check_order(f"the derivative of {name}", order, 0, 32)
        of_its_shape(*types)

    def decomposed(x: Value, order: int) -> Value:
        out = value(x)
        if not order:
            return out
        near = less(absolute(x), reach(order))
        divisor = where(near, 1, x)
        for n in range(1, order + 1):
            out = divide(subtract(numerator(x, n), multiply(out, n)), divisor)
        return where(near, _series(where(near, x, 0), order), out)

    def _series(x: Value, order: int) -> Value:
        terms: list[float] = []
        size = reach(order)
        while len(terms) < 2 or max(abs(terms[-1]), abs(terms[-2])) * size ** (len(terms) - 2) > 1e-17:
            k = order + len(terms)
            terms.append(coefficient(k) * math.perm(k, order))
        total = full_like(x, terms.pop())
        while terms:
            total = add(multiply(total, x), terms.pop())
        return total

    def jvp(inputs: tuple[Value], tangents: tuple[Value], outputs: Any, order: int) -> Value:
        return multiply(tangents[0], quotient(name, inputs[0], order + 1))

    composite(
        name, decomposed, check=check, jvp=jvp, transpose=not_linear, batch=batch_elementwise(name),
        family=FAMILY, doc=f"{doc} With `order`, the derivative of that order.",
    )  # fmt: skip


def _exprel(x: Value) -> Value:
    zero = equal(x, 0)
    safe = where(zero, 1, x)
    near = where(zero, add(multiply(x, 0.5), 1), divide(call("expm1", safe), safe))
    return where(equal(x, math.inf), x, near)


def _log1prel(x: Value) -> Value:
    zero = equal(x, 0)
    safe = where(zero, 1, x)
    return where(zero, 1, divide(call("log1p", safe), safe))


def _sin_quotient(x: Value) -> Value:
    zero = equal(x, 0)
    safe = where(zero, 1, x)
    return where(zero, 1, divide(sin(safe), safe))


def _log1p_derivative(x: Value, order: int) -> Value:
    """(−1)ⁿ⁻¹ (n − 1)! / (1 + x)ⁿ."""
    factor = (-1.0) ** (order - 1) * math.factorial(order - 1)
    return multiply(power(reciprocal(add(x, 1)), order), factor)


def _sin_derivative(x: Value, order: int) -> Value:
    wave = cos(x) if order % 2 else sin(x)
    return negative(wave) if order % 4 > 1 else wave


_quotient(
    "exprel", _exprel, lambda x, n: exp(x), lambda k: 1 / math.factorial(k + 1), lambda order: order + 1.0,
    kinds="f", doc="(e^x − 1) / x, 1 at 0.",
)  # fmt: skip
_quotient(
    "log1prel", _log1prel, _log1p_derivative, lambda k: (-1.0) ** k / (k + 1),
    lambda order: min(0.1 * (order + 1), 0.6),  # the series only ends below 1
    kinds="f", doc="log(1 + x) / x, 1 at 0.",
)  # fmt: skip
_quotient(
    "sin_quotient", _sin_quotient, _sin_derivative,
    lambda k: 0.0 if k % 2 else (-1.0) ** (k // 2) / math.factorial(k + 1), lambda order: order + 1.0,
    kinds="fc", doc="sin(x) / x, 1 at 0.",
)  # fmt: skip


# ---- Box and Cox ---------------------------------------------------------------------------------------
#
# (bᵖ − 1) / p and its inverse at b = e^y, log(1 + p·y) / p. With a quotient q they are y·q(p·y), except for rounding.


def _box_cox(x: Value, p: Value, order: int, shifted: bool) -> Value:
    y = call("log1p" if shifted else "log", x)
    if order:
        return multiply(_integer_power(y, order + 1), quotient("exprel", multiply(p, y), order))
    zero = equal(p, 0)
    safe = where(zero, 1, p)
    return where(zero, y, divide(call("expm1", multiply(safe, y)), safe))


def _box_cox_dx(out: Value, x: Value, p: Value, order: int, shifted: bool) -> Value:
    """bᵖ⁻¹·log(b)ⁿ. The chain rule of the logarithm would divide by b what it has to cancel with."""
    slope = power(add(x, 1) if shifted else x, subtract(p, 1))
    return multiply(slope, _integer_power(call("log1p" if shifted else "log", x), order)) if order else slope


def _integer_power(x: Value, n: int) -> Value:
    return power(x, constant(n, x.dtype))


def _check_box_cox(*types: ArrayType, order: int, shifted: bool) -> None:
    check_order("the derivative of box_cox", order, 0, 32)
    elementwise_type("box_cox", 2, "f", same_dtype)(*types)


def _box_cox_jvp(
    inputs: tuple[Value, ...], tangents: tuple[Value | None, ...], outputs: tuple[Value, ...], **params: Any
) -> Value | None:
    order, shifted = params["order"], params["shifted"]
    rule = jvp_of(
        (
            lambda out, x, p: _box_cox_dx(out, x, p, order, shifted),
            lambda out, x, p: bind("box_cox", x, p, order=order + 1, shifted=shifted),
        )
    )
    found: Value | None = rule(inputs, tangents, outputs)
    return found


composite(
    "box_cox", _box_cox, check=_check_box_cox, jvp=_box_cox_jvp, transpose=not_linear,
    batch=batch_elementwise("box_cox"), family=FAMILY,
    doc="(bᵖ − 1) / p, log(b) at p = 0, for b = x, or b = 1 + x where it is `shifted`. With `order`, the derivative by "
    "p of that order.",
)  # fmt: skip


def _log1p_over(x: Value, p: Value) -> Value:
    zero = equal(p, 0)
    safe = where(zero, 1, p)
    return where(zero, x, divide(call("log1p", multiply(safe, x)), safe))


composite(
    "log1p_over", _log1p_over, check=elementwise_type("log1p_over", 2, "f", same_dtype),
    jvp=jvp_of((
        lambda out, x, p: reciprocal(add(multiply(p, x), constant(1, x.dtype))),
        lambda out, x, p: multiply(square(x), quotient("log1prel", multiply(p, x), 1)),
    )),
    transpose=not_linear, batch=batch_elementwise("log1p_over"), family=FAMILY,
    doc="log(1 + p·x) / p, x at p = 0.",
)  # fmt: skip


# ---- powers less one -----------------------------------------------------------------------------------


def _powm1(x: Value, y: Value) -> Value:
    positive = greater(x, 0)
    small = call("expm1", multiply(y, log(where(positive, x, 1))))
    return where(positive, small, subtract(power(x, y), 1))


composite(
    "powm1", _powm1, check=elementwise_type("powm1", 2, "f", same_dtype),
    jvp=jvp_of(tuple(lambda out, x, y, along=along: along(power(x, y), x, y) for along in POWER_DERIVATIVES)),
    transpose=not_linear, batch=batch_elementwise("powm1"), family=FAMILY,
    doc="x to the power y, less 1, accurate where it is small.",
)  # fmt: skip
