"""Sums of products of sizes in one canonical form: the arithmetic behind `Dim`."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from math import gcd
from typing import Literal, TypeAlias

from ..errors import DimSpecError
from ..symbolic_size import max_expr, min_expr

MOST_TERMS = 512


@dataclass(frozen=True, slots=True)
class Size:
    """A named size and what is known about it alone.

    In a product it is counted in units of its `multiple_of`, so that a division by that divides a coefficient.
    """

    text: str
    min: int
    max: int | None
    multiple_of: int

    def __hash__(self) -> int:
        return hash(self.text)


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation other than a sum or product, on two or more sums."""

    op: Literal["//", "%", "min", "max"]
    args: "tuple[Terms, ...]"
    text: str

    def __hash__(self) -> int:
        """The hash of the text, computed once: atoms are the keys of everything known about sizes."""
        return hash(self.text)


Atom: TypeAlias = Size | Operation
Monomial: TypeAlias = tuple[Atom, ...]
"""A product of atoms, in the order of their texts; the empty product is 1."""
Terms: TypeAlias = tuple[tuple[Monomial, int], ...]
"""Different products with coefficients other than 0: higher degrees first, then in the order of the texts."""


def _atom_order(atom: Atom) -> str:
    return atom.text


def _term_order(term: tuple[Monomial, int]) -> tuple[int, tuple[str, ...]]:
    return -len(term[0]), tuple([atom.text for atom in term[0]])


def collected(counts: Mapping[Monomial, int]) -> Terms:
    """The canonical form of a sum."""
    terms = sorted(((monomial, count) for monomial, count in counts.items() if count), key=_term_order)
    if len(terms) > MOST_TERMS:
        raise DimSpecError(f"an expression of sizes has at most {MOST_TERMS} products, not {len(terms)}")
    return tuple(terms)


def number(value: int) -> Terms:
    return (((), value),) if value else ()


def atom(found: Atom) -> Terms:
    return (((found,), 1),)


def constant_of(terms: Terms) -> int | None:
    """The value of a constant sum, or None."""
    if not terms:
        return 0
    return terms[0][1] if not terms[0][0] else None


def constant_part(terms: Terms) -> int:
    """The constant term."""
    return terms[-1][1] if terms and not terms[-1][0] else 0


def add(left: Terms, right: Terms, factor: int = 1) -> Terms:
    """``left + factor * right``."""
    counts = dict(left)
    for monomial, count in right:
        counts[monomial] = counts.get(monomial, 0) + factor * count
    return collected(counts)


def scale(terms: Terms, factor: int) -> Terms:
    return tuple([(monomial, factor * count) for monomial, count in terms]) if factor else ()


def multiply(left: Terms, right: Terms) -> Terms:
    counts: dict[Monomial, int] = {}
    for ours, a in left:
        for theirs, b in right:
            product = tuple(sorted(ours + theirs, key=_atom_order))
            counts[product] = counts.get(product, 0) + a * b
            if len(counts) > 4 * MOST_TERMS:
                raise DimSpecError(f"an expression of sizes has at most {MOST_TERMS} products")
    return collected(counts)


def content(terms: Terms) -> int:
    """The greatest common divisor of all coefficients except the constant's."""
    return gcd(*(count for monomial, count in terms if monomial))


def without(monomial: Monomial, factor: Monomial) -> Monomial | None:
    """The product divided by one of its factors, or None if it is not a factor."""
    left = Counter(monomial)
    left.subtract(factor)
    return tuple(sorted(left.elements(), key=_atom_order)) if min(left.values(), default=0) >= 0 else None


def substituted(terms: Terms, known: Mapping[Atom, Terms]) -> Terms:
    """The sum with atoms replaced by other sums, but not inside operations."""
    if not any(found in known for monomial, _ in terms for found in monomial):
        return terms
    result: Terms = ()
    for monomial, count in terms:
        product = number(count)
        for found in monomial:
            product = multiply(product, known[found] if found in known else atom(found))
        result = add(result, product)
    return result


def sizes_in(terms: Terms) -> Iterator[Size]:
    """The named sizes, also those inside operations, with repetitions."""
    for found in atoms_in(terms):
        if isinstance(found, Size):
            yield found


def atoms_in(terms: Terms) -> Iterator[Atom]:
    """The atoms, also those inside operations, with repetitions; an operation before its contents."""
    for monomial, _ in terms:
        for found in monomial:
            yield found
            if isinstance(found, Operation):
                for arg in found.args:
                    yield from atoms_in(arg)


def nesting(terms: Terms) -> int:
    """How deeply operations are nested."""
    operations = [found for monomial, _ in terms for found in monomial if isinstance(found, Operation)]
    return max((1 + max(map(nesting, found.args)) for found in operations), default=0)


def evaluated(terms: Terms, sizes: Mapping[str, int]) -> int:
    """The value for these values of the sizes. A `KeyError` names a size without one."""
    total = 0
    for monomial, count in terms:
        product = 1
        for found in monomial:
            if not isinstance(found, Size):
                product *= _MEANING[found.op]([evaluated(arg, sizes) for arg in found.args])
            elif count % found.multiple_of:
                product *= sizes[found.text] // found.multiple_of
            else:  # no quotient, which would be longer than the value
                count //= found.multiple_of
                product *= sizes[found.text]
        total += count * product
    return total


_MEANING: dict[str, Callable[[list[int]], int]] = {
    "//": lambda args: args[0] // args[1],
    "%": lambda args: args[0] % args[1],
    "min": partial(reduce, min_expr),
    "max": partial(reduce, max_expr),
}
