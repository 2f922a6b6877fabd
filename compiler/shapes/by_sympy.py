"""The last resort for decisions: SymPy factors a sum of products, and the signs of the factors decide."""

from collections.abc import Mapping
from functools import lru_cache
from math import inf
from typing import Any

from ..intervals import Interval
from .bounds import Ranges, atom_interval
from .terms import Atom, Terms

MOST_PRODUCTS = 16
HIGHEST_DEGREE = 4
LONGEST_COEFFICIENT = 64  # bits


def is_worth_asking(terms: Terms) -> bool:
    """Whether factors may tell more than bounds, and can be found quickly."""
    degrees = [len(monomial) for monomial, _ in terms]
    products = sum(degree > 0 for degree in degrees)  # for a single product, bounds say everything
    return (
        2 <= max(degrees) <= HIGHEST_DEGREE
        and 2 <= products <= MOST_PRODUCTS
        and all(count.bit_length() <= LONGEST_COEFFICIENT for _, count in terms)
    )


def sign_by_sympy(terms: Terms, ranges: Ranges) -> Interval:
    """Bounds of the sum that SymPy can prove: 0, ±1 or an infinity."""
    found = {one for monomial, _ in terms for one in monomial}
    limits = {one: atom_interval(one, ranges) for one in found}
    starts = {one: int(low) if low > -inf else None for one, (low, _) in limits.items()}
    return _sign(terms, tuple(sorted(starts.items(), key=lambda item: item[0].text)))


@lru_cache(1 << 10)
def _sign(terms: Terms, starts: tuple[tuple[Atom, int | None], ...]) -> Interval:
    import sympy

    symbols: Mapping[Atom, Any] = {
        one: sympy.Symbol(f"s{i}", integer=True)
        if start is None
        else sympy.Symbol(f"s{i}", integer=True, nonnegative=True) + start
        for i, (one, start) in enumerate(starts)
    }
    total = sympy.Integer(0)
    for monomial, count in terms:
        total += sympy.Mul(sympy.Integer(count), *[symbols[one] for one in monomial])
    factors = sympy.factor(sympy.expand(total))
    low = 1 if factors.is_positive else 0 if factors.is_nonnegative else -inf
    high = -1 if factors.is_negative else 0 if factors.is_nonpositive else inf
    return low, high
