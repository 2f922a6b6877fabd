"""The sizes of the tiles of a product, which GPU programs compute, and the number of parts of its sums."""

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
"""A GPU has about this many processors, each of which should have a tile."""

LEAST: Final = 16
"""Tensor cores multiply matrices with at least this many rows and columns."""

LONG: Final = 1024
"""A part of a sum has at least this many products: adding the parts costs a launch and reads their results."""

SIDE: Final = 64
"""Minimum rows or columns of a tile if their number in other calls is unknown."""

LONG_TAIL: Final = 12
"""A computation that takes longer than this many additions for each element of a product needs its own registers."""

OF_MATRICES: Final = ("rows", "columns", "depth", "warps", "stages", "parts", "programs")
OF_ELEMENTS: Final = ("rows", "columns", "warps")
"""The tunable parameters of tiles."""


@dataclass(frozen=True, slots=True)
class Tile:
    """The block of a result that a program computes."""

    rows: int
    columns: int
    depth: int = 1
    """Products added in one step of the loop."""
    warps: int = 4
    stages: int = 1
    """Loop iterations for which operands are loaded ahead into shared memory."""
    parts: int = 1
    """Parts into which sums are split, each computed by its own programs."""
    programs: int = 0
    """The maximum number of programs that compute one tile after another while the hardware copies operands; 0 if
    each tile has its own program."""

    def halvings(self, of_sum: int, words: int) -> int:
        """How often columns are halved into strips, so that registers hold the values computed from the sums strip by
        strip.

        An element needs `words` registers at once, `of_sum` of them for its sum, which stays until its strip is
        processed; the numbers of the next strip are loaded before those of the current one have been stored. NVIDIA's
        threads have `OF_A_THREAD` registers, and as many threads of AMD's have twice that.
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
    """The tile for floating-point products, by tensor cores if they support the dtype.

    A large tile reads its operands less often. One of 128 × 256 keeps the tensor cores of Hopper busy with two-byte
    numbers: three stages take 144 KiB of shared memory, which Ampere has too, and the sums take half of the
    registers. That leaves too few for a long expression of each element. Wider numbers get smaller tiles, and so do
    operands that pass through registers on their way to shared memory, half as many at once. While there are fewer
    tiles than processors, tiles are halved, down to 64 × 64; then long sums are split into parts.

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
    """Whether the computation on each element of a product needs many registers."""
    tail, size = product.tail, typical(product.type.size)
    calls = sum(element_cost(call) for call in tail.calls if is_elementwise(call))
    read = {value for call in tail.calls for value in call.inputs if value in tail.inputs[:-1]}
    arrays = sum(typical(value.type.size) >= size for value in (*read, *tail.outputs))
    return calls > LONG_TAIL or arrays > 2


def tile_of_elements(batch: int, rows: int, columns: int, choice: Choice = RULES) -> Tile:
    """The tile if products of a column and a row are added one after another, in registers.

    Small matrices are computed several at once, as if their rows belonged to one matrix.
    """
    wide = max(2, min(64, power_of_two(columns)))
    tall = max(2, min(64, power_of_two(rows)))
    if not is_known(batch <= 1):
        tall = max(tall, min(1024 // wide, power_of_two(batch * rows)))
    return replace(
        Tile(tall, wide), **{name: choice.fields[name] for name in OF_ELEMENTS if name in choice.fields}
    )


def matrix_side(count: int) -> int:
    """The side of a tile for this many rows or columns."""
    return max(SIDE if isinstance(count, SymbolicSize) else LEAST, power_of_two(count))
