"""`BoundedInt`: what a loop computes from its counter as Python's whole numbers, between bounds that are known."""

import operator
from dataclasses import dataclass
from typing import Any, Final

from ....compiler.symbolic_size import SymbolicSize, is_known

_MOST_FACTOR: Final = 1 << 20
_MOST: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class BoundedInt:
    """A whole number of a program that stands for one of Python's, from `low` to `high`, which are ints or sizes."""

    number: Any
    """A traced array without axes, which takes the dtype of what it meets."""
    low: Any
    high: Any

    @property
    def is_positive(self) -> bool:
        return is_known(self.low > 0)

    @property
    def is_not_zero(self) -> bool:
        return self.is_positive or is_known(self.high < 0)

    def fits(self, low: int, high: int) -> bool:
        """Whether it is within limits for sure."""
        return is_known(self.low >= low) and is_known(self.high <= high)

    def indexes(self, length: Any) -> bool:
        """Whether an axis of this length has such an entry for sure; negative ones count from its end."""
        return is_known(self.low >= -length) and is_known(self.high < length)


def is_whole(x: Any) -> bool:
    """Whether it is a number of this kind, a symbolic size, or one of Python's ints."""
    return type(x) in (int, BoundedInt) or isinstance(x, SymbolicSize)


def combined(sign: str, left: Any, right: Any) -> BoundedInt | None:
    """``left + right`` of whole numbers, one of which is counted, or ``- * // %``; None if 64 bits may not hold it."""
    if not all(type(x) is not int or abs(x) <= _MOST_FACTOR for x in (left, right)):
        return None
    (low, high), (low2, high2) = _bounds(left), _bounds(right)
    number, number2 = _number(left), _number(right)
    if sign == "+":
        return _made(number + number2, low + low2, high + high2)
    if sign == "-":
        return _made(number - number2, low - high2, high - low2)
    if sign == "*":
        return _product(number * number2, (low, high), (low2, high2))
    if type(right) is not int or right <= 0:
        return None
    return (
        _made(number // right, low // right, high // right)
        if sign == "//"
        else _made(number % right, 0, right - 1)
    )


def negated(x: BoundedInt) -> BoundedInt | None:
    """``-x``."""
    return _made(operator.neg(x.number), -x.high, -x.low)


def _product(number: Any, one: tuple[Any, Any], other: tuple[Any, Any]) -> BoundedInt | None:
    """Of factors whose signs are known."""
    if is_known(other[0] >= 0):
        one, other = other, one
    if not is_known(one[0] >= 0):
        return None
    (low, high), (low2, high2) = one, other
    if is_known(low2 >= 0):
        return _made(number, low * low2, high * high2)
    if is_known(high2 <= 0):
        return _made(number, high * low2, low * high2)
    return _made(number, high * low2, high * high2) if is_known(low2 <= 0) and is_known(high2 >= 0) else None


def _bounds(x: Any) -> tuple[Any, Any]:
    return (x.low, x.high) if type(x) is BoundedInt else (x, x)


def _number(x: Any) -> Any:
    return x.number if type(x) is BoundedInt else x


def _made(number: Any, low: Any, high: Any) -> BoundedInt | None:
    return BoundedInt(number, low, high) if _is_small(low) and _is_small(high) else None


def _is_small(bound: Any) -> bool:
    """Whether 64 bits hold it in a loop that ends before long."""
    return not bound.may_overflow if isinstance(bound, SymbolicSize) else abs(bound) < _MOST
