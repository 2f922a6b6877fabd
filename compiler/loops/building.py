"""Builds loops: scopes, names, and the loops themselves, each tried before it is built."""

import math
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from ..affine import ZERO, Affine, Index, Variable, is_unit, of, same, unflattened, within
from ..dtypes import DType
from ..errors import InternalError
from ..identifiers import identifier
from ..ir import Call, Value
from ..op import Between, Condition
from ..symbolic_size import SymbolicSize, is_known, is_one, typical
from .nest import Buffer, Expression, Let, Load, Local, Position, Result, Statement, operands
from .scope import Branch, Scope

MOST_PIECES: Final = 8
"""A loop is split where a condition changes, into at most this many loops."""

MOST_COLUMNS: Final = 8192
"""Up to this many results are accumulated at once."""

PART: Final = 512
"""If there are more, this many are accumulated at a time."""

SO_FAR: Final = "_so_far"
"""In the names of accumulators, and in no others."""

_PART_OF_LOOP: Final = re.compile(r"([i-w]|i_\d+)_(block|end|first|last|near|near_end)")
"""Names that printers make of the variable of a loop."""


class NotFlatError(Exception):
    """An index is not a linear expression of the variable of several merged axes."""


class TooWideError(Exception):
    """The loop over a variable has too many iterations to accumulate the results of all of them at once."""

    def __init__(self, variable: Variable) -> None:
        super().__init__()
        self.variable = variable


class Loops:
    """A loop nest under construction."""

    def __init__(self, reserved: Sequence[str], plain: bool) -> None:
        self.plain = plain
        """Whether loops are not split, and nothing is accumulated or stored for another loop."""
        self.root = self.current = Scope()
        self.taken = set(reserved)
        self.homes: dict[str, tuple[Scope, int]] = {}
        """For each local: the scope that holds it, and the level from which on it is known there. For each output
        from which others are computed: where it is stored completely."""
        self.places: list[Affine] | None = None
        """Where current loads are recorded, if needed."""

    # ---- names -------------------------------------------------------------------------------------

    def claim(self, stem: str) -> str:
        name, number = stem, 1
        while name in self.taken:
            number += 1
            name = f"{stem}_{number}"
        self.taken.add(name)
        for scope in self.current.chain():
            if scope.names is not None:
                scope.names.append(name)
        return name

    def buffer(self, name: str, value: Value) -> Buffer:
        return Buffer(self.claim(_plain(name)), value.dtype, value.type.size)

    def counter(self, depth: int | None = None) -> str:
        """The name of a loop's variable: i for the outermost, then j, and so on for the next one in the current
        scope."""
        depth = self.depth() if depth is None else depth
        free = [name for name in "ijklmnopqrstuvw" if name not in self.taken]
        return free[depth] if depth < len(free) else f"i_{depth}"

    def depth(self) -> int:
        """How many loops enclose the current scope."""
        return sum(scope.variable is not None for scope in self.current.chain())

    # ---- scopes and levels -------------------------------------------------------------------------

    @contextmanager
    def inside(self, scope: Scope) -> Generator[None]:
        before, self.current = self.current, scope
        try:
            yield
        finally:
            self.current = before

    def add(self, statement: Statement | Branch, level: int) -> None:
        self.current.at(level).statements.append(statement)

    def uses(self, expression: Expression) -> int:
        """The level of the current scope at which an expression is known. The scopes around it wait for it, too."""
        level = 0
        for name in _names(expression):
            level = max(level, self.waits_for(name))
        return level

    def uses_place(self, place: Affine | None) -> int:
        if place is None:
            return 0
        return max((self.waits_for(variable.name) for variable in place.variables), default=0)

    def waits_for(self, name: str) -> int:
        if name not in self.homes:
            return 0  # the counter of a loop
        home, level = self.homes[name]
        if home is self.current:
            return level
        for scope in self.current.chain():
            if scope.parent is home:
                scope.level = max(scope.level, level)
                break
        return 0

    def let(self, name: str, dtype: DType, expression: Expression, call: Call | None = None) -> Local:
        """A new local of the current scope."""
        level = self.uses(expression)
        local = Local(self.claim(name), dtype)
        self.homes[local.name] = self.current, level
        self.add(Let(local, expression, call), level)
        return local

    def home_of(self, value: Value, index: Index) -> Scope:
        """The outermost scope in which the index is known, but not wider than the scope in which the index is in
        range."""
        variables = {variable for place in index for variable in place.variables}
        safe = within(index, value.shape)
        for scope in self.current.chain():
            if scope.parent is None or scope.bound & variables or (scope.guarded and not safe):
                return scope
        raise InternalError("a scope has no root")

    def recall(self, value: Value, index: Index) -> Expression | None:
        for scope in self.current.chain():
            found = scope.known.get((value, index))
            if found is not None:
                self.uses(found)
                return found
        return None

    # ---- loops -----------------------------------------------------------------------------------------

    def loops(self, extents: Sequence[int], body: Callable[[Index], None], *, apart: int = 0) -> int:
        """Nested loops in the current scope, as few as possible; returns the level from which on their accumulated
        results are known.

        Axes that are only used together, and are adjacent in memory, share a loop, except that the first `apart` axes
        share none with the others.
        """
        groups = [[extent] for extent in extents if not is_one(extent)]

        def iteration(index: Index) -> None:
            places = iter(index)
            body(tuple(ZERO if is_one(extent) else next(places) for extent in extents))

        apart = sum(not is_one(extent) for extent in extents[:apart])
        groups = next((trial for trial in _merged(groups, apart) if self.is_flat(trial, iteration)), groups)
        return self.nested(groups, iteration, ())

    def is_flat(self, groups: Sequence[Sequence[int]], body: Callable[[Index], None]) -> bool:
        """Whether one variable per group of axes is enough."""
        trial = Scope(self.current, names=[])
        try:
            with self.inside(trial):
                self.nested(groups, body, ())
        except NotFlatError:
            return False
        finally:
            self.forget(trial)
        return True

    def nested(self, groups: Sequence[Sequence[int]], body: Callable[[Index], None], index: Index) -> int:
        """One loop per group of axes, the first outermost."""
        if not groups:
            body(index)
            return 0
        extents = tuple(groups[0])
        variable = self.variable(math.prod(extents))

        def iteration(place: Affine) -> None:
            self.nested(groups[1:], body, (*index, *unflattened(place, extents)))

        return self.loop(variable, iteration, flat=len(extents) > 1)

    def variable(self, extent: int) -> Variable:
        """The counter of a new loop in the current scope."""
        return Variable(self.counter(), 0, extent - 1)

    def loop(self, variable: Variable, body: Callable[[Affine], object], *, flat: bool = False) -> int:
        """One loop in the current scope, or several if that resolves conditions in its body.

        The body is built twice: first to find out what it needs, then inside the loop at the resulting level. With
        `flat`, the variable stands for several axes.
        """
        scope = self.current
        trial = Scope(scope, variable, names=[], flat=flat)
        try:
            with self.inside(trial):
                body(of(variable))
        except TooWideError as error:
            if error.variable != variable:
                raise
            return self.in_parts(variable, body, flat)
        finally:
            self.forget(trial)
        pieces = [variable] if self.plain else _pieces(variable, trial.switches)
        if len(pieces) > 1:
            return max(self.loop(piece, body) for piece in pieces)
        target = scope.loop(trial.level, variable)
        with self.inside(target):
            body(of(variable))
        return target.level + 1

    def in_parts(self, variable: Variable, body: Callable[[Affine], object], flat: bool) -> int:
        """A loop over parts of a range, and in each a loop over its values. A range of unknown length is mostly one
        part."""
        length = MOST_COLUMNS if isinstance(variable.extent, SymbolicSize) else PART
        count = variable.extent // length
        end = variable.low + count * length

        def part(number: Affine) -> int:
            places = number * length + variable.low
            return self.loop(self.variable(length), lambda place: body(places + place), flat=flat)

        level = self.loop(Variable(variable.name, 0, count - 1), part, flat=flat)
        if not is_known(end > variable.high):
            level = max(level, self.loop(Variable(variable.name, end, variable.high), body))
        return level

    def forget(self, trial: Scope) -> None:
        """Free the names taken by a loop that was only tried."""
        for name in trial.names or ():
            if name not in self.homes or any(scope is trial for scope in self.homes[name][0].chain()):
                self.taken.discard(name)
                self.homes.pop(name, None)

    def check_flat(self, place: Affine) -> None:
        """Refuse a place that splits the variable of several axes."""
        if place.is_linear:
            return
        if any(scope.flat and scope.variable in place.variables for scope in self.current.chain()):
            raise NotFlatError

    def note_switches(self, condition: Condition) -> None:
        """Record the values of a loop's variable at which the condition changes, if it depends on one variable only."""
        terms = condition.place.terms
        if not isinstance(condition, Between) or len(terms) != 1:
            return
        variable, factor = terms[0]
        loop = next((scope for scope in self.current.chain() if scope.variable == variable), None)
        if loop is None:
            return
        for bound in (condition.low, condition.high):
            if isinstance(factor, SymbolicSize):
                continue  # then it changes at a quotient that is no simpler than the condition
            # The condition is `factor · v + constant >= bound`; it changes at the quotient rounded up.
            switch = -((condition.place.constant - bound) // factor) if factor > 0 else None
            if (
                switch is None
            ):  # `v <= (constant − bound) / −factor`: it changes after the quotient rounded down
                switch = (condition.place.constant - bound) // -factor + 1
            loop.switches.add(switch)


def run_across(loads: Sequence[Affine], across: Variable, along: Variable) -> bool:
    """Whether more arrays are read contiguously along the variable `across` than along `along`.

    Arrays that do not depend on `across` do not count: a loop over it does not read them again.
    """
    votes = 0
    for place in loads:
        by_across, by_along = place.factor(across), place.factor(along)
        if by_across is not None and same(by_across, 0):
            continue
        if is_unit(by_along):
            votes -= 1
        elif by_along is not None and not same(by_along, 0) and is_unit(by_across):
            votes += 1
    return votes > 0


def _merged(groups: Sequence[Sequence[int]], apart: int = 0) -> Iterator[list[list[int]]]:
    """The groups with neighbours merged, those with most axes first; none of the first `apart` is merged with one of
    the others."""
    if 0 < apart < len(groups):
        before, behind = [*map(list, groups[:apart])], [*map(list, groups[apart:])]
        yield from (
            [*outer, *inner] for outer in (*_merged(before), before) for inner in (*_merged(behind), behind)
        )
        return
    for length in range(len(groups), 1, -1):
        for start in range(len(groups) - length, -1, -1):
            inner = [extent for group in groups[start : start + length] for extent in group]
            yield [*map(list, groups[:start]), inner, *map(list, groups[start + length :])]


def _names(expression: Expression) -> Iterator[str]:
    """The locals that an expression uses, indices included."""
    match expression:
        case Local():
            yield expression.name
        case Load():
            yield expression.buffer.name
            yield from (variable.name for variable in expression.place.variables)
        case Position():
            yield from (variable.name for variable in expression.place.variables)
        case Result():
            yield expression.accumulator.name
        case _:
            for operand in operands(expression):
                yield from _names(operand)


def _pieces(variable: Variable, switches: set[int]) -> list[Variable]:
    """The range of a variable, split before each of `switches`, if they are few. A piece of a symbolic range may be
    empty."""
    cuts: list[int] = []
    for switch in sorted(switches, key=typical):
        if _is_at_or_after(switch, (cuts or [variable.low])[-1]) and _is_at_or_after(
            variable.high + 1, switch
        ):
            cuts.append(switch)
    if not cuts or len(cuts) >= MOST_PIECES:
        return [variable]
    starts, ends = [variable.low, *cuts], [*(cut - 1 for cut in cuts), variable.high]
    return [Variable(variable.name, low, high) for low, high in zip(starts, ends, strict=True)]


def _is_at_or_after(place: int, other: int) -> bool:
    """Whether a place never comes before another one, and is not always the same."""
    return is_known(place >= other) and not is_known(place <= other)


def _plain(name: str) -> str:
    """A name in letters that every compiler accepts, which belongs neither to an accumulator nor to a loop: a printer
    makes names of their parts, as ``max_1_so_far_is_nan`` and ``i_first``."""
    name = identifier(name.replace(SO_FAR, "_sofar").encode("ascii", "replace").decode().replace("?", "_"))
    return f"{name}_" if _PART_OF_LOOP.fullmatch(name) else name
