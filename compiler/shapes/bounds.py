"""The minimum and maximum of a sum, by interval arithmetic."""

from collections.abc import Mapping
from functools import lru_cache, reduce
from math import inf
from typing import TypeAlias

from ..intervals import Interval, maximum, minimum, multiply, quotient, remainder, times
from .terms import Atom, Monomial, Operation, Size, Terms, add, atom, number, scale, substituted

Bound: TypeAlias = int | float
"""An integer or an infinity."""
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
def own_lower_bound(terms: Terms) -> Bound:
    """The lower bound from what is known about each size alone."""
    return lower_bound(terms, {})


def lower_bound(terms: Terms, ranges: Ranges, remembered: Remembered | None = None) -> Bound:
    """A lower bound of the sum.

    Atoms of products are counted from their minima, as in ``N*M - N = n*m + m`` for ``N = n + 1, M = m + 1``.
    """
    return _lower_bound(terms, ranges, {} if remembered is None else remembered)


def _interval(terms: Terms, ranges: Ranges, remembered: Remembered) -> Interval:
    return _lower_bound(terms, ranges, remembered), -_lower_bound(scale(terms, -1), ranges, remembered)


def _lower_bound(terms: Terms, ranges: Ranges, remembered: Remembered) -> Bound:
    found = {one: _atom_interval(one, ranges, remembered) for monomial, _ in terms for one in monomial}
    if any(len(monomial) > 1 for monomial, _ in terms):
        starts = {one: int(low) for one, (low, _) in found.items() if low > 0}
        shifted = {one: add(atom(one), number(low)) for one, low in starts.items()}
        terms = substituted(terms, shifted)
        found.update({one: (0, found[one][1] - low) for one, low in starts.items()})
    total: Bound = 0
    for monomial, count in terms:
        low, high = _product_interval(monomial, found)
        total += times(count, low if count > 0 else high)
    return total


def _product_interval(monomial: Monomial, found: Mapping[Atom, Interval]) -> Interval:
    product: Interval = 1, 1
    for one in monomial:
        product = multiply(product, found[one]) or EVERYWHERE
    low, high = product
    if len(monomial) == 2 and monomial[0] is monomial[1]:
        low = max(low, 0)
    return low, high


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
    match found.op:
        case "min":
            return reduce(minimum, args)
        case "max":
            return reduce(maximum, args)
        case "%":
            return remainder(*args) or EVERYWHERE
        case "//":
            return quotient(*args) or EVERYWHERE
