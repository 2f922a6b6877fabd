"""`parts_of_rows`: mathematical functions of each row, for several rows at once.

A logistic regression sums over each row and takes the exponential of the sum. One by one, exponentials take ten times
as long as in vectors. So the sums of some rows are stored, and a second loop continues with these; what follows with
loops of its own, such as sums of columns, is a third one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ....affine import Affine, Variable, of
from ....analysis.flops import is_transcendental
from ....ir import Extent
from ....loops.nest import Accumulate, Apply, Block, Let, Load, Local, Loop, Result, Row, Statement, Store
from ....loops.walk import expressions, reset_in, statements, used
from ....symbolic_size import typical

MOST: Final = 64
"""How many rows. What is stored of them stays in the nearest cache."""

FEWER: Final = 16
"""How many if a third loop reads rows again that are longer than `SHORT`; and the fewest worth further loops."""

SHORT, LONG = 64, 512
"""Elements of rows that are read again."""


@dataclass(frozen=True, slots=True)
class PartsOfRows:
    """The body of a loop as the bodies of up to three, which go over the same iterations."""

    before: Block
    """With inner loops; empty if there are none."""
    functions: Block
    """Without inner loops."""
    after: Block
    """With inner loops; empty if there are none."""
    stored: tuple[Row, ...]
    """What a part computes for a later one."""
    rows: int
    """How many iterations belong together."""


def parts_of_rows(loop: Loop, first: Variable) -> PartsOfRows | None:
    """The parts of iterations from `first` on, if mathematical functions stand before or after inner loops."""
    body = loop.body
    place = next((place for place, s in enumerate(body) if _has_functions(s)), None)
    if place is None or typical(loop.variable.extent) < FEWER:
        return None
    start, end = place, place
    while start > 0 and _stands_alone(body[start - 1]) and not _names_result(body[start - 1]):
        start -= 1
    while end < len(body) and _stands_alone(body[end]):
        end += 1
    parts = body[:start], body[start:end], body[end:]
    if not any(isinstance(s, Loop) for s in (*parts[0], *parts[2])) or _share_memory(*parts):
        return None
    rows = _rows_for(parts[2])
    needed = _needed(*parts)
    if rows is None or needed is None:
        return None
    at = of(loop.variable) - of(first)
    memory = {local: Row(f"{local.name}_of_rows", local.dtype, rows) for local in needed}
    before, functions, after = (_through_memory(part, memory, at) for part in parts)
    return PartsOfRows(before, functions, after, tuple(memory.values()), rows)


def _through_memory(part: Block, memory: Mapping[Local, Row], at: Affine) -> Block:
    """A part that loads the numbers of earlier parts, and stores those for later ones."""
    names, taken = {s.local.name for s in part if isinstance(s, Let)}, used(part).locals
    loads = [Let(local, Load(row, at)) for local, row in memory.items() if local.name in taken.keys() - names]
    stores = [Store(row, at, local) for local, row in memory.items() if local.name in names]
    return (*loads, *part, *stores)


def _has_functions(statement: Statement) -> bool:
    """Whether a statement, without those inside of it, computes a mathematical function."""
    found = expressions(statement) if isinstance(statement, Let | Store) else ()
    return any(isinstance(one, Apply) and is_transcendental(one.call) for one in found)


def _stands_alone(statement: Statement) -> bool:
    """Whether a statement needs nothing but numbers and arrays."""
    return isinstance(statement, Let | Store)


def _names_result(statement: Statement) -> bool:
    return any(isinstance(one, Result) for one in expressions(statement))


def _share_memory(before: Block, functions: Block, after: Block) -> bool:
    """Whether a part uses memory or accumulators that are those of one row in an earlier part."""
    for earlier, later in ((before, (*functions, *after)), (functions, after)):
        uses = used(later)
        own = reset_in(earlier)
        added = {s.accumulator for s in statements(later) if isinstance(s, Accumulate)}
        kept = {buffer for buffer in used(earlier).written if isinstance(buffer, Row)}
        if own & (added | {*uses.results}) or kept & {*uses.buffers}:
            return True
    return False


def _rows_for(after: Block) -> int | None:
    """How many rows may be read again from the nearest cache; None if not enough."""
    lengths: list[Extent] = [s.variable.extent for s in statements(after) if isinstance(s, Loop)]
    longest = max(map(typical, lengths), default=0)
    return MOST if longest <= SHORT else FEWER if longest <= LONG else None


def _needed(before: Block, functions: Block, after: Block) -> list[Local] | None:
    """The numbers that a part computes for a later one; None if there are others, such as positions."""
    found: dict[str, Local] = {}
    for earlier, later in ((before, (*functions, *after)), (functions, after)):
        made = {s.local.name for s in earlier if isinstance(s, Let)}
        for name, local in used(later).locals.items():
            if name in made:
                if local is None:
                    return None
                found[name] = local
    return list(found.values())
