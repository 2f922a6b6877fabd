"""How many queries and keys a program of attention processes at once."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from .....errors import ArgumentValueError
from .....symbolic_size import assume, is_symbolic_shape, typical
from ...choice import RULES, Choice
from ..products.tile import LEAST, PROCESSORS, SIDE, matrix_side
from .blocks import Attention

OF_QUERIES: Final = ("rows", "columns", "warps", "stages")
"""The tunable parameters of the tile."""


@dataclass(frozen=True, slots=True)
class AttentionTile:
    """Queries times keys."""

    rows: int
    columns: int
    warps: int
    stages: int
    """The number of loop iterations for which operands are loaded ahead into shared memory."""


_OF_QUERIES: Final[Mapping[int, Mapping[int, AttentionTile]]] = {
    2: {
        64: AttentionTile(128, 128, 8, 3),
        128: AttentionTile(128, 64, 8, 3),
        256: AttentionTile(64, 32, 8, 2),
    },
    4: {64: AttentionTile(64, 32, 8, 2), 128: AttentionTile(32, 32, 8, 2)},
    8: {64: AttentionTile(32, 16, 4, 2)},
}
"""By the bytes of a number, and the maximum number of entries of a query or a value."""


def tile_of_queries(attention: Attention, choice: Choice = RULES) -> AttentionTile:
    """The tile of a program that goes over the keys; a smaller one if there are too few for all processors.

    Raises:
        ArgumentValueError: a choice of less than tensor cores multiply.
    """
    tile = _fitting(_OF_QUERIES, attention)
    most = (
        tile.columns if attention.mask is None else max(tile.columns // 2, LEAST)
    )  # it takes registers, too
    rows = min(tile.rows, matrix_side(attention.rows))
    # For other sizes there may be more in another call.
    least = SIDE if is_symbolic_shape(attention.query.shape) else LEAST
    while rows > least and typical(attention.matrices) * -(-typical(attention.rows) // rows) < PROCESSORS:
        rows //= 2
    warps = max(4, tile.warps * rows // tile.rows)
    tile = AttentionTile(rows, min(most, matrix_side(attention.columns)), warps, tile.stages)
    tile = replace(tile, **{name: choice.fields[name] for name in OF_QUERIES if name in choice.fields})
    if min(tile.rows, tile.columns) < LEAST:
        raise ArgumentValueError(f"a tile of attention has {LEAST} rows and columns at least: {choice}")
    _suppose_whole(attention, tile)
    return tile


_OF_GRADIENT: Final[Mapping[int, Mapping[int, AttentionTile]]] = {
    2: {
        64: AttentionTile(64, 64, 8, 2),
        128: AttentionTile(64, 64, 8, 1),
        256: AttentionTile(32, 32, 4, 1),
    },
    4: {128: AttentionTile(16, 16, 8, 1)},
    8: {64: AttentionTile(16, 16, 4, 1)},
}


def tile_of_gradient(attention: Attention) -> AttentionTile:
    """The tile of the gradient's programs, which hold two results and several products with the tile's size."""
    tile = _fitting(_OF_GRADIENT, attention)
    rows, columns = (
        min(tile.rows, matrix_side(attention.rows)),
        min(tile.columns, matrix_side(attention.columns)),
    )
    tile = AttentionTile(rows, columns, tile.warps, tile.stages)
    _suppose_whole(attention, tile)
    return tile


def _suppose_whole(attention: Attention, tile: AttentionTile) -> None:
    """Make a program for sequences of whole tiles, if the current ones are: it needs no code for the last ones."""
    assume(attention.rows % tile.rows == 0)
    assume(attention.columns % tile.columns == 0)


def _fitting(tiles: Mapping[int, Mapping[int, AttentionTile]], attention: Attention) -> AttentionTile:
    longest = max(attention.entries, attention.width)
    by_length = tiles[attention.dtype.itemsize]
    return by_length[min(most for most in by_length if most >= longest)]
