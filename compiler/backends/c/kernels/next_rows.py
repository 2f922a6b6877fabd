"""Which rows are prefetched: those of the next iteration, while loops go over the rows of this one again.

A softmax goes over a row three times. Only the first time it is read from memory, and memory then rests until the next
row. So after the first loop, the next row is requested, and arrives while the others compute.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ....affine import Affine, same
from ....loops.nest import Load, Loop, Row
from ....loops.walk import expressions, statements
from ....symbolic_size import is_known, typical

LINE: Final = 64
"""Bytes that a processor reads at once."""

SHORTEST: Final = 4096
"""Bytes of a row. The processor itself requests what follows, but only while a loop reads: in shorter rows the next
loop comes too soon for that to matter."""

LONGEST: Final = 16384
"""Bytes of a row of which the nearest cache can hold two."""

IN_MEMORY: Final = 8 << 20
"""An array of fewer bytes may be in a cache as a whole."""


@dataclass(frozen=True, slots=True)
class NextRow:
    """A row that the next iteration of a loop reads."""

    load: Load
    """An element of it in this iteration."""
    inner: Loop
    """The first loop over the row."""

    @property
    def start(self) -> Affine:
        """Where the row of this iteration begins."""
        return self.load.place.at(self.inner.variable, Affine(self.inner.variable.low))

    @property
    def step(self) -> int:
        """How many elements are read at once."""
        return LINE // self.load.dtype.itemsize


def next_rows(loop: Loop) -> tuple[NextRow, ...]:
    """The rows that the first loop inside of a loop reads, and another one reads again."""
    inner = [s for s in loop.body if isinstance(s, Loop)]
    if len(inner) < 2 or any(isinstance(s, Loop) for one in inner for s in statements(one.body)):
        return ()
    again = {load.buffer for one in inner[1:] for load in _loads(one)}
    found: dict[object, NextRow] = {}
    for load in _loads(inner[0]):
        row = NextRow(load, inner[0])
        if load.buffer in again and _is_worth_it(row, loop):
            found.setdefault(load.buffer, row)
    return tuple(found.values())


def _is_worth_it(row: NextRow, loop: Loop) -> bool:
    place, variable = row.load.place, row.inner.variable
    nbytes = row.load.dtype.itemsize * typical(variable.extent)
    step, apart = place.factor(variable), place.factor(loop.variable)
    return (
        not isinstance(row.load.buffer, Row)
        and place.is_linear
        and step is not None
        and same(step, 1)
        and apart is not None
        and is_known(apart >= variable.extent)
        and SHORTEST <= nbytes <= LONGEST
        and typical(row.load.buffer.size) * row.load.dtype.itemsize >= IN_MEMORY
    )


def _loads(loop: Loop) -> Iterator[Load]:
    for statement in statements(loop.body):
        yield from (x for x in expressions(statement) if isinstance(x, Load))
