"""Quotients whose numerator vanishes where their denominator does, such as (e^x − 1) / x.

A choice between the quotient and its limit has the right value and the wrong derivatives: that of the limit at 0, and
one without digits near 0. Here the derivative of each order is an op: near 0 its Taylor series, elsewhere
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
    less,
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
from .broadcasting import batch_elementwise, check_order, elementwise_type, jvp_of, same_dtype

FAMILY = "quotients"


def quotient(name: str, x: Value, order: int = 0) -> Value:
    """The derivative of that order of the quotient of that name."""
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
    lambda order: min(0.1 * (order + 1), 0.6),  # the series ends below 1 only
    kinds="f", doc="log(1 + x) / x, 1 at 0.",
)  # fmt: skip
_quotient(
    "sin_quotient", _sin_quotient, _sin_derivative,
    lambda k: 0.0 if k % 2 else (-1.0) ** (k // 2) / math.factorial(k + 1), lambda order: order + 1.0,
    kinds="fc", doc="sin(x) / x, 1 at 0.",
)  # fmt: skip


# ---- Box and Cox ---------------------------------------------------------------------------------------
#
# (e^(p·x) − 1) / p and log(1 + p·x) / p, which undo each other: x·q(p·x) with a quotient q, but for rounding.


def _box_cox(name: str, function: str, along_x: Callable[[Value], Value], q: str, doc: str) -> None:
    def decomposed(x: Value, p: Value) -> Value:
        zero = equal(p, 0)
        safe = where(zero, 1, p)
        return where(zero, x, divide(call(function, multiply(safe, x)), safe))

    composite(
        name, decomposed, check=elementwise_type(name, 2, "f", same_dtype),
        jvp=jvp_of((
            lambda out, x, p: along_x(multiply(p, x)),
            lambda out, x, p: multiply(square(x), quotient(q, multiply(p, x), 1)),
        )),
        transpose=not_linear, batch=batch_elementwise(name), family=FAMILY, doc=doc,
    )  # fmt: skip


_box_cox("expm1_over", "expm1", exp, "exprel", "(e^(p·x) − 1) / p, x at p = 0.")
_box_cox("log1p_over", "log1p", lambda y: reciprocal(add(y, constant(1, y.dtype))), "log1prel",
         "log(1 + p·x) / p, x at p = 0.")  # fmt: skip
