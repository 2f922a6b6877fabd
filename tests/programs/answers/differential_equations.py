"""Answers for `programs.differential_equations`."""

from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.ndimage import convolve

from programs.checks.outcomes import Outcome
from programs.differential_equations import predators_and_prey


def runge_kutta_adaptive(got: Outcome, y0: Any, t_end: float, tol: float) -> None:
    y, accepted, rejected = got.result
    exact = solve_ivp(predators_and_prey, (0, t_end), y0, rtol=1e-10, atol=1e-12).y[:, -1]
    assert_allclose(y, exact, rtol=20 * tol)
    assert accepted >= 1
    assert rejected >= 0


def bouncing_ball(got: Outcome, height: float, restitution: float, steps: int) -> None:
    path, bounces = got.result
    k = np.arange(1, steps + 1)
    falling = height - 9.81 * 0.01**2 * k * (k + 1) / 2
    landed = np.flatnonzero(falling < 0)
    if not len(landed):
        assert_allclose(path, falling)
        assert bounces == 0
        return
    first = landed[0]
    assert_allclose(path[:first], falling[:first], atol=1e-12)
    assert_allclose(path[first], -falling[first] * restitution)
    assert path.min() >= 0
    before, at, after = path[:-2], path[1:-1], path[2:]
    lowest_points = np.count_nonzero((at < before) & (at <= after) | (before == at) & (before < after))
    assert abs(bounces - lowest_points) <= 1


def plate_at_rest(got: Outcome, u: Any, tol: float) -> None:
    (after, _) = got.arguments
    rows, cols = u.shape
    inside = np.zeros(u.shape, dtype=bool)
    inside[1:-1, 1:-1] = True
    assert np.array_equal(after[~inside], u[~inside])
    cross = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]) / 4
    assert np.abs(convolve(after, cross) - after)[inside].max() <= tol
    assert (rows - 2) * (cols - 2) >= got.result / 10


def burgers(got: Outcome, u: Any, dx: float, t_end: float) -> None:
    new, steps = got.result
    assert u.min() <= new.min() <= new.max() <= u.max()
    if not u.any():
        assert steps == 0
        return
    x = np.arange(len(u)) * dx  # the exact solution is constant along characteristics
    centre, height = u.mean(), np.ptp(u) / 2
    exact = u.copy()
    for _ in range(2000):
        exact += 0.1 * (
            centre + height * np.sign(u[1] - u[0]) * np.sin(2 * np.pi * (x - exact * t_end)) - exact
        )
    if 2 * np.pi * height * t_end < 0.7:  # no shock yet
        assert np.abs(new - exact).mean() < 0.1 * height


def stiff_backward_euler(got: Outcome, y0: float, rate: float, t_end: float, n: int) -> None:
    y, h = got.result, t_end / n
    t = h * np.arange(1, n + 1)
    assert y[0] == y0
    assert_allclose(y[1:] - y[:-1], h * rate * (np.cos(t) - y[1:] ** 3), atol=1e-10)


def epidemic(got: Outcome, infected: float, beta: float, gamma: float, days: int) -> None:
    curve, locked, peak = got.result
    assert_allclose(curve.sum(axis=1), 1)
    assert_allclose(peak, curve[:, 1].max())
    s, i = np.array([1 - infected, *curve[:-1, 0]]), np.array([infected, *curve[:-1, 1]])
    contacts = (s - curve[:, 0]) / (s * i)
    assert_allclose(np.diff(curve[:, 2]), gamma * curve[:-1, 1])
    assert np.all(np.isclose(contacts, beta) | np.isclose(contacts, 0.3 * beta))
    assert locked == np.count_nonzero(np.isclose(contacts, 0.3 * beta))
    assert (locked > 0) == bool(np.any(i > 0.1))


def planets(got: Outcome, positions: Any, velocities: Any, masses: Any, dt: float, steps: int) -> None:
    n = len(masses)

    def motion(_: float, state: Any) -> Any:
        x, v = state.reshape(2, n, 2)
        d = x[None] - x[:, None]
        r = np.sqrt((d**2).sum(axis=2) + 1e-4)
        return np.concatenate(
            [v.ravel(), (masses[None, :, None] * d / r[:, :, None] ** 3).sum(axis=1).ravel()]
        )

    start = np.concatenate([positions.ravel(), velocities.ravel()])
    exact = solve_ivp(motion, (0, dt * steps), start, rtol=1e-9, atol=1e-9)
    x, v, nearest = got.result
    assert_allclose(x, exact.y[: 2 * n, -1].reshape(n, 2), atol=0.02)
    assert_allclose(masses @ v, masses @ velocities, atol=1e-9)
    final = np.sqrt(((x[None] - x[:, None]) ** 2).sum(axis=2) + 1e-4)
    assert 0 < nearest <= final[np.triu_indices(n, 1)].min()
