"""Answers for `programs.estimation`."""

from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from scipy.linalg import solve_toeplitz
from scipy.stats import multivariate_normal, norm

from programs.checks.outcomes import Outcome

normal: Any = norm
many_normal: Any = multivariate_normal


def track(got: Outcome, measurements: Any, dt: float, process_noise: float, measurement_noise: float) -> None:
    """All states and measurements are one normal distribution; what was seen conditions the last state."""
    states, loss = got.result
    n = len(measurements)
    F = np.array([[1, dt], [0, 1]])
    Q = process_noise * np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
    covariance = np.zeros((2 * n, 2 * n))
    spread = 10 * np.eye(2)
    for k in range(n):
        spread = F @ spread @ F.T + Q
        for later in range(k, n):
            block = np.linalg.matrix_power(F, later - k) @ spread
            covariance[2 * later : 2 * later + 2, 2 * k : 2 * k + 2] = block
            covariance[2 * k : 2 * k + 2, 2 * later : 2 * later + 2] = block.T
    seen = np.flatnonzero(~np.isnan(measurements))
    z = measurements[seen]
    S = covariance[np.ix_(2 * seen, 2 * seen)] + measurement_noise * np.eye(len(seen))
    assert_allclose(loss, -many_normal(cov=S).logpdf(z))
    assert_allclose(states[-1], covariance[-2:, 2 * seen] @ np.linalg.solve(S, z), rtol=1e-6)


def log_likelihoods(initial: Any, transition: Any, emission: Any, seen: Any) -> dict[tuple[int, ...], float]:
    """Of every path of hidden states."""
    first, later = np.log(initial), np.log(transition)
    said = np.log(emission)
    found = {}
    for path in product(range(len(initial)), repeat=len(seen)):
        steps = sum(later[a, b] for a, b in pairwise(path))
        found[path] = float(first[path[0]] + steps + sum(said[s, o] for s, o in zip(path, seen, strict=True)))
    return found


def forward_backward(got: Outcome, initial: Any, transition: Any, emission: Any, observations: Any) -> None:
    chances, likelihood = got.result
    product_of_all = np.ones(len(initial))
    for o in observations[:0:-1]:
        product_of_all = transition @ (emission[:, o] * product_of_all)
    assert_allclose(likelihood, np.log(initial @ (emission[:, observations[0]] * product_of_all)))
    assert_allclose(chances.sum(axis=1), 1)
    if len(initial) ** len(observations) < 1000:
        expected = np.zeros_like(chances)
        for path, log in log_likelihoods(initial, transition, emission, observations).items():
            expected[np.arange(len(path)), path] += np.exp(log - likelihood)
        assert_allclose(chances, expected)


def viterbi(got: Outcome, initial: Any, transition: Any, emission: Any, observations: Any) -> None:
    path, score = got.result
    if len(initial) ** len(observations) < 5000:
        found = log_likelihoods(initial, transition, emission, observations)
        assert tuple(path) == max(found, key=lambda p: found[p])
        assert_allclose(score, max(found.values()))
    else:
        steps = np.log(transition[path[:-1], path[1:]]).sum() + np.log(emission[path, observations]).sum()
        assert_allclose(score, np.log(initial[path[0]]) + steps)


def k_means(got: Outcome, points: Any, k: int) -> None:
    centres, labels, rounds = got.result
    assert rounds >= 1
    assert_allclose(centres, [points[labels == c].mean(axis=0) for c in range(k)])
    distances = np.linalg.norm(points[:, None] - centres, axis=2)
    assert np.array_equal(labels, distances.argmin(axis=1))


def gaussian_mixture(got: Outcome, x: Any, means: Any, tol: float) -> None:
    found, variances, weights, iterations = got.result

    def likelihood(means: Any, variances: Any, weights: Any) -> Any:
        return np.log((weights * normal(means, np.sqrt(variances)).pdf(x[:, None])).sum(axis=1)).sum()

    assert 0 < iterations < 199
    assert_allclose(weights.sum(), 1)
    k = len(means)
    best = likelihood(found, variances, weights)
    assert best > likelihood(means, np.full(k, x.var()), np.full(k, 1 / k))
    for shift in (-0.05, 0.05):
        for j in range(k):
            one = shift * (np.arange(k) == j)
            assert likelihood(found + one, variances, weights) < best + tol
            assert likelihood(found, variances * (1 + one), weights) < best + tol


def logistic_regression(got: Outcome, X: Any, y: Any, ridge: float, tol: float) -> None:
    w = got.result
    assert_allclose(X.T @ (1 / (1 + np.exp(-X @ w)) - y) + ridge * w, 0, atol=max(tol, 1e-9))


def levinson_durbin(got: Outcome, autocorrelation: Any, order: int) -> None:
    a, error, reflections = got.result
    r = autocorrelation
    if r[0] == 0 or abs(r[1]) == r[0]:
        assert error == 0
        return
    expected: Any = solve_toeplitz(r[:order], -r[1 : order + 1])
    assert_allclose(a, [1, *expected], rtol=1e-8)
    assert_allclose(error, r[: order + 1] @ a)
    assert_allclose(reflections[-1], a[-1])


def running_moments(got: Outcome, x: Any, threshold: float) -> None:
    kept: list[float] = []
    for value in x:
        if len(kept) <= 3 or abs(value - np.mean(kept)) <= threshold * np.std(kept, ddof=1):
            kept.append(value)
    mean, variance, outliers = got.result
    assert_allclose(mean, np.mean(kept))
    assert_allclose(variance, np.var(kept, ddof=1) if len(kept) > 1 else 0.0)
    assert outliers == len(x) - len(kept)
