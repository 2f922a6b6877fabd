"""``round(x, ndigits)`` of a traced Python float: the float nearest to the exact decimal, as Python rounds.

NumPy rounds the product with a power of ten instead, which may lie on the other side of a half:
``round(0.9725, 3)`` is 0.973, and ``np.round(0.9725, 3)`` is 0.972.
"""

from typing import Any, Final

import numpy as np

from ...branching.python_numbers import as_python_number

_EXACT: Final = 22
"""The largest exponent of a power of ten that a float holds exactly."""
_WHOLE: Final = 2.0**53
"""From here on, floats are further apart than the multiples to which they would be rounded."""
_SPLIT: Final = 2.0**27 + 1


def rounded(x: Any, digits: int) -> Any:
    """``round(x, digits)`` of a Python float."""
    if abs(digits) > _EXACT:
        return as_python_number(np.round(x, digits), float)
    scale = 10.0 ** abs(digits)
    found = _to_fractions(x, scale) if digits >= 0 else _to_multiples(x, scale)
    return as_python_number(found, float)


def _to_fractions(x: Any, scale: float) -> Any:
    """`x` rounded to multiples of ``1 / scale``."""
    product = x * scale
    whole, error = np.floor(product), _product_error(x, scale, product)
    is_half = np.equal(product - whole, 0.5)  # the exact product is on the side of the error
    nearest = np.where(
        np.logical_and(is_half, np.not_equal(error, 0)),
        np.where(error > 0, whole + 1, whole),
        np.rint(product),
    )
    return np.where(np.abs(product) < _WHOLE, np.copysign(nearest, x) / scale, x)


def _to_multiples(x: Any, scale: float) -> Any:
    """`x` rounded to multiples of `scale`. All is exact but the last sum."""
    size = np.abs(x)
    rest, is_odd = np.fmod(size, scale), np.fmod(size, 2 * scale) >= scale
    is_up = np.where(np.equal(2 * rest, scale), is_odd, 2 * rest > scale)
    return np.where(np.isfinite(x), np.copysign(size + np.where(is_up, scale - rest, -rest), x), x)


def _product_error(x: Any, y: float, product: Any) -> Any:
    """The rounding error of a product: Dekker's algorithm, with each factor in two halves."""
    x_high, x_low = _halves(x)
    y_high, y_low = _halves(y)
    return x_low * y_low - (((product - x_high * y_high) - x_low * y_high) - x_high * y_low)


def _halves(x: Any) -> tuple[Any, Any]:
    large = x * _SPLIT
    high = large - (large - x)
    return high, x - high
