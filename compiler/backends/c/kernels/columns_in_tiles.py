"""`columns_in_tiles`: inputs that a loop reads by columns, as the transposed one of ``x + x.T``.

Elements of a column lie in different cache lines, often so far apart that these evict each other before the next row
needs them again. So the loops go over tiles of the result: the elements of a tile are first copied, each cache line
once, into memory where they lie in the order of the rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from ....affine import Affine, Variable, is_unit, of, same
from ....loops.nest import Choose, Let, Load, Loop, Row, Store
from ....loops.walk import expressions, loaded_from, statements
from ....symbolic_size import SymbolicSize, is_known, typical
from .vectors import runs_on_vectors

COLUMNS: Final = 128
"""Iterations of the inner loop in a tile."""

LINE: Final = 64
"""Bytes of a cache line. A tile has as many rows as a line has elements."""

LEAST: Final = 8
"""Iterations of either loop that are worth a tile."""

AHEAD: Final = 24
"""Columns that are requested before they are needed: processors do not foresee steps as long as these."""

FAR: Final = 1 << 15
"""A column that covers fewer bytes stays in the nearest cache."""

MOST_BYTES: Final = 1 << 18
"""The memory of all tiles, which is on the stack and shall stay in a cache."""


@dataclass(frozen=True, slots=True)
class ColumnsInTiles:
    """Loops around a loop along rows, in tiles of the outermost and the innermost one."""

    rows: int
    """Iterations of the outermost loop in a tile."""
    between: tuple[Loop, ...]
    """The loops between, outermost first."""
    inner: Loop
    """The innermost loop, which reads the copies."""
    copied: Mapping[Load, Load]
    """What is copied, and the element of a tile for it."""


def columns_in_tiles(loop: Loop, first: Variable, first_column: Variable) -> ColumnsInTiles | None:
    """The loop in tiles from `first` and `first_column` on; None if nothing in it is worth that."""
    between: list[Loop] = []
    inner = loop
    while len(inner.body) == 1 and isinstance(inner.body[0], Loop):
        inner = inner.body[0]
        between.append(inner)
    if inner is loop or not runs_on_vectors(inner) or not _is_elementwise(inner):
        return None
    between.pop()
    outer, along = loop.variable, inner.variable
    if min(typical(outer.extent), typical(along.extent)) < LEAST:
        return None
    found = {
        one: None
        for statement in inner.body
        for one in expressions(statement)
        if isinstance(one, Load) and not isinstance(statement, Choose) and _is_column(one, outer, inner)
    }
    if not found:
        return None
    rows = max(LINE // min(load.dtype.itemsize for load in found), LEAST)
    while rows > LEAST and rows * COLUMNS * sum(load.dtype.itemsize for load in found) > MOST_BYTES:
        rows //= 2
    at = (of(outer) - of(first)) * COLUMNS + of(along) - of(first_column)
    copied: dict[Load, Load] = {}
    left = MOST_BYTES
    for load in found:
        tile = Row(f"tm_tile_{len(copied)}", load.dtype, rows * COLUMNS)
        left -= tile.size * load.dtype.itemsize
        if left >= 0:
            copied[load] = Load(tile, at)
    body = loaded_from(inner.body, lambda load: copied.get(load, load))
    return ColumnsInTiles(rows, tuple(between), replace(inner, body=body), copied)


def _is_elementwise(loop: Loop) -> bool:
    return all(isinstance(statement, Let | Choose | Store) for statement in loop.body)


def _is_column(load: Load, outer: Variable, inner: Loop) -> bool:
    """Whether the elements that a loop reads lie far apart, and those for the next iteration of the outer one beside
    them. None is at an index that the loop reads first."""
    place: Affine = load.place
    along = inner.variable
    step = place.factor(along)
    read = {s.local.name for s in statements(inner.body) if isinstance(s, Let | Choose)}
    if any(variable.name in read for variable in place.variables):
        return False
    if isinstance(load.buffer, Row) or not place.is_linear or not is_unit(place.factor(outer)):
        return False
    if step is None or same(step, 0) or is_unit(step):
        return False
    return isinstance(step, SymbolicSize) or not is_known(
        abs(step) * along.extent * load.dtype.itemsize < FAR
    )
