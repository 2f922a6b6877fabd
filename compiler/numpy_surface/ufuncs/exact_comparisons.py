"""Comparisons of Python's numbers. An int and a float are compared exactly, where NumPy would round the int first."""

from typing import Any, Final

import numpy as np

from ...tracing.traced_memory import is_traced

_EXACT: Final = 2.0**53
"""Smaller ints are floats, too."""
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
    """Whether the first is an int, the other a float, and both may be so large that some ints are no floats."""
    if is_traced(n):
        is_large = n.weak is int
    else:
        is_large = type(n) is int and abs(n) > _EXACT
    if is_traced(x):
        return is_large and x.weak is float
    return is_large and type(x) is float and abs(x) >= _EXACT and np.isfinite(x)


def _compared(ufunc: Any, n: Any, x: Any) -> Any:
    """The comparison of an int of 64 bits and a float: where the rounded int is equal, by their difference."""
    rounded = n.astype(np.float64) if is_traced(n) else float(n)
    are_near, fits = np.equal(rounded, x), np.less(x, _END_OF_INTS)
    whole = np.where(np.logical_and(are_near, fits), x, 0.0).astype(np.int64)
    exactly = np.where(fits, ufunc(n, whole), ufunc(0, 1))
    return np.where(are_near, exactly, ufunc(rounded, x))[()]
