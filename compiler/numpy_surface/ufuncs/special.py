"""The ufuncs of `scipy.special` that are not one op of the same name. SciPy itself is not needed."""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ...builder import bind
from ...errors import DTypeError
from ...tracing.traced_array import TracedArray, wrap
from .mathematics import bessel_i
from .ufunc_calls import BY_NAME

F = TypeVar("F", bound=Callable[..., Any])
ROOT_TWO = math.sqrt(2.0)


def _special(*names: str, wide: bool = False) -> Callable[[F], F]:
    """Register the decorated function of traced arrays for the ufuncs of these names.

    A `wide` one loses digits on the way to its result: as in SciPy, f32 is computed in f64.
    """

    def register(function: F) -> F:
        def widened(*operands: TracedArray) -> Any:
            return function(*[x.astype(np.float64) if x.dtype == np.float32 else x for x in operands])

        BY_NAME.update(dict.fromkeys(names, widened if wide else function))
        return function

    return register


def _op(name: str, *operands: Any, **params: Any) -> Any:
    if operands[0].dtype.kind == "c":
        raise DTypeError(f"{name} is not defined for complex numbers")
    return wrap(bind(name, *[x.value for x in operands], **params))


# ---- the gamma function and its kin ------------------------------------------------------------------

# P. Godfrey, "A note on the computation of the convergent Lanczos complex Gamma approximation" (2001), g = 7.
_LANCZOS = (
    0.99999999999980993,
    676.5203681218851,
    -1259.1392167224028,
    771.32342877765313,
    -176.61502916214059,
    12.507343278686905,
    -0.13857109526572012,
    9.9843695780195716e-6,
    1.5056327351493116e-7,
)


def _lanczos(x: Any) -> Any:
    """Γ(x) for x ≥ 1/2. The power is computed as a square, so that it overflows no earlier than Γ."""
    y = x - 1
    series = _LANCZOS[0] + 0 * y
    for k, coefficient in enumerate(_LANCZOS[1:], 1):
        series = series + coefficient / (y + k)
    t = y + 7.5
    half_power = np.power(t, 0.5 * (y + 0.5))
    return math.sqrt(2.0 * math.pi) * half_power * np.exp(-t) * half_power * series


def _sin_pi(x: Any) -> Any:
    """sin(πx), exactly 0 at integers, −0 at −0."""
    nearest = np.rint(x)
    sign = 1 - 2 * np.abs(np.remainder(nearest, 2))
    return sign * np.sin(np.pi * np.where(x == 0, x, x - nearest))


@_special("gamma", wide=True)
def gamma(x: Any) -> Any:
    """Γ(x); by reflection below 1/2. NaN at negative integers, infinite at 0."""
    z, small = _reflected(x)
    value = _lanczos(z)
    sine = _sin_pi(np.where(small, x, 0.5))
    reflected = np.pi / (sine * value)
    pole = (x <= 0) & (x == np.floor(x))
    infinite = np.copysign(np.inf, x).astype(x.dtype)
    at_pole = np.where(x == 0, infinite, np.asarray(np.nan, x.dtype))
    result = np.where(small, reflected, value)
    # From 2.6e305 on, log Γ overflows. Γ and its derivatives are infinite there, as they are at smaller numbers.
    fitting = np.where(x > 1e300, 1e-10 * x, x)
    result = np.where(pole, at_pole, _with_slopes_of(result, np.where(pole | np.isinf(x), 1.0, fitting)))
    return np.where(x == np.inf, x, result)


def _with_slopes_of(value: Any, x: Any) -> Any:
    """Γ(x), given as `value`, with the derivatives Γψ, Γ(ψ² + ψ′) …, as log |Γ| has them.

    The factors of Lanczos' formula have derivatives that overflow where those of Γ do not.
    """
    size = _op("gammaln", x)
    return _op("stop_gradient", value) * np.exp(size - _op("stop_gradient", size))


def _reflected(x: Any) -> tuple[Any, Any]:
    """x or 1 − x, whichever is at least 1/2, and where it is the latter. Limited, since Γ overflows at 172."""
    small = x < 0.5
    return np.minimum(np.where(small, 1 - x, x), 180.0), small


@_special("rgamma", wide=True)
def rgamma(x: Any) -> Any:
    """1 / Γ(x), which is 0 at the poles."""
    z, small = _reflected(x)
    mirrored, same = np.where(small, z, 1.0), np.where(small, 1.0, z)
    below = _sin_pi(np.where(small, x, 0.5)) / np.pi * _with_slopes_of(_lanczos(mirrored), mirrored)
    size = _op("gammaln", same)
    # Γ overflows at 172.
    value = np.where(same > 170, np.exp(-size), 1 / _lanczos(np.minimum(same, 170.0)))
    above = _op("stop_gradient", value) * np.exp(_op("stop_gradient", size) - size)
    result = np.where(small, np.where(x == 0, below, below + 0.0), above)  # the only pole with −0 is −0
    far_pole = (x < -170) & (x == np.floor(x))  # where Γ(1 − x) is infinite
    return np.where((x > 180) | far_pole, np.zeros_like(result), result)


@_special("gammasgn")
def gammasgn(x: Any) -> Any:
    """The sign of Γ(x)."""
    odd = np.remainder(np.floor(x), 2) != 0
    sign = np.where((x < 0) & odd, -np.ones_like(x), np.ones_like(x))
    pole = (x < 0) & (x == np.floor(x))
    zero_sign = np.where(x == 0, np.copysign(np.ones_like(x), x), sign)
    return np.where(np.isnan(x) | pole, np.full_like(x, np.nan), zero_sign)


@_special("loggamma")
def loggamma(x: Any) -> Any:
    return np.where(x < 0, np.full_like(x, np.nan), _op("gammaln", x))


@_special("psi", "digamma")
def psi(x: TracedArray) -> Any:
    return _op("digamma", x)


@_special("betaln", wide=True)
def betaln(a: Any, b: Any) -> Any:
    return _op("gammaln", a) + (_op("gammaln", b) - _op("gammaln", a + b))


@_special("beta", wide=True)
def beta(a: Any, b: Any) -> Any:
    return gammasgn(a) * gammasgn(b) * gammasgn(a + b) * np.exp(betaln(a, b))


@_special("poch", wide=True)
def poch(x: Any, m: Any) -> Any:
    """Γ(x + m) / Γ(x), which is x·Γ(x + m) / Γ(x + 1) near the pole at 0."""
    near = (np.abs(x) < 0.5) & (m != 0)
    below = np.where(near, x + 1, x)
    return np.where(near, x, 1) * (
        gammasgn(x + m) * gammasgn(below) * np.exp(_op("gammaln", x + m) - _op("gammaln", below))
    )


@_special("gammainc")
def gammainc(a: TracedArray, x: TracedArray) -> Any:
    return _op("gammainc", a, x, upper=False)


@_special("gammaincc")
def gammaincc(a: TracedArray, x: TracedArray) -> Any:
    return _op("gammainc", a, x, upper=True)


@_special("chdtr")
def chdtr(v: Any, x: Any) -> Any:
    return gammainc(v / 2, x / 2)


@_special("chdtrc")
def chdtrc(v: Any, x: Any) -> Any:
    return gammaincc(v / 2, x / 2)


@_special("betaincc")
def betaincc(a: Any, b: Any, x: Any) -> Any:
    return _op("betainc", b, a, 1 - x)


# ---- error functions and the normal distribution -----------------------------------------------------


@_special("erfcinv")
def erfcinv(x: Any) -> Any:
    """Through the quantile of the normal distribution, which is accurate for small x."""
    return -_op("ndtri", x / 2) / ROOT_TWO


@_special("ndtr")
def ndtr(x: Any) -> Any:
    return 0.5 * _op("erfc", -x / ROOT_TWO)


# ---- logistic functions, logarithms, entropies -------------------------------------------------------


@_special("expit")
def expit(x: TracedArray) -> Any:
    return _op("sigmoid", x)


@_special("log_expit")
def log_expit(x: TracedArray) -> Any:
    return _op("log_sigmoid", x)


@_special("logit")
def logit(x: Any) -> Any:
    """log(x / (1 − x)), by log1p near 1/2, where it is small."""
    s = 2 * (x - 0.5)
    near = np.abs(s) < 0.5
    inner, outer = np.where(near, s, 0), np.where(near, 0.5, x)
    return np.where(near, np.log1p(inner) - np.log1p(-inner), np.log(outer / (1 - outer)))


@_special("rel_entr")
def rel_entr(x: Any, y: Any) -> Any:
    """x·log(x / y) for positive x and y, 0 for x = 0 ≤ y, else infinite."""
    return _relative_entropy(x, y, lambda a, b: a * np.log(a / b), np.zeros_like(y))


@_special("kl_div")
def kl_div(x: Any, y: Any) -> Any:
    """x·log(x / y) − x + y for positive x and y, y for x = 0 ≤ y, else infinite."""
    return _relative_entropy(x, y, lambda a, b: a * np.log(a / b) - a + b, y)


def _relative_entropy(x: Any, y: Any, inside: Callable[[Any, Any], Any], at_zero: Any) -> Any:
    positive = (x > 0) & (y > 0)
    value = inside(np.where(positive, x, 1), np.where(positive, y, 1))
    infinite = np.full_like(value, np.inf)
    result = np.where(positive, value, np.where((x == 0) & (y >= 0), at_zero, infinite))
    return np.where(np.isnan(x) | np.isnan(y), np.full_like(value, np.nan), result)


@_special("exprel")
def exprel(x: TracedArray) -> Any:
    """(e^x − 1) / x, 1 at 0."""
    return _op("exprel", x, order=0)


@_special("exp10")
def exp10(x: Any) -> Any:
    return np.power(np.asarray(10.0, x.dtype)[()], x)


@_special("cosm1")
def cosm1(x: Any) -> Any:
    """cos(x) − 1, by the sine of half the angle."""
    half = np.sin(x / 2)
    return -2 * half * half


@_special("powm1", wide=True)
def powm1(x: Any, y: Any) -> Any:
    return _op("powm1", x, y)


@_special("boxcox", wide=True)
def boxcox(x: Any, power: Any) -> Any:
    """(x^power − 1) / power, and log(x) at power 0."""
    return _op("box_cox", x, power, order=0, shifted=False)


@_special("boxcox1p", wide=True)
def boxcox1p(x: Any, power: Any) -> Any:
    return _op("box_cox", x, power, order=0, shifted=True)


@_special("inv_boxcox", wide=True)
def inv_boxcox(y: TracedArray, power: TracedArray) -> Any:
    return np.exp(_op("log1p_over", y, power))


@_special("inv_boxcox1p", wide=True)
def inv_boxcox1p(y: TracedArray, power: TracedArray) -> Any:
    return np.expm1(_op("log1p_over", y, power))


@_special("huber")
def huber(delta: Any, r: Any) -> Any:
    """r² / 2 up to delta, then linear."""
    inside = np.abs(r) <= delta
    loss = np.where(inside, 0.5 * r * r, delta * (np.abs(r) - 0.5 * delta))
    return np.where(delta < 0, np.full_like(loss, np.inf), loss)


@_special("pseudo_huber")
def pseudo_huber(delta: Any, r: Any) -> Any:
    """delta² (√(1 + (r / delta)²) − 1), written so that nothing cancels or overflows."""
    zero = delta == 0
    safe = np.where(zero, 1, delta)
    loss = np.where(zero, 0, r * (safe * (r / (safe + np.hypot(safe, r)))))
    return np.where(delta < 0, np.full_like(loss, np.inf), loss)


# ---- Bessel functions and others ---------------------------------------------------------------------


@_special("i0")
def i0(x: TracedArray) -> Any:
    return bessel_i(x, 0)


@_special("i1", wide=True)
def i1(x: TracedArray) -> Any:
    return bessel_i(x, 1)


@_special("round")
def round_(x: TracedArray) -> Any:
    return np.rint(x)
