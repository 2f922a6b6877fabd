"""The minimum and maximum of a sum, by interval arithmetic."""

from collections.abc import Mapping
from functools import lru_cache
from math import inf
from typing import TypeAlias

from .terms import Atom, Monomial, Operation, Size, Terms, add, atom, number, scale, substituted

Bound: TypeAlias = int | float
"""An integer or an infinity."""
Interval: TypeAlias = tuple[Bound, Bound]
Ranges: TypeAlias = Mapping[Size, Interval]
"""Bounds of sizes that facts about several sizes narrow, in units of their multiples."""

EVERYWHERE: Interval = (-inf, inf)


def own_range(size: Size) -> Interval:
    """What is known about a size alone, in units of its multiple."""
    return -(-size.min // size.multiple_of), inf if size.max is None else size.max // size.multiple_of


Remembered: TypeAlias = dict[Atom, Interval]
"""Bounds of operations, which may be nested, and which occur many times in sums with the same ranges."""


def interval(terms: Terms, ranges: Ranges) -> Interval:
    """Bounds of the sum."""
    return _interval(terms, ranges, {})


@lru_cache(1 << 14)
def own_lowest(terms: Terms) -> Bound:
    """The lower bound from what is known about each size alone."""
    return lowest(terms, {})


def lowest(terms: Terms, ranges: Ranges, remembered: Remembered | None = None) -> Bound:
    """A lower bound of the sum.

    Atoms of products are counted from their minima, as in ``N*M - N = n*m + m`` for ``N = n + 1, M = m + 1``.
    """
    return _lowest(terms, ranges, {} if remembered is None else remembered)


def _interval(terms: Terms, ranges: Ranges, remembered: Remembered) -> Interval:
    return _lowest(terms, ranges, remembered), -_lowest(scale(terms, -1), ranges, remembered)


def _lowest(terms: Terms, ranges: Ranges, remembered: Remembered) -> Bound:
    found = {one: _atom_interval(one, ranges, remembered) for monomial, _ in terms for one in monomial}
    if any(len(monomial) > 1 for monomial, _ in terms):
        starts = {one: int(low) for one, (low, _) in found.items() if low > 0}
        shifted = {one: add(atom(one), number(low)) for one, low in starts.items()}
        terms = substituted(terms, shifted)
        found.update({one: (0, found[one][1] - low) for one, low in starts.items()})
    total: Bound = 0
    for monomial, count in terms:
        low, high = _product_interval(monomial, found)
        total += _times(count, low if count > 0 else high)
    return total


def _product_interval(monomial: Monomial, found: Mapping[Atom, Interval]) -> Interval:
    low: Bound = 1
    high: Bound = 1
    for one in monomial:
        ends = [_times(a, b) for a in (low, high) for b in found[one]]
        low, high = min(ends), max(ends)
    if len(monomial) == 2 and monomial[0] is monomial[1]:
        low = max(low, 0)
    return low, high


def _times(left: Bound, right: Bound) -> Bound:
    """The product, where 0 times infinity is 0; numbers may be arbitrarily long."""
    if not left or not right:
        return 0
    if abs(left) == inf or abs(right) == inf:
        return inf if (left > 0) == (right > 0) else -inf
    return left * right


def atom_interval(found: Atom, ranges: Ranges) -> Interval:
    """Bounds of one atom; for a size, in units of its multiple."""
    return _atom_interval(found, ranges, {})


def _atom_interval(found: Atom, ranges: Ranges, remembered: Remembered) -> Interval:
    if isinstance(found, Size):
        known = ranges.get(found)
        return own_range(found) if known is None else known
    if found not in remembered:
        args = [_interval(arg, ranges, remembered) for arg in found.args]
        remembered[found] = _operation_interval(found, args)
    return remembered[found]


def _operation_interval(found: Operation, args: list[Interval]) -> Interval:
    if found.op == "min":
        return min(low for low, _ in args), min(high for _, high in args)
    if found.op == "max":
        return max(low for low, _ in args), max(high for _, high in args)
    (low, high), (least, most) = args
    if least < 1:
        return EVERYWHERE
    if found.op == "%":
        return 0, min(most - 1, high) if low >= 0 else most - 1
    return _floor(low, most if low >= 0 else least), _floor(high, least if high >= 0 else most)


def _floor(value: Bound, divisor: Bound) -> Bound:
    """The quotient rounded down, for a divisor of at least 1."""
    if abs(value) == inf:
        return value
    if divisor == inf:
        return 0 if value >= 0 else -1
    return value // divisor
