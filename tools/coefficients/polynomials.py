"""`POLYNOMIALS`: what the polynomials in the C functions approximate, and where."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import mpmath
from mpmath import mp

from .minimax import DIGITS, Function, Real, minimax

_BITS: Final = {"f64": 53, "f32": 24}


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
        """The largest error of a polynomial with these coefficients at so many points, in units in the last place."""
        with mp.workdps(DIGITS):
            numbers = [mpmath.mpf(one) for one in reversed(coefficients)]
            low, high = mpmath.mpf(self.low), mpmath.mpf(self.high)
            grid = (low + (high - low) * place / points for place in range(points + 1))
            errors = (self.weight(x) * abs(mpmath.polyval(numbers, x) - self.wanted(x)) for x in grid)
            return float(max(errors) * 2**self.bits)

    def text(self) -> str:
        """The C function."""
        kind, fma, suffix = ("double", "fma", "") if self.is_double else ("float", "fmaf", "f")
        *numbers, second, first = (f"{_hex(one)}{suffix}" for one in self.coefficients())
        lines = [f"static inline {kind} {self.name}({kind} x)", "{"]
        lines += [f"    {kind} p = {fma}(x, {first}, {second});"]
        lines += [f"    p = {fma}(p, x, {one});" for one in numbers[:0:-1]]
        return "\n".join([*lines, f"    return {fma}(p, x, {numbers[0]});", "}", ""])


def _hex(x: float) -> str:
    """``0x1.5p-1``, without zeros at the end."""
    digits, exponent = x.hex().split("p")
    return f"{digits.rstrip('0').rstrip('.')}p{exponent}"


def _with_limit(function: Function, limit: Callable[[], Real]) -> Function:
    """A function with its limit at 0."""
    return lambda x: limit() if abs(x) < mpmath.mpf(10) ** -22 else function(x)


def _exp_tail(r: Real) -> Real:
    return (mpmath.expm1(r) - r) / r**2


def _exp2_tail(r: Real) -> Real:
    return mpmath.expm1(r * mpmath.log(2)) / r


def _log_tail(z: Real) -> Real:
    s = mpmath.sqrt(z)
    return (2 * mpmath.atanh(s) / s - 2) / z


def _sinh_tail(z: Real) -> Real:
    y = mpmath.sqrt(z)
    return (mpmath.sinh(y) / y - 1) / z


def _cosh_tail(z: Real) -> Real:
    return (mpmath.cosh(mpmath.sqrt(z)) - 1) / z


def _tanh_tail(z: Real) -> Real:
    y = mpmath.sqrt(z)
    return (mpmath.tanh(y) / y - 1) / z


def _in_square(z: Real) -> Real:
    """The weight of the tail of an odd function in x², relative to x."""
    return z


def _of_tanh(z: Real) -> Real:
    return z * mpmath.sqrt(z) / mpmath.tanh(mpmath.sqrt(z)) if z else mpmath.mpf(0)


def _polynomials() -> Iterator[Polynomial]:
    half_log_2, square = 0.34657362, 0.1201133
    for dtype, of_exp, of_exp2, of_log, of_sinh, of_cosh in (
        ("f64", 11, 12, 7, 5, 6),
        ("f32", 6, 6, 3, 3, 3),
    ):
        yield Polynomial(
            f"tm_exp_tail_{dtype}",
            _with_limit(_exp_tail, lambda: mpmath.mpf(1) / 2),
            lambda r: mpmath.exp(-r),
            -half_log_2,
            half_log_2,
            of_exp,
        )
        yield Polynomial(
            f"tm_exp2_tail_{dtype}",
            _with_limit(_exp2_tail, lambda: mpmath.log(2)),
            lambda r: mpmath.power(2, -r),
            -0.5000001,
            0.5000001,
            of_exp2,
        )
        yield Polynomial(
            f"tm_log_tail_{dtype}",
            _with_limit(_log_tail, lambda: mpmath.mpf(2) / 3),
            _in_square,
            0,
            0.02944656,
            of_log,
        )
        yield Polynomial(
            f"tm_sinh_tail_{dtype}",
            _with_limit(_sinh_tail, lambda: mpmath.mpf(1) / 6),
            _in_square,
            0,
            square,
            of_sinh,
        )
        yield Polynomial(
            f"tm_cosh_tail_{dtype}",
            _with_limit(_cosh_tail, lambda: mpmath.mpf(1) / 2),
            _in_square,
            0,
            square,
            of_cosh,
        )
    yield Polynomial(
        "tm_tanh_tail_f64", _with_limit(_tanh_tail, lambda: mpmath.mpf(-1) / 3), _of_tanh, 0, 0.36, 11
    )


POLYNOMIALS: Final = {one.name: one for one in _polynomials()}
