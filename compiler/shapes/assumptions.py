"""Known facts about sizes, and what follows from them for all sizes."""

from collections.abc import Iterable
from functools import cached_property, lru_cache
from math import inf, prod

from ..errors import ContradictoryConstraintsError
from ..intervals import Interval
from .bounds import Bound, interval, own_range
from .dim import CACHED, Comparison, Dim, Extent, comparison_of, terms_of
from .division import floor_divide, replaced
from .proof import decided, is_never_negative, nonnegative_expressions, truth_from_bounds
from .residues import cases, in_case
from .spelling import spelled_facts
from .terms import (
    Atom,
    Monomial,
    Operation,
    Size,
    Terms,
    add,
    atom,
    atoms_in,
    multiply,
    number,
    scale,
    sizes_in,
)

NOTHING = "nothing"
"""Assumptions without any facts."""
ROUNDS = 4
"""How often ranges narrow each other."""


class Assumptions:
    """Comparisons that hold, in addition to what is known about each size alone. Immutable.

    >>> import tracemill as tm
    >>> A, B = tm.Dim("A"), tm.Dim("B", max=8)
    >>> known = Assumptions([A <= B, B % 4 == 0])
    >>> known.decide(A + 1 <= 9), known.decide(A > 8), known.decide(A == B), known.decide((B + 1) % 4 == 1)
    (True, False, None, True)

    Raises:
        ContradictoryConstraintsError: no sizes are found for which all of them can hold.
    """

    def __init__(self, relations: Iterable[Comparison | bool] = (), *, hold_for_a_call: bool = False) -> None:
        """`hold_for_a_call` says that they hold together for some sizes, so this expensive check is skipped."""
        given: list[Comparison] = []
        for relation in relations:
            if isinstance(relation, Comparison):
                given.append(relation)
            elif not relation:
                raise ContradictoryConstraintsError("a constraint holds for no size at all")
        self.relations = tuple(dict.fromkeys(given))
        self._check_names()
        self._equal: dict[Atom, Terms] = {}
        self._facts: list[Terms] = []
        """Expressions that are never negative."""
        self._other: set[Terms] = set()
        """Expressions that are never 0."""
        self._ranges: dict[Size, Interval] = {}
        self._decided: dict[Comparison, bool | None] = {}
        for relation in sorted(self.relations, key=lambda one: one.relation != "=="):
            self._learn(relation)
        self._facts = list(dict.fromkeys(map(self._reduced, self._facts)))
        self._narrow()
        if not hold_for_a_call and len(self._facts) > 1:
            self._check_facts()

    def adding(self, *relations: Comparison | bool) -> "Assumptions":
        """These and others, which hold together for the sizes of a call."""
        return Assumptions((*self.relations, *relations), hold_for_a_call=True)

    def __str__(self) -> str:
        return ", ".join(map(repr, self.relations))

    def describe(self, *comparisons: Comparison | Dim) -> str:
        """What is known about the sizes in these: ``N in 1..8, N % 4 == 0, A <= N``."""
        sizes = dict.fromkeys(size for one in comparisons for size in sizes_in(one.terms))
        facts = [fact for size in sizes for fact in spelled_facts(size)]
        facts += [repr(one) for one in self.relations if any(size in sizes for size in sizes_in(one.terms))]
        return ", ".join(facts) or NOTHING

    def bounds(self, extent: Extent) -> Interval:
        """The bounds of its values, both included."""
        return interval(self._reduced(terms_of(extent)), self._ranges)

    def follows_from_bounds(self, comparison: Comparison) -> bool:
        """Whether it holds for all sizes within their `bounds`, without other facts."""
        sizes = sizes_in(comparison.terms)
        ranges = {size: interval(self._reduced(atom(size)), self._ranges) for size in sizes}
        return truth_from_bounds(comparison.relation, *interval(comparison.terms, ranges)) is True

    # ---- deciding ----------------------------------------------------------------------------------

    def decide(self, comparison: Comparison | bool) -> bool | None:
        """True if it holds for all allowed sizes, False if for none, None if that is not known."""
        if isinstance(comparison, bool):
            return comparison
        try:  # another thread may clear it at any time
            return self._decided[comparison]
        except KeyError:
            if len(self._decided) >= CACHED:
                self._decided.clear()
        found = self._decided[comparison] = self._found(comparison)
        return found

    def _found(self, comparison: Comparison) -> bool | None:
        if comparison in self._stated:
            return self._stated[comparison]
        reduced = comparison_of(self._reduced(comparison.terms), comparison.relation)
        if isinstance(reduced, bool):
            return reduced
        if reduced.relation != ">=" and {reduced.terms, scale(reduced.terms, -1)} & self._other:
            return reduced.relation == "!="
        found = decided(reduced, self._facts, self._ranges)
        if found is None:
            found = self._by_cases(reduced)
        if found is None:
            found = self._by_factors(reduced)
        if found is None and reduced.terms != comparison.terms:
            # ``max(0, n - 1) <= n`` holds for all n, but ``5 <= n``, where the maximum is known to be 5, says less.
            found = decided(comparison, self._facts, self._ranges)
        return found

    def _by_factors(self, comparison: Comparison) -> bool | None:
        """By the signs of factors, if they may tell more than bounds."""
        from .by_sympy import is_worth_asking, sign_by_sympy

        if not is_worth_asking(comparison.terms):
            return None
        return truth_from_bounds(comparison.relation, *sign_by_sympy(comparison.terms, self._ranges))

    @cached_property
    def _stated(self) -> dict[Comparison, bool]:
        stated = dict.fromkeys(self.relations, True)
        return {**{one.negated: False for one in self.relations}, **stated}

    def _by_cases(self, comparison: Comparison) -> bool | None:
        """By the remainders of sizes, if it contains quotients of them and all possible cases agree."""
        verdicts: set[bool | None] = set()
        for case in cases((comparison.terms, *self._residual), self._ranges):
            terms = in_case(comparison.terms, case)
            if terms is None:
                return None
            inside = [in_case(fact, case) for fact in (*self._facts, *self._residual)]
            facts = [fact for fact in inside if fact is not None]
            if any(interval(fact, self._ranges)[1] < 0 for fact in facts):
                continue
            reduced = comparison_of(terms, comparison.relation)
            verdicts.add(reduced if isinstance(reduced, bool) else decided(reduced, facts, self._ranges))
            if len(verdicts) > 1 or None in verdicts:
                return None
        return verdicts.pop() if verdicts else None

    # ---- learning ----------------------------------------------------------------------------------

    def _check_names(self) -> None:
        by_name: dict[str, Size] = {}
        for size in (size for relation in self.relations for size in sizes_in(relation.terms)):
            other = by_name.setdefault(size.text, size)
            if other != size:
                texts = [", ".join(spelled_facts(one)) or "any size" for one in (other, size)]
                raise ContradictoryConstraintsError(
                    f"two dims are called {size.text}: one is {texts[0]}, the other {texts[1]}"
                )

    def _check_facts(self) -> None:
        """Not all of them together may contradict a fact."""
        for fact in self._facts:
            if is_never_negative(add(number(-1), fact, -1), self._facts, self._ranges):
                self._contradiction()

    def _learn(self, relation: Comparison) -> None:
        terms = self._reduced(relation.terms)
        reduced = comparison_of(terms, relation.relation)
        if isinstance(reduced, bool):
            if not reduced:
                self._contradiction(relation)
        elif reduced.relation == ">=":
            self._facts.append(reduced.terms)
        elif reduced.relation == "!=":
            self._other.add(reduced.terms)
        else:
            self._learn_equality(reduced.terms)

    def _learn_equality(self, terms: Terms) -> None:
        """``terms == 0``: replace a part by the rest, and keep what is known about that part."""
        for monomial, count in sorted(terms, key=_replacing_order, reverse=True):
            if len(monomial) != 1 or abs(count) != 1:
                continue
            rest = scale(tuple(term for term in terms if term[0] != monomial), -count)
            if monomial[0] in atoms_in(rest):
                continue
            known = {monomial[0]: rest}
            try:
                self._equal = {one: replaced(other, known) for one, other in self._equal.items()} | known
            except ZeroDivisionError:
                continue
            if isinstance(monomial[0], Operation):
                self._facts += nonnegative_expressions([atom(monomial[0])], {})
                self._facts += _of_quotient(monomial[0], rest)
            else:
                low, high = own_range(monomial[0])
                self._facts.append(add(rest, number(-int(low))))
                if high != inf:
                    self._facts.append(add(number(int(high)), rest, -1))
            return
        self._facts += [terms, scale(terms, -1)]

    @cached_property
    def _residual(self) -> list[Terms]:
        """Equalities by which something other than a size was replaced, as expressions that are never negative."""
        found: list[Terms] = []
        for one, terms in self._equal.items():
            if not isinstance(one, Size):
                difference = add(atom(one), terms, -1)
                found += [difference, scale(difference, -1)]
        return found

    def _reduced(self, terms: Terms) -> Terms:
        try:
            return replaced(terms, self._equal) if self._equal else terms
        except ZeroDivisionError:
            return terms

    def _narrow(self) -> None:
        """Ranges of sizes that follow from the facts and from each other."""
        for _ in range(ROUNDS):
            before = dict(self._ranges)
            for fact in (*self._facts, *self._residual):
                if interval(fact, self._ranges)[1] < 0:
                    self._contradiction()
                for monomial, count in fact:
                    if len(monomial) == 1 and isinstance(monomial[0], Size):
                        self._narrow_by(fact, monomial, count)
                    elif count < 0:
                        self._narrow_factors(fact, monomial, count)
            for terms in self._other:
                self._exclude(terms)
            if self._ranges == before:
                return

    def _narrow_by(self, fact: Terms, monomial: Monomial, count: int) -> None:
        """``count * size + rest >= 0`` bounds the size by the maximum of the rest."""
        size = monomial[0]
        assert isinstance(size, Size)
        rest = tuple(term for term in fact if term[0] != monomial)
        highest = interval(rest, self._ranges)[1]
        if highest == inf:
            return
        if count > 0:
            self._restrict(size, -(int(highest) // count), inf)
        else:
            self._restrict(size, -inf, int(highest) // -count)

    def _narrow_factors(self, fact: Terms, monomial: Monomial, count: int) -> None:
        """``rest - count * A*B >= 0`` bounds each factor by the minimum of the others: ``A <= 4`` if ``B >= 2``."""
        rest = tuple(term for term in fact if term[0] != monomial)
        highest = interval(rest, self._ranges)[1]
        lows = [
            (self._ranges.get(one) or own_range(one))[0] if isinstance(one, Size) else 0 for one in monomial
        ]
        if highest == inf or min(lows, default=0) < 1:
            return
        least = -count * prod(map(int, lows))
        for one, low in zip(monomial, lows, strict=True):
            assert isinstance(one, Size)
            self._restrict(one, -inf, int(highest) // (least // int(low)))

    def _exclude(self, terms: Terms) -> None:
        """``terms != 0`` for one size removes an end of its range."""
        (monomial, count), *others = terms
        if len(monomial) != 1 or not isinstance(monomial[0], Size) or any(found for found, _ in others):
            return
        size, value = monomial[0], -sum(constant for _, constant in others) // count
        low, high = self._ranges.get(size) or own_range(size)
        if value == low:
            self._restrict(size, value + 1, high)
        elif value == high:
            self._restrict(size, low, value - 1)

    def _restrict(self, size: Size, low: Bound, high: Bound) -> None:
        before = self._ranges.get(size) or own_range(size)
        after = max(before[0], low), min(before[1], high)
        if after[0] > after[1]:
            self._contradiction()
        if after != before:
            self._ranges[size] = after

    def _contradiction(self, relation: Comparison | None = None) -> None:
        known = self.describe(*self.relations)
        what = "the constraints" if relation is None else f"{relation!r} and the other constraints"
        raise ContradictoryConstraintsError(f"{what} hold for no sizes: {known}")


@lru_cache(1)
def nothing() -> Assumptions:
    """What is known about each size alone."""
    return Assumptions()


def _of_quotient(found: Operation, value: Terms) -> tuple[Terms, ...]:
    """What the value of a remainder says about the quotient, as an expression that is never negative: ``N*M == 4*(N*M
    // 4) + 1``."""
    if found.op != "%":
        return ()
    dividend, divisor = found.args
    rest = add(dividend, multiply(divisor, floor_divide(dividend, divisor)), -1)
    difference = add(rest, value, -1)
    return difference, scale(difference, -1)


def _replacing_order(term: tuple[Monomial, int]) -> tuple[bool, str]:
    """Sizes before operations; the last name first."""
    monomial, _ = term
    return any(isinstance(found, Size) for found in monomial), monomial[0].text if monomial else ""
