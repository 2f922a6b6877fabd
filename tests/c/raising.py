"""A function that raises in many places: not in a module of tests, whose `assert` pytest rewrites."""

from typing import Any

import numpy as np


class OutOfFuelError(Exception):
    """A class that no file knows."""


def checked(x: Any, limits: Any) -> Any:
    """Checks in branches, in loops, and of the whole array."""
    assert np.all(np.isfinite(x)), "x is not finite"
    if x.max() > 100:
        raise ValueError(f'the largest is {x.max():.1f}, "too large"??/')
    total = 0.0
    for i in range(len(x)):
        if limits[i] > 0:
            if x[i] > limits[i]:
                raise IndexError(f"{i} is over its limit")
            total += x[i]
        x[i] = 0.0
    while total > 50:
        total -= 10.0
        if total == 41:
            raise OutOfFuelError("empty", 41)
    if total < 0:
        raise np.linalg.LinAlgError("negative total")
    return total
