"""Seeded random arguments for the cases."""

from typing import Any

import numpy as np


def normal(*shape: int, seed: int = 0) -> Any:
    """Normal numbers."""
    return np.random.default_rng(seed).standard_normal(shape)


def uniform(low: float, high: float, *shape: int, seed: int = 0) -> Any:
    """Numbers between two bounds."""
    return np.random.default_rng(seed).uniform(low, high, shape)


def whole(low: int, high: int, *shape: int, seed: int = 0) -> Any:
    """Whole numbers from `low` to below `high`."""
    return np.random.default_rng(seed).integers(low, high, shape)


def chance(p: float, *shape: int, seed: int = 0) -> Any:
    """True with this probability."""
    return np.random.default_rng(seed).random(shape) < p


def definite(n: int, *, seed: int = 0) -> Any:
    """A symmetric positive definite matrix."""
    a = normal(n, n, seed=seed)
    return a @ a.T + n * np.eye(n)


def probabilities(*shape: int, seed: int = 0) -> Any:
    """Positive numbers with a last axis that sums to 1."""
    p = uniform(0.1, 1.0, *shape, seed=seed)
    return p / p.sum(axis=-1, keepdims=True)


def codes(text: str) -> Any:
    """A text as an array of character codes."""
    return np.array([ord(letter) for letter in text])
