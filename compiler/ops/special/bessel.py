"""Bessel functions of orders 0 and 1, and higher orders in terms of them.

NumPy definitions compute in f64 and round once. The coefficients are of Chebyshev series, interpolated at the
Chebyshev nodes of the named interval with 60 digits, truncated below 2e-18, and summed by Clenshaw's method. Near
zeros of the functions, the error is about 1e-16 of their amplitude.
"""

from typing import Any

import numpy as np

from ...builder import bind
from ...ir import ArrayType, Value
from ...op import not_linear
from ...value_ops import (
    absolute,
    add,
    constant,
    divide,
    exp,
    full_like,
    less,
    multiply,
    negative,
    sign,
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
from .coefficients import J0_NEAR, J0_P, J0_Q, J1_NEAR, J1_P, J1_Q

FAMILY = "bessel"


def _i0e(x: Any) -> Any:
    z = np.positive(x, dtype=np.float64)
    a = np.abs(z)
    # exp(−a) I₀(a) on [0, 8]
    t = np.minimum(a, 8.0) / 4.0 - 1.0
    b0 = b1 = np.zeros_like(z)
    for c in (
        -4.4153416464793395e-18, 3.3307945188222384e-17, -2.431279846547955e-16, 1.715391285555133e-15,
        -1.1685332877993451e-14, 7.676185498604936e-14, -4.856446783111929e-13, 2.95505266312964e-12,
        -1.726826291441556e-11, 9.675809035373237e-11, -5.189795601635263e-10, 2.6598237246823866e-09,
        -1.300025009986248e-08, 6.046995022541919e-08, -2.670793853940612e-07, 1.1173875391201037e-06,
        -4.4167383584587505e-06, 1.6448448070728896e-05, -5.754195010082104e-05, 0.00018850288509584165,
        -0.0005763755745385824, 0.0016394756169413357, -0.004324309995050576, 0.010546460394594998,
        -0.02373741480589947, 0.04930528423967071, -0.09490109704804764, 0.17162090152220877,
        -0.3046826723431984, 0.33839763720473803,
    ):  # fmt: skip
        b0, b1 = c + 2.0 * t * b0 - b1, b0
    near = b0 - t * b1
    # √a exp(−a) I₀(a) in 8 / a
    t = 16.0 / np.maximum(a, 8.0) - 1.0
    b0 = b1 = np.zeros_like(z)
    for c in (
        1.193650890845982e-18, 9.921475412173699e-19, -7.233180487874754e-18, -4.830504485944182e-18,
        4.46562142029676e-17, 3.461222867697461e-17, -2.8276239805165836e-16, -3.425485619677219e-16,
        1.7725601330565263e-15, 3.8116806693526224e-15, -9.554846698828307e-15, -4.150569347287222e-14,
        1.54008621752141e-14, 3.8527783827421426e-13, 7.180124451383666e-13, -1.7941785315068062e-12,
        -1.3215811840447713e-11, -3.1499165279632416e-11, 1.1889147107846439e-11, 4.94060238822497e-10,
        3.3962320257083865e-09, 2.266668990498178e-08, 2.0489185894690638e-07, 2.8913705208347567e-06,
        6.889758346916825e-05, 0.0033691164782556943, 0.4022452055070544,
    ):  # fmt: skip
        b0, b1 = c + 2.0 * t * b0 - b1, b0
    far = b0 - t * b1
    far = far / np.sqrt(np.maximum(a, 8.0))
    return np.where(a < 8.0, near, far).astype(x.dtype)


def _i1e(x: Any) -> Any:
    z = np.positive(x, dtype=np.float64)
    a = np.abs(z)
    # exp(−a) I₁(a) / a on [0, 8]
    t = np.minimum(a, 8.0) / 4.0 - 1.0
    b0 = b1 = np.zeros_like(z)
    for c in (
        -3.541581772542136e-19, 2.7779141127610464e-18, -2.111421214358166e-17, 1.5536319577362005e-16,
        -1.1055969477353862e-15, 7.600684294735408e-15, -5.042185504727912e-14, 3.223793365945575e-13,
        -1.9839743977649436e-12, 1.1736186298890901e-11, -6.663489723502027e-11, 3.625590281552117e-10,
        -1.8872497517228294e-09, 9.381537386495773e-09, -4.445059128796328e-08, 2.0032947535521353e-07,
        -8.568720264695455e-07, 3.4702513081376785e-06, -1.3273163656039436e-05, 4.781565107550054e-05,
        -0.00016176081582589674, 0.0005122859561685758, -0.0015135724506312532, 0.004156422944312888,
        -0.010564084894626197, 0.024726449030626516, -0.05294598120809499, 0.1026436586898471,
        -0.17641651835783406, 0.12629359322181682,
    ):  # fmt: skip
        b0, b1 = c + 2.0 * t * b0 - b1, b0
    near = b0 - t * b1
    near = z * near
    # √a exp(−a) I₁(a) in 8 / a
    t = 16.0 / np.maximum(a, 8.0) - 1.0
    b0 = b1 = np.zeros_like(z)
    for c in (
        -1.242193275194891e-18, -9.314178867326884e-19, 7.517296310842105e-18, 4.414348323071708e-18,
        -4.6503053684893586e-17, -3.209525921993424e-17, 2.96262899764595e-16, 3.3082023109209285e-16,
        -1.8803547755107825e-15, -3.8144030724370075e-15, 1.0420276984128802e-14, 4.272440016711951e-14,
        -2.1015418427726643e-14, -4.0835511110921974e-13, -7.198551776245908e-13, 2.0356285441470896e-12,
        1.4125807436613782e-11, 3.2526035830154884e-11, -1.8974958123505413e-11, -5.589743462196584e-10,
        -3.835380385964237e-09, -2.6314688468895196e-08, -2.512236237870209e-07, -3.882564808877691e-06,
        -0.00011058893876262371, -0.009761097491361469, 0.38928811750914005,
    ):  # fmt: skip
        b0, b1 = c + 2.0 * t * b0 - b1, b0
    far = b0 - t * b1
    far = far / np.sqrt(np.maximum(a, 8.0))
    far = np.copysign(far, z)
    return np.where(a < 8.0, near, far).astype(x.dtype)


def _j0(x: Any) -> Any:
    z = np.positive(x, dtype=np.float64)
    a = np.abs(z)
    s = np.minimum(a, 8.0)
    # J₀(a) in a² on [0, 64]
    t = s * s / 32.0 - 1.0
    b0 = b1 = np.zeros_like(z)
    for c in J0_NEAR:
        b0, b1 = c + 2.0 * t * b0 - b1, b0
    near = b0 - t * b1
    # amplitude and phase, DLMF 10.17.3: P and Q in (8/a)² on [0, 1]
    r = 8.0 / np.maximum(a, 8.0)
    t = 2.0 * r * r - 1.0
    b0 = b1 = np.zeros_like(z)
    for c in J0_P:
        b0, b1 = c + 2.0 * t * b0 - b1, b0
    p = b0 - t * b1
    b0 = b1 = np.zeros_like(z)
    for c in J0_Q:
        b0, b1 = c + 2.0 * t * b0 - b1, b0
    q = b0 - t * b1
    v = np.where(np.isinf(a), 8.0, np.maximum(a, 8.0))
    cosine, sine = np.cos(v), np.sin(v)
    far = np.where(
        np.isinf(a), 0.0, (p * (cosine + sine) - q * r * (sine - cosine)) / (np.sqrt(np.pi) * np.sqrt(v))
    )
    return np.where(a < 8.0, near, far).astype(x.dtype)


def _j1(x: Any) -> Any:
    z = np.positive(x, dtype=np.float64)
    a = np.abs(z)
    s = np.minimum(a, 8.0)
    # J₁(a) / a in a² on [0, 64]
    t = s * s / 32.0 - 1.0
    b0 = b1 = np.zeros_like(z)
    for c in J1_NEAR:
        b0, b1 = c + 2.0 * t * b0 - b1, b0
    near = b0 - t * b1
    near = s * near
    # amplitude and phase, DLMF 10.17.3: P and Q in (8/a)² on [0, 1]
    r = 8.0 / np.maximum(a, 8.0)
    t = 2.0 * r * r - 1.0
    b0 = b1 = np.zeros_like(z)
    for c in J1_P:
        b0, b1 = c + 2.0 * t * b0 - b1, b0
    p = b0 - t * b1
    b0 = b1 = np.zeros_like(z)
    for c in J1_Q:
        b0, b1 = c + 2.0 * t * b0 - b1, b0
    q = b0 - t * b1
    v = np.where(np.isinf(a), 8.0, np.maximum(a, 8.0))
    cosine, sine = np.cos(v), np.sin(v)
    far = np.where(
        np.isinf(a), 0.0, (p * (sine - cosine) + q * r * (sine + cosine)) / (np.sqrt(np.pi) * np.sqrt(v))
    )
    out = np.where(z < 0, -1.0, 1.0) * np.where(a < 8.0, near, far)
    return np.where(z == 0, z, out).astype(x.dtype)


def _y0(x: Any) -> Any:
    z = np.positive(x, dtype=np.float64)
    a = np.abs(z)
    s = np.minimum(a, 8.0)
    # J₀(a) in a² on [0, 64]
    t = s * s / 32.0 - 1.0
    b0 = b1 = np.zeros_like(z)
    for c in J0_NEAR:
        b0, b1 = c + 2.0 * t * b0 - b1, b0
    near = b0 - t * b1
    # Y₀(a) − (2/π) log(a) J₀(a), in a² on [0, 64]
    b0 = b1 = np.zeros_like(z)
    for c in (
        -2.6977881152566837e-17, 1.6434898714919468e-15, -8.747341203310769e-14, 4.02633081830612e-12,
        -1.5837552541812015e-10, 5.248794787330516e-09, -1.44072332740187e-07, 3.206532537654801e-06,
        -5.632079141056987e-05, 0.0007531135932577742, -0.007287962479552079, 0.04719668959576339,
        -0.17730201278114358, 0.26156734625504663, 0.17903431407718265, -0.2744743055297453,
        -0.03314611320328494,
    ):  # fmt: skip
        b0, b1 = c + 2.0 * t * b0 - b1, b0
    rest = b0 - t * b1
    near = (2.0 / np.pi) * np.log(s) * near + rest
    # amplitude and phase, DLMF 10.17.3: P and Q in (8/a)² on [0, 1]
    r = 8.0 / np.maximum(a, 8.0)
    t = 2.0 * r * r - 1.0
    b0 = b1 = np.zeros_like(z)
    for c in J0_P:
        b0, b1 = c + 2.0 * t * b0 - b1, b0
    p = b0 - t * b1
    b0 = b1 = np.zeros_like(z)
    for c in J0_Q:
        b0, b1 = c + 2.0 * t * b0 - b1, b0
    q = b0 - t * b1
    v = np.where(np.isinf(a), 8.0, np.maximum(a, 8.0))
    cosine, sine = np.cos(v), np.sin(v)
    far = np.where(
        np.isinf(a), 0.0, (p * (sine - cosine) + q * r * (cosine + sine)) / (np.sqrt(np.pi) * np.sqrt(v))
    )
    return np.where(z < 0, np.nan, np.where(z == 0, -np.inf, np.where(a < 8.0, near, far))).astype(x.dtype)


def _y1(x: Any) -> Any:
    z = np.positive(x, dtype=np.float64)
    a = np.abs(z)
    s = np.minimum(a, 8.0)
    # J₁(a) / a in a² on [0, 64]
    t = s * s / 32.0 - 1.0
    b0 = b1 = np.zeros_like(z)
    for c in J1_NEAR:
        b0, b1 = c + 2.0 * t * b0 - b1, b0
    near = b0 - t * b1
    near = s * near
    # (Y₁(a) − (2/π) (log(a) J₁(a) − 1/a)) / a, in a² on [0, 64]
    b0 = b1 = np.zeros_like(z)
    for c in (
        -8.224911372021585e-19, 5.34668038572867e-17, -3.0511859694473254e-15, 1.51429151205002e-13,
        -6.4651518414115946e-12, 2.344337905911516e-10, -7.11055004989928e-09, 1.7707804556154404e-07,
        -3.53808001868935e-06, 5.505982873338744e-05, -0.0006414551451326356, 0.005289897544167113,
        -0.028328123944594365, 0.08445197259652346, -0.09591204536083074, -0.01608717304766875,
        0.0025380132357417816,
    ):  # fmt: skip
        b0, b1 = c + 2.0 * t * b0 - b1, b0
    rest = b0 - t * b1
    near = (2.0 / np.pi) * (np.log(s) * near - 1.0 / s) + s * rest
    # amplitude and phase, DLMF 10.17.3: P and Q in (8/a)² on [0, 1]
    r = 8.0 / np.maximum(a, 8.0)
    t = 2.0 * r * r - 1.0
    b0 = b1 = np.zeros_like(z)
    for c in J1_P:
        b0, b1 = c + 2.0 * t * b0 - b1, b0
    p = b0 - t * b1
    b0 = b1 = np.zeros_like(z)
    for c in J1_Q:
        b0, b1 = c + 2.0 * t * b0 - b1, b0
    q = b0 - t * b1
    v = np.where(np.isinf(a), 8.0, np.maximum(a, 8.0))
    cosine, sine = np.cos(v), np.sin(v)
    far = np.where(
        np.isinf(a), 0.0, (q * r * (sine - cosine) - p * (sine + cosine)) / (np.sqrt(np.pi) * np.sqrt(v))
    )
    return np.where(z < 0, np.nan, np.where(z == 0, -np.inf, np.where(a < 8.0, near, far))).astype(x.dtype)


# ---- the ops of orders 0 and 1 -----------------------------------------------------------------------


def _row(name: str, meaning: Any, derivative: Derivative, triton: str, doc: str) -> None:
    elementwise(
        name, 1, meaning, derivatives=(derivative,), kinds="f",
        spelling={"c": f"tm_{name}_{{t}}({{0}})", "triton": triton}, family=FAMILY, doc=doc,
    )  # fmt: skip


_row("i0e", _i0e, lambda out, x: subtract(_scaled_i(x, 1), multiply(sign(x), out)), "tm_i0e_{t}({0})",
     "exp(−|x|)·I₀(x), the modified Bessel function of order 0, scaled.")  # fmt: skip
_row("i1e", _i1e, lambda out, x: _scaled_i_derivative(out, x, 1), "tm_i1e_{t}({0})",
     "exp(−|x|)·I₁(x), the modified Bessel function of order 1, scaled.")  # fmt: skip
_row("j0", _j0, lambda out, x: negative(_j(x, 1)), "libdevice.j0({0})",
     "The Bessel function of the first kind of order 0.")  # fmt: skip
_row("j1", _j1, lambda out, x: _half(subtract(_j(x, 0), _j(x, 2))), "libdevice.j1({0})",
     "The Bessel function of the first kind of order 1.")  # fmt: skip
_row("y0", _y0, lambda out, x: negative(call("y1", x)), "libdevice.y0({0})",
     "The Bessel function of the second kind of order 0, for x > 0.")  # fmt: skip
_row("y1", _y1, lambda out, x: subtract(call("y0", x), divide(out, x)), "libdevice.y1({0})",
     "The Bessel function of the second kind of order 1, for x > 0.")  # fmt: skip


# ---- other orders, which the derivatives need --------------------------------------------------------
#
# 2 Jₙ' = Jₙ₋₁ − Jₙ₊₁ and 2 Iₙ' = Iₙ₋₁ + Iₙ₊₁, DLMF 10.6.1 and 10.29.1. Unlike the forms with Jₙ / x they can be
# differentiated again at x = 0 and lose no digits near it.


def _half(x: Value) -> Value:
    return multiply(x, 0.5)


def _j(x: Value, order: int) -> Value:
    """Jₙ(x)."""
    return call(f"j{order}", x) if order < 2 else bind("bessel_j", x, order=order)


def _i(x: Value, order: int) -> Value:
    """Iₙ(x)."""
    return bind("bessel_i", x, order=order)


def _scaled_i(x: Value, order: int) -> Value:
    """exp(−|x|)·Iₙ(x)."""
    return call(f"i{order}e", x) if order < 2 else bind("bessel_ie", x, order=order)


def _scaled_i_derivative(out: Value, x: Value, order: int) -> Value:
    neighbours = _half(add(_scaled_i(x, order - 1), _scaled_i(x, order + 1)))
    return subtract(neighbours, multiply(sign(x), out))


def _by_series(x: Value, order: int, sign: int, reach: float) -> Value:
    """Jₙ (sign −1) or Iₙ (sign 1) for |x| ≤ `reach`: (x/2)ⁿ/n! · Σ (±x²/4)ᵏ n! / (k! (n + k)!).

    DLMF 10.2.2 and 10.25.2.
    """
    square_of_half = multiply(square(x), 0.25 * sign)
    terms, size = 0, 1.0
    while size > 1e-17:
        terms += 1
        size *= reach**2 / (4 * terms * (order + terms))
    total = full_like(x, 1)
    for k in range(terms, 0, -1):
        total = add(multiply(multiply(square_of_half, 1 / (k * (order + k))), total), 1)
    for k in range(1, order + 1):
        total = multiply(total, multiply(x, 0.5 / k))
    return total


def _bessel_j(x: Value, order: int) -> Value:
    """Near 0 by the series, elsewhere by recurrence upwards from orders 0 and 1, which loses no accuracy for |x| >
    n."""
    reach = order + 1.0
    near = less(absolute(x), reach)
    divisor = where(near, 1, x)
    before, at = _j(x, 0), _j(x, 1)
    for k in range(1, order):
        before, at = at, subtract(multiply(at, divide(constant(2 * k, x.dtype), divisor)), before)
    return where(near, _by_series(where(near, x, 0), order, -1, reach), at)


def _bessel_ie(x: Value, order: int) -> Value:
    """Near 0 by the series, elsewhere by recurrence upwards from orders 0 and 1, which loses a digit or two for small
    n."""
    reach = 2.0 * order + 2.0
    size = absolute(x)
    near = less(size, reach)
    divisor = where(near, 1, x)
    before, at = _scaled_i(x, 0), _scaled_i(x, 1)
    for k in range(1, order):
        before, at = at, subtract(before, multiply(at, divide(constant(2 * k, x.dtype), divisor)))
    series = multiply(_by_series(where(near, x, 0), order, 1, reach), exp(negative(size)))
    return where(near, series, at)


def _bessel_i(x: Value, order: int) -> Value:
    return multiply(_scaled_i(x, order), exp(absolute(x)))


def _ordered(name: str, lowest: int, decomposed: Any, derivative: Derivative, doc: str) -> None:
    """A function with the parameter `order`; ``derivative(output, input, order)``."""
    of_its_shape = elementwise_type(name, 1, "f", same_dtype)

    def check(*types: ArrayType, order: int) -> None:
        check_order(name, order, lowest, 128)
        of_its_shape(*types)

    def jvp(inputs: tuple[Value], tangents: tuple[Value], outputs: tuple[Value], order: int) -> Value:
        return multiply(tangents[0], derivative(outputs[0], inputs[0], order))

    composite(
        name, decomposed, check=check, jvp=jvp, transpose=not_linear, batch=batch_elementwise(name),
        family=FAMILY, doc=doc,
    )  # fmt: skip


_ordered("bessel_j", 2, _bessel_j, lambda out, x, order: _half(subtract(_j(x, order - 1), _j(x, order + 1))),
         doc="Jₙ(x), the Bessel function of the first kind of an order n ≥ 2.")  # fmt: skip
_ordered("bessel_ie", 2, _bessel_ie, _scaled_i_derivative,
         doc="exp(−|x|)·Iₙ(x), the modified Bessel function of an order n ≥ 2, scaled.")  # fmt: skip
_ordered("bessel_i", 0, _bessel_i,
         lambda out, x, order: _half(add(_i(x, order - 1), _i(x, order + 1))) if order else _i(x, 1),
         doc="Iₙ(x), the modified Bessel function of an order n ≥ 0.")  # fmt: skip
