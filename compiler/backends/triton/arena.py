"""Where arrays lie in the arena of a program: for numbers of bytes, and for expressions of named sizes."""

from collections.abc import Sequence

from ...memory_plan import Block, aligned, place_blocks
from ...symbolic_size import SymbolicSize, is_known


def place_all(blocks: Sequence[Block]) -> int:
    """Give blocks, in the order in which they are made, their offsets; the size of the arena."""
    if not any(isinstance(block.nbytes, SymbolicSize) for block in blocks):
        return place_blocks(blocks)
    return _place_symbolic(blocks)


def _place_symbolic(blocks: Sequence[Block]) -> int:
    """A block takes the place of one that nothing needs any more and that is known to have as many bytes, or a new one.

    Which of two places is the smaller need not be known, so that the plan is one for all sizes.
    """
    end = 0
    taken: list[tuple[Block, int, int]] = []
    """The last block at a place, the offset of the place, and its bytes."""
    for block in blocks:
        size = aligned(block.nbytes)
        fitting = [
            (number, offset, length)
            for number, (other, offset, length) in enumerate(taken)
            if other.last < block.first and is_known(length >= size)
        ]
        if fitting:
            number, block.offset, length = fitting[0]
            taken[number] = block, block.offset, length
        else:
            block.offset = end
            taken.append((block, end, size))
            end = end + size
    return end
