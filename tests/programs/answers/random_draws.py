"""Answers for `programs.random_draws`."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.testing import assert_allclose

from programs.checks.outcomes import Outcome


def tour_length(cities: Any, tour: Any) -> Any:
    return sum(np.hypot(*(cities[a] - cities[b])) for a, b in pairwise(tour))


def annealing(got: Outcome, cities: Any, steps: int, start_temperature: float, seed: int) -> None:
    tour, length = got.result
    assert sorted(tour) == list(range(len(cities)))
    assert_allclose(length, tour_length(cities, list(tour)))
    assert length < tour_length(cities, list(range(len(cities))))


def minimise_by_chance(got: Outcome, x: float, steps: int, seed: int) -> None:
    def f(x: float) -> Any:
        return x**2 + 3 * np.sin(5 * x)

    rng = np.random.default_rng(seed)
    accepted = 0
    for temperature in 1 / np.arange(1, steps + 1):
        trial = x + 0.5 * rng.standard_normal()
        worse = f(trial) - f(x)
        if worse < 0 or rng.random() < np.exp(-worse / temperature):
            x = trial
            accepted += 1
    assert got.result[2] == accepted
    assert_allclose(got.result[:2], (x, f(x)))


def rejection_sampling(got: Outcome, n: int, seed: int) -> None:
    mean, draws = got.result
    points = np.random.default_rng(seed).random((draws, 2))
    kept = points[points[:, 1] <= 1 - np.abs(2 * points[:, 0] - 1), 0]
    assert len(kept) == n
    assert points[-1, 0] == kept[-1]
    assert_allclose(mean, kept.mean())


def truncated_normal(got: Outcome, lower: float, n: int, seed: int) -> None:
    drawn = np.random.default_rng(seed).standard_normal(1000)
    assert np.array_equal(got.result, drawn[drawn >= lower][:n])


def metropolis(got: Outcome, start: float, scale: float, steps: int, seed: int) -> None:
    chain, share = got.result
    rng = np.random.default_rng(seed)
    jumps = np.diff(chain, prepend=start)
    moved = jumps != 0
    assert_allclose(jumps[moved], scale * rng.standard_normal(steps)[moved], atol=1e-12)
    before = chain - jumps
    proposals = before + scale * np.random.default_rng(seed).standard_normal(steps)
    density = np.exp(-((proposals**2 - 1) ** 2)) / np.exp(-((before**2 - 1) ** 2))
    assert np.array_equal(moved, rng.random(steps) < density)
    assert_allclose(share, moved.mean())


def ising(got: Outcome, spins: Any, beta: float, sweeps: int, seed: int) -> None:
    state = np.random.RandomState(seed)
    s = spins.copy()
    for magnetisation in got.result:
        for i in range(len(s)):
            change = 2 * s[i] * (np.roll(s, 1) + np.roll(s, -1))[i]
            if state.random_sample() < np.exp(-beta * max(change, 0)):
                s[i] *= -1
        assert_allclose(magnetisation, s.mean())
    assert np.array_equal(got.arguments[0], s)
    assert len(got.result) == sweeps


def walk_until_out(got: Outcome, radius: float, limit: int, seed: int) -> None:
    path = np.cumsum(np.random.default_rng(seed).choice([-1.0, 1.0], (limit, 2)), axis=0)
    outside = np.flatnonzero(np.hypot(*path.T) > radius)
    assert got.result == (outside[0] + 1 if len(outside) else limit)


def queue_at_the_bank(got: Outcome, customers: int, arrival: float, service: float, seed: int) -> None:
    states = [seed]
    for _ in range(2 * customers):
        states.append((1103515245 * states[-1] + 12345) % 2**31)
    times = -np.log(1 - np.array(states[1:]) / 2**31)
    gaps, services = arrival * times[::2], service * times[1::2]
    waits = [0.0]  # Lindley's equation
    for gap, before in zip(gaps[1:], services, strict=False):
        waits.append(max(waits[-1] + before - gap, 0.0))
    mean, at_once = got.result
    assert_allclose(mean, np.mean(waits))
    assert at_once == waits.count(0.0)


def bootstrap(got: Outcome, x: Any, draws: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    means = sorted(x[rng.integers(0, len(x), len(x))].mean() for _ in range(draws))
    assert_allclose(got.result, (means[draws // 20], means[draws * 19 // 20]))
