"""How many numbers a program has at once for each of its elements: registers should hold all of them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ....affine import Variable
from ....dtypes import DType
from ....loops.nest import Block, Buffer, Choose, Expression, Let, Load, Local, Loop, Position
from ....loops.walk import accumulated, expressions, statements
from .reductions import SEARCHES, gathered_dtype

WORD: Final = 4
"""Bytes of a register: shorter numbers take a whole one."""

OF_A_THREAD: Final = 224
"""Of its 255 registers: offsets and intermediate values need the others."""

OF_A_WARP: Final = 32 * OF_A_THREAD

WARPS: Final = 8
"""The number of registers of a processor."""

LEAST: Final = 128
"""Elements of a block: each thread of the smallest number of warps has one."""

_Number = Local | Load | Buffer
"""A number that is kept from one loop to the next is identified by its buffer, since each loop has its own variable."""


def held_words(body: Block, loops: Sequence[Loop], *, is_kept: bool = False) -> int:
    """The maximum number of registers that an element of `loops` needs at a time; of a body without loops, if there
    are none.

    A kept value is loaded in the first loop that reads it, and stays until the last one has read it. Otherwise each
    loop has its own values and accumulators, and its threads keep the next addresses.
    """
    if is_kept:
        return _most([used for loop in loops for used in _uses(loop.body, loop.variable, is_kept=True)])
    return max(map(_streamed, loops)) if loops else _most(list(_uses(body, None)))


def elements_held(words: int) -> int:
    """The maximum number of elements with this many words that registers hold: a power of two, and at least one per
    thread."""
    return max(LEAST, 1 << (WARPS * OF_A_WARP // max(1, words)).bit_length() - 1)


def _streamed(loop: Loop) -> int:
    """The registers for each element of a loop that goes over them block by block."""
    uses = list(_uses(loop.body, loop.variable))
    gathered = sum(words_of(gathered_dtype(a.dtype)) + 2 * (a.op in SEARCHES) for a in accumulated(loop.body))
    read = {number.buffer for numbers in uses for number in numbers if isinstance(number, Load)}
    left = max(OF_A_WARP - 32 * 2 * len(read), 32)
    return (_most(uses) + gathered) * OF_A_WARP // left


def _uses(body: Block, variable: Variable | None, *, is_kept: bool = False) -> Iterator[set[_Number]]:
    """The numbers that each statement uses, then the one that it computes: those that vary between elements."""
    own: set[Local] = set()

    def is_own(expression: Expression) -> bool:
        match expression:
            case Local():
                return expression in own
            case Load() | Position():
                variables = expression.place.variables
                return bool(variables) if variable is None else variable in variables
            case _:
                return False

    for statement in statements(body):
        if isinstance(statement, Loop):
            continue
        found = [expression for expression in expressions(statement) if is_own(expression)]
        yield {
            e.buffer if is_kept and isinstance(e, Load) else e for e in found if isinstance(e, (Local, Load))
        }
        if found and isinstance(statement, (Let, Choose)):
            own.add(statement.local)
            yield {statement.local}


def _most(uses: Sequence[Iterable[_Number]]) -> int:
    """The maximum number of words that are alive at the same time, from first to last use."""
    last = {number: place for place, numbers in enumerate(uses) for number in numbers}
    held: set[_Number] = set()
    words = most = 0
    for place, numbers in enumerate(uses):
        words += sum(words_of(number.dtype) for number in numbers if number not in held)
        most = max(most, words)
        held.update(numbers)
        words -= sum(words_of(number.dtype) for number in numbers if last[number] == place)
    return most


def words_of(dtype: DType) -> int:
    """How many registers a number takes."""
    return max(WORD, dtype.itemsize) // WORD
