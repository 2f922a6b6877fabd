"""Answers for `programs.minimisation`."""

from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from scipy import optimize

from programs.checks.outcomes import Outcome


def golden_section(got: Outcome, lo: float, hi: float, shift: float, tol: float) -> None:
    x, evaluations = got.result
    lowest = np.clip(np.sign(shift) * max(abs(shift) - 0.5, 0.0), min(lo, hi), max(lo, hi))
    assert abs(x - lowest) <= tol
    shrinks = np.log(tol / abs(hi - lo)) / np.log((np.sqrt(5) - 1) / 2)
    assert evaluations == 2 + max(int(np.ceil(shrinks)), 0)


def gradient_descent_backtracking(got: Outcome, start: Any, max_iter: int, tol: float) -> None:
    x, value, stopped = got.result
    assert_allclose(value, optimize.rosen(x), atol=1e-12)
    assert value < optimize.rosen(start) or np.array_equal(x, start)
    is_flat = np.abs(optimize.rosen_der(x)).max() < tol
    assert (stopped >= 0) == is_flat


def nelder_mead(got: Outcome, start: Any, target: Any, max_iter: int) -> None:
    def f(p: Any) -> Any:
        return np.sum((p - target) ** 2) + 0.5 * np.abs(np.prod(p - target))

    best, value = got.result
    assert_allclose(value, f(best))
    assert value < f(start)
    if max_iter >= 60:
        assert_allclose(best, target, atol=1e-4)


def levenberg_marquardt(got: Outcome, t: Any, y: Any, start: Any) -> None:
    fitted, _ = optimize.curve_fit(lambda t, a, b, c: a * np.exp(-b * t) + c, t, y, p0=start, xtol=1e-12)
    assert_allclose(got.result, fitted, rtol=1e-5)


def lasso(got: Outcome, X: Any, y: Any, penalty: float, tol: float) -> None:
    w, sweeps = got.result
    pull = X.T @ (y - X @ w) / len(y)  # the optimality conditions of Karush, Kuhn and Tucker
    assert np.all(np.abs(pull) <= penalty + 1e-5)
    assert_allclose(pull[w != 0], penalty * np.sign(w[w != 0]), atol=1e-5)
    assert 1 <= sweeps < 500
