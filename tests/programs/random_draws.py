# mypy: ignore-errors
# pyright: basic
"""Programs that draw random numbers from a generator that they seed themselves."""

import numpy as np


def annealing(cities, steps, start_temperature, seed):
    """A short way from the first city by reversing stretches; returns the way and its length."""
    rng = np.random.default_rng(seed)
    n = len(cities)

    def length(tour):
        p = cities[tour]
        return np.sqrt(((p[1:] - p[:-1]) ** 2).sum(axis=1)).sum()

    tour = np.arange(n)
    current = length(tour)
    best, best_tour = current, tour.copy()
    temperature = start_temperature
    for _ in range(steps):
        i, j = sorted(1 + rng.choice(n - 1, 2, replace=False))
        u = rng.random()
        candidate = tour.copy()
        candidate[i : j + 1] = tour[i : j + 1][::-1]
        new = length(candidate)
        if new < current or u < np.exp((current - new) / temperature):
            tour, current = candidate, new
            if current < best:
                best, best_tour = current, tour.copy()
        temperature *= 0.95
    return best_tour, best


def minimise_by_chance(x, steps, seed):
    """Annealing in one dimension; draws a second number only where the step is worse."""
    rng = np.random.default_rng(seed)
    energy = x**2 + 3 * np.sin(5 * x)
    accepted = 0
    for k in range(steps):
        temperature = 1.0 / (k + 1)
        trial = x + rng.normal(0, 0.5)
        e = trial**2 + 3 * np.sin(5 * trial)
        if e < energy or rng.random() < np.exp((energy - e) / temperature):
            x, energy = trial, e
            accepted += 1
    return x, energy, accepted


def rejection_sampling(n, seed):
    """The mean of n numbers from a triangle by rejection, and how many draws it took."""
    rng = np.random.default_rng(seed)
    kept = 0
    draws = 0
    total = 0.0
    while kept < n:
        x, y = rng.random(2)
        draws += 1
        if y <= 1 - abs(2 * x - 1):
            total += x
            kept += 1
    return total / n, draws


def truncated_normal(lower, n, seed):
    """Normal numbers above a bound: each is drawn again while it is below."""
    rng = np.random.default_rng(seed)
    out = np.zeros(n)
    for i in range(n):
        x = rng.normal()
        while x < lower:
            x = rng.normal()
        out[i] = x
    return out


def metropolis(start, scale, steps, seed):
    """A chain on a double well; returns the chain and the share of accepted steps."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal(steps)
    uniforms = rng.random(steps)
    x = start
    accepted = 0
    chain = np.empty(steps)
    for k in range(steps):
        proposal = x + scale * noise[k]
        ratio = (x**2 - 1) ** 2 - (proposal**2 - 1) ** 2
        if np.log(uniforms[k]) < ratio:
            x = proposal
            accepted += 1
        chain[k] = x
    return chain, accepted / steps


def ising(spins, beta, sweeps, seed):
    """Sweeps over a ring of spins that flip in place; returns the magnetisation after each."""
    np.random.seed(seed)
    n = len(spins)
    magnetisation = []
    for _ in range(sweeps):
        for i in range(n):
            change = 2 * spins[i] * (spins[i - 1] + spins[(i + 1) % n])
            u = np.random.rand()
            if change <= 0 or u < np.exp(-beta * change):
                spins[i] = -spins[i]
        magnetisation.append(spins.mean())
    return np.array(magnetisation)


def walk_until_out(radius, limit, seed):
    """The steps of a random walk in the plane until it leaves a disc."""
    rng = np.random.default_rng(seed)
    moves = rng.choice([-1.0, 1.0], size=(limit, 2))
    position = np.zeros(2)
    for step in range(limit):
        position += moves[step]
        if position @ position > radius * radius:
            return step + 1
    return limit


class Lcg:
    """A linear congruential generator of one's own."""

    def __init__(self, seed):
        self.state = seed

    def random(self):
        self.state = (1103515245 * self.state + 12345) % 2147483648
        return self.state / 2147483648


def queue_at_the_bank(customers, arrival, service, seed):
    """The mean wait of customers at one counter, and how many need not wait."""
    rng = Lcg(seed)
    clock = free_at = 0.0
    waited = 0.0
    served_at_once = 0
    for _ in range(customers):
        clock += -np.log(1 - rng.random()) * arrival
        if clock >= free_at:
            start = clock
            served_at_once += 1
        else:
            start = free_at
            waited += free_at - clock
        free_at = start - np.log(1 - rng.random()) * service
    return waited / customers, served_at_once


def bootstrap(x, draws, seed):
    """A confidence interval of the mean from resampled means."""
    rng = np.random.default_rng(seed)
    means = np.zeros(draws)
    for k in range(draws):
        total = 0.0
        for index in rng.integers(0, len(x), len(x)):
            total += x[index]
        means[k] = total / len(x)
    means.sort()
    return means[int(0.05 * draws)], means[int(0.95 * draws)]
