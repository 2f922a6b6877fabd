"""The elements that a program computes: rows, and how many elements of each at once."""

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ....affine import Affine, Variable, is_unit, same
from ....loops.nest import Apply, Begin, Block, Load, Loop, Store
from ....loops.walk import expressions, places, statements
from ....symbolic_size import SymbolicSize, assume, typical
from ..choice import RULES, Choice
from .assumed import block_of, is_multiple, power_of_two
from .definitions import definitions
from .expression import needed_by
from .reductions import SEARCHES, gathered_dtype
from .registers import OF_A_WARP, WARPS, WORD, elements_held, held_words

POINTWISE = 1024
"""Elements of a block if each is computed separately."""

RESIDENT = 1 << 17
"""A row with up to this many bytes, of all arrays involved, is held in registers completely."""

STREAMED = 4096
"""Longer rows are accumulated this many elements at a time."""

SLIM = 8
"""If each element takes more bytes than this, half as many."""

ROWS = 2048
"""Several short rows are computed at once: this many elements together."""

SHARES = 128
"""Few elements are divided among this many programs, one for each processor of a GPU."""

LEAST = 256
"""The minimum number of elements of a block, and that of a long function that needs the registers."""

LONG = 90
"""Lines of such a function, including those that it calls."""

VECTOR = 16
"""Bytes that a thread loads at once, if a mask is the same for all of them."""

CACHED = 1 << 26
"""Longer arrays do not fit into the cache of a GPU."""

FAR = 1 << 31
"""From here on an offset needs integers of eight bytes."""

THREADS = 128
"""Of a block of up to 2048 elements."""

TILE = 32
"""Rows and columns of a tile, if one array is read along the rows and another across."""

COLUMNS = 64
"""Sums computed side by side, if neighbours in memory belong to different ones."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The block of a program: `count` rows, `block` elements of each at once; 0 if the rows are single elements."""

    count: int
    block: int
    is_far: bool = False
    """Whether offsets need integers of eight bytes."""
    arrays: int = 1
    """How many blocks registers hold throughout."""
    words: int = 1
    """How many registers each element needs at once."""
    chosen_warps: int | None = None
    """How many warps compute it; None if that follows from the amount of work."""

    @property
    def elements(self) -> int:
        """How many elements a program computes at once."""
        return self.count * max(1, self.block)

    @property
    def is_flat(self) -> bool:
        """Whether blocks have one axis."""
        return self.count == 1 or self.block == 0

    @property
    def warps(self) -> int:
        """How many warps compute it: more for many elements, and if the registers of few threads are not enough."""
        if self.chosen_warps is not None:
            return self.chosen_warps
        elements = self.arrays * self.elements
        warps = next(
            warps for warps, most in ((4, 2048), (8, 8192), (16, 16384), (32, 1 << 62)) if elements <= most
        )
        return max(warps, WARPS) if self.words * self.elements > warps * OF_A_WARP else warps


def tiled(variables: Sequence[Variable], body: Block) -> tuple[tuple[Variable, ...], Variable] | None:
    """Rows and columns, if an array is contiguous along the last of the row's variables and is read across by the
    columns.

    None if all arrays are read in the same way, or the body accumulates numbers.
    """
    if len(variables) < 2 or any(isinstance(s, Loop) for s in statements(body)):
        return None
    *others, last = variables
    for variable in reversed(others):
        shorter = min(typical(variable.extent), typical(last.extent))
        if shorter >= TILE and _is_read_across(variable, last, body):
            return (*(v for v in others if v is not variable), variable), last
    return None


def rows_of(
    variables: Sequence[Variable], body: Block, *, is_kept: bool = False, choice: Choice = RULES
) -> Rows:
    """How many rows a program computes at once, and how many elements of each: all that are kept, or read again."""
    rows = _block_of(variables, body, is_kept=is_kept, choice=choice)
    return rows if choice.warps is None else replace(rows, chosen_warps=choice.warps)


def _block_of(variables: Sequence[Variable], body: Block, *, is_kept: bool, choice: Choice) -> Rows:
    count = math.prod(variable.extent for variable in variables)
    leaves = list(_leaves(body))
    extents = [loop.variable.extent for loop in leaves]
    longest = max(map(typical, extents), default=0)
    is_far = _is_far(body)
    if not longest:
        words = held_words(body, ())
        most = min(LEAST if _is_long(body) else _pointwise(count), elements_held(words))
        return Rows(_at_most(choice.elements or most, count), 0, is_far, words=words)
    block = power_of_two(longest)
    is_resident = block * _row_bytes(variables, body) <= RESIDENT and (is_kept or _is_read_again(body))
    if is_resident:
        blocks = [block_of(extent) for extent in extents]
        block = max((block for block in blocks if block is not None), default=0)
        is_resident = None not in blocks and block * _row_bytes(variables, body) <= RESIDENT
    if not is_resident and any(isinstance(extent, SymbolicSize) for extent in extents):
        # Blocks of longer rows are processed in turn, and there are enough elements if there are few rows.
        block = max(power_of_two(longest), ROWS // min(ROWS, power_of_two(count)))
    streamed = STREAMED if _gathered_bytes(body) <= SLIM else STREAMED // 2
    words = held_words(body, leaves, is_kept=is_resident or block <= streamed)
    held = elements_held(words)
    if not is_resident:
        block = min(block, choice.elements or min(streamed, held))
    elif choice.elements is not None and not is_kept:
        block = min(block, choice.elements)
    together = choice.elements or min(ROWS, held)
    if variables and neighbours_are_rows(variables[-1], body):
        side_by_side = _at_most(choice.columns or COLUMNS, variables[-1].extent)
        return Rows(side_by_side, min(block, max(1, together // side_by_side)), is_far, words=words)
    return Rows(_at_most(max(1, together // block), count), block, is_far, words=words)


def _pointwise(count: int) -> int:
    """Elements of a block if each is computed separately, out of this many."""
    if isinstance(count, SymbolicSize):
        return POINTWISE
    return min(POINTWISE, max(LEAST, power_of_two(count // SHARES)))


def _at_most(most: int, count: int) -> int:
    """A power of two, at most the one that holds `count`: if that differs between calls, `most`."""
    return most if isinstance(count, SymbolicSize) else min(most, power_of_two(count))


def has_wide_masks(count: int, body: Block) -> bool:
    """Whether a mask of `count` elements is the same for all that a thread loads or stores at once."""
    dtypes = [e.dtype for e in _loads(body)] + [
        s.buffer.dtype for s in statements(body) if isinstance(s, Store)
    ]
    narrowest = min((dtype.itemsize for dtype in dtypes), default=VECTOR)
    return is_multiple(count, min(VECTOR // narrowest, POINTWISE // THREADS))


def _is_long(body: Block) -> bool:
    """Whether a called function needs too many numbers for more than a few elements to fit into registers."""
    calls = {e.call.op: e.call for s in statements(body) for e in expressions(s) if isinstance(e, Apply)}
    return any(_lines(needed_by(call)) >= LONG for call in calls.values())


@functools.cache
def _lines(functions: frozenset[str]) -> int:
    return sum(text.count("\n") for text in definitions(functions))


def _is_far(body: Block) -> bool:
    """Whether an offset, or the operand of its quotients or remainders, does not fit into four bytes."""
    ends = [end for s in statements(body) for place in places(s) for end in _ends(place)]
    symbolic = {end for end in ends if isinstance(end, SymbolicSize)}
    if any(end >= FAR for end in ends if not isinstance(end, SymbolicSize)):
        return True
    # The largest first, from which others follow.
    return not all(assume(end < FAR) for end in sorted(symbolic, key=typical, reverse=True))


def _ends(place: Affine) -> Iterator[int]:
    """The range of an offset, and of the operands of quotients and remainders in it."""
    yield -place.low
    yield place.high
    for atom, _ in place.terms:
        if not isinstance(atom, Variable):
            yield from _ends(atom.dividend)


def _row_bytes(variables: Sequence[Variable], body: Block) -> int:
    """The bytes of an element of a row: of everything that is loaded for one row only, and of accumulated values."""
    gathered = [a.dtype.itemsize for s in statements(body) if isinstance(s, Begin) for a in s.accumulators]
    loads = {e for loop in _leaves(body) for e in _loads(loop.body) if loop.variable in e.place.variables}
    own = {e for e in loads if e.place.variables.intersection(variables)} if variables else loads
    return max(WORD, *gathered, sum(max(WORD, e.dtype.itemsize) for e in own), 0)


def _is_read_again(body: Block) -> bool:
    """Whether several loops read the same array."""
    read = [buffer for loop in _leaves(body) for buffer in {load.buffer for load in _loads(loop.body)}]
    return len(set(read)) < len(read)


def _gathered_bytes(body: Block) -> int:
    """The bytes that are accumulated for each element of a block: numbers, and their positions."""
    gathered = [a for s in statements(body) if isinstance(s, Begin) for a in s.accumulators]
    return sum(gathered_dtype(a.dtype).itemsize + 8 * (a.op in SEARCHES) for a in gathered)


def _loads(body: Block) -> Iterator[Load]:
    return (e for s in statements(body) for e in expressions(s) if isinstance(e, Load))


def _leaves(body: Block) -> Iterator[Loop]:
    """The innermost loops."""
    for statement in statements(body):
        if isinstance(statement, Loop) and not any(isinstance(s, Loop) for s in statements(statement.body)):
            yield statement


def neighbours_are_rows(row: Variable, body: Block) -> bool:
    """Whether some array has the elements of one row far apart in memory, and rows close together."""
    return any(_is_read_across(row, loop.variable, loop.body) for loop in _leaves(body))


def _is_read_across(row: Variable, along: Variable, body: Block) -> bool:
    """Whether the elements of an array are neighbours along `row`, and far apart along `along`."""
    return any(is_unit(e.place.factor(row)) and _is_far_apart(e.place.factor(along)) for e in _loads(body))


def _is_far_apart(factor: int | None) -> bool:
    return factor is None or not (is_unit(factor) or same(factor, 0))
