"""The incomplete gamma and beta functions, in the form of distribution functions.

NumPy definitions compute in f64 and round once. Their loops run until the last term adds nothing, about √a times for
large a. Derivatives are with respect to x only: those with respect to the parameters have no closed form.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...builder import bind
from ...errors import NotDifferentiableError
from ...ir import ArrayType, Value
from ...op import Op, not_linear, register
from ...value_ops import (
    add,
    broadcast_to,
    equal,
    exp,
    greater,
    log,
    logical_and,
    multiply,
    negative,
    subtract,
    where,
)
from ...value_ops import elementwise as call
from ..composite import composite
from ..elementwise.broadcasting import batch_elementwise, elementwise_type, jvp_of, same_dtype
from .coefficients import LOG_GAMMA_AT_2, STIRLING

FAMILY = "incomplete"


def _gammainc(a: Any, x: Any, upper: Any) -> Any:
    dtype = a.dtype
    a, x = np.broadcast_arrays(np.positive(a, dtype=np.float64), np.positive(x, dtype=np.float64))
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    p, z = np.where(inside, a, 1.0), np.where(inside, x, 1.0)
    # zᵖ e⁻ᶻ / Γ(p + 1) for p < 8: Γ by recurrence from log Γ(2 + d) = d·P(d), interpolated on [−1/2, 1/2]
    steps = np.clip(np.ceil(p - 1.5), 0.0, 7.0)
    d, near, up = np.clip(np.where(p < 0.5, p, p - steps - 1.0), -0.5, 0.5), np.zeros_like(p), np.ones_like(p)
    for c in LOG_GAMMA_AT_2:
        near = near * d + c
    for k in range(1, 8):
        up = np.where(k <= steps, up * (p + 1.0 - k), up)
    log_gamma = d * near - np.log1p(np.where(p < 0.5, p, 0.0))  # of p + 1, for p < 3/2
    front = np.exp(-z) * np.minimum(z, 1e30) ** np.minimum(p, 8.0) / (up * np.exp(log_gamma))
    # for p ≥ 8: (z/p)ᵖ eᵖ⁻ᶻ by log(1 + m) − m, over Stirling's series of Γ, DLMF 5.11.1
    b, far, tail = np.maximum(p, 8.0), np.zeros_like(p), np.zeros_like(p)
    m = (z - b) / b
    u = m / (2.0 + m)
    for k in range(33, 1, -2):
        tail = (tail * u * u) + 1.0 / k
    phi = np.where(np.abs(u) < 0.3, 2.0 * u * u * u * tail - m * u, np.log(z / b) - m)
    for c in STIRLING:
        far = far / (b * b) + c
    front = np.where(p < 8.0, front, np.exp(b * phi - far / b) / np.sqrt(2.0 * np.pi * b))
    # P by its series, DLMF 8.11.4
    series = z < p + 1.0
    n, term, total, active = 0, np.ones_like(p), np.ones_like(p), series
    while np.any(active):
        n += 1
        term = np.where(active, term * z / (p + n), 0.0)
        total = total + term
        active = term > 1e-17 * total
    # Q by its continued fraction, DLMF 8.9.2, evaluated by Lentz's method
    w = np.where(series, p + 2.0, z)
    n, bottom = 0, w + 1.0 - p
    above, below = np.full_like(p, 1e300), 1.0 / bottom
    fraction, active = below, ~series
    while np.any(active):
        n += 1
        top, bottom = -n * (n - p), bottom + 2.0
        below, above = 1.0 / (top * below + bottom), bottom + top / above
        fraction = np.where(active, fraction * above * below, fraction)
        active = active & (np.abs(above * below - 1.0) > 2e-16) & (n < 100000)
    # Q for p < 1 and small z without cancellation: 1 − zᵖ / Γ(p + 1) · Σ (−z)ⁿ p / (n! (p + n)), DLMF 8.7.1
    v, power, rest = np.minimum(z, 1.5), np.ones_like(p), np.zeros_like(p)
    for n in range(1, 26):
        power = -power * v / n
        rest = rest + power * p / (p + n)
    log_front = np.minimum(p, 1.0) * np.log(v) - log_gamma
    corner = -np.expm1(log_front) - np.exp(log_front) * rest
    if upper:
        out = np.where(series, 1.0 - front * total, front * p * fraction)
        out = np.where((p < 1.0) & (z <= 1.5), corner, out)
    else:
        out = np.where(series, front * total, 1.0 - front * p * fraction)
    full = ((a == 0) & (x > 0)) | ((a > 0) & np.isfinite(a) & np.isposinf(x))
    none = ((a > 0) & (x == 0)) | (np.isposinf(a) & (x >= 0) & np.isfinite(x))
    edge = np.where(full, 0.0 if upper else 1.0, np.where(none, 1.0 if upper else 0.0, np.nan))
    return np.where(inside, out, edge).astype(dtype)


def _betainc(a: Any, b: Any, x: Any) -> Any:
    dtype = a.dtype
    a, b, x = np.broadcast_arrays(*(np.positive(v, dtype=np.float64) for v in (a, b, x)))
    valid = (a > 0) & (b > 0) & np.isfinite(a) & np.isfinite(b)
    inside = valid & (x > 0) & (x < 1)
    a, b, z = np.where(inside, a, 1.0), np.where(inside, b, 1.0), np.where(inside, x, 0.5)
    # I(a, b, x) = 1 − I(b, a, 1 − x), DLMF 8.17.4: take the side on which the fraction converges fast
    swap = z > (a + 1.0) / (a + b + 2.0)
    p, q = np.where(swap, b, a), np.where(swap, a, b)
    z, w = np.where(swap, 1.0 - z, z), np.where(swap, z, 1.0 - z)
    # log Γ by recurrence from log Γ(2 + d) = d·P(d), interpolated on [−1/2, 1/2], or by Stirling's series
    low, high = np.minimum(p, q), np.maximum(p, q)
    logs, series = [], []
    for y in (low, high, low + high):
        steps = np.clip(np.ceil(y - 2.5), 0.0, 6.0)
        d = np.clip(np.where(y < 0.5, y, np.where(y < 1.5, y - 1.0, y - steps - 2.0)), -0.5, 0.5)
        near, up, far, t = np.zeros_like(y), np.ones_like(y), np.zeros_like(y), np.maximum(y, 8.0)
        for c in LOG_GAMMA_AT_2:
            near = near * d + c
        for k in range(1, 7):
            up = np.where(k <= steps, up * (y - k), up)
        for c in STIRLING:
            far = far / (t * t) + c
        near = d * near + np.where(y < 1.5, -np.log(y), np.log(up)) - np.log1p(np.where(y < 0.5, y, 0.0))
        stirling = (t - 0.5) * (np.log(t) - 1.0) + (0.5 * np.log(2.0 * np.pi) - 0.5) + far / t
        logs.append(np.where(y < 8.0, near, stirling))
        series.append(far / t)
    # zᵖ wᑫ / B(p, q), where p or q is small, by log Γ(p + q) / Γ(high), without cancellation for large `high`
    t = np.maximum(high, 8.0)
    ratio = (t - 0.5) * np.log1p(low / t) + low * (np.log(low + t) - 1.0) + series[2] - series[1]
    ratio = np.where(high < 8.0, logs[2] - logs[1], ratio) - logs[0]
    log_z = np.where(z > 0.5, np.log1p(-w), np.log(z))
    log_w = np.where(w > 0.5, np.log1p(-z), np.log(w))
    front = np.exp(p * log_z + q * log_w + ratio)
    # … and where both are large by log(1 + m) − m of the distances from the peak, over Stirling's series
    exponent = series[2] - series[1] - series[0]
    for v, other, part in ((p, z * q - w * p, z), (q, w * p - z * q, w)):
        m = other / v
        u, tail = m / (2.0 + m), np.zeros_like(p)
        for k in range(33, 1, -2):
            tail = tail * u * u + 1.0 / k
        direct = np.log(part * ((p + q) / v)) - m
        exponent = exponent + v * np.where(np.abs(u) < 0.3, 2.0 * u * u * u * tail - m * u, direct)
    front = np.where(low < 8.0, front, np.exp(exponent) * np.sqrt(p / (2.0 * np.pi) * (q / (p + q)))) / p
    # the continued fraction, DLMF 8.17.22, evaluated by Lentz's method
    n, above, below = 0, np.ones_like(p), 1.0 / (1.0 - (p + q) * z / (p + 1.0))
    fraction, active = below, inside
    while np.any(active):
        n += 1
        for top in (
            n * (q - n) * z / ((p + 2 * n - 1.0) * (p + 2 * n)),
            -(p + n) * (p + q + n) * z / ((p + 2 * n) * (p + 2 * n + 1.0)),
        ):
            below, above = 1.0 / (1.0 + top * below), 1.0 + top / above
            fraction = np.where(active, fraction * above * below, fraction)
        active = active & (np.abs(above * below - 1.0) > 2e-16) & (n < 100000)
    out = np.where(swap, 1.0 - front * fraction, front * fraction)
    edge = np.where(x == 0, 0.0, np.where(x == 1, 1.0, np.nan))
    return np.where(inside, out, np.where(valid, edge, np.nan)).astype(dtype)


def _gammainc_type(*types: ArrayType, upper: bool) -> ArrayType:
    return elementwise_type("gammainc", 2, "f", same_dtype)(*types)


def _along_x(op: str, tangents: tuple[Value | None, ...]) -> Value:
    """The tangent of x; an error if a parameter has one."""
    *parameters, tangent = tangents
    if tangent is None or any(t is not None for t in parameters):
        raise NotDifferentiableError(
            f"{op} has a derivative with respect to its last argument only: with respect to the others there "
            "is not a closed form. Differences, or an integral of the density, give it"
        )
    return tangent


def _jvp_gammainc(inputs: Any, tangents: Any, outputs: Any, upper: bool) -> Value:
    """The density xᵃ⁻¹ e⁻ˣ / Γ(a)."""
    a, x = inputs
    tangent = _along_x("gammainc", tangents)
    density = bind("gamma_integrand", subtract(a, 1), call("gammaln", a), x)
    rate = multiply(tangent, negative(density) if upper else density)
    return broadcast_to(rate, outputs[0].shape)


def _jvp_betainc(inputs: Any, tangents: Any, outputs: Any) -> Value:
    """The density xᵃ⁻¹ (1 − x)ᵇ⁻¹ / B(a, b)."""
    a, b, x = inputs
    tangent = _along_x("betainc", tangents)
    log_beta = subtract(add(call("gammaln", a), call("gammaln", b)), call("gammaln", add(a, b)))
    density = bind("beta_integrand", subtract(a, 1), subtract(b, 1), log_beta, x)
    return broadcast_to(multiply(tangent, density), outputs[0].shape)


register(
    Op(
        name="gammainc",
        family=FAMILY,
        type=_gammainc_type,
        numpy=_gammainc,
        jvp=_jvp_gammainc,
        transpose=not_linear,
        batch=batch_elementwise("gammainc"),
        spelling={"c": "tm_gammainc_{t}({0}, {1}, {upper})", "triton": "tm_gammainc({0}, {1}, {upper})"},
        effect=None,
        doc="The regularised incomplete gamma function P(a, x), or with `upper` its complement Q(a, x).",
    )
)
register(
    Op(
        name="betainc",
        family=FAMILY,
        type=elementwise_type("betainc", 3, "f", same_dtype),
        numpy=_betainc,
        jvp=_jvp_betainc,
        transpose=not_linear,
        batch=batch_elementwise("betainc"),
        spelling={"c": "tm_betainc_{t}({0}, {1}, {2})", "triton": "tm_betainc({0}, {1}, {2})"},
        effect=None,
        doc="The regularised incomplete beta function I(a, b, x) for a, b > 0.",
    )
)


# ---- the integrands ----------------------------------------------------------------------------------
#
# Their derivatives lower a power, as that of xᵖ is p·xᵖ⁻¹. The chain rule of the exponential below would divide by x
# and subtract what is nearly equal, which leaves nothing of p·(p − 1)·xᵖ⁻² at 0 and few digits near it.


def _gamma_integrand(p: Value, c: Value, x: Value) -> Value:
    return exp(subtract(subtract(call("xlogy", p, x), x), c))


def _beta_integrand(p: Value, q: Value, c: Value, x: Value) -> Value:
    powers = add(call("xlogy", p, x), call("xlog1py", q, negative(x)))
    return exp(subtract(powers, c))


def _lowered(p: Value, base: Value, x: Value, integrand: Callable[[Value, Value], Value]) -> Value:
    """p·``integrand(p − 1, x)``, and 0 where p and its base are both 0."""
    nothing = logical_and(equal(p, 0), equal(base, 0))
    return multiply(p, integrand(subtract(p, 1), where(nothing, 0.5, x)))


def _times_log(out: Value, p: Value, base: Value) -> Value:
    """The derivative by an exponent: out·log(base), and 0 where the base is 0 and the power, too."""
    zero = logical_and(equal(base, 0), greater(p, 0))
    return where(zero, 0, multiply(out, log(where(zero, 1, base))))


def _gamma_integrand_dx(out: Value, p: Value, c: Value, x: Value) -> Value:
    lowered = _lowered(p, x, x, lambda p, x: bind("gamma_integrand", p, c, x))
    return subtract(lowered, out)


def _beta_integrand_dx(out: Value, p: Value, q: Value, c: Value, x: Value) -> Value:
    left = _lowered(p, x, x, lambda p, x: bind("beta_integrand", p, q, c, x))
    right = _lowered(q, subtract(1, x), x, lambda q, x: bind("beta_integrand", p, q, c, x))
    return subtract(left, right)


composite(
    "gamma_integrand", _gamma_integrand, check=elementwise_type("gamma_integrand", 3, "f", same_dtype),
    jvp=jvp_of((
        lambda out, p, c, x: _times_log(out, p, x),
        lambda out, p, c, x: negative(out),
        _gamma_integrand_dx,
    )),
    transpose=not_linear, batch=batch_elementwise("gamma_integrand"), family=FAMILY,
    doc="xᵖ e⁻ˣ⁻ᶜ: what the incomplete gamma function integrates, scaled.",
)  # fmt: skip
composite(
    "beta_integrand", _beta_integrand, check=elementwise_type("beta_integrand", 4, "f", same_dtype),
    jvp=jvp_of((
        lambda out, p, q, c, x: _times_log(out, p, x),
        lambda out, p, q, c, x: _times_log(out, q, subtract(1, x)),
        lambda out, p, q, c, x: negative(out),
        _beta_integrand_dx,
    )),
    transpose=not_linear, batch=batch_elementwise("beta_integrand"), family=FAMILY,
    doc="xᵖ (1 − x)^q e⁻ᶜ: what the incomplete beta function integrates, scaled.",
)  # fmt: skip
