"""How large the tiles of a product are, which programs of a GPU compute, and in how many parts each is added up."""

import math
from dataclasses import dataclass
from typing import Final

from ....dtypes import DType

PROCESSORS: Final = 132
"""A GPU has about so many processors, each of which should have a tile."""

LEAST: Final = 16
"""Tensor cores multiply matrices of at least so many rows and columns."""

LONG: Final = 1024
"""A part of a sum has at least so many products: adding up the parts costs a launch, and reads what they leave."""


@dataclass(frozen=True, slots=True)
class Tile:
    """The block of a result that a program computes."""

    rows: int
    columns: int
    depth: int = 1
    """So many products are added at once."""
    warps: int = 4
    stages: int = 1
    """For so many turns of the loop operands are on their way into shared memory."""
    parts: int = 1
    """Sums are cut into so many parts, which programs of their own compute."""


def tile_of_matrices(
    batch: int, rows: int, columns: int, length: int, dtype: DType, *, has_long_tail: bool
) -> Tile:
    """The tile for operands of floating-point numbers.

    A large tile reads its operands less often: one of 128 × 256 keeps the tensor cores of Hopper busy with numbers of
    two bytes, at 144 KiB of shared memory in three stages, and its sums take half of the registers, which leaves too
    few for a long expression on its elements. Wider numbers take half as much. Tiles are halved while they are fewer
    than the processors; once they are small, their sums are cut into parts.
    """
    is_half = dtype.itemsize == 2
    tall = min(128 if dtype.itemsize < 8 else 64, _power_of_two(rows))
    wide = min(256 if is_half and tall == 128 and not has_long_tail else tall, _power_of_two(columns))
    wide = max(wide, min(128 if dtype.itemsize < 8 else 64, _power_of_two(columns)))

    def programs() -> int:
        return batch * math.ceil(rows / tall) * math.ceil(columns / wide)

    while programs() < PROCESSORS and tall * wide > 64 * 64:
        tall, wide = (tall, wide // 2) if wide >= tall else (tall // 2, wide)
    depth = {2: 64, 4: 32, 8: 16}[dtype.itemsize] * (2 if tall * wide <= 32 * 64 else 1)
    depth = min(depth, _power_of_two(length))
    parts = max(1, min(2 * PROCESSORS // programs(), length // LONG)) if programs() < PROCESSORS // 2 else 1
    warps = 8 if tall * wide >= 128 * 128 else 4 if tall * wide >= 32 * 32 else 1
    return Tile(tall, wide, depth, warps, 3 if tall * wide >= 128 * 128 else 4, parts)


def tile_of_elements(rows: int, columns: int) -> Tile:
    """The tile where each program adds up products of a column and a row, one after another, in registers."""
    wide = min(64, _least_power_of_two(columns))
    return Tile(min(4096 // wide, 1024, _least_power_of_two(rows)), wide)


def _power_of_two(count: int) -> int:
    return max(LEAST, _least_power_of_two(count))


def _least_power_of_two(count: int) -> int:
    return 1 << max(0, count - 1).bit_length()
