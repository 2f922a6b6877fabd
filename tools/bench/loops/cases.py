"""The loop programs, with arguments for which each takes milliseconds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import elements, numbers

Arguments = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A program and its arguments for a size."""

    function: Callable[..., Any]
    arguments: Callable[[np.random.Generator, int], Arguments]
    size: int
    small: int = 8
    """A size at which plain Python takes milliseconds, for tests."""

    @property
    def name(self) -> str:
        return self.function.__name__

    def drawn(self, size: int) -> Arguments:
        """The arguments, the same in each call."""
        return self.arguments(np.random.default_rng(0), size)


def _positive_definite(rng: np.random.Generator, n: int) -> Arguments:
    a = rng.normal(size=(n, n))
    return (a @ a.T + n * np.eye(n),)


def _triangle(rng: np.random.Generator, n: int) -> Arguments:
    return np.tril(rng.normal(size=(n, n))) + n * np.eye(n), rng.normal(size=(n, 10))


def _autocorrelation(rng: np.random.Generator, n: int) -> Arguments:
    lags = np.arange(n + 1)
    return 0.9**lags * np.cos(0.3 * lags) + (lags == 0), n


def _markov_model(rng: np.random.Generator, n: int) -> Arguments:
    start, step, emit = (
        rng.dirichlet(np.ones(20)),
        rng.dirichlet(np.ones(20), 20),
        rng.dirichlet(np.ones(10), 20),
    )
    return np.log(start), np.log(step), np.log(emit), rng.integers(0, 10, n)


ELEMENTS = (
    Case(elements.lu, _positive_definite, 300),
    Case(elements.cholesky, _positive_definite, 300),
    Case(elements.triangular_solve, _triangle, 500),
    Case(elements.gauss_seidel, lambda rng, n: (rng.normal(size=(n, n)), rng.normal(size=(n, n))), 200),
    Case(elements.levinson, _autocorrelation, 1000),
    Case(elements.edit_distance, lambda rng, n: (rng.integers(0, 4, n), rng.integers(0, 4, n)), 300),
    Case(elements.cusum, lambda rng, n: (rng.normal(size=n), 0.1), 1_000_000),
    Case(elements.floyd_warshall, lambda rng, n: (rng.uniform(1, 100, (n, n)),), 200),
    Case(elements.sieve, lambda rng, n: (np.ones(n, np.int64),), 1_000_000),
    Case(elements.life, lambda rng, n: (rng.integers(0, 2, (n, n)),), 100),
)
"""Loops over the elements of arrays."""

NUMBERS = (
    Case(numbers.bisection, lambda rng, n: (rng.uniform(-100, 100, n),), 5000),
    Case(numbers.checksum, lambda rng, n: (rng.integers(0, 256, n),), 200_000),
    Case(numbers.viterbi, _markov_model, 5000),
    Case(numbers.collatz, lambda rng, n: (np.arange(1, n),), 20_000),
    Case(numbers.gcd, lambda rng, n: (rng.integers(1, 10**9, n), rng.integers(1, 10**9, n)), 20_000),
    Case(numbers.newton, lambda rng, n: (rng.uniform(1, 1000, n),), 20_000),
    Case(numbers.mandelbrot, lambda rng, n: (rng.uniform(-2, 1, n), rng.uniform(-1, 1, n), 200), 5000),
    Case(numbers.random_walk, lambda rng, n: (42, n), 1_000_000, small=100),
    Case(numbers.binary_search, lambda rng, n: (np.sort(rng.normal(size=5 * n)), rng.normal(size=n)), 20_000),
    Case(numbers.fibonacci, lambda rng, n: (n, 1_000_000_007), 1_000_000),
)
"""Loops over numbers."""
