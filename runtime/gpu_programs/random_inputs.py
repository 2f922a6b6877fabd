"""Arrays for timing kernels: random, since GPUs are faster on zeros, and in the usual range of programs."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from ...compiler.dtypes import Array, DType, is_complex, kind
from ...compiler.ir import ArrayType

DRAWN: Final = 1 << 20
"""At most this many numbers are drawn; a longer array repeats them."""


def random_inputs(types: Sequence[ArrayType], *, positive: bool = False) -> list[Array]:
    """Arrays of these types, the same in each call.

    Floating-point numbers are normal, or with `positive` between 0.25 and 1.75, where few functions are undefined.
    Integers are positions along the longest axis.
    """
    rng = np.random.default_rng(0)
    longest = max((dim for type in types for dim in type.shape), default=2)
    return [_drawn(type, rng, max(longest, 2), positive) for type in types]


def _drawn(type: ArrayType, rng: np.random.Generator, longest: int, positive: bool) -> Array:
    count = min(type.size, DRAWN)
    if count < type.size and count % 2 == 0:
        count -= 1  # so that rows of even length differ
    return np.resize(_numbers(type.dtype, rng, count, longest, positive), type.shape)


def _numbers(dtype: DType, rng: np.random.Generator, count: int, longest: int, positive: bool) -> Array:
    if kind(dtype) == "b":
        return rng.random(count) < 0.5
    if kind(dtype) in "iu":
        return rng.integers(0, min(longest, int(np.iinfo(dtype).max)), count).astype(dtype)
    if is_complex(dtype):
        return (rng.normal(size=count) + 1j * rng.normal(size=count)).astype(dtype)
    drawn = rng.uniform(0.25, 1.75, count) if positive else rng.normal(size=count)
    return drawn.astype(dtype)
