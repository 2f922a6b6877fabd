"""`vectorize_long_axis`: in loops over pairs, vectorise the long loop instead of the short sum inside it.

In ``for i: for j: for k: sum (x[i, k] - y[j, k])²`` with 2000 values of j and 16 of k, vectors over k are short, and
the code after each sum runs element by element. This pass unrolls the loop over k inside the loop over j, and
vectorises the loop over j. It then reads y in columns, again for every value of i: from a copy in which the columns
are contiguous. Any innermost loop that reads columns again and again gets such copies.

If the short sum has no known length, it becomes the outer loop instead, over sums for a few hundred values of j:
``for i: for k: for j: sum[j] (x[i, k] - y[j, k])²``.

Other statements of an iteration, such as loops that accumulate many numbers, follow in a second loop over j. The same
holds after values that are slow to compute: ``t = tanh(x[j])`` in ``for i: for j: for k: z[i, j, k] = t * y[k]`` is
then vectorised, too.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Final, TypeAlias

from ..affine import ZERO, Variable, is_unit, of, same
from ..analysis.op_costs import element_cost
from ..dtypes import kind
from ..symbolic_size import SymbolicSize, is_known, max_expr, typical, upper_bound
from .building import PART
from .lower import LARGEST_ROWS, SLOW
from .nest import (
    Accumulate,
    Accumulator,
    Apply,
    Begin,
    Block,
    Buffer,
    Choose,
    Copy,
    Expression,
    Let,
    Load,
    Local,
    Loop,
    Nest,
    Result,
    Row,
    Statement,
    Store,
)
from .walk import accumulated, at_value, expressions, loaded_from, places, statements, used, with_leaves

MOST_ITERATIONS: Final = 64
"""At most this many iterations of short loops are unrolled."""

MOST_STATEMENTS: Final = 512
"""Unrolled short loops become at most this many statements."""

LEAST: Final = 16
"""A loop with this many iterations is worth vectorising."""

REREAD: Final = 8
"""How often an array is read out of order before a copy pays off."""

LARGEST_COPY: Final = 1 << 24
"""Bytes of a copy."""

Making: TypeAlias = Callable[[Loop, tuple[Variable, ...]], Sequence[Statement]]
"""The result for a loop inside others."""


def vectorize_long_axis(nest: Nest, reserved: Sequence[str] = ()) -> Nest:
    """The same nest with its loops over pairs vectorised. New names differ from `reserved`."""
    pairs = _Pairs(nest, reserved)
    body = pairs.changed(nest.body, ())
    return replace(nest, body=(*pairs.copying, *body))


class _Pairs:
    def __init__(self, nest: Nest, reserved: Sequence[str]) -> None:
        self.whole = {*nest.inputs, *(buffer for buffer, _ in nest.constants)}
        self.taken = {*reserved, *(b.name for b in (*self.whole, *nest.outputs)), *_names(nest.body)}
        self.row_bytes = sum(_nbytes(b) for b in used(nest.body).buffers if isinstance(b, Row))
        self.copies: dict[tuple[Buffer, int, tuple[tuple[int | None, int], ...]], Copy] = {}
        self.copying: list[Loop] = []

    def claim(self, stem: str) -> str:
        name, number = stem, 1
        while name in self.taken:
            number += 1
            name = f"{stem}_{number}"
        self.taken.add(name)
        return name

    def changed(self, body: Block, outer: tuple[Variable, ...]) -> Block:
        """Statements in loops over `outer`, with loops over pairs vectorised."""
        made: list[Statement] = []
        for statement in body:
            match statement:
                case Loop():
                    made += self.loop(statement, outer)
                case _:
                    made.append(statement)
        return tuple(made)

    def loop(self, loop: Loop, outer: tuple[Variable, ...]) -> Sequence[Statement]:
        first, rest = _divided(loop)
        if self.is_sum_of_unknown_length(loop, first, rest, outer):
            return self.side_by_side(loop, outer)
        short = [statement for statement in first if isinstance(statement, Loop)]
        kept = _kept(first, rest)
        if (
            not (short or (outer and _is_slow(first, rest)))
            or is_known(loop.variable.extent < LEAST)
            or kept is None
            or not all(self.is_read_in_order(load, loop.variable, outer) for load in _loads(short or first))
        ):
            return self.as_before(loop, outer)
        width = sum(local.dtype.itemsize for local in kept)
        if upper_bound(self.row_bytes + width * loop.variable.extent) > LARGEST_ROWS:
            is_longer = not is_known(loop.variable.extent <= PART)
            has_room = is_longer and self.row_bytes + 2 * width * PART <= LARGEST_ROWS
            return self.in_parts(loop, outer, self.loop) if has_room else self.as_before(loop, outer)
        if kept and not outer:
            return self.as_before(loop, outer)  # no rows between outermost loops: threads share those
        near = loaded_from(first, lambda load: self.copied(load, loop.variable, outer))
        vectors = replace(loop, body=_written_out(near))
        if not rest:
            return [vectors]
        place = of(loop.variable) + -loop.variable.low
        rows = {local: self.row(local, loop.variable.extent) for local in kept}
        stores = tuple(Store(row, place, local) for local, row in rows.items())
        loads = tuple(Let(local, Load(row, place)) for local, row in rows.items())
        return [
            replace(vectors, body=(*vectors.body, *stores)),
            replace(loop, body=(*loads, *self.changed(rest, (*outer, loop.variable)))),
        ]

    def is_sum_of_unknown_length(
        self, loop: Loop, first: Block, rest: Block, outer: tuple[Variable, ...]
    ) -> bool:
        """Whether `rest` begins with a short symbolic sum that iterations of the loop can accumulate side by side."""
        inner = rest[0] if rest else None
        if not outer or not isinstance(inner, Loop) or not isinstance(inner.variable.extent, SymbolicSize):
            return False
        if typical(inner.variable.extent) > MOST_ITERATIONS or typical(loop.variable.extent) < LEAST:
            return False
        begun = {a for s in first if isinstance(s, Begin) for a in s.accumulators}
        made = {s.local.name for s in first if isinstance(s, Let | Choose)}
        return (
            not any(isinstance(statement, Loop) for statement in (*first, *inner.body))
            and _only_gathers(inner.body, begun)
            and not made & used((inner,)).locals.keys()
            and not set(accumulated((inner,))) & set(accumulated(rest[1:]))
            and all(self.is_read_in_order(load, loop.variable, outer) for load in _loads((inner,)))
        )

    def side_by_side(self, loop: Loop, outer: tuple[Variable, ...]) -> Sequence[Statement]:
        """The sum as the outer loop, for one part of the range after another; then the statements after the sums."""
        variable = loop.variable
        first, (inner, *rest) = _divided(loop)
        assert isinstance(inner, Loop)
        near = loaded_from(inner.body, lambda load: self.copied(load, variable, outer))
        if not is_known(variable.extent <= PART):
            parted = replace(loop, body=(*first, replace(inner, body=near), *rest))
            return self.in_parts(parted, outer, self.side_by_side)
        place = of(variable) + -variable.low
        sums = {accumulator: replace(accumulator, size=variable.extent) for accumulator in accumulated(near)}

        def result(leaf: Expression) -> Expression:
            if isinstance(leaf, Result) and leaf.accumulator in sums:
                return replace(leaf, accumulator=sums[leaf.accumulator], place=place)
            return leaf

        gathered = tuple(
            replace(s, accumulator=sums[s.accumulator], place=place) if isinstance(s, Accumulate) else s
            for s in near
        )
        others = tuple(
            Begin(tuple(a for a in s.accumulators if a not in sums)) if isinstance(s, Begin) else s
            for s in first
        )
        return [
            Begin(tuple(sums.values())),
            replace(inner, body=(replace(loop, body=gathered),)),
            *self.loop(replace(loop, body=with_leaves((*others, *rest), result)), outer),
        ]

    def as_before(self, loop: Loop, outer: tuple[Variable, ...]) -> Sequence[Loop]:
        if outer and not any(isinstance(s, Loop) for s in statements(loop.body)):
            if is_known(loop.variable.extent < LEAST):
                return [loop]
            return [
                replace(
                    loop, body=loaded_from(loop.body, lambda load: self.copied(load, loop.variable, outer))
                )
            ]
        return [replace(loop, body=self.changed(loop.body, (*outer, loop.variable)))]

    def in_parts(self, loop: Loop, outer: tuple[Variable, ...], made: Making) -> Sequence[Statement]:
        """The loop over parts of its range, so that a part stores few values in rows; then over the remainder."""
        variable = loop.variable
        count, left = variable.extent // PART, variable.extent % PART
        part = Variable(variable.name, 0, count - 1)
        inner = Variable(self.claim(f"{variable}_in_part"), 0, PART - 1)
        body = at_value(loop.body, variable, of(part) * PART + of(inner) + variable.low)
        parts: list[Statement] = [Loop(part, tuple(made(Loop(inner, body), (*outer, part))))]
        if not same(left, 0):
            last = Variable(variable.name, variable.high - left + 1, variable.high)
            parts += made(Loop(last, at_value(loop.body, variable, of(last))), outer)
        return parts

    def row(self, local: Local, extent: int) -> Row:
        row = Row(self.claim(f"{local.name}_row"), local.dtype, extent)
        self.row_bytes += _nbytes(row)
        return row

    # ---- copies ------------------------------------------------------------------------------------------

    def is_read_in_order(self, load: Load, variable: Variable, outer: tuple[Variable, ...]) -> bool:
        """Whether neighbours along a variable are neighbours in memory, or will be in a copy."""
        return _is_in_order(load.place.factor(variable)) or self.is_worth_a_copy(load, variable, outer)

    def is_worth_a_copy(self, load: Load, variable: Variable, outer: tuple[Variable, ...]) -> bool:
        place, inside = load.place, load.place.variables
        if load.buffer not in self.whole or not place.is_linear or _is_in_order(place.factor(variable)):
            return False
        if not (is_known(place.low >= 0) and is_known(place.high < load.buffer.size)):
            return False  # read under a condition
        size = math.prod(typical(v.extent) for v in inside)
        again = math.prod(typical(v.extent) for v in outer if v not in inside)
        if again < REREAD or size > typical(load.buffer.size):
            return False
        return size * load.dtype.itemsize <= LARGEST_COPY

    def copied(self, load: Load, variable: Variable, outer: tuple[Variable, ...]) -> Load:
        """The element from a copy in which it is next to its neighbour along the variable, if that is worth it."""
        if not self.is_worth_a_copy(load, variable, outer):
            return load
        order = [atom for atom, _ in load.place.terms if isinstance(atom, Variable) and atom != variable]
        order.append(variable)
        size = math.prod(v.extent for v in order)
        place = ZERO
        for v in order:
            place = place * v.extent + (of(v) + -v.low)
        steps = tuple((load.place.factor(v), v.extent) for v in order)
        key = load.buffer, load.place.low, steps
        if key not in self.copies:
            self.copies[key] = Copy(self.claim(f"{load.buffer.name}_copy"), load.dtype, size)
            loop: Statement = Store(self.copies[key], place, load)
            for v in reversed(order):
                loop = Loop(v, (loop,))
            assert isinstance(loop, Loop)
            self.copying.append(loop)
        return Load(self.copies[key], place)


# ---- what can run on vectors -----------------------------------------------------------------------------


def _divided(loop: Loop) -> tuple[Block, Block]:
    """The first statements of a loop, which can be vectorised, and the rest."""
    begun: set[Accumulator] = set()
    for number, statement in enumerate(loop.body):
        if isinstance(statement, Begin):
            begun.update(statement.accumulators)
        if not _can_run(statement, loop.variable, begun):
            return loop.body[:number], loop.body[number:]
    return loop.body, ()


def _can_run(statement: Statement, variable: Variable, begun: set[Accumulator]) -> bool:
    """Whether several iterations of the variable can compute a statement at once."""
    match statement:
        case Let():
            return True
        case Begin():
            return all(accumulator.size is None for accumulator in statement.accumulators)
        case Accumulate():
            accumulator = statement.accumulator
            return accumulator.size is None and (accumulator in begun or _in_any_order(accumulator))
        case Store():
            factor = statement.place.factor(variable)
            return factor is not None and same(factor, 1)
        case Choose():
            return not any(
                isinstance(s, Loop) for s in statements((*statement.then_body, *statement.else_body))
            )
        case Loop():
            iterations, size = _size(statement)
            is_short = is_known(iterations <= MOST_ITERATIONS) and is_known(size <= MOST_STATEMENTS)
            return is_short and _only_gathers(statement.body, begun)


def _is_slow(first: Block, rest: Block) -> bool:
    """Whether statements wait for a function that vectors compute faster, because a loop follows in the same
    iteration."""
    if not any(isinstance(statement, Loop) for statement in rest):
        return False
    calls = (x.call for statement in first for x in expressions(statement) if isinstance(x, Apply))
    return any(element_cost(call) >= SLOW for call in calls)


def _in_any_order(accumulator: Accumulator) -> bool:
    """Whether vector lanes can accumulate parts of the reduced numbers."""
    is_complex_product = accumulator.op == "prod" and kind(accumulator.dtype) == "c"
    return accumulator.op not in ("argmax", "argmin") and not is_complex_product


def _size(loop: Loop) -> tuple[int, int]:
    """How many iterations and statements a loop has, including its inner loops."""
    inner = [_size(statement) for statement in loop.body if isinstance(statement, Loop)]
    iterations = reduce(max_expr, (iterations for iterations, _ in inner), 1)
    return loop.variable.extent * iterations, loop.variable.extent * (
        len(loop.body) + sum(size for _, size in inner)
    )


def _is_in_order(factor: int | None) -> bool:
    """Whether neighbours along a variable with this factor are the same element, or neighbours in memory."""
    return is_unit(factor) or (factor is not None and same(factor, 0))


def _only_gathers(body: Block, begun: set[Accumulator]) -> bool:
    """Whether statements only add to accumulators that started in the same iteration."""
    for statement in body:
        match statement:
            case Let():
                continue
            case Accumulate() if statement.accumulator in begun:
                continue
            case Loop() if _only_gathers(statement.body, begun):
                continue
            case _:
                return False
    return True


def _written_out(body: Block) -> Block:
    return tuple(
        replace(statement, body=_written_out(statement.body), is_unrolled=True)
        if isinstance(statement, Loop)
        else statement
        for statement in body
    )


def _kept(first: Block, rest: Block) -> list[Local] | None:
    """The values of earlier statements that `rest` needs, in rows; None if rows cannot hold them."""
    made = {s.local.name: s.local for s in first if isinstance(s, Let | Choose)}
    begun = {accumulator for s in first if isinstance(s, Begin) for accumulator in s.accumulators}
    uses = used(rest)
    if begun & uses.results.keys() or any(
        s.accumulator in begun for s in statements(rest) if isinstance(s, Accumulate)
    ):
        return None
    if any(
        variable.name in made for s in statements(rest) for place in places(s) for variable in place.variables
    ):
        return None
    return [local for name, local in made.items() if name in uses.locals]


def _loads(body: Sequence[Statement]) -> Iterator[Load]:
    for statement in statements(tuple(body)):
        yield from (x for x in expressions(statement) if isinstance(x, Load))


def _names(body: Block) -> Iterator[str]:
    """The names that statements define."""
    for statement in statements(body):
        match statement:
            case Let() | Choose():
                yield statement.local.name
            case Loop():
                yield statement.variable.name
            case Begin():
                yield from (accumulator.name for accumulator in statement.accumulators)
            case Store():
                yield statement.buffer.name
            case Accumulate():
                pass


def _nbytes(buffer: Buffer) -> int:
    return buffer.size * buffer.dtype.itemsize
