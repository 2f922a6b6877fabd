"""Loops under construction: what the body of each computes, in an order in which it can run.

The items of a body have levels: the result of a loop is known one level after the loop, and a statement has the level
of its operands. So a body consists of the statements of level 0, the loops of level 0, the statements of level 1, …
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..affine import Affine, Index, Variable
from ..ir import Value
from .nest import (
    Accumulate,
    Accumulator,
    Begin,
    Block,
    Choose,
    Expression,
    Let,
    Load,
    Local,
    Loop,
    Position,
    Result,
    Row,
    Statement,
    Store,
    operands,
)


@dataclass(slots=True)
class Branch:
    """A branch under construction."""

    choice: Choose
    then: "Scope"
    otherwise: "Scope"


@dataclass(slots=True)
class Level:
    """Statements, then loops that need only these statements and earlier levels."""

    statements: list[Statement | Branch] = field(default_factory=list["Statement | Branch"])
    loops: "list[Scope]" = field(default_factory=list["Scope"])


@dataclass(slots=True, eq=False)
class Scope:
    """The body of a loop, of the whole nest, or of a branch."""

    parent: "Scope | None" = None
    variable: Variable | None = None
    guarded: bool = False
    """The body of a branch: indices in it may be out of range if the branch is not taken."""
    level: int = 0
    """The lowest level of the parent at which everything used in here is known."""
    known: dict[tuple[Value, Index], Expression] = field(
        default_factory=dict[tuple[Value, Index], Expression]
    )
    bound: set[Variable] = field(default_factory=set[Variable])
    levels: list[Level] = field(default_factory=list[Level])
    columns: dict[tuple[Value, Index], Accumulator] = field(
        default_factory=dict["tuple[Value, Index]", Accumulator]
    )
    """Reductions for all values of the variable of a loop in here at once."""
    rows: dict[Local, Row] = field(default_factory=dict[Local, Row])
    """Where the loop stores numbers for a later one."""
    names: list[str] | None = None
    """For a loop that is only tried: the names that it took."""
    flat: bool = False
    """For a loop that is only tried: whether its variable stands for several axes at once."""
    switches: set[int] = field(default_factory=set[int])
    """Values of the variable at which a condition changes."""

    def __post_init__(self) -> None:
        if self.variable is not None:
            self.bound.add(self.variable)

    @property
    def is_trial(self) -> bool:
        return self.names is not None

    def at(self, level: int) -> Level:
        """The items of a level."""
        while len(self.levels) <= level:
            self.levels.append(Level())
        return self.levels[level]

    def chain(self) -> "Iterator[Scope]":
        """This scope and the enclosing ones, from the inside out."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def loop(self, level: int, variable: Variable) -> "Scope":
        """The body of the loop over the variable at a level."""
        for scope in self.at(level).loops:
            if scope.variable == variable:
                return scope
        scope = Scope(self, variable, level=level)
        self.at(level).loops.append(scope)
        return scope

    def row_bytes(self) -> int:
        """The size of all rows of the loops in here."""
        rows = (row for level in self.levels for loop in level.loops for row in loop.rows.values())
        return sum(row.size * row.dtype.itemsize for row in rows)

    def body(self) -> Block:
        """The finished body, without unused statements."""
        return _finished(self, set())


def _finished(scope: Scope, needed: set[object]) -> Block:
    """Walks backwards and collects in `needed` what is read: accumulators, row buffers, the names of locals."""
    statements: list[Statement] = []
    for level in reversed(scope.levels):
        for inner in reversed(level.loops):
            body = _finished(inner, needed)
            if body:
                assert inner.variable is not None
                statements.append(Loop(inner.variable, body))
        for item in reversed(level.statements):
            statement = _needed(item, needed)
            if statement is not None:
                statements.append(statement)
    return tuple(reversed(statements))


def _needed(item: Statement | Branch, needed: set[object]) -> Statement | None:
    """The statement if something needs it; then its operands are needed, too."""
    match item:
        case Let():
            if item.local.name not in needed:
                return None
            _read(item.expression, needed)
        case Branch():
            if item.choice.local.name not in needed:
                return None
            return _needed_choice(item, needed)
        case Store():
            if isinstance(item.buffer, Row) and item.buffer not in needed:
                return None
            _read_place(item.place, needed)
            _read(item.expression, needed)
        case Begin():
            kept = tuple(a for a in item.accumulators if a in needed)
            return Begin(kept) if kept else None
        case Accumulate():
            if item.accumulator not in needed:
                return None
            for place in (item.place, item.at):
                if place is not None:
                    _read_place(place, needed)
            _read(item.expression, needed)
        case _:
            pass
    return item if not isinstance(item, Branch) else None


def _needed_choice(branch: Branch, needed: set[object]) -> Choose:
    choice = branch.choice
    for condition in choice.conditions:
        _read_place(condition.place, needed)
    _read(choice.then, needed)
    _read(choice.otherwise, needed)
    then_body, else_body = _finished(branch.then, needed), _finished(branch.otherwise, needed)
    return Choose(
        choice.local, choice.conditions, then_body, choice.then, else_body, choice.otherwise, choice.call
    )


def _read(expression: Expression, needed: set[object]) -> None:
    match expression:
        case Local():
            needed.add(expression.name)
        case Load():
            needed.add(expression.buffer)
            _read_place(expression.place, needed)
        case Position():
            _read_place(expression.place, needed)
        case Result():
            needed.add(expression.accumulator)
            if expression.place is not None:
                _read_place(expression.place, needed)
        case _:
            for operand in operands(expression):
                _read(operand, needed)


def _read_place(place: Affine, needed: set[object]) -> None:
    needed.update(variable.name for variable in place.variables)
