"""Whether two ways to compute the same result agree up to rounding."""

from typing import Final

import numpy as np

from ...compiler.dtypes import Array, is_complex, is_inexact, real_dtype

TOLERANCE: Final = {2: 2**-5, 4: 2**-13, 8: 2**-42}
"""How far numbers of this many bytes may differ, relative to the largest: short ones are rounded a few times, long
ones are summed in another order."""


def agree(found: Array, expected: Array, noise: float = 0.0) -> bool:
    """Whether results agree up to rounding: sums may have been computed in another order.

    They may differ by `noise`, if that is more than usual.
    """
    if not is_inexact(expected.dtype):
        return bool(np.array_equal(found, expected))
    ours, wanted = found.astype(wide(found)), expected.astype(wide(expected))
    is_number = np.isfinite(wanted)
    if not np.array_equal(np.isfinite(ours), is_number):
        return False
    if not np.array_equal(ours[~is_number], wanted[~is_number], equal_nan=True):
        return False
    ours, wanted = ours[is_number], wanted[is_number]
    near = TOLERANCE[real_dtype(expected.dtype).itemsize] * np.max(np.abs(wanted), initial=0)
    return bool(np.all(np.abs(ours - wanted) <= max(near, noise)))


def is_finite(array: Array) -> bool:
    """Whether all of its elements are finite numbers."""
    return not is_inexact(array.dtype) or bool(np.all(np.isfinite(array.astype(wide(array)))))


def wide(array: Array) -> type[np.complex128] | type[np.float64]:
    """The dtype in which its elements are compared."""
    return np.complex128 if is_complex(array.dtype) else np.float64
