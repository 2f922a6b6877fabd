"""Offsets for the blocks of an arena whose sizes are symbolic: expressions that are valid for all sizes.

Typical sizes decide which of two blocks that live at the same time comes first. For all other sizes, each block
begins at the end of the last of those before it, which is the maximum of several sums. Here, sums are vectors: each
named size is its minimum plus a variable that is never negative. Products of these variables are never negative, so
one sum is at least another if no coefficient of their difference is negative.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from math import inf
from operator import add as plus
from operator import and_, ge, mul
from typing import Any, TypeAlias

from ..symbolic_size import is_known, typical
from .bounds import atom_interval
from .dim import Dim, Extent, of_terms, terms_of
from .terms import Atom, Monomial, add, atom, collected, constant_part, number, substituted, without

LINE = 64
"""Blocks begin at multiples of this many bytes."""

MOST_SUMS = 3
"""If there are more sums than this, some are replaced by their upper bound."""

Sum: TypeAlias = tuple[int, ...]
"""Coefficients; the first belongs to 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A block, and its position for typical sizes."""

    nbytes: Extent
    first: int
    last: int
    typical_offset: int

    def meets(self, other: "Piece") -> bool:
        """Whether both live at the same time."""
        return self.first <= other.last and other.first <= self.last


def offsets_of(pieces: Sequence[Piece]) -> tuple[list[Any], Any]:
    """Where each piece begins, a multiple of `LINE`, and where the last one ends."""
    space = _Space(piece.nbytes for piece in pieces)
    starts: dict[Piece, list[Sum]] = {}
    ends: dict[Piece, list[Sum]] = {}
    for piece in sorted(pieces, key=lambda piece: (piece.typical_offset, piece.first)):
        before: list[Piece] = []
        for other in reversed(ends):
            if piece.meets(other) and not any(map(other.meets, before)):
                before.append(other)
        starts[piece] = space.greatest(end for other in before for end in ends[other])
        size = space.sizes[piece.nbytes]
        ends[piece] = [tuple(map(plus, start, size)) for start in starts[piece]]
    whole = space.greatest(end for sums in ends.values() for end in sums)
    return [space.offset(starts[piece]) for piece in pieces], space.offset(whole)


class _Space:
    """The products in the sums, and the sizes as such sums."""

    def __init__(self, sizes: Iterable[Extent]) -> None:
        self.lows: dict[Atom, int] = {}
        self.places: dict[Monomial | Extent, int] = {(): 0}
        """The position of each product in a sum; also of a size that is not a sum of products that are never
        negative."""
        counts = {size: self._counts(_simple(size)) for size in sizes}
        self.sizes: dict[Extent, Sum] = {
            size: tuple(found.get(one, 0) for one in self.places) for size, found in counts.items()
        }
        """The sums of sizes, including the padding between a block and the next line."""
        self.typical = [max(0, typical(self._product(one))) for one in self.places]

    def _counts(self, size: Extent) -> dict[Monomial | Extent, int]:
        terms = terms_of(size)
        for one in dict.fromkeys(one for monomial, _ in terms for one in monomial):
            low, _ = atom_interval(one, {})
            if low == -inf:
                terms = ()
                break
            self.lows[one] = int(low)
        shifted = {one: add(atom(one), number(low)) for one, low in self.lows.items()}
        counts: dict[Monomial | Extent, int] = dict(substituted(terms, shifted)) or {size: 1}
        for product in counts:
            self.places.setdefault(product, len(self.places))
        if not isinstance(size % LINE, int) or size % LINE:
            counts[()] = counts.get((), 0) + LINE - 1
        return counts

    def greatest(self, sums: Iterable[Sum]) -> list[Sum]:
        """The sums of which none is known to be at most another; if there are too many, some are merged."""
        kept: list[Sum] = [(0,) * len(self.places)]
        for one in sums:
            if not any(_is_never_less(other, one) for other in kept):
                kept = [other for other in kept if not _is_never_less(one, other)]
                kept.append(one)
        while len(kept) > MOST_SUMS:
            left, right = min(combinations(kept, 2), key=self._cost_of_joining)
            joined = _joined(left, right)
            kept = [one for one in kept if not _is_never_less(joined, one)]
            kept.append(joined)
        return kept

    def _cost_of_joining(self, pair: tuple[Sum, Sum]) -> int:
        return self._typical(_joined(*pair)) - max(map(self._typical, pair))

    def _typical(self, one: Sum) -> int:
        return sum(map(mul, one, self.typical))

    def offset(self, sums: Sequence[Sum]) -> Extent:
        """The line in which the largest of them is."""
        return Dim.maximum(*map(self._extent, sums)) // LINE * LINE

    def _extent(self, one: Sum) -> Extent:
        found: Extent = 0
        for product, count in zip(self.places, one, strict=True):
            if count:
                found += count * self._product(product)
        return found

    def _product(self, product: Monomial | Extent) -> Extent:
        """As sums of the variables by which sizes exceed their minimum."""
        if not isinstance(product, tuple):
            return product
        found: Extent = 1
        for one in product:
            found *= of_terms(atom(one)) - self.lows[one]
        return found


def _simple(size: Extent) -> Extent:
    """The size, or an upper bound: for a remainder of rows, its maximum number of rows.

    For ``N*M - 16*((N + 15) // 16)*M + 16*M`` this is ``16*M``, since ``N <= 16*((N + 15) // 16)``.
    """
    terms = terms_of(size)
    if all(count > 0 for _, count in terms):
        return size
    shared = reduce(and_, (Counter(monomial) for monomial, _ in terms))
    factor = tuple(sorted(shared.elements(), key=lambda one: one.text))
    rest = collected({without(monomial, factor) or (): count for monomial, count in terms})
    most = constant_part(rest)
    is_bounded = most > 0 and all(atom_interval(one, {})[0] >= 0 for one in factor)
    return of_terms(((factor, most),)) if is_bounded and is_known(of_terms(rest) <= most) else size


def _is_never_less(one: Sum, other: Sum) -> bool:
    return all(map(ge, one, other))


def _joined(one: Sum, other: Sum) -> Sum:
    """An upper bound of both."""
    return tuple(map(max, one, other))
