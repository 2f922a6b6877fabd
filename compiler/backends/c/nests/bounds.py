"""Integers in loop nests as sums of counters, and the bounds that follow from those of the counters."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TypeAlias

from ....intervals import hull, multiply

_LIMIT = 1 << 63
_MOST_TERMS = 6
_ORDER = count()


@dataclass(eq=False, slots=True)
class Variable:
    """An integer known only by its bounds, which may depend on earlier variables."""

    lows: "list[LinearForm]" = field(default_factory=list["LinearForm"])
    highs: "list[LinearForm]" = field(default_factory=list["LinearForm"])
    order: int = field(default_factory=lambda: next(_ORDER))

    def add_low(self, bound: "LinearForm") -> None:
        if self._may_depend_on(bound):
            self.lows.append(bound)

    def add_high(self, bound: "LinearForm") -> None:
        if self._may_depend_on(bound):
            self.highs.append(bound)

    def _may_depend_on(self, bound: "LinearForm") -> bool:
        """Whether a bound depends only on older variables, and is computed without overflow: then it is valid for the
        integer."""
        return all(one.order < self.order for one in bound.terms) and is_exact(bound)


@dataclass(frozen=True, slots=True)
class LinearForm:
    """A constant plus multiples of variables."""

    constant: int
    terms: Mapping[Variable, int] = field(default_factory=dict[Variable, int])

    def __add__(self, other: "LinearForm") -> "LinearForm":
        terms = dict(self.terms)
        for one, factor in other.terms.items():
            terms[one] = terms.get(one, 0) + factor
        return LinearForm(
            self.constant + other.constant, {one: factor for one, factor in terms.items() if factor}
        )

    def __sub__(self, other: "LinearForm") -> "LinearForm":
        return self + other.times(-1)

    def times(self, factor: int) -> "LinearForm":
        if not factor:
            return LinearForm(0)
        return LinearForm(self.constant * factor, {one: own * factor for one, own in self.terms.items()})


Known: TypeAlias = LinearForm | None
"""The known bounds of an integer; None if there are none."""


def variable_between(low: int, high: int) -> LinearForm:
    """A new variable with constant bounds."""
    return LinearForm(0, {Variable([LinearForm(low)], [LinearForm(high)]): 1})


def upper_bound(known: Known) -> int | None:
    """An upper bound; None if there is none.

    The newest variable is replaced by its own bound first: the counter of the innermost loop, whose bound may depend
    on outer counters, which then cancel out.
    """
    if known is None or len(known.terms) > _MOST_TERMS:
        return None
    if not known.terms:
        return known.constant
    newest = max(known.terms, key=lambda one: one.order)
    factor = known.terms[newest]
    rest = known - LinearForm(0, {newest: factor})
    found = [
        high
        for bound in (newest.highs if factor > 0 else newest.lows)
        if (high := upper_bound(rest + bound.times(factor))) is not None
    ]
    return min(found, default=None)


def lower_bound(known: Known) -> int | None:
    """A lower bound; None if there is none."""
    if known is None:
        return None
    high = upper_bound(known.times(-1))
    return None if high is None else -high


def interval_of(known: Known) -> tuple[int, int] | None:
    """The minimum and maximum, if 64 bits can hold both: otherwise the program's integer may wrap around."""
    low, high = lower_bound(known), upper_bound(known)
    return None if low is None or high is None or low < -_LIMIT or high >= _LIMIT else (low, high)


def is_exact(known: Known) -> bool:
    """Whether 64 bits can hold the sum."""
    return interval_of(known) is not None


def lies_between(known: Known, low: int, high: int) -> bool:
    """Whether it is known that ``low <= integer <= high``."""
    found = interval_of(known)
    return found is not None and low <= found[0] and found[1] <= high


def within(low: int, high: int) -> Known:
    """A variable with these bounds; None if 64 bits cannot hold them."""
    known = variable_between(low, high)
    return known if is_exact(known) else None


def product(x: Known, y: Known) -> Known:
    """For a sum and a constant; otherwise a variable between the products of the bounds."""
    if x is None or y is None:
        return None
    for one, other in ((x, y), (y, x)):
        if not one.terms:
            return other.times(one.constant)
    mine, theirs = interval_of(x), interval_of(y)
    if mine is None or theirs is None:
        return None
    found = multiply(mine, theirs)
    return None if found is None else within(*found)


def union(*found: Known) -> Known:
    """One of several integers."""
    span = hull(*map(interval_of, found))
    return None if span is None else within(*span)
