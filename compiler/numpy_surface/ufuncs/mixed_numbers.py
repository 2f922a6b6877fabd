"""Operators on numbers of two kinds of Python. An int and a float are compared exactly, where NumPy would round the int
first. Beside a float, a `fractions.Fraction` is one, if this is what Python does. A `decimal.Decimal` is
compared like one.
"""

import math
from contextlib import suppress
from typing import Any, Final

import numpy as np

from ...dtypes import DType, is_inexact
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


# ---- fractions and decimals -----------------------------------------------------------------------------

_ARITHMETIC: Final = frozenset(
    {np.add, np.subtract, np.multiply, np.true_divide, np.floor_divide, np.remainder, np.divmod, np.power}
)
_COMPARING: Final = frozenset({np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal})


def with_fraction(ufunc: Any, x: Any, y: Any) -> tuple[Any, Any] | None:
    """The operands with a number of Python instead of a fraction, or of a Decimal that is compared; None if there is
    none, or if this would not be exact.

    Python computes with a float and a fraction in floats, but compares them exactly. The sum of an int and a fraction
    is a fraction, which no program can compute with.
    """
    exact, array = (x, y) if is_traced(y) else (y, x)
    if type(exact).__module__ not in _MODULES or not is_traced(array):
        return None
    number: Any
    if ufunc in _COMPARING:
        number = _equal_number(exact, array.dtype)
    elif ufunc in _ARITHMETIC and type(exact).__name__ == "Fraction" and is_inexact(array.dtype):
        number = int(exact) if ufunc is np.power and exact is y and exact.denominator == 1 else float(exact)
    else:
        return None
    return None if number is None else (number, y) if exact is x else (x, number)


_MODULES: Final = ("fractions", "decimal", "_pydecimal")


def _equal_number(exact: Any, dtype: DType) -> int | float | None:
    """The int or the float that is equal to a fraction or a Decimal, also in a dtype; None if there is none."""
    try:
        numerator, denominator = exact.as_integer_ratio()
    except (ValueError, OverflowError):  # NaN, or infinite
        return None
    if not is_inexact(dtype):
        return int(numerator) if denominator == 1 and abs(numerator) < _END_OF_INTS else None
    with np.errstate(over="ignore"), suppress(OverflowError):
        element = float(dtype.type(numerator / denominator).real)
        if np.isfinite(element) and element.as_integer_ratio() == (numerator, denominator):
            return element
    return None
