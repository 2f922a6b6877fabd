"""Offsets of elements as Triton text: index expressions of counters."""

from collections.abc import Iterable
from dataclasses import dataclass

from ....affine import Affine, SizeText, Variable, aligned, flattened, of, unflattened
from ....ir import Shape
from ....symbolic_size import SymbolicSize, assume, is_known, typical
from ..kernels.blocks import FAR


def counting(name: str, count: int) -> Affine:
    """A name in a text whose values are the numbers below `count`.

    >>> place_text(counting("row", 6) // 2 * 3), place_text(counting("row", 1))
    ('3 * ((row) // 2)', '0')
    """
    return of(Variable(name, 0, count - 1))


def counting_block(name: str, count: int) -> Affine:
    """The same, if the name is that of a block: it stays a block even if only a single value counts.

    >>> place_text(counting_block("row", 1))
    'row'
    """
    return counting(name, count if is_known(count >= 2) or isinstance(count, SymbolicSize) else 2)


def broadcast_place(shape: Shape, to: Shape, number: Affine) -> Affine:
    """The offset in an operand of `shape`, broadcast to `to`, of the element with this number.

    >>> place_text(broadcast_place((3, 1), (3, 4), counting("i", 12)))
    '(i) // 4'
    """
    return flattened(aligned(unflattened(number, to), shape), shape)


@dataclass(frozen=True, slots=True)
class Lines:
    """The rows along an axis of an array: with the axes before it and those after it merged into one each."""

    outer: int
    length: int
    inner: int

    @property
    def count(self) -> int:
        return self.outer * self.inner

    def place(self, row: str, along: str) -> Affine:
        """The offsets of the entries of rows; both names are those of blocks.

        >>> place_text(Lines(2, 5, 3).place("row", "along"))
        '(row) % 3 + 15 * ((row) // 3) + 3 * along'
        """
        number = counting_block(row, self.count)
        start = number // self.inner * (self.length * self.inner) + number % self.inner
        return start + counting_block(along, self.length) * self.inner


def place_text(place: Affine, size: SizeText = str) -> str:
    """An index expression in Triton, whose quotients are of numbers that are not negative."""
    return place.text(size).replace(" / ", " // ")


def needs_wide_offsets(counts: Iterable[int]) -> bool:
    """Whether offsets among this many need integers of eight bytes."""
    found = sorted(counts, key=typical, reverse=True)  # the largest first, from which others follow
    if any(count >= FAR for count in found if not isinstance(count, SymbolicSize)):
        return True
    return not all(assume(count < FAR) for count in found)


def wide(count: int) -> str:
    """Makes integers large enough to count this many offsets."""
    return ".to(tl.int64)" if needs_wide_offsets((count,)) else ""
