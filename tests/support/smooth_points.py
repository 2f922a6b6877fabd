"""Points where a function is smooth and its formula is special, each with the same function in mpmath.

A row is a function of n numbers, the point, and the function that mpmath differentiates. Where the value is written by
cases, mpmath gets an analytic form that holds around the point.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import mpmath
import numpy as np
import scipy.special
from mpmath import mp

import tracemill as tm


@dataclass(frozen=True)
class Point:
    """``function(*at)`` is smooth, and ``expected`` is the same function of mpmath's numbers."""

    name: str
    function: Callable[..., Any]
    expected: Callable[..., Any]
    at: tuple[float, ...]
    tolerance: float = 1e-11
    matrix: str = ""
    """The matrix that the function starts from, if it does."""

    def __str__(self) -> str:
        return f"{self.name} at {self.matrix or ', '.join(f'{x:g}' for x in self.at)}"


def unary(name: str, function: Any, expected: Any, *points: float, tolerance: float = 1e-11) -> list[Point]:
    return [Point(name, function, expected, (x,), tolerance) for x in points]


def several(name: str, function: Any, expected: Any, *points: Sequence[float]) -> list[Point]:
    return [Point(name, function, expected, tuple(map(float, at))) for at in points]


def _expit(x: Any) -> Any:
    return 1 / (1 + mpmath.exp(-x))


def _sinc(x: Any) -> Any:
    """sin(πx) / (πx) by its product with the gamma function, which has no case at 0."""
    return mpmath.rgamma(1 + x) * mpmath.rgamma(1 - x)


def _y(order: int, x: Any) -> Any:
    """Y₀ or Y₁ by DLMF 10.8.1; mpmath's own function takes a limit in the order, which takes long."""
    total, term, harmonic = mp.mpf(0), (x / 2) ** order, mp.mpf(0)
    for k in range(40):
        total += term * (2 * harmonic + (mp.mpf(1) / (k + 1) if order else 0) - 2 * mp.euler)
        harmonic += mp.mpf(1) / (k + 1)
        term *= -x * x / 4 / ((k + 1) * (k + 1 + order))
    return (2 * mp.log(x / 2) * mp.besselj(order, x) - (2 / x if order else 0) - total) / mp.pi


def _power_minus_one(x: Any) -> Any:
    """(e^x − 1) / x as a hypergeometric function."""
    return mpmath.hyp1f1(1, 2, x)


ELEMENTARY = [
    *unary("exp", np.exp, mp.exp, 0.0, 1.0),
    *unary("exp2", np.exp2, lambda x: mp.mpf(2) ** x, 0.0, 1.0),
    *unary("expm1", np.expm1, mp.expm1, 0.0, 1e-9),
    *unary("log", np.log, mp.log, 1.0),
    *unary("log2", np.log2, lambda x: mp.log(x, 2), 1.0),
    *unary("log10", np.log10, mp.log10, 1.0),
    *unary("log1p", np.log1p, mp.log1p, 0.0, 1e-9),
    *unary("sin", np.sin, mp.sin, 0.0),
    *unary("cos", np.cos, mp.cos, 0.0),
    *unary("tan", np.tan, mp.tan, 0.0),
    *unary("arcsin", np.arcsin, mp.asin, 0.0),
    *unary("arccos", np.arccos, mp.acos, 0.0),
    *unary("arctan", np.arctan, mp.atan, 0.0, 1.0, -1.0),
    *unary("sinh", np.sinh, mp.sinh, 0.0),
    *unary("cosh", np.cosh, mp.cosh, 0.0),
    *unary("tanh", np.tanh, mp.tanh, 0.0),
    *unary("arcsinh", np.arcsinh, mp.asinh, 0.0),
    *unary("arccosh", np.arccosh, mp.acosh, 2.0),
    *unary("arctanh", np.arctanh, mp.atanh, 0.0),
    *unary("sqrt", np.sqrt, mp.sqrt, 1.0),
    *unary("cbrt", np.cbrt, lambda x: mp.sign(x) * mp.cbrt(abs(x)), 1.0, -1.0),
    *unary("reciprocal", np.reciprocal, lambda x: 1 / x, 1.0, -1.0),
    *unary("square", np.square, lambda x: x * x, 0.0),
    *unary("absolute", np.abs, abs, 1.0, -1.0),
    *unary("sinc", np.sinc, _sinc, 0.0, 1e-9, 0.25, 1.0, -1.0, 2.0),
    *several("arctan2", np.arctan2, lambda y, x: mp.arg(mp.mpc(x, y)), (0, 1), (1, 0), (-1, 0), (1, -1)),
    *several("arctan2", np.arctan2, lambda y, x: mp.pi + mp.atan(y / x), (0, -1)),
    *several("hypot", np.hypot, mp.hypot, (3, 0), (0, -2), (1, 1)),
    *several("multiply", np.multiply, lambda x, y: x * y, (0, 0), (0, 2)),
    *several("divide", np.divide, lambda x, y: x / y, (0, 1), (1, 1), (0, -2)),
    *several(
        "logaddexp", np.logaddexp, lambda x, y: mp.log(mp.exp(x) + mp.exp(y)), (0, 0), (1.5, 1.5), (0, 40)
    ),
    *several("logaddexp", np.logaddexp, lambda x, y: mp.log(mp.exp(x) + mp.exp(y)), (800, 800), (-800, -800)),
    *several("logaddexp2", np.logaddexp2, lambda x, y: mp.log(2**x + 2**y, 2), (0, 0), (-3, -3), (5, 9)),
    *unary(
        "logaddexp with 0", lambda x: np.logaddexp(0, x), lambda x: mp.log(1 + mp.exp(x)), 0.0, -40.0, 40.0
    ),
    *unary("logaddexp with itself", lambda x: np.logaddexp(x, x), lambda x: x + mp.log(2), 0.0, 3.0),
]

POWERS = [
    *unary("x**floor(x + 0.5)", lambda x: x ** np.floor(x + 0.5), lambda x: mp.mpf(1), 0.0),
    *unary("x**floor(x + 1.5)", lambda x: x ** np.floor(x + 1.5), lambda x: x, 0.0),
    *unary("x**floor(x + 2.5)", lambda x: x ** np.floor(x + 2.5), lambda x: x * x, 0.0),
    *unary("x**0", lambda x: x**0, lambda x: mp.mpf(1), 0.0, 1.0, -1.0),
    *unary("x**1", lambda x: x**1, lambda x: x, 0.0, -2.0),
    *unary("x**2", lambda x: x**2, lambda x: x**2, 0.0, -2.0),
    *unary("x**3", lambda x: x**3, lambda x: x**3, 0.0, -2.0),
    *unary("x**4", lambda x: x**4, lambda x: x**4, 0.0, -2.0),
    *unary("x**5", lambda x: np.float_power(x, 5), lambda x: x**5, 0.0, 1.0),
    *unary("x**-1", lambda x: x**-1, lambda x: 1 / x, 1.0, -2.0),
    *unary("x**-2", lambda x: x**-2.0, lambda x: x**-2, 1.0, -2.0),
    *unary("x**2.5", lambda x: x**2.5, lambda x: x**2.5, 1.0),
    *unary(
        "x**[0 1 2 3]", lambda x: np.sum(x ** np.arange(4.0)), lambda x: 1 + x + x**2 + x**3, 0.0, 1.0, -1.0
    ),
    *unary("2**y", lambda y: 2.0**y, lambda y: mp.mpf(2) ** y, 0.0, 1.0),
    *unary("1**y", lambda y: 1.0**y, lambda y: mp.mpf(1), 0.0, 1.0),
    *unary("0**y", lambda y: np.power(0.0, y), lambda y: mp.mpf(0), 1.0, 2.5),
    *several(
        "power",
        np.power,
        lambda x, y: mp.mpf(x) ** y,
        (2, 0),
        (1, 0),
        (2, 1),
        (1, 1),
        (3, 2),
        (2, -1),
        (0.5, 3),
    ),
    *several("float_power", np.float_power, lambda x, y: mp.mpf(x) ** y, (2, 0), (2, 1)),
    *several("x**y / x", lambda x, y: x**y / x, lambda x, y: mp.mpf(x) ** (y - 1), (2, 0), (2, 1)),
    *unary("x**x", lambda x: x**x, lambda x: x**x, 1.0, 2.0),
    *unary("x**sin(x)", lambda x: (x + 2) ** np.sin(x), lambda x: (x + 2) ** mp.sin(x), 0.0),
    *several("complex z**0", lambda x, y: ((x + 1j * y) ** 0).real, lambda x, y: mp.mpf(1), (0, 0), (1, 1)),
    *several("complex z**2", lambda x, y: ((x + 1j * y) ** 2).imag, lambda x, y: 2 * x * y, (0, 0), (1, -1)),
    *several(
        "complex z**3",
        lambda x, y: ((x + 1j * y) ** 3).real,
        lambda x, y: x**3 - 3 * x * y * y,
        (0, 0),
        (1, -1),
    ),
    *several(
        "complex z**w",
        lambda x, y: ((2 + 1j) ** (x + 1j * y)).real,
        lambda x, y: (mp.mpc(2, 1) ** mp.mpc(x, y)).real,
        (0, 0),
        (1, 0),
    ),
    *several(
        "complex z**z",
        lambda x, y: ((x + 1j * y) ** (x + 1j * y)).real,
        lambda x, y: (mp.mpc(x, y) ** mp.mpc(x, y)).real,
        (1, 0),
    ),
    *unary(
        "complex z**w, w = 0",
        lambda x: ((x + 2j) ** (x * (1 + 1j))).real,
        lambda x: (mp.mpc(x, 2) ** mp.mpc(x, x)).real,
        0.0,
    ),
]

COMPLEX = [
    *several("complex abs", lambda x, y: np.abs(x + 1j * y), mp.hypot, (1, 0), (0, -1), (3, 4)),
    *several(
        "complex angle", lambda x, y: np.angle(x + 1j * y), lambda x, y: mp.arg(mp.mpc(x, y)), (1, 0), (0, -1)
    ),
    *several(
        "complex sign",
        lambda x, y: np.sign(x + 1j * y).imag,
        lambda x, y: y / mp.hypot(x, y),
        (1, 0),
        (0, -1),
    ),
    *several(
        "complex sqrt", lambda x, y: np.sqrt(x + 1j * y).imag, lambda x, y: mp.sqrt(mp.mpc(x, y)).imag, (1, 0)
    ),
    *several(
        "complex log",
        lambda x, y: np.log(x + 1j * y).real,
        lambda x, y: mp.log(mp.hypot(x, y)),
        (1, 0),
        (0, -1),
    ),
    *several(
        "complex sinc",
        lambda x, y: np.sinc(x + 1j * y).imag,
        lambda x, y: _sinc(mp.mpc(x, y)).imag,
        (0, 0),
        (1e-5, 0),
        (1, 0),
    ),
    *several(
        "complex sinc",
        lambda x, y: np.sinc(x + 1j * y).real,
        lambda x, y: _sinc(mp.mpc(x, y)).real,
        (0, 0),
        (0.3, 1),
    ),
    *several("complex square", lambda x, y: np.square(x + 1j * y).imag, lambda x, y: 2 * x * y, (0, 0)),
    *several("complex exp", lambda x, y: np.exp(x + 1j * y).imag, lambda x, y: mp.exp(x) * mp.sin(y), (0, 0)),
]

special = scipy.special
SPECIAL = [
    *unary("gamma", special.gamma, mp.gamma, 0.5, 1.0, 2.0, 3.0, -0.5, tolerance=1e-10),
    *unary("rgamma", special.rgamma, mp.rgamma, 0.5, 0.0, -1.0, 1.0, tolerance=1e-10),
    *unary("gammaln", special.gammaln, mp.loggamma, 0.5, 1.0, 2.0),
    *unary("loggamma", special.loggamma, mp.loggamma, 1.0, 2.0),
    *unary("digamma", special.digamma, mp.digamma, 0.5, 1.0, 2.0),
    *several("beta", special.beta, mp.beta, (1, 1), (0.5, 0.5), (2, 1)),
    *several("betaln", special.betaln, lambda a, b: mp.log(mp.beta(a, b)), (1, 1), (0.5, 0.5)),
    *several("poch", special.poch, mp.rf, (1, 0), (2, 1), (1, 1)),
    *unary("gammainc", lambda x: special.gammainc(2.0, x), lambda x: 1 - (1 + x) * mp.exp(-x), 1.0, 2.0),
    *unary("gammaincc", lambda x: special.gammaincc(1.0, x), lambda x: mp.exp(-x), 1.0, 2.0),
    *unary(
        "gammainc at the end of its domain",
        lambda x: special.gammainc(3.0, x),
        lambda x: 1 - (1 + x + x * x / 2) * mp.exp(-x),
        0.0,
        1e-8,
    ),
    *unary("betainc", lambda x: special.betainc(2.0, 1.0, x), lambda x: x * x, 0.5, 0.25, 0.0, 1.0),
    *unary(
        "betaincc at the ends of its domain",
        lambda x: special.betaincc(2.0, 3.0, x),
        lambda x: 1 - x * x * (6 - 8 * x + 3 * x * x),
        0.0,
        1e-8,
        1.0,
    ),
    *unary("erf", special.erf, mp.erf, 0.0, 1.0),
    *unary("erfc", special.erfc, mp.erfc, 0.0, 1.0),
    *unary("erfcx", special.erfcx, lambda x: mp.exp(x * x) * mp.erfc(x), 0.0),
    *unary("erfinv", special.erfinv, mp.erfinv, 0.0, 1e-9),
    *unary("erfcinv", special.erfcinv, lambda x: mp.erfinv(1 - x), 1.0),
    *unary("ndtr", special.ndtr, mp.ncdf, 0.0),
    *unary("ndtri", special.ndtri, lambda x: mp.sqrt(2) * mp.erfinv(2 * x - 1), 0.5),
    *unary(
        "log_ndtr",
        special.log_ndtr,
        lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2),
        0.0,
        -20.0,
        -1000.0,
        20.0,
        tolerance=1e-12,
    ),
    *unary(
        "logarithm of erfcx",
        lambda x: np.log(special.erfcx(x)),
        lambda x: mp.log(mp.erfc(x)) + x * x,
        3.0,
        8.6,
        30.0,
        1e4,
    ),
    *unary("expit", special.expit, _expit, 0.0, 30.0),
    *unary("log_expit", special.log_expit, lambda x: -mp.log1p(mp.exp(-x)), 0.0),
    *unary("logit", special.logit, lambda x: mp.log(x / (1 - x)), 0.5, 0.25),
    *unary("entr", special.entr, lambda x: -x * mp.log(x), 1.0),
    *several("xlogy", special.xlogy, lambda x, y: x * mp.log(y), (0, 1), (0, 2), (1, 1)),
    *several("xlog1py", special.xlog1py, lambda x, y: x * mp.log1p(y), (0, 0), (0, 1), (1, 0)),
    *several("rel_entr", special.rel_entr, lambda x, y: x * mp.log(x / y), (1, 1), (2, 2)),
    *several("kl_div", special.kl_div, lambda x, y: x * mp.log(x / y) - x + y, (1, 1), (2, 2)),
    *unary("exprel", special.exprel, _power_minus_one, 0.0, 1e-5, 1.0, -1e-3),
    *unary("exp10", special.exp10, lambda x: mp.mpf(10) ** x, 0.0, 1.0),
    *unary("cosm1", special.cosm1, lambda x: mp.cos(x) - 1, 0.0),
    *several("powm1", special.powm1, lambda x, y: x**y - 1, (1, 0), (2, 0), (2, 1), (1e-4, 1), (1e-3, 2)),
    *unary("powm1 by 2, near 0", lambda x: special.powm1(x, 2.0), lambda x: x * x - 1, 1e-8, 1e-12),
    *unary("poch by 2", lambda x: special.poch(x, 2.0), lambda x: x * (x + 1), 0.0, 1e-8, 0.49, 0.51, 3.0),
    *unary("powm1 by 2", lambda x: special.powm1(x, 2.0), lambda x: x * x - 1, 0.0, -1.0),
    *several(
        "boxcox",
        special.boxcox,
        lambda x, p: mp.log(x) * _power_minus_one(p * mp.log(x)),
        (2, 0),
        (1, 0),
        (1, 1),
        (2, 1e-6),
        (1e-8, 2),
    ),
    *unary("boxcox by 2, at 0", lambda x: special.boxcox(x, 2.0), lambda x: (x * x - 1) / 2, 0.0),
    *several(
        "boxcox1p",
        special.boxcox1p,
        lambda x, p: mp.log1p(x) * _power_minus_one(p * mp.log1p(x)),
        (1, 0),
        (0, 0),
        (0, 1),
    ),
    *several(
        "inv_boxcox",
        special.inv_boxcox,
        lambda y, p: (1 + p * y) ** (1 / p) if p else mp.exp(y),
        (0, 1),
        (1, 1),
    ),
    *several(
        "inv_boxcox",
        special.inv_boxcox,
        lambda y, p: mp.exp(y * mp.hyp2f1(1, 1, 2, -p * y)),
        (1, 0),
        (0, 0),
        (2, 1e-6),
    ),
    *unary("huber", lambda r: special.huber(1.0, r), lambda r: r * r / 2, 0.0, 0.5),
    *several(
        "pseudo_huber",
        special.pseudo_huber,
        lambda d, r: d * d * (mp.sqrt(1 + (r / d) ** 2) - 1),
        (1, 0),
        (1, 1),
        (1e-6, 1),
    ),
    *unary("i0", np.i0, lambda x: mp.besseli(0, x), 0.0, 1e-8, -1e-4, 0.5, 5.9, 6.1, -9.0),
    *unary("scipy i0", special.i0, lambda x: mp.besseli(0, x), 0.0, 1e-8),
    *unary("i1", special.i1, lambda x: mp.besseli(1, x), 0.0, 1e-8, -1e-4, 0.5, 7.9, 8.1, -9.0),
    *unary("i0e", special.i0e, lambda x: mp.exp(-abs(x)) * mp.besseli(0, x), 1e-8, -1e-4, 7.9),
    *unary("i1e", special.i1e, lambda x: mp.exp(-abs(x)) * mp.besseli(1, x), 1e-8, -1e-4, 7.9),
    *unary("j0", special.j0, lambda x: mp.besselj(0, x), 0.0, 1e-8, -1e-4, 0.5, 2.9, 3.1, -9.0, 30.0),
    *unary("j1", special.j1, lambda x: mp.besselj(1, x), 0.0, 1e-8, -1e-4, 0.5, 3.9, 4.1, -9.0, 30.0),
    *unary("y0", special.y0, lambda x: _y(0, x), 1e-3, 1.0),
    *unary("y1", special.y1, lambda x: _y(1, x), 1e-3, 1.0),
    *unary(
        "kaiser",
        lambda b: np.sum(np.kaiser(4, b) * [1.0, 2, 3, 4]),
        lambda b: 5 * (1 + mp.besseli(0, b * mp.sqrt(8) / 3)) / mp.besseli(0, b),
        0.0,
        1e-6,
    ),
]

NETWORKS = [
    *unary("sigmoid", tm.nn.sigmoid, _expit, 0.0, 4.0, -40.0),
    *unary("log_sigmoid", tm.nn.log_sigmoid, lambda x: -mp.log1p(mp.exp(-x)), 0.0),
    *unary("softplus", tm.nn.softplus, lambda x: mp.log1p(mp.exp(x)), 0.0, 40.0),
    *unary(
        "softplus, beta=3", lambda x: tm.nn.softplus(x, beta=3.0), lambda x: mp.log1p(mp.exp(3 * x)) / 3, 0.0
    ),
    *unary("silu", tm.nn.silu, lambda x: x * _expit(x), 0.0),
    *unary("mish", tm.nn.mish, lambda x: x * mp.tanh(mp.log1p(mp.exp(x))), 0.0),
    *unary("gelu", lambda x: tm.nn.gelu(x, approximate=False), lambda x: x * mp.ncdf(x), 0.0),
    *unary(
        "gelu by tanh",
        lambda x: tm.nn.gelu(x, approximate=True),
        lambda x: x / 2 * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (x + mp.mpf(0.044715) * x**3))),
        0.0,
    ),
    *several(
        "logsumexp",
        lambda *x: tm.nn.logsumexp(np.stack(x)),
        lambda *x: mp.log(sum(map(mp.exp, x))),
        (0, 0, 0),
        (1, 1, 0),
    ),
    *several(
        "logsumexp with weights",
        lambda a, b: tm.nn.logsumexp(np.array([1.0, 2, 3]), b=np.stack([a, b, 2.0])),
        lambda a, b: mp.log(a * mp.exp(1) + b * mp.exp(2) + 2 * mp.exp(3)),
        (0, 1),
        (0, 0),
    ),
    *several(
        "softmax",
        lambda *x: tm.nn.softmax(np.stack(x))[0],
        lambda *x: mp.exp(x[0]) / sum(map(mp.exp, x)),
        (0, 0, 0),
        (1, 1, 0),
    ),
    *several(
        "log_softmax",
        lambda *x: tm.nn.log_softmax(np.stack(x))[1],
        lambda *x: x[1] - mp.log(sum(map(mp.exp, x))),
        (0, 0, 0),
    ),
    *several(
        "cross_entropy",
        lambda *x: tm.nn.cross_entropy(np.stack(x)[None], np.array([1])),
        lambda *x: mp.log(sum(map(mp.exp, x))) - x[1],
        (0, 0, 0),
    ),
    *several(
        "binary cross entropy",
        tm.nn.binary_cross_entropy_with_logits,
        lambda x, y: mp.log1p(mp.exp(x)) - x * y,
        (0, 0),
        (0, 1),
        (0, 0.5),
    ),
    *several("mse_loss", tm.nn.mse_loss, lambda x, y: (x - y) ** 2, (0, 0), (1, 1)),
    *several("huber_loss", tm.nn.huber_loss, lambda x, y: (x - y) ** 2 / 2, (0, 0), (1, 1)),
    *several(
        "layer_norm",
        lambda x, y: tm.nn.layer_norm(np.stack([x, y]), 2, eps=0.5)[0],
        lambda x, y: (x - y) / 2 / mp.sqrt((x - y) ** 2 / 4 + 0.5),
        (0, 0),
        (1, 1),
    ),
    *several(
        "rms_norm",
        lambda x, y: tm.nn.rms_norm(np.stack([x, y]), 2, eps=0.5)[0],
        lambda x, y: x / mp.sqrt((x * x + y * y) / 2 + 0.5),
        (0, 0),
        (0, 1),
    ),
    *several(
        "logistic regression",
        lambda w, b: np.sum(np.logaddexp(0, -np.array([1.0, -1, 1]) * (w * np.array([0.5, 2, -1]) + b))),
        lambda w, b: sum(mp.log1p(mp.exp(-s * (w * x + b))) for s, x in ((1, 0.5), (-1, 2), (1, -1))),
        (0, 0),
    ),
]


def _mean(x: Sequence[Any]) -> Any:
    return sum(x) / len(x)


REDUCTIONS = [
    *unary("fraction", lambda x: np.modf(x)[0], lambda x: x, 0.0, -0.25),
    *unary("ldexp", lambda x: np.ldexp(x, 3), lambda x: 8 * x, 0.0),
    *unary("remainder", lambda x: np.remainder(x, 3.0) ** 2, lambda x: x * x, 1.0),
    *unary("copysign", lambda x: np.copysign(x, -1.0) ** 2, lambda x: x * x, 1.0),
    *several(
        "prod", lambda *x: np.prod(np.stack(x)), lambda *x: mp.fprod(x), (0, 0, 3), (0, 2, 3), (0, 0, 0)
    ),
    *several(
        "cumprod",
        lambda *x: np.sum(np.cumprod(np.stack(x)) * np.arange(1, 4)),
        lambda a, b, c: a + 2 * a * b + 3 * a * b * c,
        (0, 0, 3),
        (2, 0, 3),
        (0, 0, 0),
    ),
    *several(
        "var",
        lambda *x: np.var(np.stack(x)),
        lambda *x: _mean([(v - _mean(x)) ** 2 for v in x]),
        (1, 1, 1),
        (0, 0, 0),
    ),
    *several(
        "std",
        lambda *x: np.std(np.stack(x)),
        lambda *x: mp.sqrt(_mean([(v - _mean(x)) ** 2 for v in x])),
        (0, 0, 1),
    ),
    *several(
        "norm",
        lambda *x: np.linalg.norm(np.stack(x)),
        lambda *x: mp.sqrt(sum(v * v for v in x)),
        (1, 0, 0),
        (0, 1, 1),
    ),
    *several(
        "hypot.reduce",
        lambda *x: np.hypot.reduce(np.stack(x)),
        lambda *x: mp.sqrt(sum(v * v for v in x)),
        (1, 0, 0),
        (0, 0, 1),
        (0, 1, 0),
    ),
    *several(
        "hypot of hypot",
        lambda x, y, z: np.hypot(z, np.hypot(x, y)),
        lambda *x: mp.sqrt(sum(v * v for v in x)),
        (0, 0, 1),
        (0, 1, 1),
    ),
    *several(
        "norm of order 4",
        lambda *x: np.linalg.norm(np.stack(x), 4),
        lambda *x: sum(v**4 for v in x) ** mp.mpf("0.25"),
        (1, 0, 0),
        (0, -1, 1),
    ),
    *several(
        "norm of order 2",
        lambda *x: np.linalg.norm(np.stack(x), 2, axis=0),
        lambda *x: mp.sqrt(sum(v * v for v in x)),
        (1, 0, 0),
    ),
    *several(
        "frobenius",
        lambda *x: np.linalg.norm(np.stack([*x, 1.0]).reshape(2, 2)),
        lambda *x: mp.sqrt(1 + sum(v * v for v in x)),
        (0, 0, 0),
    ),
    *several(
        "polyval",
        lambda *x: np.polyval(np.array([2.0, 3, 4, 5]), x[0]),
        lambda x: 2 * x**3 + 3 * x * x + 4 * x + 5,
        (0,),
        (1,),
    ),
    *several(
        "vander",
        lambda x: np.sum(np.vander(np.stack([x, 2 * x]), 4)),
        lambda x: 2 + 3 * x + 5 * x * x + 9 * x**3,
        (0,),
        (1,),
    ),
    *several(
        "multiply.reduce", lambda *x: np.multiply.reduce(np.stack(x)), lambda *x: mp.fprod(x), (0, 0, 3)
    ),
    *several(
        "cov",
        lambda x, y: np.cov(np.stack([x, y, x * y])),
        lambda x, y: sum((v - _mean([x, y, x * y])) ** 2 for v in (x, y, x * y)) / 2,
        (0, 0),
        (1, 1),
    ),
    *several(
        "cumulative log of sums",
        lambda *x: np.logaddexp.accumulate(np.stack(x))[-1],
        lambda *x: mp.log(sum(map(mp.exp, x))),
        (0, 0, 0),
        (1, 1, 1),
    ),
    *several(
        "logaddexp.reduce",
        lambda *x: np.logaddexp.reduce(np.stack(x)),
        lambda *x: mp.log(sum(map(mp.exp, x))),
        (0, 0, 0),
        (1, 1, 1),
    ),
    *several(
        "average",
        lambda x, y: np.average(np.stack([x, y]), weights=np.stack([y, x])),
        lambda x, y: 2 * x * y / (x + y),
        (0, 1),
        (1, 1),
    ),
]


def _log_sum(x: Sequence[Any], weights: Sequence[float] = (1, 1, 1)) -> Any:
    return mp.log(sum(w * mp.exp(v) for w, v in zip(weights, x, strict=True)))


def _shifted_log_sum(x: Any) -> Any:
    """What functions do by hand, so that nothing overflows."""
    top = np.max(x, axis=-1, keepdims=True)
    return (top + np.log(np.sum(np.exp(x - top), axis=-1, keepdims=True)))[0]


def _shifted_softmax(x: Any) -> Any:
    terms = np.exp(x - np.max(x))
    return terms / np.sum(terms)


TIES: tuple[tuple[float, ...], ...] = ((0, 0, 0), (1, 1, 0), (0, 1, 1), (800, 800, 0), (-900, -900, -900))
"""Points where several entries are the largest; also where their exponentials overflow or are 0."""
_LOG_SUMS: dict[str, Callable[[Any], Any]] = {
    "scipy logsumexp": special.logsumexp,
    "scipy logsumexp of rows": lambda x: special.logsumexp(x[None], axis=1, keepdims=True)[0, 0],
    "scipy logsumexp of columns": lambda x: special.logsumexp(x[:, None], axis=(0,))[0],
    "logsumexp of all": lambda x: tm.nn.logsumexp(x[None], keepdims=True)[0, 0],
    "log of a shifted sum": _shifted_log_sum,
    "reduce along an axis": lambda x: np.logaddexp.reduce(np.stack([x, x], 1), axis=0)[1],
    "reduceat": lambda x: np.logaddexp.reduceat(x, [0])[0],
}
_WEIGHTED_SUMS: dict[str, tuple[Callable[[Any], Any], tuple[float, ...]]] = {
    "scipy logsumexp with weights": (lambda x: special.logsumexp(x, b=np.array([1.0, 2, 3])), (1, 2, 3)),
    "logsumexp with weights": (lambda x: tm.nn.logsumexp(x, b=np.array([3.0, 2, 1])), (3, 2, 1)),
    "a weight of 0": (lambda x: special.logsumexp(x, b=np.array([2.0, 1, 0])), (2, 1, 0)),
    "a negative weight": (lambda x: special.logsumexp(x, b=np.array([2.0, 2, -1])), (2, 2, -1)),
    "one number as weight": (lambda x: special.logsumexp(x, b=3.0), (3, 3, 3)),
    "negative sum with its sign": (
        lambda x: special.logsumexp(x, b=np.array([-1.0, -2, -1]), return_sign=True)[0],
        (1, 2, 1),
    ),
    "sum with its sign": (lambda x: special.logsumexp(x, return_sign=True)[0], (1, 1, 1)),
}
_SOFTMAXES: dict[str, Callable[[Any], Any]] = {
    "scipy softmax": special.softmax,
    "scipy log_softmax": lambda x: np.exp(special.log_softmax(x)),
    "softmax of rows": lambda x: tm.nn.softmax(x[None], axis=1)[0],
    "softmax of all": lambda x: tm.nn.softmax(x[:, None])[:, 0],
    "exp of log_softmax": lambda x: np.exp(tm.nn.log_softmax(x, axis=0)),
    "shifted softmax": _shifted_softmax,
    "attention": lambda x: tm.nn.attention(np.ones((1, 1)), x[:, None], np.eye(3), scale=1.0)[0],
}
_CROSS_ENTROPIES: dict[str, Callable[[Any], Any]] = {
    "cross_entropy, smoothed": lambda x: tm.nn.cross_entropy(x[None], np.array([0]), label_smoothing=0.3),
    "cross_entropy with probabilities": lambda x: tm.nn.cross_entropy(x[None], np.array([[0.8, 0.1, 0.1]])),
}

EXPONENTIAL_SUMS = [
    *(
        point
        for name, f in _LOG_SUMS.items()
        for point in several(name, lambda *x, f=f: f(np.stack(x)), lambda *x: _log_sum(x), *TIES)
    ),
    *(
        point
        for name, (f, weights) in _WEIGHTED_SUMS.items()
        for point in several(
            name, lambda *x, f=f: f(np.stack(x)), lambda *x, w=weights: _log_sum(x, w), *TIES
        )
    ),
    *(
        point
        for name, f in _SOFTMAXES.items()
        for point in several(
            name,
            lambda *x, f=f: f(np.stack(x)) @ np.array([1.0, 2, 4]),
            lambda *x: sum(w * mp.exp(v) for w, v in zip((1, 2, 4), x, strict=True)) / sum(map(mp.exp, x)),
            *TIES,
        )
    ),
    *(
        point
        for name, f in _CROSS_ENTROPIES.items()
        for point in several(
            name,
            lambda *x, f=f: f(np.stack(x)),
            lambda *x: _log_sum(x) - (8 * x[0] + x[1] + x[2]) / 10,
            (0, 0, 0),
            (1, 1, 0),
        )
    ),
    *several(
        "reduce of base 2",
        lambda *x: np.logaddexp2.reduce(np.stack(x)),
        lambda *x: mp.log(sum(2**v for v in x), 2),
        (0, 0, 0),
        (1, 1, 0),
    ),
    *several(
        "sorted",
        lambda *x: np.sum(np.sort(np.stack(x)) ** 3),
        lambda *x: sum(v**3 for v in x),
        (1, 1, 2),
        (0, 0, 0),
    ),
    *several(
        "top_k",
        lambda *x: np.sum(tm.top_k(np.stack(x), 3)[0] ** 3),
        lambda *x: sum(v**3 for v in x),
        (1, 1, 2),
    ),
    *several(
        "batch_norm",
        lambda x, y: tm.nn.batch_norm(np.stack([x, y])[:, None], training=True, eps=0.5)[0][0, 0],
        lambda x, y: (x - y) / 2 / mp.sqrt((x - y) ** 2 / 4 + 0.5),
        (1, 1),
    ),
    *several(
        "group_norm",
        lambda x, y: tm.nn.group_norm(np.stack([x, y])[None, :, None], 1, eps=0.5)[0, 0, 0],
        lambda x, y: (x - y) / 2 / mp.sqrt((x - y) ** 2 / 4 + 0.5),
        (1, 1),
    ),
    *several(
        "nanvar",
        lambda *x: np.nanvar(np.stack([*x, np.nan])),
        lambda *x: _mean([(v - _mean(x)) ** 2 for v in x]),
        (1, 1, 1),
    ),
]


def _times_itself(x: Any) -> Any:
    return x * x


def _squares(*x: Any) -> Any:
    return sum(v * v for v in x)


def _variance(*x: Any) -> Any:
    return _mean([(v - _mean(x)) ** 2 for v in x])


_SQUARED_LENGTHS: dict[str, tuple[Callable[[Any], Any], Callable[..., Any]]] = {
    "norm squared": (lambda x: np.linalg.norm(x) ** 2, _squares),
    "norm squared in another precision": (
        lambda x: np.linalg.norm(x).astype(np.float32) ** 2,
        _squares,
    ),
    "norms of rows, squared": (
        lambda x: np.sum(np.linalg.norm(x[None], axis=1, keepdims=True) ** 2),
        _squares,
    ),
    "one of several norms, squared": (
        lambda x: np.linalg.norm(np.stack([x, 2 * x]), axis=1)[1] ** 2,
        lambda *x: 4 * _squares(*x),
    ),
    "frobenius squared": (
        lambda x: np.linalg.norm(np.stack([x, x]), "fro") ** 2,
        lambda *x: 2 * _squares(*x),
    ),
    "norm times itself": (lambda x: _times_itself(np.linalg.norm(x)), _squares),
    "power of a norm": (lambda x: np.power(np.linalg.norm(x), 2), _squares),
    "complex norm squared": (lambda x: np.linalg.norm(x + 1j * x[::-1]) ** 2, lambda *x: 2 * _squares(*x)),
    "norm squared in a product": (
        lambda x: np.linalg.norm(x) ** 2 * np.exp(x[0]),
        lambda *x: _squares(*x) * mp.exp(x[0]),
    ),
    "hypot squared": (
        lambda x: np.sum(np.hypot(x[0], x[1:]) ** 2),
        lambda x, y, z: 2 * x * x + y * y + z * z,
    ),
    "hypot with a number, squared": (
        lambda x: np.sum(np.hypot(x, 2.0) ** 2),
        lambda *x: _squares(*x) + 12,
    ),
    "product of two equal norms": (lambda x: np.linalg.norm(x) * np.linalg.norm(x), _squares),
    "part of a norm, squared": (
        lambda x: (np.linalg.norm(x) / 2 * -3.0) ** 2,
        lambda *x: _squares(*x) * 9 / 4,
    ),
    "norm of norms, squared": (
        lambda x: np.linalg.norm(np.stack([np.linalg.norm(x), np.abs(x[0]), x[1], 2.0])) ** 2,
        lambda x, y, z: 2 * x * x + 2 * y * y + z * z + 4,
    ),
    "hypot.reduce squared": (lambda x: np.hypot.reduce(x) ** 2, _squares),
    "hypot.accumulate squared": (
        lambda x: np.sum(np.hypot.accumulate(x) ** 2),
        lambda x, y, z: 3 * x * x + 2 * y * y + z * z,
    ),
    "hypot of a hypot, squared": (lambda x: np.hypot(np.hypot(x[0], x[1]), x[2]) ** 2, _squares),
    "sizes squared": (lambda x: np.sum(np.abs(x) ** 2), _squares),
    "fabs squared": (lambda x: np.sum(np.square(np.fabs(x))), _squares),
    "complex sizes squared": (
        lambda x: np.sum(np.abs(x + 1j * x[::-1]) ** 2),
        lambda *x: 2 * _squares(*x),
    ),
}
_SQUARED_DEVIATIONS: dict[str, Callable[[Any], Any]] = {
    "std squared": lambda x: np.std(x) ** 2,
    "std of rows, squared": lambda x: np.sum(np.std(x[None], axis=1, keepdims=True) ** 2),
    "nanstd squared": lambda x: np.nanstd(np.append(x, np.nan)) ** 2,
}

_SINGLE = "norm squared in another precision"
"""Forward mode gives the derivative in the dtype of the result."""

SQUARED_LENGTHS = [
    *(
        replace(point, tolerance=1e-7) if name == _SINGLE else point
        for name, (f, expected) in _SQUARED_LENGTHS.items()
        for point in several(name, lambda *x, f=f: f(np.stack(x)), expected, (0, 0, 0), (0, 1, 0))
    ),
    *(
        point
        for name, f in _SQUARED_DEVIATIONS.items()
        for point in several(name, lambda *x, f=f: f(np.stack(x)), _variance, (0, 0, 0), (2, 2, 2), (1, 1, 3))
    ),
]

# ---- functions of matrices: of A + s E + t F ----------------------------------------------------------

_E = np.array([[1.0, 2, 0, 1], [-1, 1, 3, 0], [2, 0, -1, 1], [1, 1, 0, 2]])
_F = np.array([[0.0, 1, 1, -1], [2, -1, 0, 1], [1, 1, 2, 0], [0, 3, -1, 1]])
_WEIGHTS = np.arange(1.0, 17).reshape(4, 4) / 7


def _matrix(name: str, function: Any, expected: Any, *matrices: Any, symmetric: bool = False) -> list[Point]:
    """Points of ``function(A + s E + t F)`` at s = t = 0, for each matrix A; arrays are weighted and summed."""
    return [_one_matrix(name, function, expected, np.asarray(a, float), symmetric) for a in matrices]


def _one_matrix(name: str, function: Any, expected: Any, a: Any, symmetric: bool) -> Point:
    n = len(a)
    e, f = (m[:n, :n] + m[:n, :n].T if symmetric else m[:n, :n] for m in (_E, _F))
    weights = _WEIGHTS[:n, :n]

    def computed(s: Any, t: Any) -> Any:
        out = function(a + s * e + t * f)
        return np.sum(out * weights) if np.ndim(out) else out

    def in_mpmath(s: Any, t: Any) -> Any:
        out = expected(mp.matrix(a.tolist()) + s * mp.matrix(e.tolist()) + t * mp.matrix(f.tolist()))
        if not isinstance(out, mp.matrix):
            return out
        return mp.fsum(out[i, j] * weights[i, j] for i in range(n) for j in range(n))

    return Point(name, computed, in_mpmath, (0.0, 0.0), 1e-9, str(a.tolist()))


def _determinant(a: Any) -> Any:
    """By Laplace's expansion: a polynomial, also where LU meets a zero pivot."""
    if a.rows == 1:
        return a[0, 0]
    rows = range(1, a.rows)
    minors = [mp.matrix([[a[i, j] for j in range(a.rows) if j != k] for i in rows]) for k in range(a.rows)]
    return mp.fsum((-1) ** k * a[0, k] * _determinant(minor) for k, minor in enumerate(minors))


def _inverse(a: Any) -> Any:
    return mp.inverse(a)


def _exponential(a: Any) -> Any:
    """By the series, which is exact to the working precision for matrices of a norm of about 1."""
    total = term = mp.eye(a.rows)
    for k in range(1, 60):
        term = term * a / k
        total = total + term
    return total


ZEROS = [np.zeros((n, n)) for n in (1, 2, 3)]
ONES = [np.ones((n, n)) for n in (1, 2, 3)]
EYES = [np.eye(n) for n in (1, 2, 3)]
DIAGONAL, EQUAL_PAIR = np.diag([1.0, 2.0, 4.0]), np.diag([2.0, 2.0, 5.0])

MATRICES = [
    *_matrix(
        "det", np.linalg.det, _determinant, *ZEROS, *ONES, *EYES, DIAGONAL, np.diag([0.0, 1, 2]), np.eye(4)
    ),
    *_matrix(
        "det",
        np.linalg.det,
        _determinant,
        np.diag([0.0, 1, 2, 3]),
        np.diag([0.0, 0, 1, 1]),
        np.zeros((4, 4)),
        np.ones((4, 4)),
    ),
    *_matrix(
        "slogdet",
        lambda a: np.linalg.slogdet(a)[1],
        lambda a: mp.log(abs(_determinant(a))),
        *EYES,
        DIAGONAL,
        -np.eye(3),
    ),
    *_matrix("inv", np.linalg.inv, _inverse, *EYES, DIAGONAL),
    *_matrix(
        "solve",
        lambda a: np.linalg.solve(a, np.eye(len(_E))[: a.shape[0], : a.shape[0]]),
        _inverse,
        *EYES,
        DIAGONAL,
    ),
    *_matrix("pinv", np.linalg.pinv, _inverse, *EYES, DIAGONAL),
    *_matrix(
        "lstsq",
        lambda a: np.linalg.lstsq(a, np.eye(4)[: a.shape[0], : a.shape[0]], rcond=None)[0],
        _inverse,
        *EYES,
    ),
    *_matrix("cholesky", np.linalg.cholesky, mp.cholesky, *EYES, DIAGONAL, symmetric=True),
    *_matrix("expm", tm.linalg.expm, _exponential, *ZEROS, *EYES, DIAGONAL),
    *_matrix("matrix_power 0", lambda a: np.linalg.matrix_power(a, 0), lambda a: a**0, *ZEROS, *EYES),
    *_matrix("matrix_power 2", lambda a: np.linalg.matrix_power(a, 2), lambda a: a * a, *ZEROS, *EYES),
    *_matrix("matrix_power 3", lambda a: np.linalg.matrix_power(a, 3), lambda a: a * a * a, *ZEROS, *EYES),
    *_matrix("matrix_power -1", lambda a: np.linalg.matrix_power(a, -1), _inverse, *EYES),
    *_matrix("trace", np.trace, lambda a: mp.fsum(a[i, i] for i in range(a.rows)), *ZEROS),
    *_matrix(
        "eigvalsh",
        lambda a: np.linalg.eigvalsh(a)[0],
        lambda a: min(mp.eigsy(a, eigvals_only=True)),
        DIAGONAL,
        symmetric=True,
    ),
    *_matrix(
        "norm of order 2",
        lambda a: np.linalg.norm(a, 2),
        lambda a: max(mp.svd_r(a, compute_uv=False)),
        DIAGONAL,
    ),
    *_matrix(
        "nuclear norm",
        lambda a: np.linalg.norm(a, "nuc"),
        lambda a: mp.fsum(mp.svd_r(a, compute_uv=False)),
        *EYES,
        DIAGONAL,
        EQUAL_PAIR,
    ),
    *_matrix(
        "qr",
        lambda a: np.abs(np.linalg.qr(a)[1][0, 0]),
        lambda a: mp.sqrt(sum(a[i, 0] ** 2 for i in range(a.rows))),
        *EYES,
    ),
    *_matrix(
        "lu",
        lambda a: tm.linalg.lu(a)[2][-1, -1],
        lambda a: _determinant(a) / (_determinant(a[:-1, :-1]) if a.rows > 1 else 1),
        *EYES,
        DIAGONAL,
    ),
]

POINTS: tuple[Point, ...] = (
    *ELEMENTARY,
    *POWERS,
    *COMPLEX,
    *SPECIAL,
    *NETWORKS,
    *REDUCTIONS,
    *EXPONENTIAL_SUMS,
    *SQUARED_LENGTHS,
    *MATRICES,
)
