"""Operators on numbers of two kinds of Python. An int and a float are compared exactly, where NumPy would round the int
first. Beside a float, a `fractions.Fraction` is one, if this is what Python does. A `decimal.Decimal` is
compared like one.
"""

import math
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


def with_fraction(ufunc: Any, x: Any, y: Any, *, is_operator: bool = True) -> tuple[Any, Any] | None:
    """The operands with a number of Python instead of a fraction, or of a Decimal that is compared; None if there is
    none.

    Python computes with a float and a fraction in floats, but compares them exactly. The sum of an int and a fraction
    is a fraction, which no program can compute with, and NumPy's own functions give arrays of objects.
    """
    exact, array = (x, y) if is_traced(y) else (y, x)
    if not is_exact(exact) or not is_traced(array):
        return None
    number: Any
    if ufunc in _COMPARING:
        number = _compared_number(ufunc if exact is y else _REFLECTED.get(ufunc, ufunc), exact, array.dtype)
    elif (
        is_operator
        and ufunc in _ARITHMETIC
        and type(exact).__name__ == "Fraction"
        and is_inexact(array.dtype)
    ):
        number = int(exact) if ufunc is np.power and exact is y and exact.denominator == 1 else float(exact)
    else:
        return None
    return None if number is None else (number, y) if exact is x else (x, number)


def is_exact(x: Any) -> bool:
    """Whether it is a fraction or a Decimal."""
    return type(x).__module__ in _MODULES


_MODULES: Final = ("fractions", "decimal", "_pydecimal")


def _compared_number(ufunc: Any, exact: Any, dtype: DType) -> int | float | None:
    """The int or the float to which arrays of a dtype compare as they do to a fraction or a Decimal, to their right;
    None for NaN, which Python refuses.

    If none is equal, it is one of the two next to it: an element is below the exact number if it is below the one
    above. No element is equal to NaN.
    """
    try:
        numerator, denominator = exact.as_integer_ratio()
    except OverflowError:
        return math.copysign(math.inf, exact)
    except ValueError:
        return None
    below, above = _neighbours(numerator, denominator, dtype)
    if below == above:
        return below
    if ufunc in (np.equal, np.not_equal):
        return math.nan
    return above if ufunc in (np.less, np.greater_equal) else below


def _neighbours(numerator: int, denominator: int, dtype: DType) -> tuple[int | float, int | float]:
    """The last number of a dtype that is not above a quotient, and the first that is not below it."""
    if not is_inexact(dtype):
        below, rest = divmod(numerator, denominator)
        return _as_operand(below, dtype), _as_operand(below + bool(rest), dtype)
    zero: Any = np.zeros((), dtype)
    kind = zero.real.dtype.type
    with np.errstate(over="ignore"):
        try:
            nearest = kind(numerator / denominator)
        except OverflowError:
            nearest = kind(math.inf if numerator > 0 else -math.inf)
        if np.isinf(nearest):
            order = 1 if nearest > 0 else -1
        else:
            top, bottom = float(nearest).as_integer_ratio()
            order = (top * denominator > numerator * bottom) - (top * denominator < numerator * bottom)
        if order == 0:
            return float(nearest), float(nearest)
        other = float(np.nextafter(nearest, kind(-order * math.inf)))
    return (other, float(nearest)) if order > 0 else (float(nearest), other)


def _as_operand(n: int, dtype: DType) -> int | float:
    """An int beside an array of ints; infinity if it is beyond all of these."""
    if n < -(2**63):
        return -math.inf
    return n if n < (2**64 if dtype == np.uint64 else 2**63) else math.inf
