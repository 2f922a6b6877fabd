"""Operators on numbers of two kinds of Python. An int and a float are compared exactly, where NumPy would round the int
first. Beside a float, a `fractions.Fraction` is one, if this is what Python does.
"""

import math
import sys
from typing import Any, Final

import numpy as np

from ...dtypes import is_inexact
from ...tracing.traced_memory import is_traced

_EXACT: Final = 2.0**53
"""All ints up to this one are floats."""
_END_OF_INTS: Final = 2.0**63


def compared_numbers(ufunc: Any, x: Any, y: Any) -> Any:
    """The comparison of two traced or known Python numbers."""
    if _may_round(x, y):
        return _compared(ufunc, x, y)
    if _may_round(y, x):
        return _compared(_REFLECTED.get(ufunc, ufunc), y, x)
    return ufunc(x, y)


_REFLECTED: Final = {
    np.less: np.greater,
    np.greater: np.less,
    np.less_equal: np.greater_equal,
    np.greater_equal: np.less_equal,
}


def _may_round(n: Any, x: Any) -> bool:
    """Whether the first is an int, the other a float, and both may be so large that a float cannot hold each int."""
    if is_traced(n):
        is_large = n.weak is int
    else:
        is_large = type(n) is int and abs(n) > _EXACT
    if is_traced(x):
        return is_large and x.weak is float
    return is_large and type(x) is float and abs(x) >= _EXACT and np.isfinite(x)


def _compared(ufunc: Any, n: Any, x: Any) -> Any:
    """The comparison of an int and a float: if the rounded int is equal to the float, what was rounded off decides."""
    if is_traced(n):
        rounded, exactly = n.astype(np.float64), _of_equal(ufunc, n, x)
    else:
        rounded = _nearest_float(n)
        exactly = ufunc((n > rounded) - (n < rounded), 0)  # Python compares exactly
    return np.where(np.equal(rounded, x), exactly, ufunc(rounded, x))[()]


def _of_equal(ufunc: Any, n: Any, x: Any) -> Any:
    """The comparison of an int of 64 bits and a float that is equal to the rounded int."""
    fits = np.less(x, _END_OF_INTS)
    whole = np.where(np.logical_and(np.equal(n.astype(np.float64), x), fits), x, 0.0).astype(np.int64)
    return np.where(fits, ufunc(n, whole), ufunc(0, 1))


def _nearest_float(n: int) -> float:
    try:
        return float(n)
    except OverflowError:
        return math.inf if n > 0 else -math.inf


# ---- fractions -------------------------------------------------------------------------------------------

_ARITHMETIC: Final = frozenset(
    {np.add, np.subtract, np.multiply, np.true_divide, np.floor_divide, np.remainder, np.divmod, np.power}
)
_COMPARING: Final = frozenset({np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal})


def with_fraction(ufunc: Any, x: Any, y: Any) -> tuple[Any, Any] | None:
    """The operands with a number of Python instead of a fraction; None if there is none, or if this would not be exact.

    Python computes with a float and a fraction in floats, but compares them exactly. An int and a fraction are a
    fraction, which no program can compute with.
    """
    fractions = sys.modules.get("fractions")
    if fractions is None:
        return None
    fraction, array = (x, y) if is_traced(y) else (y, x)
    if not (type(fraction) is fractions.Fraction and is_traced(array) and is_inexact(array.dtype)):
        return None
    number: Any = float(fraction)
    if ufunc in _COMPARING:
        with np.errstate(over="ignore"):
            element = float(array.dtype.type(number).real)
        if not np.isfinite(element) or fractions.Fraction(element) != fraction:
            return None
    elif ufunc not in _ARITHMETIC:
        return None
    elif ufunc is np.power and fraction is y and fraction.denominator == 1:
        number = int(fraction)
    return (number, y) if fraction is x else (x, number)
