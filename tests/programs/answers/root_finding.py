"""Answers for `programs.root_finding`."""

from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from scipy import optimize

from programs.checks.outcomes import Outcome

brentq: Any = optimize.brentq


def bisection(got: Outcome, lo: float, hi: float, target: float, tol: float) -> None:
    root = brentq(lambda x: x**3 + x - target, lo, hi, xtol=1e-15)
    assert abs(got.result - root) <= tol


def secant(got: Outcome, slope: float, x0: float, x1: float, max_iter: int) -> None:
    root = brentq(lambda x: np.cos(x) - slope * x, 0, 3)
    x, steps = got.result
    if x0 == x1:
        assert (x, steps) == (x1, -1)
    elif max_iter < 5:
        assert steps == -1
        assert_allclose(x, root, atol=0.01)
    else:
        guesses = [x0, x1]
        while abs(np.cos(guesses[-1]) - slope * guesses[-1]) >= 1e-12:
            a, b = guesses[-2:]
            guesses.append(b - (np.cos(b) - slope * b) / ((np.cos(b) - np.cos(a)) / (b - a) - slope))
        assert steps == len(guesses) - 2
        assert_allclose(x, root)


def brent(got: Outcome, a: float, b: float, k: float) -> None:
    def f(x: float) -> Any:
        return np.exp(-x) - k * x

    assert_allclose(got.result, brentq(f, a, b) if f(a) * f(b) < 0 else np.nan, rtol=1e-10)


def newton_line_search(got: Outcome, start: Any, radius: float) -> None:
    x, y = got.result
    assert_allclose([np.hypot(x, y), np.exp(x) + y], [radius, 1.0])


def kepler(got: Outcome, mean_anomaly: Any, eccentricity: float) -> None:
    assert_allclose(got.result - eccentricity * np.sin(got.result), mean_anomaly, atol=1e-12)


def cube_roots(got: Outcome, values: Any) -> None:
    roots, steps = got.result
    assert_allclose(roots, np.cbrt(values), rtol=1e-11)
    for target, taken in zip(np.abs(values), steps, strict=True):
        guesses = [1.0 if target else 0.0]
        while abs(guesses[-1] ** 3 / (target or 1.0) - (target > 0)) > 1e-12:
            ratio = target / guesses[-1] ** 3
            guesses.append(guesses[-1] * (1 + 2 * ratio) / (2 + ratio))
        assert taken == len(guesses) - 1


def real_roots(got: Outcome, coefficients: Any, start: float) -> None:
    assert_allclose(got.result, np.sort(np.roots(coefficients).real), rtol=1e-8)
