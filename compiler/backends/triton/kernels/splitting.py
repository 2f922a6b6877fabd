"""Long reductions of few rows, split into parts: programs reduce the parts, and a second stage combines their
results."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from ....affine import ZERO, Affine, Variable, of
from ....dtypes import INT64
from ....loops.nest import (
    Accumulate,
    Accumulator,
    Begin,
    Block,
    Buffer,
    Let,
    Load,
    Local,
    Loop,
    Result,
    Statement,
    Store,
)
from ....loops.walk import accumulated, at_value, reset_in, statements
from ....symbolic_size import is_known, typical
from .assumed import assumed, pieces
from .blocks import rows_of
from .reductions import SEARCHES, gathered_dtype

PROGRAMS: Final = 512
"""This many programs keep a GPU busy: a few for each of its processors."""

PART: Final = 1 << 14
"""A part has at least this many elements."""

ALIGNED: Final = 64
"""Parts begin at multiples of this many elements, so that several can be loaded at once."""


def split(body: Block) -> tuple[Block, list[Buffer]]:
    """The statements of a nest with long reductions in two stages, and the memory between the stages."""
    found: list[Statement] = []
    memory: list[Buffer] = []
    gathering = [s for s in body if isinstance(s, Loop) and set(accumulated((s,))) - reset_in((s,))]
    if len(gathering) == 1 and not any(isinstance(s, Loop) and s is not gathering[0] for s in body):
        return _split_rows((), body, memory), memory
    for statement in body:
        if isinstance(statement, Loop) and statement not in gathering:
            variables, inner = parallel(statement)
            found += _split_rows(variables, inner, memory)
        else:
            found.append(statement)
    return tuple(found), memory


def parallel(loop: Loop) -> tuple[tuple[Variable, ...], Block]:
    """The loops that hold nothing but one another, from the outside in, and the body of the last."""
    variables = [loop.variable]
    body = loop.body
    while len(body) == 1 and isinstance(body[0], Loop):
        variables.append(body[0].variable)
        body = body[0].body
    return tuple(variables), body


def _split_rows(variables: tuple[Variable, ...], body: Block, memory: list[Buffer]) -> Block:
    """The rows computed by loops over `variables`: in two stages, or unchanged."""
    rows = math.prod(variable.extent for variable in variables)
    whole = _loops(variables, body)
    loops = [statement for statement in body if isinstance(statement, Loop)]
    if len(loops) != 1:
        return whole
    (loop,) = loops
    accumulators = list(accumulated((loop,)))
    together = rows_of(variables, body).count
    inside = _iterations(loop.body)
    wanted = PROGRAMS // pieces(typical(rows), together)
    extent = loop.variable.extent
    size = max(PART // (together * inside), pieces(typical(extent), max(1, wanted)))
    size = size if inside > 1 else -(-size // ALIGNED) * ALIGNED
    count = extent // max(1, size)
    if wanted < 2 or not _only_gathers(loop) or assumed(extent >= 2 * max(1, size)) is False:
        return whole
    before, behind = body[: body.index(loop)], body[body.index(loop) + 1 :]
    kept = [_Kept.of(accumulator, rows * count) for accumulator in accumulators]
    memory += (buffer for one in kept for buffer in one.buffers)
    part, step = Variable("part", 0, count - 1), Variable("step", 0, size - 1)
    row = ZERO
    for variable in variables:
        row = row * variable.extent + of(variable) + -variable.low
    place = of(part) * rows + row
    element = of(part) * size + of(step) + loop.variable.low
    first: Block = (
        *before,
        *(statement for one in kept for statement in one.begun()),
        Loop(step, at_value(_with_extremes(loop.body, kept), loop.variable, element)),
        *(statement for one in kept for statement in one.stored(place)),
    )
    parts = Loop(part, tuple(statement for one in kept for statement in one.gathered(place)))
    end = loop.variable.low + count * size
    left = Variable(loop.variable.name, end, loop.variable.high)
    rest = () if is_known(left.extent <= 0) else (Loop(left, at_value(loop.body, loop.variable, of(left))),)
    # The results come in the order of the parts: among equal extremes, the first counts.
    return (*_loops((part, *variables), first), *_loops(variables, (*before, parts, *rest, *behind)))


@dataclass(frozen=True, slots=True)
class _Kept:
    """What parts store of an accumulator: a number, in the precision of the accumulator; and its position."""

    accumulator: Accumulator
    numbers: Buffer
    extreme: Accumulator | None = None
    """For one that finds a position: the accumulator of the number there."""
    places: Buffer | None = None

    @staticmethod
    def of(accumulator: Accumulator, size: int) -> "_Kept":
        name, dtype = accumulator.name, accumulator.dtype
        if accumulator.op not in SEARCHES:
            return _Kept(accumulator, Buffer(f"{name}_parts", gathered_dtype(dtype), size))
        op = accumulator.op.removeprefix("arg")
        extreme = replace(accumulator, name=f"{name}_{op}", op=op)
        numbers = Buffer(f"{name}_{op}_parts", gathered_dtype(dtype), size)
        return _Kept(accumulator, numbers, extreme, Buffer(f"{name}_parts", INT64, size))

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        return (self.numbers,) if self.places is None else (self.numbers, self.places)

    def begun(self) -> Block:
        return () if self.extreme is None else (Begin((self.extreme,)),)

    def stored(self, place: Affine) -> Block:
        """The result of a part."""
        number = Store(self.numbers, place, Result(self.extreme or self.accumulator, self.numbers.dtype))
        if self.places is None:
            return (number,)
        return number, Store(self.places, place, Result(self.accumulator, INT64))

    def gathered(self, place: Affine) -> Block:
        """The results of all parts."""
        number = Load(self.numbers, place)
        if self.places is None:
            return (Accumulate(self.accumulator, number, None, None),)
        at = Local(f"{self.places.name}_at", INT64)
        last = Variable(at.name, 0, self.accumulator.count - 1)
        return Let(at, Load(self.places, place)), Accumulate(self.accumulator, number, None, of(last))


def _with_extremes(body: Block, kept: Sequence[_Kept]) -> Block:
    """The same statements, with accumulators for the numbers whose positions are searched."""
    extremes = {one.accumulator: one.extreme for one in kept if one.extreme is not None}
    found: list[Statement] = []
    for statement in body:
        if isinstance(statement, Loop):
            statement = replace(statement, body=_with_extremes(statement.body, kept))
        found.append(statement)
        if isinstance(statement, Accumulate) and statement.accumulator in extremes:
            found.append(Accumulate(extremes[statement.accumulator], statement.expression, None, None))
    return tuple(found)


def _loops(variables: Sequence[Variable], body: Block) -> Block:
    for variable in reversed(variables):
        body = (Loop(variable, body),)
    return body


def _iterations(body: Block) -> int:
    """How often the innermost statements run, for typical lengths of their loops."""
    loops = (statement for statement in body if isinstance(statement, Loop))
    return max((typical(loop.variable.extent) * _iterations(loop.body) for loop in loops), default=1)


def _only_gathers(loop: Loop) -> bool:
    return not any(isinstance(s, (Store, Begin)) for s in statements(loop.body))
