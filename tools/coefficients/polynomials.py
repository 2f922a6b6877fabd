"""`POLYNOMIALS`: what the polynomials in the C functions approximate, and where."""

from dataclasses import dataclass
from typing import Final

import mpmath
from mpmath import mp

from .minimax import DIGITS, Function, Real, minimax

_BITS: Final = {"f64": 53, "f32": 24}
_LONG: Final = 14
"""Polynomials of more coefficients are computed in two parts at once, those of even and of odd powers."""


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A polynomial that a C function computes."""

    name: str
    """Of the C function, whose parameter is the variable."""
    wanted: Function
    weight: Function
    """The error in the result for an error of 1 in the polynomial, relative to the result."""
    low: float
    high: float
    count: int
    """How many coefficients it has."""

    @property
    def is_double(self) -> bool:
        return self.name.endswith("f64")

    def coefficients(self) -> list[float]:
        """The constant first."""
        found = minimax(self.wanted, self.weight, (self.low, self.high), self.count, self.bits)
        return [float(one) for one in found]

    @property
    def bits(self) -> int:
        """The precision of the coefficients."""
        return _BITS[self.name[-3:]]

    def error(self, coefficients: list[float], points: int = 1000) -> float:
        """The largest error of these coefficients on a grid of `points` intervals, in units in the last place."""
        with mp.workdps(DIGITS):
            numbers = [mpmath.mpf(one) for one in reversed(coefficients)]
            low, high = mpmath.mpf(self.low), mpmath.mpf(self.high)
            grid = (low + (high - low) * place / points for place in range(points + 1))
            errors = (self.weight(x) * abs(mpmath.polyval(numbers, x) - self.wanted(x)) for x in grid)
            return float(max(errors) * 2**self.bits)

    def text(self, coefficients: list[float]) -> str:
        """The C function."""
        kind, fma, suffix = ("double", "fma", "") if self.is_double else ("float", "fmaf", "f")
        numbers = [f"{_hex(one)}{suffix}" for one in coefficients]
        lines = [f"static inline {kind} {self.name}({kind} x)", "{"]
        if self.count > _LONG:
            lines += [f"    const {kind} z = x * x;"]
            lines += _horner(kind, fma, "p", "z", numbers[::2]) + _horner(kind, fma, "q", "z", numbers[1::2])
            lines += [f"    return {fma}(q, x, p);"]
        else:
            lines += _horner(kind, fma, "p", "x", numbers[1:])
            lines.append(f"    return {fma}(p, x, {numbers[0]});")
        return "\n".join([*lines, "}", ""])


def _horner(kind: str, fma: str, name: str, x: str, coefficients: list[str]) -> list[str]:
    """The statements that compute a polynomial, the constant first, in a variable."""
    *numbers, second, first = coefficients
    lines = [f"    {kind} {name} = {fma}({x}, {first}, {second});"]
    return lines + [f"    {name} = {fma}({name}, {x}, {one});" for one in reversed(numbers)]


def _hex(x: float) -> str:
    """``0x1.5p-1``, without zeros at the end."""
    digits, exponent = x.hex().split("p")
    return f"{digits.rstrip('0').rstrip('.')}p{exponent}"


def _with_limit(function: Function, limit: Function) -> Function:
    """A function, and near 0, where its formula has no digits left, its limit."""
    return lambda x: function(x) if abs(x) > mpmath.mpf(10) ** -22 else limit(x)


def _exp_tail(r: Real) -> Real:
    return (mpmath.expm1(r) - r) / r**2


def _exp2_tail(r: Real) -> Real:
    return mpmath.expm1(r * mpmath.log(2)) / r


def _log_tail(z: Real) -> Real:
    s = mpmath.sqrt(z)
    return (2 * mpmath.atanh(s) / s - 2) / z


def _power_tail(z: Real) -> Real:
    return (_log_tail(z) - mpmath.mpf(2) / 3) / z


def _cosh_tail(z: Real) -> Real:
    return (mpmath.cosh(mpmath.sqrt(z)) - 1) / z


def _cos_tail(z: Real) -> Real:
    return (mpmath.cos(mpmath.sqrt(z)) - 1) / z


def _erf_tail(z: Real) -> Real:
    return mpmath.erf(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1


def _erfc_root(x: Real) -> Real:
    """Its fourth power is erfc."""
    return mpmath.root(mpmath.erfc(x + mpmath.mpf(5) / 4), 4)


def _erfc_root_weight(x: Real) -> Real:
    return 4 * _erfc_root(x) ** 3 / mpmath.erf(x + mpmath.mpf(5) / 4)


def _scaled_erfc(t: Real) -> Real:
    """``0.8 (1 + 2x) exp(x²) erfc(x)`` for ``t = 1.25 (x − 4) / (x + 4)``."""
    x = 4 * (5 + 4 * t) / (5 - 4 * t)
    return 4 * (1 + 2 * x) * mpmath.exp(x * x) * mpmath.erfc(x) / 5


def _inverse_cbrt(x: Real) -> Real:
    """The start of an iteration."""
    return 1 / mpmath.cbrt(x)


def _tail_of_odd(function: Function) -> Function:
    """``(f(√z) / √z − 1) / z``: with it, f(x) is x + x z tail(z) for z = x²."""
    return lambda z: (function(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z


def _in_square(z: Real) -> Real:
    """The weight of the tail of an odd function in x², relative to x."""
    return z


def _of_odd(function: Function) -> Function:
    """The weight of the tail of an odd function, relative to the function."""
    return lambda z: z * mpmath.sqrt(z) / function(mpmath.sqrt(z)) if z else mpmath.mpf(0)


_HALF_LOG_2: Final = 0.34657362
_SQUARE: Final = 0.1201133
"""Of half of log(2)."""
_EIGHTH_SQUARED: Final = 0.6169
"""The square of an eighth of a turn, π/4."""

_ROWS: Final[tuple[tuple[str, Function, Function, Function, float, float, dict[str, int]], ...]] = (
    (
        "exp",
        _exp_tail,
        lambda x: mpmath.mpf(1) / 2,
        lambda r: mpmath.exp(-r),
        -_HALF_LOG_2,
        _HALF_LOG_2,
        {"f64": 11, "f32": 6},
    ),
    (
        "exp2",
        _exp2_tail,
        lambda x: mpmath.log(2),
        lambda r: mpmath.power(2, -r),
        -0.5000001,
        0.5000001,
        {"f64": 12, "f32": 6},
    ),
    ("log", _log_tail, lambda x: mpmath.mpf(2) / 3, _in_square, 0, 0.02944656, {"f64": 7, "f32": 3}),
    (
        "power",
        _power_tail,
        lambda x: mpmath.mpf(2) / 5,
        lambda z: z * z / 2,
        0,
        0.02944656,
        {"f64": 7, "f32": 3},
    ),
    (
        "sinh",
        _tail_of_odd(mpmath.sinh),
        lambda x: mpmath.mpf(1) / 6,
        _in_square,
        0,
        _SQUARE,
        {"f64": 5, "f32": 3},
    ),
    ("cosh", _cosh_tail, lambda x: mpmath.mpf(1) / 2, _in_square, 0, _SQUARE, {"f64": 6, "f32": 3}),
    (
        "tanh",
        _tail_of_odd(mpmath.tanh),
        lambda x: mpmath.mpf(-1) / 3,
        _of_odd(mpmath.tanh),
        0,
        0.36,
        {"f64": 11},
    ),
    (
        "atan",
        _tail_of_odd(mpmath.atan),
        lambda x: mpmath.mpf(-1) / 3,
        _in_square,
        0,
        0.17158,
        {"f64": 11, "f32": 5},
    ),
    (
        "asin",
        _tail_of_odd(mpmath.asin),
        lambda x: mpmath.mpf(1) / 6,
        _in_square,
        0,
        0.25,
        {"f64": 13, "f32": 5},
    ),
    (
        "sin",
        _tail_of_odd(mpmath.sin),
        lambda x: mpmath.mpf(-1) / 6,
        _of_odd(mpmath.sin),
        0,
        _EIGHTH_SQUARED,
        {"f64": 6, "f32": 3},
    ),
    (
        "cos",
        _cos_tail,
        lambda x: mpmath.mpf(-1) / 2,
        lambda z: z / mpmath.cos(mpmath.sqrt(z)),
        0,
        _EIGHTH_SQUARED,
        {"f64": 7, "f32": 4},
    ),
    (
        "tan",
        _tail_of_odd(mpmath.tan),
        lambda x: mpmath.mpf(1) / 3,
        _of_odd(mpmath.tan),
        0,
        _EIGHTH_SQUARED,
        {"f64": 15, "f32": 7},
    ),
    (
        "erf",
        _erf_tail,
        lambda x: 2 / mpmath.sqrt(mp.pi) - 1,
        lambda z: mpmath.sqrt(z) / mpmath.erf(mpmath.sqrt(z)) if z else mpmath.sqrt(mp.pi) / 2,
        0,
        1.5625,
        {"f64": 14, "f32": 8},
    ),
    (
        "erfc_root",
        _erfc_root,
        _erfc_root,
        _erfc_root_weight,
        0,
        4.65,
        {"f64": 20},
    ),
    (
        "erfc_root",
        _erfc_root,
        _erfc_root,
        _erfc_root_weight,
        0,
        2.65,
        {"f32": 8},
    ),
    (
        "scaled_erfc",
        lambda t: _scaled_erfc(t) - 1,
        lambda t: _scaled_erfc(t) - 1,
        lambda t: 1 / _scaled_erfc(t),
        -0.838,
        0.9308,
        {"f64": 21},
    ),
    (
        "scaled_erfc",
        lambda t: _scaled_erfc(t) - 1,
        lambda t: _scaled_erfc(t) - 1,
        lambda t: 1 / _scaled_erfc(t),
        -0.838,
        0.541,
        {"f32": 10},
    ),
    ("cbrt", _inverse_cbrt, _inverse_cbrt, mpmath.cbrt, 0.3535, 2.8285, {"f64": 6, "f32": 6}),
)
"""The function, its tail, the limit of that at 0, the weight, the interval, and how many coefficients."""

POLYNOMIALS: Final = {
    f"tm_{stem}_tail_{dtype}": Polynomial(
        f"tm_{stem}_tail_{dtype}", _with_limit(tail, limit), weight, low, high, count
    )
    for stem, tail, limit, weight, low, high, counts in _ROWS
    for dtype, count in counts.items()
}
