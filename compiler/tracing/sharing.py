"""Arrays that may share memory, depending on values. They can be read, but a write to one makes the others unusable.

After ``if c: best = x``, `best` is `x` for some values. A program has a separate value for each, so a later ``x += 1``
would not change `best`, as it does in NumPy. After such a write, any use of the others is refused.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from ..errors import SharedMemoryError
from ..ir import Call, Location, Value
from ..op import EXPECTS, has_effect
from .trace import Storage, current_trace

_undo: ContextVar[list[Callable[[], None]] | None] = ContextVar("undo", default=None)


@contextmanager
def undone_if_it_fails() -> Generator[None]:
    """If the block raises an error, what it has recorded has no effect: its writes, errors and prints, what follows
    from them, and its notes about shared memory, are undone. What else it relies on is still checked."""
    before, trace = _undo.get(), current_trace()
    recorded = 0 if trace is None else len(trace.calls)
    notes: list[Callable[[], None]] = []
    token = _undo.set(notes)
    try:
        yield
    except BaseException:
        while notes:
            notes.pop()()
        if trace is not None:
            trace.calls[recorded:] = _without_effects(trace.calls[recorded:])
        raise
    finally:
        _undo.reset(token)
        if before is not None:
            before += notes


def _without_effects(calls: Sequence[Call]) -> list[Call]:
    """The calls that have no effect, and do not depend on the result of one that has."""
    gone: set[Value] = set()
    kept: list[Call] = []
    for call in calls:
        if gone.isdisjoint(call.inputs) and (not has_effect(call) or has_effect(call, EXPECTS)):
            kept.append(call)
        else:
            gone.update(call.outputs)
    return kept


def write(storage: Storage, value: Value) -> None:
    """Replace the contents of memory."""
    before, version = storage.value, storage.version
    storage.write(value)
    _note(lambda: storage.restore(before, version))


def share(one: Storage, other: Storage, statement: str) -> None:
    """Note that two arrays may share memory, depending on a statement: ``the `if` at model.py:7``."""
    if one is other:
        return
    for mine, theirs in ((one, other), (other, one)):
        mine.shared_with = [*mine.shared_with, (theirs, statement)]
    _note(lambda: _part(one, other))


def share_one_way(written: Storage, copied: Storage, statement: str) -> None:
    """Note that a later write to memory would not change what a statement copied from it."""
    before = written.shared_with
    written.shared_with = [*before, (copied, statement)]
    _note(lambda: setattr(written, "shared_with", before))


def make_unreadable(storage: Storage, why: str) -> None:
    """Refuse any further use of this memory."""
    before = storage.unreadable
    storage.unreadable = why
    _note(lambda: setattr(storage, "unreadable", before))


def invalidate_shared(storage: Storage, location: Location | None) -> None:
    """Prepare a write: memory that may be the same must not be used afterwards.

    Raises:
        SharedMemoryError: the caller of the function can see one of them, and would miss the write.
    """
    for other, statement in all_shared_with(storage):
        if other.trace.is_seen_outside(other):
            raise SharedMemoryError(
                "an array is written to that may be an argument or an array from outside the function: "
                f"{statement} decides which. {_remedy(statement)}",
                location,
            )
        why = f"may be the same as one that was written to since: {statement} decides which. {_remedy(statement)}"
        make_unreadable(other, why)


def _remedy(statement: str) -> str:
    """What to change in a statement that may make two names of one array: ``the `if` at f.py:7, which binds `y`,``."""
    name = statement.partition("binds `")[2].partition("`")[0]
    return f"Bind a copy there, {name} = ….copy()" if name.isidentifier() else "Use a copy there, ….copy()"


def all_shared_with(storage: Storage) -> Iterator[tuple[Storage, str]]:
    """All memory that may be the same, directly or through others, each with the statement that decides."""
    seen, stack = {id(storage)}, list(storage.shared_with)
    while stack:
        other, statement = stack.pop()
        if id(other) not in seen:
            seen.add(id(other))
            yield other, statement
            stack += other.shared_with


def _note(undo: Callable[[], None]) -> None:
    notes = _undo.get()
    if notes is not None:
        notes.append(undo)


def _part(one: Storage, other: Storage) -> None:
    one.shared_with = [pair for pair in one.shared_with if pair[0] is not other]
    other.shared_with = [pair for pair in other.shared_with if pair[0] is not one]
