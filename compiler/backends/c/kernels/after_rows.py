"""`after_rows`: mathematical functions that follow the loops over a row, for several rows at once.

A logistic regression sums over each row and takes the exponential of the sum. One by one, exponentials take ten times
as long as in vectors. So the sums of some rows are stored, and a second loop continues with these.
"""

from dataclasses import dataclass, replace
from typing import Final

from ....affine import Variable, of
from ....analysis.flops import is_transcendental
from ....loops.nest import Apply, Block, Let, Load, Local, Loop, Result, Row, Store
from ....loops.walk import expressions, statements, used
from ....symbolic_size import typical

ROWS: Final = 64
"""How many rows, at most. What is stored of them stays in the nearest cache."""

FEWEST: Final = 16
"""Fewer rows are not worth a second loop."""


@dataclass(frozen=True, slots=True)
class TwoLoops:
    """The body of a loop as the bodies of two, which go over the same iterations."""

    over_rows: Block
    """Stores what the other one needs."""
    after: Loop
    stored: tuple[Row, ...]


def after_rows(loop: Loop, first: Variable) -> TwoLoops | None:
    """Two loops over the iterations from `first` on, if a loop ends with mathematical functions after inner loops."""
    body = loop.body
    inner = [place for place, s in enumerate(body) if isinstance(s, Loop) and not s.is_unrolled]
    if not inner or typical(loop.variable.extent) < FEWEST:
        return None
    begin = inner[-1] + 1
    while begin < len(body) and _is_result(body[begin]):
        begin += 1
    before, after = body[:begin], body[begin:]
    found = [one for s in statements(after) for one in expressions(s)]
    if not all(isinstance(s, Let | Store) for s in after) or any(isinstance(one, Result) for one in found):
        return None
    if not any(isinstance(one, Apply) and is_transcendental(one.call) for one in found):
        return None
    made = {s.local.name for s in before if isinstance(s, Let)}
    needed = {name: local for name, local in used(after).locals.items() if name in made}
    if None in needed.values():
        return None
    rows, loads, stores = [], [], []
    for local in filter(None, needed.values()):
        row = Row(f"{local.name}_of_rows", local.dtype, ROWS)
        place = of(loop.variable) - of(first)
        rows.append(row)
        stores.append(Store(row, place, local))
        loads.append(Let(local, Load(row, place)))
    return TwoLoops((*before, *stores), replace(loop, body=(*loads, *after), chunk=None), tuple(rows))


def _is_result(statement: object) -> bool:
    """Whether a statement names the value of an accumulator."""
    return isinstance(statement, Let) and isinstance(statement.expression, Result | Local)
