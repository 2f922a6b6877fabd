"""How large the tiles of a product are, which programs of a GPU compute, and in how many parts each is added up."""

import math
from dataclasses import dataclass, replace
from typing import Final

from .....analysis.fusible_ops import is_elementwise
from .....analysis.op_costs import element_cost
from .....errors import ArgumentValueError
from .....symbolic_size import SymbolicSize, is_known, typical
from ...choice import RULES, Choice
from ...kernels.assumed import power_of_two
from ...kernels.registers import OF_A_THREAD
from .product import Product

PROCESSORS: Final = 132
"""A GPU has about so many processors, each of which should have a tile."""

LEAST: Final = 16
"""Tensor cores multiply matrices of at least so many rows and columns."""

LONG: Final = 1024
"""A part of a sum has at least so many products: adding up the parts costs a launch, and reads what they leave."""

SIDE: Final = 64
"""Rows or columns of a tile at least, where nobody knows how many there are in another call."""

LONG_TAIL: Final = 12
"""What takes longer than so many additions for each element of a product needs registers of its own."""

OF_MATRICES: Final = ("rows", "columns", "depth", "warps", "stages", "parts", "programs")
OF_ELEMENTS: Final = ("rows", "columns", "warps")
"""What can be chosen of tiles."""


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
    programs: int = 0
    """So many programs at most compute one tile after another, and the hardware copies operands; 0 if each tile
    has a program of its own."""

    def halvings(self, of_sum: int, words: int) -> int:
        """How often columns are halved into strips, so that registers hold what is made of the sums strip by strip.

        An element needs `words` registers at once, `of_sum` of them for its sum, which is there until its strip is
        taken; the numbers of the next strip are loaded before those of one have been stored. NVIDIA's threads have the
        registers of `OF_A_THREAD`, and AMD's, of which there are as many, twice that.
        """
        elements = self.rows * self.columns // (32 * self.warps)
        sums, others = elements * of_sum, 2 * elements * (words - of_sum)
        if elements * words <= OF_A_THREAD:
            return 0
        halvings = 1
        while sums + (others >> halvings) > OF_A_THREAD and self.columns >> halvings > LEAST:
            halvings += 1
        return halvings


def tile_of_matrices(product: Product, choice: Choice = RULES) -> Tile:
    """The tile where floating-point numbers are multiplied, by tensor cores if there are any for the dtype.

    A large tile reads its operands less often. One of 128 × 256 keeps the tensor cores of Hopper busy with numbers of
    two bytes: three stages take 144 KiB of shared memory, which Ampere has too, and the sums take half of the
    registers. That leaves too few for a long expression of each element. Wider numbers get smaller tiles, and so do
    operands that pass through registers on their way to shared memory, half as many at once. While there are fewer
    tiles than processors they are halved, down to 64 × 64; then long sums are cut into parts.

    Raises:
        ArgumentValueError: a choice of less than tensor cores multiply.
    """
    size = product.dtype.itemsize
    most = 128 if size < 8 and product.is_copied else 64
    tall, wide = (min(most, matrix_side(count)) for count in (product.rows, product.columns))
    batch, rows, columns, length = map(
        typical, (product.batch, product.rows, product.columns, product.length)
    )
    if size == 2 and tall == 128 < columns and not has_long_tail(product):
        wide = 256

    def programs() -> int:
        return batch * math.ceil(rows / tall) * math.ceil(columns / wide)

    while programs() < PROCESSORS and tall * wide > 64 * 64:
        tall, wide = (tall, wide // 2) if wide >= tall else (tall // 2, wide)
    parts = 1
    if programs() <= PROCESSORS // 2 and choice.programs is None and not product.is_symbolic:
        parts = max(1, min(2 * PROCESSORS // programs(), length // LONG))
    is_large, is_small = tall * wide >= 128 * 128, tall * wide <= 32 * 64
    row_bytes = 256 if is_small else 128 if product.is_copied else 64
    depth = min(max(LEAST, row_bytes // size), matrix_side(product.length))
    warps = 8 if is_large else 1 if tall * wide <= 16 * 32 else 4
    tile = Tile(tall, wide, depth, warps, 3 if is_large else 4, parts)
    tile = replace(tile, **{name: choice.fields[name] for name in OF_MATRICES if name in choice.fields})
    if min(tile.rows, tile.columns, tile.depth) < LEAST:
        raise ArgumentValueError(
            f"a tile of matrices has {LEAST} rows, columns and products at least: {choice}"
        )
    return tile


def has_long_tail(product: Product) -> bool:
    """Whether what is made of each element of a product needs many registers."""
    tail, size = product.tail, typical(product.type.size)
    calls = sum(element_cost(call) for call in tail.calls if is_elementwise(call))
    read = {value for call in tail.calls for value in call.inputs if value in tail.inputs[:-1]}
    arrays = sum(typical(value.type.size) >= size for value in (*read, *tail.outputs))
    return calls > LONG_TAIL or arrays > 2


def tile_of_elements(batch: int, rows: int, columns: int, choice: Choice = RULES) -> Tile:
    """The tile where products of a column and a row are added up one after another, in registers.

    Small matrices are computed several at once, as if their rows were those of one.
    """
    wide = max(2, min(64, power_of_two(columns)))
    tall = max(2, min(64, power_of_two(rows)))
    if not is_known(batch <= 1):
        tall = max(tall, min(1024 // wide, power_of_two(batch * rows)))
    return replace(
        Tile(tall, wide), **{name: choice.fields[name] for name in OF_ELEMENTS if name in choice.fields}
    )


def matrix_side(count: int) -> int:
    """The side of a tile that holds so many rows or columns."""
    return max(SIDE if isinstance(count, SymbolicSize) else LEAST, power_of_two(count))
