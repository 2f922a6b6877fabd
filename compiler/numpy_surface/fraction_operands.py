"""`with_fraction`: a `fractions.Fraction` as an operand beside a floating-point array or number."""

import sys
from typing import Any

import numpy as np

from ..dtypes import is_inexact
from ..tracing.traced_memory import is_traced

_ARITHMETIC = frozenset(
    {np.add, np.subtract, np.multiply, np.true_divide, np.floor_divide, np.remainder, np.divmod, np.power}
)
_COMPARISONS = frozenset({np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal})


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
    if ufunc in _COMPARISONS:
        with np.errstate(over="ignore"):
            element = float(array.dtype.type(number).real)
        if not np.isfinite(element) or fractions.Fraction(element) != fraction:
            return None
    elif ufunc not in _ARITHMETIC:
        return None
    elif ufunc is np.power and fraction is y and fraction.denominator == 1:
        number = int(fraction)
    return (number, y) if fraction is x else (x, number)
