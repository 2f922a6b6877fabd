"""Special functions: error functions, sinc, entropies.

NumPy definitions compute in f64 and round once. The coefficients marked "interpolated" are of polynomials through the
Chebyshev nodes of the named interval, computed with 60 digits and truncated below 2e-18.
"""

import math
from typing import Any

import numpy as np

from ...builder import bind
from ...ir import ArrayType, Value
from ...op import Op, not_linear, register
from ...value_ops import (
    add,
    constant,
    divide,
    equal,
    exp,
    full_like,
    greater,
    less,
    log,
    logical_and,
    multiply,
    negative,
    square,
    subtract,
    where,
)
from ...value_ops import elementwise as call
from ..composite import composite
from ..elementwise.broadcasting import (
    Derivative,
    batch_elementwise,
    check_order,
    elementwise,
    elementwise_type,
    same_dtype,
)
from .coefficients import ERFCX, QUANTILE_CENTER, QUANTILE_MIDDLE, QUANTILE_TAIL

FAMILY = "error_functions"
TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
ROOT_TWO_PI = math.sqrt(2 * math.pi)


def _unary(name: str, meaning: Any, derivative: Derivative, triton: str, doc: str) -> None:
    spelling = {"c": f"tm_{name}_{{t}}({{0}})", "triton": triton}
    elementwise(
        name, 1, meaning, derivatives=(derivative,), kinds="f", spelling=spelling, family=FAMILY, doc=doc
    )


def _gauss(x: Value) -> Value:
    """e^(−x²)."""
    return exp(negative(square(x)))


def _hazard(out: Value, x: Value) -> Value:
    """φ(x) / Φ(x) for out = log Φ(x): by erfcx below 0, where exp(−x²/2 − out) would lose the digits of x²."""
    below = less(x, 0)
    tail = divide(
        constant(2 / ROOT_TWO_PI, x.dtype), call("erfcx", multiply(where(below, x, 0), -math.sqrt(0.5)))
    )
    exponent = add(multiply(square(where(below, 0, x)), 0.5), where(below, 0, out))
    return where(below, tail, multiply(exp(negative(exponent)), 1 / ROOT_TWO_PI))


# ---- error functions -------------------------------------------------------------------------------


def _erf(x: Any) -> Any:
    z = np.positive(x, dtype=np.float64)
    # erf(a) = 1 − exp(−a·h(a)), where h(a) = −log(erfc(a)) / a on [0, 5.95] by a minimax quotient, whose error is
    # weighted by its effect on erf: less than 2e-18. All coefficients are positive, so nothing cancels.
    a = np.clip(np.abs(z), 0.0, 5.95)
    above = a * 0.00011825386167432129 + 0.003366444118148635
    for c in (
        0.03495483079032277, 0.19979875720001503, 0.7201517074004004, 1.7139240952996464, 2.669482759844149,
        2.522930627599406, 1.1283791670955126,
    ):  # fmt: skip
        above *= a
        above += c
    below = a * 0.00011827489732755037 + 0.0033640035860413816
    for c in (
        0.03439605457384223, 0.1886824184845589, 0.632383081863937, 1.3315322229448947, 1.6716994696802618, 1.0,
    ):  # fmt: skip
        below *= a
        below += c
    above /= below
    above *= -a
    return np.copysign(np.expm1(above), z).astype(x.dtype, copy=False)


def _erfc(x: Any) -> Any:
    z = np.positive(x, dtype=np.float64)
    a = np.abs(z)
    # erf(z) / z for |z| < 1/2, interpolated in z² on [0, 1]
    s, near = np.minimum(z * z, 0.25), np.zeros_like(z)
    for c in (
        5.958930743134941e-11, -1.1373902296430911e-09, 1.4660051998394848e-08, -1.6350354461959655e-07,
        1.6461004480962034e-06, -1.4925595519506043e-05, 0.00012055331122299266, -0.0008548326981129666,
        0.005223977624823223, -0.026866170645077334, 0.11283791670954882, -0.3761263890318375,
        1.1283791670955126,
    ):  # fmt: skip
        near = near * s + c
    # (1 + 2a) exp(a²) erfc(a) in (a − 3.75) / (a + 3.75), interpolated; Shepherd and Laframboise (1981)
    b = np.clip(a, 0.5, 28.0)
    t, far = (b - 3.75) / (b + 3.75), np.zeros_like(z)
    for c in ERFCX:
        far = far * t + c
    # exp(−b²) with b split, so that the rounding of b² is not magnified (W. J. Cody, 1969)
    high = np.floor(b * 16.0) / 16.0
    far = np.exp(-high * high) * np.exp(-(b - high) * (b + high)) * far / (1.0 + 2.0 * b)
    return np.where(a < 0.5, 1.0 - z * near, np.where(z < 0, 2.0 - far, far)).astype(x.dtype)


def _erfcx(x: Any) -> Any:
    z = np.positive(x, dtype=np.float64)
    # (1 + 2b) exp(b²) erfc(b) in (b − 3.75) / (b + 3.75), interpolated; Shepherd and Laframboise (1981)
    b = np.where(np.isinf(z), 1.0, np.abs(z))
    t, out = (b - 3.75) / (b + 3.75), np.zeros_like(z)
    for c in ERFCX:
        out = out * t + c
    out = np.where(np.isinf(z), 0.0, 0.5 * out / (0.5 + b))
    # 2 exp(z²) less that for negative z, split so that the rounding of z² is not magnified (W. J. Cody, 1969)
    b = np.minimum(np.abs(z), 28.0)
    high = np.floor(b * 16.0) / 16.0
    return np.where(z < 0, 2.0 * np.exp(high * high) * np.exp((b - high) * (b + high)) - out, out).astype(
        x.dtype
    )


def _log_ndtr(x: Any) -> Any:
    z = np.positive(x, dtype=np.float64)
    # (1 + 2b) exp(b²) erfc(b) in (b − 3.75) / (b + 3.75), interpolated; Shepherd and Laframboise (1981)
    b = np.minimum(np.abs(z) * 0.5**0.5, 1e150)
    t, out = (b - 3.75) / (b + 3.75), np.zeros_like(z)
    for c in ERFCX:
        out = out * t + c
    half = 0.5 * out / (1.0 + 2.0 * b)
    # exp(−z²/2) with z split, so that the rounding of z² is not magnified (W. J. Cody, 1969)
    a = np.clip(z, 0.0, 40.0)
    high = np.floor(a * 16.0) / 16.0
    gauss = np.exp(-0.5 * high * high) * np.exp(-0.5 * (a - high) * (a + high))
    return np.where(z < 0, np.log(half) - z * (z * 0.5), np.log1p(-half * gauss)).astype(x.dtype)


def _erfinv(x: Any) -> Any:
    y = np.positive(x, dtype=np.float64)
    # The normal quantile by M. J. Wichura's algorithm AS 241, PPND16 (1988), in terms of y = 2p − 1
    q = 0.5 * y
    r, up, down = np.maximum(0.180625 - q * q, 0.0), np.zeros_like(y), np.zeros_like(y)
    for c, d in QUANTILE_CENTER:
        up, down = up * r + c, down * r + d
    center = y * (0.5 * up / down)
    r = np.sqrt(-np.log(0.5 - np.abs(q)))
    s, up, down = np.minimum(r, 5.0) - 1.6, np.zeros_like(y), np.zeros_like(y)
    for c, d in QUANTILE_MIDDLE:
        up, down = up * s + c, down * s + d
    middle = up / down
    s, up, down = np.minimum(r, 1e3) - 5.0, np.zeros_like(y), np.zeros_like(y)
    for c, d in QUANTILE_TAIL:
        up, down = up * s + c, down * s + d
    tail = np.where(np.isinf(r), np.inf, np.where(r <= 5.0, middle, up / down))
    return (np.where(np.abs(q) <= 0.425, center, np.copysign(tail, y)) * 0.5**0.5).astype(x.dtype)


def _ndtri(x: Any) -> Any:
    p = np.positive(x, dtype=np.float64)
    # M. J. Wichura's algorithm AS 241, PPND16 (1988)
    q = p - 0.5
    r, up, down = np.maximum(0.180625 - q * q, 0.0), np.zeros_like(p), np.zeros_like(p)
    for c, d in QUANTILE_CENTER:
        up, down = up * r + c, down * r + d
    center = q * up / down
    r = np.sqrt(-np.log(np.where(q < 0, p, 1.0 - p)))
    s, up, down = np.minimum(r, 5.0) - 1.6, np.zeros_like(p), np.zeros_like(p)
    for c, d in QUANTILE_MIDDLE:
        up, down = up * s + c, down * s + d
    middle = up / down
    s, up, down = np.minimum(r, 1e3) - 5.0, np.zeros_like(p), np.zeros_like(p)
    for c, d in QUANTILE_TAIL:
        up, down = up * s + c, down * s + d
    tail = np.where(np.isinf(r), np.inf, np.where(r <= 5.0, middle, up / down))
    return np.where(np.abs(q) <= 0.425, center, np.copysign(tail, q)).astype(x.dtype)


_unary("erf", _erf, lambda out, x: multiply(_gauss(x), TWO_OVER_ROOT_PI), "libdevice.erf({0})",
       "The error function, 2/√π ∫₀ˣ exp(−t²) dt.")  # fmt: skip
_unary("erfc", _erfc, lambda out, x: multiply(_gauss(x), -TWO_OVER_ROOT_PI), "libdevice.erfc({0})",
       "1 − erf(x), accurate where it is small.")  # fmt: skip
_unary("erfcx", _erfcx, lambda out, x: bind("erfcx_derivative", x, order=1),
       "libdevice.erfcx({0})", "exp(x²)·erfc(x), which does not vanish for large x.")  # fmt: skip
_unary("erfinv", _erfinv, lambda out, x: multiply(exp(square(out)), 1 / TWO_OVER_ROOT_PI),
       "libdevice.erfinv({0})", "The inverse of erf, from −1 … 1.")  # fmt: skip
_unary("ndtri", _ndtri, lambda out, x: multiply(exp(multiply(square(out), 0.5)), ROOT_TWO_PI),
       "libdevice.normcdfinv({0})", "The quantile of the standard normal distribution.")  # fmt: skip
_unary("log_ndtr", _log_ndtr, lambda out, x: _hazard(out, x),
       "tm_log_ndtr_{t}({0})", "The logarithm of the standard normal distribution function.")  # fmt: skip


# ---- derivatives of erfcx --------------------------------------------------------------------------
#
# f⁽ⁿ⁺¹⁾ = 2x·f⁽ⁿ⁾ + 2n·f⁽ⁿ⁻¹⁾, from f' = 2x·f − 2/√π. For large x, going upwards from f subtracts nearly equal
# numbers. There the ratios −f⁽ⁿ⁾ / f⁽ⁿ⁻¹⁾ are computed downwards instead: 2n / (2x + the next one), all positive.

_ERFCX_REACH = 2.5
_ERFCX_STEPS = 32
"""After this many downward steps the starting ratio no longer matters, for x above `_ERFCX_REACH`."""


def _erfcx_derivative(x: Value, order: int) -> Value:
    far = greater(x, _ERFCX_REACH)
    by_ratios = _erfcx_by_ratios(where(far, x, _ERFCX_REACH), order)
    return where(far, by_ratios, _erfcx_upwards(where(far, 0, x), order))


def _erfcx_upwards(x: Value, order: int) -> Value:
    twice = multiply(x, 2)
    before = call("erfcx", x)
    at = subtract(multiply(twice, before), TWO_OVER_ROOT_PI)
    for n in range(1, order):
        before, at = at, add(multiply(twice, at), multiply(before, 2 * n))
    return at


def _erfcx_by_ratios(x: Value, order: int) -> Value:
    twice = multiply(x, 2)
    ratio = full_like(x, 0)
    total = call("erfcx", x)
    for n in range(order + _ERFCX_STEPS, 0, -1):
        ratio = divide(constant(2 * n, x.dtype), add(twice, ratio))
        if n <= order:
            total = negative(multiply(total, ratio))
    return total


def _check_erfcx_derivative(*types: ArrayType, order: int) -> None:
    check_order("the derivative of erfcx", order, 1, 16)
    elementwise_type("erfcx_derivative", 1, "f", same_dtype)(*types)


composite(
    "erfcx_derivative", _erfcx_derivative, check=_check_erfcx_derivative,
    jvp=lambda inputs, tangents, outputs, order: multiply(
        tangents[0], bind("erfcx_derivative", inputs[0], order=order + 1)
    ),
    transpose=not_linear, batch=batch_elementwise("erfcx_derivative"), family=FAMILY,
    doc="The derivative of the given order, from 1, of exp(x²)·erfc(x).",
)  # fmt: skip


# ---- sinc ------------------------------------------------------------------------------------------


def _sinc(x: Any, order: Any) -> Any:
    z = np.positive(x, dtype=np.float64)
    # Near 0 Taylor's series of the n-th derivative: Σ (−1)ᵏ π²ᵏ z²ᵏ⁻ⁿ / ((2k + 1) (2k − n)!)
    w = np.minimum(np.abs(z), 1.0 + 0.4 * order)
    first = (order + 1) // 2
    term = np.full(z.shape, (-1.0) ** first * np.pi ** (2 * first)) * (w if order % 2 else 1.0)
    near = term / (2 * first + 1)
    for k in range(first + 1, first + 24 + order):
        step = 2 * k - order
        term = term * (-((np.pi * w) ** 2) / (step * (step - 1)))
        near = near + term / (2 * k + 1)
    near = np.where(z < 0, (-1.0) ** order, 1.0) * near
    # Elsewhere from (x·sinc x)⁽ⁿ⁾ = x·sinc⁽ⁿ⁾ + n·sinc⁽ⁿ⁻¹⁾ = πⁿ⁻¹ sin(πx + nπ/2), with x reduced exactly
    v = np.where(np.abs(z) < 0.5 + 0.3 * order, 1.0 + 0.4 * order, z)
    v = np.where(np.isinf(v), 1.0, v)
    whole = np.rint(v)
    sign = 1.0 - 2.0 * np.abs(whole - 2.0 * np.floor(0.5 * whole))
    waves = [sign * np.sin(np.pi * (v - whole)), sign * np.cos(np.pi * (v - whole))]
    far = np.zeros_like(z)
    for n in range(order + 1):
        far = (np.pi ** (n - 1) * (-1.0) ** (n // 2) * waves[n % 2] - n * far) / v
    far = np.where(np.isinf(z), np.nan, far)
    return np.where(np.abs(z) < 0.5 + 0.3 * order, near, far).astype(x.dtype)


def _sinc_type(*types: ArrayType, order: int) -> ArrayType:
    check_order("the derivative of sinc", order, 0, 64)
    return elementwise_type("sinc", 1, "f", same_dtype)(*types)


def sinc(x: Value, order: int = 0) -> Value:
    """The derivative of that order of sin(πx) / (πx)."""
    return bind("sinc", x, order=order)


register(
    Op(
        name="sinc",
        family=FAMILY,
        type=_sinc_type,
        numpy=_sinc,
        jvp=lambda inputs, tangents, outputs, order: multiply(tangents[0], sinc(inputs[0], order + 1)),
        transpose=not_linear,
        batch=batch_elementwise("sinc"),
        spelling={"c": "tm_sinc_{order}_{t}({0})", "triton": "tm_sinc_{order}_{t}({0})"},
        effect=None,
        doc="sin(πx) / (πx), 1 at 0; with `order`, the derivative of that order.",
    )
)


# ---- entropies: 0 where the factor in front is 0 -----------------------------------------------------


def _entr(x: Any) -> Any:
    inside = np.where(x > 0, x, np.ones_like(x))
    return np.where(x > 0, -x * np.log(inside), np.where(x == 0, 0, np.where(x < 0, -np.inf, np.nan))).astype(
        x.dtype
    )


def _xlogy(x: Any, y: Any) -> Any:
    zero = (x == 0) & ~np.isnan(y)
    return np.where(zero, np.zeros_like(x), x * np.log(np.where(zero, np.ones_like(y), y)))


def _xlog1py(x: Any, y: Any) -> Any:
    zero = (x == 0) & ~np.isnan(y)
    return np.where(zero, np.zeros_like(x), x * np.log1p(np.where(zero, np.zeros_like(y), y)))


def _ratio(x: Value, y: Value) -> Value:
    """x / y, and 0 for 0 / 0."""
    nothing = logical_and(equal(x, 0), equal(y, 0))
    return divide(x, where(nothing, 1, y))


_unary("entr", _entr, lambda out, x: where(less(x, 0), full_like(x, math.nan), negative(add(log(x), 1))),
       "tm_entr_{t}({0})", "−x·log(x), 0 at 0, −∞ below.")  # fmt: skip
elementwise(
    "xlogy", 2, _xlogy, derivatives=(lambda out, x, y: log(y), lambda out, x, y: _ratio(x, y)), kinds="f",
    spelling={"c": "tm_xlogy_{t}({0}, {1})", "triton": "tm_xlogy_{t}({0}, {1})"}, family=FAMILY,
    doc="x·log(y), 0 where x = 0.",
)  # fmt: skip
elementwise(
    "xlog1py", 2, _xlog1py,
    derivatives=(lambda out, x, y: call("log1p", y), lambda out, x, y: _ratio(x, add(y, 1))), kinds="f",
    spelling={"c": "tm_xlog1py_{t}({0}, {1})", "triton": "tm_xlog1py_{t}({0}, {1})"}, family=FAMILY,
    doc="x·log(1 + y), 0 where x = 0.",
)  # fmt: skip
