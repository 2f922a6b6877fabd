"""Arithmetic of intervals: the minimum and maximum of a sum, product or quotient, from those of its operands.

Ends are ints, infinities or symbolic sizes. Where a rule depends on a sign, it must be known for all sizes.
"""

from math import inf
from typing import Any, TypeAlias

from .symbolic_size import SymbolicSize, is_known, max_expr, min_expr
from .symbolic_size import quotient as floor_quotient

Interval: TypeAlias = tuple[Any, Any]
"""The minimum and the maximum, both included. If there are no values, they are arbitrary."""


def add(x: Interval, y: Interval) -> Interval:
    """Of ``x + y``."""
    return x[0] + y[0], x[1] + y[1]


def negative(x: Interval) -> Interval:
    """Of ``-x``."""
    return -x[1], -x[0]


def subtract(x: Interval, y: Interval) -> Interval:
    """Of ``x - y``."""
    return x[0] - y[1], x[1] - y[0]


def scaled(x: Interval, factor: Any) -> Interval:
    """Of ``factor * x``. If the sign of the factor is not known, it becomes a guard."""
    is_upright = is_known(factor >= 0) or (not is_known(factor <= 0) and factor >= 0)
    low, high = x if is_upright else x[::-1]
    return factor * low, factor * high


def multiply(x: Interval, y: Interval) -> Interval | None:
    """Of ``x * y``; None if signs are not known."""
    if not any(isinstance(end, SymbolicSize) for end in (*x, *y)):
        corners = [times(a, b) for a in x for b in y]
        return min(corners), max(corners)
    for one, by in ((x, y), (y, x)):
        if _is_number(by) and (is_known(by[0] >= 0) or is_known(by[0] <= 0)):
            return scaled(one, by[0])
    return (x[0] * y[0], x[1] * y[1]) if is_known(x[0] >= 0) and is_known(y[0] >= 0) else None


def quotient(x: Interval, y: Interval) -> Interval | None:
    """Of ``x // y``, for ``y >= 1``; None if that or the sign of `x` is not known."""
    (low, high), (least, most) = x, y
    if not is_known(least >= 1):
        return None
    if _is_number(y):
        return _floor(low, least), _floor(high, least)
    is_natural = is_known(low >= 0)
    if not is_natural and not is_known(low <= 0):
        return None
    if is_natural or is_known(high >= 0):
        return _floor(low, most if is_natural else least), _floor(high, least)
    return (_floor(low, least), _floor(high, most)) if is_known(high <= 0) else None


def remainder(x: Interval | None, y: Interval) -> Interval | None:
    """Of ``x % y``, for ``y >= 1``; None if that is not known."""
    if not is_known(y[0] >= 1):
        return None
    most = y[1] - 1
    if x is None or not is_known(x[0] >= 0):
        return 0, most
    if is_known(x[1] < y[0]):
        return x
    return 0, most if isinstance(most, SymbolicSize) or isinstance(x[1], SymbolicSize) else min(x[1], most)


def minimum(x: Interval, y: Interval) -> Interval:
    """Of the smaller one of `x` and `y`."""
    return min_expr(x[0], y[0]), min_expr(x[1], y[1])


def maximum(x: Interval, y: Interval) -> Interval:
    """Of the larger one of `x` and `y`."""
    return max_expr(x[0], y[0]), max_expr(x[1], y[1])


def hull(*intervals: Interval | None) -> Interval | None:
    """The smallest interval that contains all of these; None if one is."""
    found: Interval | None = None
    for one in intervals:
        if one is None:
            return None
        found = one if found is None else (min_expr(found[0], one[0]), max_expr(found[1], one[1]))
    return found


def times(left: float, right: float) -> Any:
    """The product of numbers, where 0 times infinity is 0; ints may be arbitrarily long."""
    if not left or not right:
        return 0
    if abs(left) == inf or abs(right) == inf:
        return inf if (left > 0) == (right > 0) else -inf
    return left * right


def _is_number(x: Interval) -> bool:
    """Whether there is only one value."""
    return x[0] is x[1] or is_known(x[0] == x[1])


def _floor(value: Any, divisor: Any) -> Any:
    """The quotient rounded down, for a divisor of at least 1."""
    if isinstance(value, SymbolicSize) or isinstance(divisor, SymbolicSize):
        return floor_quotient(value, divisor)
    if abs(value) == inf:
        return value
    if divisor == inf:
        return 0 if value >= 0 else -1
    return value // divisor
