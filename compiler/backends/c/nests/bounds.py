"""Integers in loop nests as sums of counters, and the bounds that follow from those of the counters."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TypeAlias

_LIMIT = 1 << 63
_MOST_TERMS = 6
_ORDER = count()


@dataclass(eq=False, slots=True)
class Unknown:
    """An integer known only by its bounds, which may depend on earlier unknowns."""

    lows: "list[Sum]" = field(default_factory=list["Sum"])
    highs: "list[Sum]" = field(default_factory=list["Sum"])
    order: int = field(default_factory=lambda: next(_ORDER))

    def add_low(self, bound: "Sum") -> None:
        if self._may_depend_on(bound):
            self.lows.append(bound)

    def add_high(self, bound: "Sum") -> None:
        if self._may_depend_on(bound):
            self.highs.append(bound)

    def _may_depend_on(self, bound: "Sum") -> bool:
        """Whether a bound depends only on older unknowns, and is computed without overflow: then it is valid for the
        integer."""
        return all(one.order < self.order for one in bound.terms) and is_exact(bound)


@dataclass(frozen=True, slots=True)
class Sum:
    """A constant plus multiples of unknowns."""

    constant: int
    terms: Mapping[Unknown, int] = field(default_factory=dict[Unknown, int])

    def __add__(self, other: "Sum") -> "Sum":
        terms = dict(self.terms)
        for one, factor in other.terms.items():
            terms[one] = terms.get(one, 0) + factor
        return Sum(self.constant + other.constant, {one: factor for one, factor in terms.items() if factor})

    def __sub__(self, other: "Sum") -> "Sum":
        return self + other.times(-1)

    def times(self, factor: int) -> "Sum":
        if not factor:
            return Sum(0)
        return Sum(self.constant * factor, {one: own * factor for one, own in self.terms.items()})


Known: TypeAlias = Sum | None
"""The known bounds of an integer; None if there are none."""


def unknown_between(low: int, high: int) -> Sum:
    """A new unknown with constant bounds."""
    return Sum(0, {Unknown([Sum(low)], [Sum(high)]): 1})


def highest(known: Known) -> int | None:
    """An upper bound; None if there is none.

    The newest unknown is replaced by its own bound first: the counter of the innermost loop, whose bound may depend
    on outer counters, which then cancel out.
    """
    if known is None or len(known.terms) > _MOST_TERMS:
        return None
    if not known.terms:
        return known.constant
    newest = max(known.terms, key=lambda one: one.order)
    factor = known.terms[newest]
    rest = known - Sum(0, {newest: factor})
    found = [
        high
        for bound in (newest.highs if factor > 0 else newest.lows)
        if (high := highest(rest + bound.times(factor))) is not None
    ]
    return min(found, default=None)


def lowest(known: Known) -> int | None:
    """A lower bound; None if there is none."""
    if known is None:
        return None
    high = highest(known.times(-1))
    return None if high is None else -high


def ends(known: Known) -> tuple[int, int] | None:
    """The minimum and maximum, if 64 bits can hold both: otherwise the program's integer may wrap around."""
    low, high = lowest(known), highest(known)
    return None if low is None or high is None or low < -_LIMIT or high >= _LIMIT else (low, high)


def is_exact(known: Known) -> bool:
    """Whether 64 bits can hold the sum."""
    return ends(known) is not None


def lies_between(known: Known, low: int, high: int) -> bool:
    """Whether it is known that ``low <= integer <= high``."""
    found = ends(known)
    return found is not None and low <= found[0] and found[1] <= high


def spanning(low: int, high: int) -> Known:
    """An unknown with these bounds; None if 64 bits cannot hold them."""
    known = unknown_between(low, high)
    return known if is_exact(known) else None


def product(x: Known, y: Known) -> Known:
    """For a sum and a constant; otherwise an unknown between the products of the bounds."""
    if x is None or y is None:
        return None
    for one, other in ((x, y), (y, x)):
        if not one.terms:
            return other.times(one.constant)
    mine, theirs = ends(x), ends(y)
    if mine is None or theirs is None:
        return None
    corners = [a * b for a in mine for b in theirs]
    return spanning(min(corners), max(corners))


def either(*found: Known) -> Known:
    """One of several integers."""
    spans = [span for one in found if (span := ends(one)) is not None]
    if len(spans) < len(found):
        return None
    return spanning(min(low for low, _ in spans), max(high for _, high in spans))
