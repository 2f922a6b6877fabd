"""Traverses loop nests: all statements, their expressions, their accumulators and their operands."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ..affine import Affine, Variable
from .nest import (
    Accumulate,
    Accumulator,
    Apply,
    Begin,
    Block,
    Buffer,
    Choose,
    Clamped,
    Expression,
    Fold,
    Let,
    Load,
    Local,
    Loop,
    Position,
    Result,
    Statement,
    Store,
    operands,
)


def statements(body: Block) -> Iterator[Statement]:
    """All statements in order, including those of loops and branches."""
    for statement in body:
        yield statement
        if isinstance(statement, Loop):
            yield from statements(statement.body)
        elif isinstance(statement, Choose):
            yield from statements(statement.then_body)
            yield from statements(statement.else_body)


def reset_in(body: Block) -> set[Accumulator]:
    """The accumulators that statements of a block reset."""
    return {a for s in statements(body) if isinstance(s, Begin) for a in s.accumulators}


def expressions(statement: Statement) -> Iterator[Expression]:
    """The expressions of a statement itself, and their operands."""
    match statement:
        case Let() | Store() | Accumulate():
            yield from _within(statement.expression)
        case Choose():
            yield from _within(statement.then)
            yield from _within(statement.otherwise)
        case Begin() | Loop():
            pass


def _within(expression: Expression) -> Iterator[Expression]:
    yield expression
    for operand in operands(expression):
        yield from _within(operand)


def loaded_from(body: Block, load: Callable[[Load], Load]) -> Block:
    """The same statements, with each element loaded from where `load` says."""
    return with_leaves(body, lambda leaf: load(leaf) if isinstance(leaf, Load) else leaf)


def with_leaves(body: Block, change: Callable[[Expression], Expression]) -> Block:
    """The same statements, with each expression without operands replaced."""

    def of(expression: Expression) -> Expression:
        match expression:
            case Apply() | Fold():
                return replace(expression, operands=tuple(map(of, expression.operands)))
            case Clamped():
                return replace(expression, number=of(expression.number))
            case _:
                return change(expression)

    def changed(statement: Statement) -> Statement:
        match statement:
            case Let() | Store() | Accumulate():
                return replace(statement, expression=of(statement.expression))
            case Choose():
                return replace(
                    statement,
                    then_body=with_leaves(statement.then_body, change),
                    then=of(statement.then),
                    else_body=with_leaves(statement.else_body, change),
                    otherwise=of(statement.otherwise),
                )
            case Loop():
                return replace(statement, body=with_leaves(statement.body, change))
            case Begin():
                return statement

    return tuple(map(changed, body))


def at_value(body: Block, variable: Variable, value: Affine) -> Block:
    """The same statements for a value of a variable."""

    def place(given: Affine | None) -> Affine | None:
        return None if given is None else given.at(variable, value)

    def changed(statement: Statement) -> Statement:
        match statement:
            case Let():
                return replace(statement, expression=_at(statement.expression, variable, value))
            case Store():
                expression = _at(statement.expression, variable, value)
                return replace(statement, place=statement.place.at(variable, value), expression=expression)
            case Accumulate():
                expression = _at(statement.expression, variable, value)
                return Accumulate(
                    statement.accumulator, expression, place(statement.place), place(statement.at)
                )
            case Choose():
                conditions = (replace(c, place=c.place.at(variable, value)) for c in statement.conditions)
                return replace(
                    statement,
                    conditions=tuple(conditions),
                    then_body=at_value(statement.then_body, variable, value),
                    then=_at(statement.then, variable, value),
                    else_body=at_value(statement.else_body, variable, value),
                    otherwise=_at(statement.otherwise, variable, value),
                )
            case Loop():
                return replace(statement, body=at_value(statement.body, variable, value))
            case Begin():
                return statement

    return tuple(map(changed, body))


def _at(expression: Expression, variable: Variable, value: Affine) -> Expression:
    """An expression for a value of a variable."""
    match expression:
        case Load() | Position():
            return replace(expression, place=expression.place.at(variable, value))
        case Result() if expression.place is not None:
            return replace(expression, place=expression.place.at(variable, value))
        case Apply() | Fold():
            return replace(expression, operands=tuple(_at(x, variable, value) for x in expression.operands))
        case Clamped():
            return replace(expression, number=_at(expression.number, variable, value))
        case _:
            return expression


def places(statement: Statement) -> Iterator[Affine]:
    """The index expressions of a statement itself."""
    match statement:
        case Store():
            yield statement.place
        case Accumulate():
            yield from (place for place in (statement.place, statement.at) if place is not None)
        case Choose():
            yield from (condition.place for condition in statement.conditions)
        case _:
            pass
    for expression in expressions(statement):
        match expression:
            case Load() | Position():
                yield expression.place
            case Result() if expression.place is not None:
                yield expression.place
            case _:
                pass


def accumulated(body: Block) -> Iterator[Accumulator]:
    """The accumulators that a body adds to and that start before it, in order."""
    begun: set[Accumulator] = set()
    seen: set[Accumulator] = set()
    for statement in statements(body):
        if isinstance(statement, Begin):
            begun.update(statement.accumulators)
        elif isinstance(statement, Accumulate):
            accumulator = statement.accumulator
            if accumulator not in begun and accumulator not in seen:
                seen.add(accumulator)
                yield accumulator


@dataclass(slots=True)
class Uses:
    """What a body uses from outside, each once, in the order of first use."""

    buffers: dict[Buffer, None] = field(default_factory=dict[Buffer, None])
    written: set[Buffer] = field(default_factory=set[Buffer])
    """The buffers in which something is stored."""
    locals: dict[str, Local | None] = field(default_factory=dict["str", "Local | None"])
    """By name; None for an index that was read from an array."""
    results: dict[Accumulator, None] = field(default_factory=dict[Accumulator, None])


def used(body: Block) -> Uses:
    """What a body uses but does not define."""
    uses = Uses()
    own: set[object] = set()
    for statement in statements(body):
        own.update(_made(statement))
        if isinstance(statement, Store):
            uses.buffers.setdefault(statement.buffer)
            uses.written.add(statement.buffer)
        for expression in expressions(statement):
            match expression:
                case Load():
                    uses.buffers.setdefault(expression.buffer)
                case Local():
                    uses.locals[expression.name] = expression
                case Result():
                    uses.results.setdefault(expression.accumulator)
                case _:
                    pass
        for place in places(statement):
            for variable in sorted(place.variables, key=str):
                uses.locals.setdefault(variable.name, None)
    uses.locals = {name: local for name, local in uses.locals.items() if name not in own}
    uses.results = {accumulator: None for accumulator in uses.results if accumulator not in own}
    return uses


def _made(statement: Statement) -> Sequence[object]:
    """The names and accumulators that a statement defines."""
    match statement:
        case Loop():
            return (statement.variable.name,)
        case Let() | Choose():
            return (statement.local.name,)
        case Begin():
            return statement.accumulators
        case _:
            return ()
