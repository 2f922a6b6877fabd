"""Loops whose steps wait for each other compute several vectors at once."""

from typing import Any

import numpy as np
import pytest

import tracemill as tm


def roots(x: Any, steps: int) -> Any:
    """Square roots of the numbers from 1 to 2, by Newton's iteration."""
    root = x
    for _ in range(steps):
        root = 0.5 * (root + x / root)
    return root


def julia(z: Any, steps: int) -> Any:
    for _ in range(steps):
        z = np.where(np.abs(z) < 2.0, z * z + (-0.8 + 0.156j), z)
    return z


def compiled(function: Any, steps: int) -> Any:
    return tm.compile(lambda x: function(x, steps), backend="c", dynamic=False)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_long_chains_of_divisions(dtype: str) -> None:
    for count in (1, 255, 256, 1031, 40_000):
        x = np.random.default_rng(count).uniform(1, 2, count).astype(dtype)
        np.testing.assert_array_equal(compiled(roots, 20)(x), roots(x, 20))


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_long_chains_of_lengths(dtype: str) -> None:
    rng = np.random.default_rng(0)
    for count in (1, 300, 40_000):
        z = (0.5 * (rng.normal(size=count) + 1j * rng.normal(size=count))).astype(dtype)
        found, wanted = compiled(julia, 20)(z), julia(z, 20)
        is_near = np.isclose(found, wanted, rtol=1e-3 if dtype == "c8" else 1e-9)
        assert np.mean(is_near) > 0.999  # a length that rounds to 2 decides otherwise


def test_short_chains_need_one_vector() -> None:
    x = np.ones(1000)
    for steps, is_long in ((4, False), (20, True)):
        assert ("tm_lanes" in str(compiled(roots, steps).lower(x).c_source)) == is_long
