"""Estimates the time of loops, and splits them into chunks that threads can share.

Chunks depend only on the work, never on the number of threads, so results do not either. For symbolic sizes, the work
is symbolic, too: the program computes it, and the chunks, when it runs.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from ..analysis.op_costs import OPERATION, element_cost
from ..ir import Call
from ..symbolic_size import SymbolicSize, lower_bound, max_expr, quotient, upper_bound
from .nest import Apply, Block, Buffer, Choose, Clamped, Load, Loop, Nest, Statement, Store
from .walk import accumulated, expressions, statements

BYTE: Final = 0.01
"""Nanoseconds per byte that is read or written in the caches. Work on larger arrays is worth sharing anyway."""

ARITHMETIC: Final = 0.02
"""Nanoseconds of an addition of two numbers in a vectorised loop that waits for nothing else."""

FUNCTION: Final = 8.0
"""A function takes as long as this many additions."""

ANYWHERE: Final = 1.0
"""Nanoseconds of an element whose position is given by another element."""

SHARED: Final = 50_000
"""A loop with this many nanoseconds of work is shared between threads."""

CHUNK: Final = 25_000
"""Nanoseconds of work that are worth giving to a thread."""

MOST_CHUNKS: Final = 64

ROWS: Final = 256
"""Rows that are summed side by side in their own precision; this is then the size of a chunk."""


PICOSECONDS: Final = 1000
"""A fraction of a nanosecond: sizes are multiplied by integers."""


def estimated_time(body: Block) -> int:
    """The time of statements on one thread, as an expression of the sizes of their loops."""
    if not _has_sizes(body):
        return round(work(body))
    total: int = quotient(_picoseconds(body), PICOSECONDS)
    return total


def _picoseconds(body: Block) -> int:
    if not _has_sizes(body):
        return max(round(PICOSECONDS * work(body)), 1)
    total = 0
    for statement in body:
        match statement:
            case Loop():
                total += statement.variable.extent * _picoseconds(statement.body)
            case Choose():
                total += _picoseconds(statement.then_body) + _picoseconds(statement.else_body)
            case _:
                total += round(PICOSECONDS * work((statement,)))
    return total


def _has_sizes(body: Block) -> bool:
    return any(isinstance(s, Loop) and isinstance(s.variable.extent, SymbolicSize) for s in statements(body))


def work(body: Iterable[Statement]) -> float:
    """Nanoseconds that statements take on one thread."""
    total = 0.0
    read: dict[Buffer, None] = {}
    for statement in body:
        match statement:
            case Loop():
                total += statement.variable.extent * work(statement.body)
            case Choose():
                total += work(statement.then_body) + work(statement.else_body)
            case Store():
                total += BYTE * statement.buffer.dtype.itemsize
            case _:
                total += ARITHMETIC
        for expression in expressions(statement):
            match expression:
                case Apply():
                    total += _nanoseconds(expression.call)
                case Load():
                    read[expression.buffer] = None
                case Clamped():
                    total += ANYWHERE
                case _:
                    pass
    return total + sum(BYTE * buffer.dtype.itemsize for buffer in read)  # its neighbours are near already


def _nanoseconds(call: Call) -> float:
    """For one element. Functions take longer than their additions if the C library has no vectorised version."""
    count = element_cost(call)
    return count * (OPERATION if count > FUNCTION else ARITHMETIC)


def chunked(nest: Nest) -> Nest:
    """The same nest with its outermost long loops split into chunks."""
    body: Block = tuple(
        replace(item, chunk=_chunk(item)) if isinstance(item, Loop) else item for item in nest.body
    )
    return replace(nest, body=body)


def _chunk(loop: Loop) -> int | None:
    if _has_sizes((loop,)):
        return _symbolic_chunk(loop)
    total, extent = work((loop,)), loop.variable.extent
    if total < SHARED or extent < 2:
        return None
    if any(accumulator.size is not None for accumulator in accumulated(loop.body)):
        return ROWS if extent > ROWS else None
    chunk = max(-(-extent // MOST_CHUNKS), round(CHUNK * extent / total), 1)
    if chunk > 512:
        chunk = -(-chunk // 512) * 512
    return chunk if chunk < extent else None


def _symbolic_chunk(loop: Loop) -> int | None:
    """The same as an expression of sizes. A loop that is short at run time is one chunk."""
    extent, iteration = loop.variable.extent, _picoseconds(loop.body)
    if upper_bound(extent) < 2 or upper_bound(extent * iteration) < PICOSECONDS * SHARED:
        return None
    if any(accumulator.size is not None for accumulator in accumulated(loop.body)):
        return None if upper_bound(extent) <= ROWS else ROWS
    if lower_bound(iteration) < 1:
        iteration = max_expr(iteration, 1)  # for a loop without inner iterations
    least = quotient(PICOSECONDS * CHUNK - 1, iteration) + 1
    chunk = max_expr(quotient(extent + (MOST_CHUNKS - 1), MOST_CHUNKS), least)
    return None if upper_bound(extent) <= lower_bound(chunk) else chunk
