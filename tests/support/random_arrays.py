"""Random arrays for tests of transforms, and the comparison of their results."""

from collections.abc import Callable
from typing import Any

import numpy as np


def numbers(*shape: int, dtype: Any = np.float64, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def same(got: Any, expected: Any) -> None:
    """Equal in value, shape and dtype."""
    assert np.shape(got) == np.shape(expected)
    assert np.asarray(got).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(got, expected, rtol=1e-6 if np.asarray(got).dtype == np.float32 else 1e-12)


def loop(f: Callable[..., Any], *arrays: Any) -> Any:
    """What `vmap` must equal: the stacked results for the slices along axis 0."""
    return np.stack([f(*slices) for slices in zip(*arrays, strict=True)])
