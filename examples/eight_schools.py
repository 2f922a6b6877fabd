"""Bayesian inference by Hamiltonian Monte Carlo: how much does coaching help in each of eight schools?

The data are those of D. B. Rubin, 1981. The sampler follows R. M. Neal, 2011: it moves along gradients of the
posterior. `tm.scan` makes one program of all draws, `tm.vmap` runs several chains in it, and sums on a grid check them.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import tracemill as tm

GAINS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
PRIOR_MEAN, PRIOR_SPREAD = 10.0, 10.0  # deviations of the normal and half-normal priors of mean and spread
STEP, LEAPS = 0.25, 12


def effects(q: Any) -> Any:
    """The effect in each school, f64[8], of mean, log of the spread, and eight standard normals: f64[10]."""
    return q[0] + np.exp(q[1]) * q[2:]


def surprise(q: Any) -> Any:
    """Minus the logarithm of the posterior density, but for a constant."""
    mean, spread, standard = q[0], np.exp(q[1]), q[2:]
    prior = (mean / PRIOR_MEAN) ** 2 / 2 + (spread / PRIOR_SPREAD) ** 2 / 2 - q[1] + np.sum(standard**2) / 2
    return prior + np.sum(((GAINS - effects(q)) / ERRORS) ** 2) / 2


def moved(q: Any, given: Any) -> tuple[Any, Any]:
    """The next draw, with a random momentum, f64[10], and the logarithm of a random number from 0 to 1."""
    momentum, level = given
    slope = tm.grad(surprise)
    p = momentum - STEP / 2 * slope(q)
    at = q
    for leap in range(LEAPS):
        at = at + STEP * p
        p = p - (STEP if leap < LEAPS - 1 else STEP / 2) * slope(at)
    gained = surprise(q) + momentum @ momentum / 2 - surprise(at) - p @ p / 2
    accepted = level < gained
    q = np.where(accepted, at, q)
    return q, (q, accepted)


@tm.compile
def chains(starts: Any, momenta: Any, levels: Any) -> Any:
    """The draws f64[chains, draws, 10], and which moves were accepted."""

    def chain(start: Any, momenta: Any, levels: Any) -> Any:
        return tm.scan(moved, start, (momenta, levels))[1]

    return tm.vmap(chain)(starts, momenta, levels)


def expected_effects() -> Any:
    """The mean of each school's effect, f64[8], by sums over a grid of means and spreads."""
    mean, spread = np.meshgrid(np.linspace(-30, 40, 701), np.linspace(0.01, 60, 1200), indexing="ij")
    variance = spread[..., None] ** 2 + ERRORS**2
    log = -((mean / PRIOR_MEAN) ** 2) / 2 - (spread / PRIOR_SPREAD) ** 2 / 2
    log = log - np.sum((GAINS - mean[..., None]) ** 2 / variance + np.log(variance), axis=-1) / 2
    chance = np.exp(log - log.max())
    shrunk = mean[..., None] + spread[..., None] ** 2 / variance * (GAINS - mean[..., None])
    return np.sum(chance[..., None] * shrunk, axis=(0, 1)) / chance.sum()


def mixing(draws: Any) -> Any:
    """The R̂ of A. Gelman and D. B. Rubin, 1992, of draws [chains, draws, …]: 1 where chains agree."""
    within = np.mean(np.var(draws, axis=1, ddof=1), axis=0)
    return np.sqrt(1 + np.var(np.mean(draws, axis=1), axis=0, ddof=1) / within)


def plot(path: Path, found: Any) -> None:
    """What the chains visit, and the effect in each school with what was seen there."""
    import matplotlib.pyplot as plt

    _, (left, right) = plt.subplots(1, 2, figsize=(7, 2.8), layout="constrained")
    means, spreads = found[..., 0].ravel(), np.exp(found[..., 1]).ravel()
    left.plot(means[::4], spreads[::4], ".", markersize=2, alpha=0.5)
    left.set(xlabel="mean effect", ylabel="spread between schools")
    of_schools = np.array([effects(q) for q in found.reshape(-1, 10)])
    schools = np.arange(8)
    low, middle, high = np.quantile(of_schools, (0.05, 0.5, 0.95), axis=0)
    right.errorbar(schools - 0.12, GAINS, 1.64 * ERRORS, fmt="o", markersize=3, label="seen")
    right.errorbar(
        schools + 0.12, middle, (middle - low, high - middle), fmt="o", markersize=3, label="posterior"
    )
    right.set(xlabel="school", ylabel="points, with 90 %", xticks=schools, xticklabels=list("ABCDEFGH"))
    right.legend()
    plt.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2000, help="for each of four chains")
    parser.add_argument("--plot", type=Path, help="draw it in a file, such as schools.svg; needs matplotlib")
    options = parser.parse_args()

    rng = np.random.default_rng(0)
    starts = rng.normal(size=(4, 10))
    momenta = rng.normal(size=(4, options.draws, 10))
    levels = np.log(rng.uniform(size=(4, options.draws)))
    found, accepted = chains(starts, momenta, levels)
    found = found[:, options.draws // 5 :]  # without the way from the start
    print(
        f"{100 * np.mean(accepted):.0f} % of the moves were accepted, R̂ is at most {np.max(mixing(found)):.3f}"
    )

    means = np.mean([effects(q) for q in found.reshape(-1, 10)], axis=0)
    expected = expected_effects()
    print("school  seen  effect  by a grid")
    for name, seen, ours, exact in zip("ABCDEFGH", GAINS, means, expected, strict=True):
        print(f"{name:6}{seen:6.0f}{ours:8.1f}{exact:11.1f}")
    print(f"draws and the grid agree to {np.max(np.abs(means - expected)):.2f} points")
    if options.plot:
        plot(options.plot, found)


if __name__ == "__main__":
    main()
