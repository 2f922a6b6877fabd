"""Derivatives of the error functions, exponential and trigonometric integrals, and of what is elementary."""

import math
from typing import Final

from .rule import Rule
from .terms import Term, apply, cos, exp, log, sin, special, where

ROOT_PI: Final = math.sqrt(math.pi)
HALF_PI: Final = math.pi / 2
DEGREE: Final = math.pi / 180


def _expn(out: Term, n: Term, x: Term) -> Term:
    """−Eₙ₋₁, where E₋₁ = (e⁻ˣ + E₀) / x."""
    lowest = n < 1
    return where(
        lowest, -(exp(-x) + out) / x, -special("expn", apply("maximum", n - 1, 0), where(lowest, 1.0, x))
    )


def _divided(x: Term, numerator: Term, at_zero: float) -> Term:
    is_zero = x.is_equal(0)
    return where(is_zero, at_zero, numerator / where(is_zero, 1.0, x))


def _owens_by_h(out: Term, h: Term, a: Term) -> Term:
    return -exp(-0.5 * h * h) * special("erf", a * h / math.sqrt(2)) / math.sqrt(8 * math.pi)


def _owens_by_a(out: Term, h: Term, a: Term) -> Term:
    square = 1 + a * a
    return exp(-0.5 * h * h * square) / (2 * math.pi * square)


def _faddeeva_slope(z: Term, w: Term) -> Term:
    return -2 * z * w + 2j / ROOT_PI


def _voigt(x: Term, width: Term, gamma: Term) -> tuple[Term, Term]:
    """z and w′(z) of the profile Re w(z) / (σ √2π), where z = (x + iγ) / (σ √2)."""
    scale = math.sqrt(2) * width
    z = x / scale + 1j * (gamma / scale)
    return z, _faddeeva_slope(z, special("wofz", z))


def _voigt_by_x(out: Term, x: Term, width: Term, gamma: Term) -> Term:
    _, slope = _voigt(x, width, gamma)
    return apply("real", slope) / (2 * ROOT_PI * width * width)


def _voigt_by_width(out: Term, x: Term, width: Term, gamma: Term) -> Term:
    z, slope = _voigt(x, width, gamma)
    return -(out + apply("real", z * slope) / (math.sqrt(2 * math.pi) * width)) / width


def _voigt_by_gamma(out: Term, x: Term, width: Term, gamma: Term) -> Term:
    _, slope = _voigt(x, width, gamma)
    return -apply("imag", slope) / (2 * ROOT_PI * width * width)


def _fresnel(out: tuple[Term, ...], x: Term) -> tuple[Term, ...]:
    angle = HALF_PI * x * x
    return sin(angle), cos(angle)


def _modified_fresnel(sign: int) -> Rule:
    def rule(out: tuple[Term, ...], x: Term) -> tuple[Term, ...]:
        turn = sign * 1j
        start = complex(math.cos(math.pi / 4), -sign * math.sin(math.pi / 4)) / ROOT_PI
        return -exp(turn * (x * x)), -2 * turn * (x * out[1]) - start

    return rule


def _sine_integrals(out: tuple[Term, ...], x: Term) -> tuple[Term, ...]:
    return _divided(x, sin(x), 1.0), cos(x) / x


def _hyperbolic_integrals(out: tuple[Term, ...], x: Term) -> tuple[Term, ...]:
    return _divided(x, apply("sinh", x), 1.0), apply("cosh", x) / x


def _binomial_by_n(out: Term, n: Term, k: Term) -> Term:
    return out * (special("psi", n + 1) - special("psi", n - k + 1))


def _binomial_by_k(out: Term, n: Term, k: Term) -> Term:
    return out * (special("psi", n - k + 1) - special("psi", k + 1))


def _tangent(sign: int) -> Rule:
    return lambda out, x: sign * DEGREE * (1 + out * out)


DERIVATIVES: Final[dict[str, tuple[Rule | None, ...]]] = {
    "dawsn": (lambda out, x: 1 - 2 * x * out,),
    "erfi": (lambda out, x: 2 / ROOT_PI * exp(x * x),),
    "wofz": (lambda out, z: _faddeeva_slope(z, out),),
    "erf": (lambda out, z: 2 / ROOT_PI * exp(-z * z),),
    "erfc": (lambda out, z: -2 / ROOT_PI * exp(-z * z),),
    "erfcx": (lambda out, z: 2 * z * out - 2 / ROOT_PI,),
    "voigt_profile": (_voigt_by_x, _voigt_by_width, _voigt_by_gamma),
    "fresnel": (_fresnel,),
    "modfresnelp": (_modified_fresnel(1),),
    "modfresnelm": (_modified_fresnel(-1),),
    "owens_t": (_owens_by_h, _owens_by_a),
    "expn": (None, _expn),
    "exp1": (lambda out, x: -exp(-x) / x,),
    "expi": (lambda out, x: exp(x) / x,),
    "_scaled_exp1": (lambda out, x: out * (1 + 1 / x) - 1,),
    "sici": (_sine_integrals,),
    "shichi": (_hyperbolic_integrals,),
    "binom": (_binomial_by_n, _binomial_by_k),
    "sindg": (lambda out, x: DEGREE * special("cosdg", x),),
    "cosdg": (lambda out, x: -DEGREE * special("sindg", x),),
    "tandg": (_tangent(1),),
    "cotdg": (_tangent(-1),),
    "radian": (
        lambda out, degrees, minutes, seconds: DEGREE * (1 + 0 * degrees),
        lambda out, degrees, minutes, seconds: DEGREE / 60 * (1 + 0 * degrees),
        lambda out, degrees, minutes, seconds: DEGREE / 3600 * (1 + 0 * degrees),
    ),
    "gamma": (lambda out, z: out * special("psi", z),),
    "rgamma": (lambda out, z: -out * special("psi", z),),
    "loggamma": (lambda out, z: special("psi", z),),
    "xlogy": (lambda out, x, y: log(y), lambda out, x, y: x / y),
    "xlog1py": (lambda out, x, y: apply("log1p", y), lambda out, x, y: x / (1 + y)),
}
