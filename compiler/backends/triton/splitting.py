"""Long reductions of few rows, cut into parts: programs gather the parts, and a second stage what they leave."""

import math
from collections.abc import Sequence
from typing import Final

from ...affine import ZERO, Variable, of
from ...loops.nest import Accumulate, Accumulator, Begin, Block, Buffer, Load, Loop, Result, Statement, Store
from ...loops.walk import accumulated, at_value, statements
from .blocks import COLUMNS, neighbours_are_rows
from .reductions import SEARCHES

PROGRAMS: Final = 512
"""So many programs keep a GPU busy: a few for each of its processors."""

PART: Final = 1 << 14
"""A part has at least so many elements."""

ALIGNED: Final = 64
"""Parts begin at multiples of so many elements, where several are loaded at once."""


def split(body: Block) -> tuple[Block, list[Buffer]]:
    """The statements of a nest with long reductions in two stages, and the memory between the stages."""
    found: list[Statement] = []
    memory: list[Buffer] = []
    gathering = [s for s in body if isinstance(s, Loop) and set(accumulated((s,))) - _begun((s,))]
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
    """The rows that loops over `variables` compute: in two stages, or as they are."""
    rows = math.prod(variable.extent for variable in variables)
    whole = _loops(variables, body)
    loops = [statement for statement in body if isinstance(statement, Loop)]
    if len(loops) != 1:
        return whole
    (loop,) = loops
    accumulators = list(accumulated((loop,)))
    wide = bool(variables) and neighbours_are_rows(variables[-1], body)
    wanted = PROGRAMS // -(-rows // (COLUMNS if wide else 1))
    size = max(PART // COLUMNS if wide else PART, -(-loop.variable.extent // max(1, wanted)))
    size = -(-size // ALIGNED) * ALIGNED
    count = loop.variable.extent // size
    if wanted < 2 or count < 2 or not all(map(_can_split, accumulators)) or not _only_gathers(loop):
        return whole
    before, behind = body[: body.index(loop)], body[body.index(loop) + 1 :]
    kept = {a: Buffer(f"{a.name}_parts", a.dtype, rows * count) for a in accumulators}
    memory += kept.values()
    part, step = Variable("part", 0, count - 1), Variable("step", 0, size - 1)
    row = ZERO
    for variable in variables:
        row = row * variable.extent + of(variable) + -variable.low
    place = of(part) * rows + row
    element = of(part) * size + of(step) + loop.variable.low
    first: Block = (
        *before,
        Loop(step, at_value(loop.body, loop.variable, element)),
        *(Store(buffer, place, Result(a, a.dtype)) for a, buffer in kept.items()),
    )
    parts = Loop(part, tuple(Accumulate(a, Load(buffer, place), None, None) for a, buffer in kept.items()))
    end = loop.variable.low + count * size
    left = Variable(loop.variable.name, end, loop.variable.high)
    rest = (Loop(left, at_value(loop.body, loop.variable, of(left))),) if left.extent > 0 else ()
    return (*_loops((part, *variables), first), *_loops(variables, (*before, *rest, parts, *behind)))


def _loops(variables: Sequence[Variable], body: Block) -> Block:
    for variable in reversed(variables):
        body = (Loop(variable, body),)
    return body


def _can_split(accumulator: Accumulator) -> bool:
    """Whether what parts give can be gathered again: numbers, in the precision in which they are gathered."""
    return accumulator.op not in SEARCHES and (
        accumulator.dtype.itemsize != 2 or accumulator.dtype.kind in "iu"
    )


def _only_gathers(loop: Loop) -> bool:
    return not any(isinstance(s, (Loop, Store, Begin)) for s in statements(loop.body))


def _begun(body: Block) -> set[Accumulator]:
    return {a for s in statements(body) if isinstance(s, Begin) for a in s.accumulators}
