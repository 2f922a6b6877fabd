"""Walking through loop nests: all statements, and what they gather."""

from collections.abc import Iterator

from .nest import Accumulate, Accumulator, Begin, Block, Choose, Loop, Statement


def statements(body: Block) -> Iterator[Statement]:
    """All statements, those of loops and branches included, in order."""
    for statement in body:
        yield statement
        if isinstance(statement, Loop):
            yield from statements(statement.body)
        elif isinstance(statement, Choose):
            yield from statements(statement.then_body)
            yield from statements(statement.else_body)


def accumulated(body: Block) -> Iterator[Accumulator]:
    """The accumulators that a body adds to and that begin before it, in order."""
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
