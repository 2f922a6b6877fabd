"""Whether a comparison holds for all sizes: by bounds of sums minus expressions that are known not to be negative."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import gcd, inf

from .bounds import Bound, Ranges, Remembered, interval, lower_bound
from .dim import Comparison, Relation
from .terms import Operation, Terms, add, atom, atoms_in, constant_of, multiply, number, scale

DEEPEST = 2
MOST_STEPS = 200
MOST_FACTS = 64


def is_never_negative(terms: Terms, facts: Sequence[Terms], ranges: Ranges) -> bool:
    """Whether ``terms >= 0`` follows from ``fact >= 0`` for all facts, and from the ranges. False: not known.

    It holds if multiples of facts can be subtracted so that the rest is above −1.
    """
    if lower_bound(terms, ranges) >= 0:
        return True
    known = [*facts, *nonnegative_expressions((terms, *facts), ranges)][:MOST_FACTS]
    return bool(known) and _Search(known, ranges).succeeds(terms, 1, DEEPEST)


class _Search:
    """Subtracts facts, each of which removes a product that may make the sum negative."""

    def __init__(self, facts: Sequence[Terms], ranges: Ranges) -> None:
        self.facts = [(fact, dict(fact)) for fact in facts]
        self.ranges = ranges
        self.remembered: Remembered = {}
        self.steps = MOST_STEPS

    def succeeds(self, terms: Terms, factor: int, depth: int) -> bool:
        """Whether ``terms``, which is `factor` times the sum minus facts, is above −`factor`."""
        self.steps -= 1
        if self.lower_bound(terms) > -factor:
            return True
        if depth == 0 or self.steps < 0:
            return False
        if self._succeeds_by_cases(terms, factor, depth):
            return True
        for monomial, count in terms:
            if not monomial or self.lower_bound(((monomial, count),)) >= 0:
                continue
            for fact, counts in self.facts:
                theirs = counts.get(monomial, 0)
                if theirs * count <= 0:
                    continue
                common = gcd(theirs, count)
                ours, times = abs(theirs) // common, abs(count) // common
                left = add(scale(terms, ours), fact, -times)
                if self.succeeds(left, factor * ours, depth - 1):
                    return True
        return False

    def lower_bound(self, terms: Terms) -> Bound:
        return lower_bound(terms, self.ranges, self.remembered)

    def _succeeds_by_cases(self, terms: Terms, factor: int, depth: int) -> bool:
        """Whether it succeeds with each argument in place of a subtracted maximum or an added minimum."""
        for monomial, count in terms:
            if len(monomial) != 1 or not isinstance(monomial[0], Operation):
                continue
            if (monomial[0].op, count > 0) in (("max", False), ("min", True)):
                rest = tuple(term for term in terms if term[0] != monomial)
                cases = (add(rest, arg, count) for arg in monomial[0].args)
                return all(self.succeeds(case, factor, depth - 1) for case in cases)
        return False


def decided(comparison: Comparison, facts: Sequence[Terms], ranges: Ranges) -> bool | None:
    """The truth value of a comparison for all sizes, as far as ranges and facts that are never negative tell."""
    terms, relation = comparison.terms, comparison.relation
    found = truth_from_bounds(relation, *interval(terms, ranges))
    if found is not None:
        return found

    def proved(terms: Terms) -> bool:
        return is_never_negative(terms, facts, ranges)

    if proved(_less_one(scale(terms, -1))):
        return truth_from_bounds(relation, -inf, -1)
    if relation != ">=" and proved(_less_one(terms)):
        return truth_from_bounds(relation, 1, inf)
    low = 0 if proved(terms) else -inf
    return truth_from_bounds(
        relation, low, 0 if relation != ">=" and low == 0 and proved(scale(terms, -1)) else inf
    )


def truth_from_bounds(relation: Relation, low: Bound, high: Bound) -> bool | None:
    """What bounds say about ``terms relation 0``."""
    if relation == ">=":
        return True if low >= 0 else False if high < 0 else None
    equal = True if low == high == 0 else False if low > 0 or high < 0 else None
    return equal if relation == "==" or equal is None else not equal


def _less_one(terms: Terms) -> Terms:
    return add(terms, number(-1))


def nonnegative_expressions(sums: Iterable[Terms], ranges: Ranges) -> Iterator[Terms]:
    """Expressions that are never negative because of the definitions of the operations in some sums."""
    for found in dict.fromkeys(one for terms in sums for one in atoms_in(terms)):
        if isinstance(found, Operation):
            if not ranges:
                yield from _own_laws(found)
            else:
                yield from _laws(found, ranges)


@lru_cache(1 << 10)
def _own_laws(found: Operation) -> tuple[Terms, ...]:
    return tuple(_laws(found, {}))


def _laws(found: Operation, ranges: Ranges) -> Iterator[Terms]:
    value = atom(found)
    if found.op in ("min", "max"):
        for arg in found.args:
            yield add(arg, value, -1) if found.op == "min" else add(value, arg, -1)
        return
    dividend, divisor = found.args
    if lower_bound(divisor, ranges) < 1:
        return
    if found.op == "//":
        rest = add(dividend, multiply(divisor, value), -1)
        yield rest
        yield add(add(divisor, number(-1)), rest, -1)
        return
    yield value
    if interval(dividend, ranges)[0] >= 0:
        yield add(dividend, value, -1)
    if constant_of(divisor) is None:
        yield add(add(divisor, number(-1)), value, -1)
