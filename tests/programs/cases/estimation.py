"""Cases for `programs.estimation`."""

from typing import Any

import numpy as np

from programs.cases.inputs import chance, normal, probabilities, whole
from programs.estimation import (
    forward_backward,
    gaussian_mixture,
    k_means,
    levinson_durbin,
    logistic_regression,
    running_moments,
    track,
    viterbi,
)
from programs.program import Arguments, Program


def positions(n: int, gaps: float) -> Any:
    """A moving object, seen with noise and, with this probability, not at all."""
    return np.where(chance(gaps, n), np.nan, 0.4 * np.arange(n) + 0.3 * normal(n))


def hidden_markov(states: int, letters: int, length: int, seed: int = 0) -> Arguments:
    """A model and what it was seen to say."""
    return (
        probabilities(states, seed=seed),
        probabilities(states, states, seed=seed + 1),
        probabilities(states, letters, seed=seed + 2),
        whole(0, letters, length, seed=seed),
    )


def blobs(per_blob: int, centres: list[list[float]], seed: int = 0) -> Any:
    """Points around each centre in turn."""
    return np.tile(np.array(centres), (per_blob, 1)) + 0.4 * normal(per_blob * len(centres), 2, seed=seed)


def autocorrelation(n: int, lags: int, seed: int) -> Any:
    """Of a smoothed noise."""
    x = np.convolve(normal(n, seed=seed), [1.0, 0.6, 0.3])
    return np.array([x[k:] @ x[: len(x) - k] for k in range(lags)]) / n


TWO_HUMPS = np.concatenate([normal(20) - 2, normal(20, seed=1) * 0.5 + 2])

PROGRAMS = (
    Program(
        track,
        lambda: [
            (positions(10, 0.0), 1.0, 0.01, 0.1),
            (positions(10, 0.4), 1.0, 0.1, 0.5),
            (positions(14, 0.2), 0.5, 0.01, 0.1),
        ],
        uses=("class", "if", "list"),
        in_dims=(0, None, None, 0),
        gradient=(1, 2, 3),
    ),
    Program(
        forward_backward,
        lambda: [hidden_markov(2, 3, 6), hidden_markov(2, 3, 6, seed=9), hidden_markov(4, 5, 15)],
        uses=("if", "int argument"),
        in_dims=(0, 0, 0, 0),
        gradient=(0, 1, 2),
    ),
    Program(
        viterbi,
        lambda: [hidden_markov(3, 3, 7), hidden_markov(3, 3, 7, seed=5), hidden_markov(4, 6, 20)],
        uses=("element loops", "if"),
        in_dims=(0, 0, 0, 0),
    ),
    Program(
        k_means,
        lambda: [
            (blobs(6, [[0, 0], [3, 3]]), 2),
            (blobs(6, [[0, 0], [0.5, 0]], seed=1), 2),
            (blobs(8, [[0, 0], [3, 0], [0, 3]]), 3),
        ],
        uses=("while True", "break", "mask", "if", "int argument"),
        in_dims=(0, None),
    ),
    Program(
        gaussian_mixture,
        lambda: [
            (TWO_HUMPS, np.array([-1.0, 1.0]), 1e-6),
            (TWO_HUMPS[::-1] * 0.5, np.array([-0.1, 0.3]), 1e-6),
            (normal(30), np.array([-1.0, 0.0, 1.0]), 1e-2),
        ],
        uses=("break", "min max"),
        in_dims=(0, 0, None),
        rtol=1e-7,
    ),
    Program(
        logistic_regression,
        lambda: [
            (normal(20, 3), chance(0.5, 20).astype(float), 0.1, 1e-10),
            (normal(20, 3, seed=1), chance(0.9, 20).astype(float), 2.0, 1e-3),
            (normal(50, 2), chance(0.3, 50, seed=2).astype(float), 1.0, 1e-10),
        ],
        uses=("break",),
        in_dims=(0, 0, None, None),
        gradient=(0, 2),
    ),
    Program(
        levinson_durbin,
        lambda: [
            (autocorrelation(60, 6, 0), 5),
            (autocorrelation(60, 6, 1), 2),
            (np.ones(6), 5),
            (np.zeros(4), 3),
            (autocorrelation(90, 15, 2), 12),
        ],
        uses=("inner loop bounds", "early return", "break", "int argument"),
        in_dims=(0, None),
        gradient=(0,),
        kinks=(2, 3),
    ),
    Program(
        running_moments,
        lambda: [
            (normal(20), 3.0),
            (np.where(np.arange(20) == 11, 50.0, normal(20)), 3.0),
            (np.array([2.0]), 3.0),
            (normal(40), 1.0),
        ],
        uses=("continue", "if", "early return", "float argument"),
        in_dims=(0, None),
        gradient=(0,),
    ),
)
