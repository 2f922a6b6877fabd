"""The arguments of sines, cosines and tangents in a loop, which vectors compute if no argument is far from 0."""

from collections.abc import Iterator, Sequence
from typing import Final

from ....analysis.op_costs import element_cost
from ....dtypes import kind
from ....loops.nest import Accumulate, Apply, Block, Choose, Expression, Let, Local, Statement, Store
from ....loops.walk import expressions, statements, used

CHEAP: Final = 8
"""The most additions in computing an argument for which checking it first is faster than the C library."""

PERIODIC: Final = frozenset({"sin", "cos", "tan"})

BLOCK: Final = 1024
"""The number of arguments that are checked at a time. They stay in the fastest cache."""


def angles_in(body: Block) -> list[Expression]:
    """The arguments, which are real numbers."""
    return [angle for statement in statements(body) for angle in _angles(statement)]


def before_angles(body: Block) -> Block | None:
    """The statements of a body that compute the arguments; None if they cannot run before the others.

    They can if the body always computes all arguments, from numbers that it does not accumulate or store itself.
    """
    asked = [s for s in statements(body) if list(_angles(s))]
    if not all(isinstance(s, Let | Store | Accumulate) and any(s is one for one in body) for s in asked):
        return None
    kept: list[Statement] = [Let(Local("angle", angle.dtype), angle) for s in asked for angle in _angles(s)]
    count = len(kept)
    for statement in reversed(body):
        if isinstance(statement, Let | Choose) and statement.local.name in used(tuple(kept)).locals:
            kept.insert(0, statement)
    uses = used(tuple(kept))
    stored = {s.buffer for s in statements(body) if isinstance(s, Store)}
    if uses.results or not stored.isdisjoint(uses.buffers):
        return None
    return tuple(kept[: len(kept) - count])


def are_costly(statements: Block) -> bool:
    """Whether computing them twice, to check the arguments first, would take longer than the C library's functions."""
    calls = [s.call for s in statements if isinstance(s, Let) and s.call is not None]
    return sum(map(element_cost, calls)) > CHEAP


def _angles(statement: Statement) -> Iterator[Expression]:
    for one in expressions(statement):
        if isinstance(one, Apply) and one.call.op in PERIODIC and kind(one.dtype) == "f":
            yield one.operands[0]


def widest(angles: Sequence[Expression]) -> str:
    """The integer type of the size of the largest argument."""
    return f"uint{8 * max(angle.dtype.itemsize for angle in angles)}_t"
