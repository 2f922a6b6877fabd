"""The gamma family: log |Γ| and its derivatives.

NumPy definitions compute in f64 and round once. The coefficients marked "interpolated" are of polynomials through the
Chebyshev nodes of the named interval, computed with 60 digits and truncated below 2e-18. DLMF is the NIST Digital
Library of Mathematical Functions, https://dlmf.nist.gov.
"""

from typing import Any

import numpy as np

from ...builder import bind
from ...ir import ArrayType, Value
from ...op import Op, not_linear, register
from ...value_ops import elementwise as call
from ...value_ops import multiply
from ..elementwise.broadcasting import (
    batch_elementwise,
    check_order,
    elementwise,
    elementwise_type,
    same_dtype,
)
from .coefficients import LOG_GAMMA_AT_2, STIRLING

FAMILY = "gamma"


# ---- log |Γ|, digamma, polygamma ----------------------------------------------------------------------


def _gammaln(x: Any) -> Any:
    z = np.positive(x, dtype=np.float64)
    y = np.where(z < 0, 1.0 - z, z)
    # Γ(y) by recurrence from 3/2 … 5/2, where log Γ(2 + d) = d·P(d), interpolated on [−1/2, 1/2]
    steps = np.clip(np.ceil(y - 2.5), 0.0, 6.0)
    d = np.clip(np.where(y < 0.5, y, np.where(y < 1.5, y - 1.0, y - steps - 2.0)), -0.5, 0.5)
    near, up = np.zeros_like(y), np.ones_like(y)
    for c in LOG_GAMMA_AT_2:
        near = near * d + c
    for k in range(1, 7):
        up = np.where(k <= steps, up * (y - k), up)
    near = d * near + np.where(y < 1.5, -np.log(y), np.log(up)) - np.log1p(np.where(y < 0.5, y, 0.0))
    # Stirling's series, DLMF 5.11.1
    b, far = np.maximum(y, 8.0), np.zeros_like(y)
    for c in STIRLING:
        far = far / (b * b) + c
    far = (b - 0.5) * (np.log(b) - 1.0) + (0.5 * np.log(2.0 * np.pi) - 0.5) + far / b
    out = np.where(y < 8.0, near, far)
    # Γ(z) Γ(1 − z) = π / sin πz, DLMF 5.5.3
    r = np.abs(z - np.rint(z))
    reflected = np.where(r == 0, np.inf, -np.log(np.sin(np.pi * r) / np.pi) - out)
    return np.where(np.isinf(z), z, np.where(z < 0, reflected, out)).astype(x.dtype)


def _digamma(x: Any) -> Any:
    z = np.positive(x, dtype=np.float64)
    y = np.where(z < 0, 1.0 - z, z)
    # by recurrence from 1 … 2, where ψ(1.5 + d) = (1.5 + d − root)·P(d), interpolated on [−1/2, 1/2]
    steps = np.clip(np.floor(y - 1.0), 0.0, 8.0)
    d = np.clip(np.where(y < 1.0, y - 0.5, y - steps - 1.5), -0.5, 0.5)
    near = np.zeros_like(y)
    for c in (
        -8.401289563760489e-05, 0.00012241591000024265, -5.76048865255672e-05, 9.158816882117e-05,
        -0.00022008418201681154, 0.00032689316473621455, -0.00045917430083105225, 0.0006899428514219089,
        -0.0010424375640517788, 0.0015635739915515125, -0.0023446244638506528, 0.0035180792717028125,
        -0.005280020264450306, 0.007927024136843637, -0.011908215022954471, 0.01790724819228875,
        -0.026975796849870903, 0.040760833944741226, -0.06192213327154086, 0.09498872445282817,
        -0.14840492305391872, 0.24054248424078736, -0.42362742128146047, 0.9510558760318328,
    ):  # fmt: skip
        near = near * d + c
    near = ((d - (1.4616321449683622 - 1.5)) - 9.549995429965697e-17) * near  # the root in two parts
    for k in range(1, 9):
        near = near + np.where(k <= steps, 1.0 / (y - np.where(k <= steps, k, 0.0)), 0.0)
    near = near - np.where(y < 1.0, 1.0 / y, 0.0)
    # DLMF 5.11.2
    b, far = np.maximum(y, 10.0), np.zeros_like(y)
    for c in (
        -0.4432598039215686, 0.08333333333333334, -0.02109279609279609, 0.007575757575757576,
        -0.004166666666666667, 0.003968253968253968, -0.008333333333333333, 0.08333333333333333,
    ):  # fmt: skip
        far = far / (b * b) + c
    far = np.log(b) - 0.5 / b - far / (b * b)
    out = np.where(y < 10.0, near, far)
    # ψ(1 − z) − ψ(z) = π cot πz, DLMF 5.5.4
    r = z - np.rint(z)
    pole = (z < 0) & ((r == 0) | np.isinf(z))
    reflected = out - np.pi / np.tan(np.pi * np.where(pole, 0.25, r))
    return np.where(pole, np.nan, np.where(z < 0, reflected, out)).astype(x.dtype)


def _polygamma(x: Any, order: Any) -> Any:
    z = np.positive(x, dtype=np.float64)
    y = np.where(z < 0, 1.0 - z, z)
    # (−1)ⁿ⁺¹ n! ζ(n + 1, y), the Hurwitz zeta function by Euler and Maclaurin, DLMF 25.11.5
    s, count = order + 1.0, 12 + order
    b = y + count
    total = b ** (1.0 - s) / (s - 1.0) + 0.5 * b**-s
    rising = s * b ** (-s - 1.0) / 2.0  # (s)₂ⱼ₋₁ b^(−s−2j+1) / (2j)!
    j = 1
    for bernoulli in (
        0.16666666666666666, -0.03333333333333333, 0.023809523809523808, -0.03333333333333333,
        0.07575757575757576, -0.2531135531135531, 1.1666666666666667, -7.092156862745098,
        54.971177944862156, -529.1242424242424, 6192.123188405797, -86580.25311355312, 1425517.1666666667,
    ):  # fmt: skip
        total = total + bernoulli * rising
        rising = rising * (s + 2 * j - 1) * (s + 2 * j) / ((2 * j + 1) * (2 * j + 2)) / (b * b)
        j += 1
    for k in range(count - 1, -1, -1):
        total = total + (y + k) ** -s
    factorial = 1.0
    for k in range(2, order + 1):
        factorial = factorial * k
    out = (-1.0) ** (order + 1) * factorial * total
    # DLMF 5.15.6, with the derivatives of cot πz as polynomials in cot πz
    powers = np.array([0.0, 1.0])
    for _ in range(order):
        slope = powers[1:] * np.arange(1, len(powers))
        powers = -np.pi * (np.append(slope, [0.0, 0.0]) + np.append([0.0, 0.0], slope))
    r = z - np.rint(z)
    pole = (r == 0) | np.isinf(z)
    cot = 1.0 / np.tan(np.pi * np.where(pole, 0.25, r))
    wave = powers[-1]
    for c in powers[-2::-1]:
        wave = wave * cot + c
    reflected = np.where(pole, (-1.0) ** (order + 1) * np.inf, (-1.0) ** order * out - np.pi * wave)
    return np.where(z < 0, reflected, out).astype(x.dtype)


def _polygamma_type(*types: ArrayType, order: int) -> ArrayType:
    check_order("polygamma", order, 1, 169, ", order 0 is digamma")  # 170! is not finite
    return elementwise_type("polygamma", 1, "f", same_dtype)(*types)


def polygamma(x: Value, order: int) -> Value:
    """The derivative of that order, from 1, of digamma."""
    return bind("polygamma", x, order=order)


elementwise(
    "gammaln", 1, _gammaln, derivatives=(lambda out, x: call("digamma", x),), kinds="f",
    spelling={"c": "tm_gammaln_{t}({0})", "triton": "tm_gammaln({0})"}, family=FAMILY,
    doc="The logarithm of |Γ(x)|.",
)  # fmt: skip
elementwise(
    "digamma", 1, _digamma, derivatives=(lambda out, x: polygamma(x, 1),), kinds="f",
    spelling={"c": "tm_digamma_{t}({0})", "triton": "tm_digamma_{t}({0})"}, family=FAMILY,
    doc="The derivative of log Γ.",
)  # fmt: skip
register(
    Op(
        name="polygamma",
        family=FAMILY,
        type=_polygamma_type,
        numpy=_polygamma,
        jvp=lambda inputs, tangents, outputs, order: multiply(tangents[0], polygamma(inputs[0], order + 1)),
        transpose=not_linear,
        batch=batch_elementwise("polygamma"),
        spelling={"c": "tm_polygamma_{order}_{t}({0})", "triton": "tm_polygamma_{order}_{t}({0})"},
        effect=None,
        doc="The derivative of the given order, from 1, of digamma.",
    )
)
