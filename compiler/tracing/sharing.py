"""Arrays that may share memory, depending on values.

After ``if c: best = x``, `best` is `x` for some values. A program has a separate value for each, so a later ``x += 1``
would not change `best`, as it does in NumPy. After such a write, any use of the others is refused. The function is then
traced again, and `best` gets a `ChosenStorage`, which reads and writes the array that it is.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, ClassVar

from ..errors import SharedMemoryError
from ..ir import Call, Location, Value
from ..memory_layout.layout import Layout
from ..op import EXPECTS, has_effect
from ..value_ops import broadcast_to, equal, where
from .trace import Storage, current_trace, next_number, require_trace

TELLS_APART: ContextVar[bool] = ContextVar("tells_apart", default=False)
"""Whether a number of the program says for each variable which of several arrays it is. That costs time, so functions
are first traced without."""

_undo: ContextVar[list[Callable[[], None]] | None] = ContextVar("undo", default=None)


class ChosenStorage(Storage):
    """The memory of one of several arrays of the same type, chosen by a traced number.

    A read selects among the arrays, and a write replaces the elements of the chosen one.
    """

    __slots__ = ("arrays", "place", "width")

    is_chosen: ClassVar[bool] = True

    def __init__(self, arrays: Sequence[Any], place: Any, layout: Layout) -> None:
        self.arrays, self.place = tuple(arrays), place
        self.width = sum(width_of(one._storage) for one in arrays)
        """How many arrays a read selects from, counting all those of earlier choices."""
        self.trace, self.number, self.layout = require_trace(), next_number(), layout
        self.argument, self.is_input, self.in_step = None, False, False
        self.shared_with, self.unreadable = [], ""  # those of the arrays count

    # Other memory has these two as attributes. Here they follow from the arrays, which change.
    @property
    def value(self) -> Value:  # type: ignore[override]
        found: Value = self.arrays[0].value
        for number, one in enumerate(self.arrays[1:], 1):
            found = where(self._is_chosen(number), one.value, found)
        return found

    @property
    def version(self) -> int:  # type: ignore[override]
        """Never the same, so that nothing keeps a value that was read."""
        return next_number()

    def write(self, value: Value) -> None:
        for number, one in enumerate(self.arrays):
            one.write(where(self._is_chosen(number), value, one.value))

    def _is_chosen(self, number: int) -> Value:
        return broadcast_to(equal(self.place.value, number), self.arrays[0].shape)

    def storages(self) -> Iterator[Storage]:
        """The memory that it may be, without repetition."""
        seen: set[int] = set()
        for one in self.arrays:
            for storage in plain_storages(one._storage):
                if id(storage) not in seen:
                    seen.add(id(storage))
                    yield storage


def width_of(storage: Storage) -> int:
    """How many arrays a read of memory selects from."""
    return storage.width if isinstance(storage, ChosenStorage) else 1


def plain_storages(storage: Storage) -> Iterator[Storage]:
    """The memory itself, or all that it may be if it is chosen among several."""
    return storage.storages() if isinstance(storage, ChosenStorage) else iter([storage])


@contextmanager
def rollback_on_error() -> Generator[None]:
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
    if storage.is_chosen:
        storage.write(value)  # to arrays, each of which notes this
        return
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
    for one in _with_shadows(storage):
        before = one.unreadable
        one.unreadable = why
        _note(partial(setattr, one, "unreadable", before))


def _with_shadows(storage: Storage) -> list[Storage]:
    """This memory, and what represents it in the current traces, where a loop looks for it."""
    found = [storage]
    for trace in require_trace().enclosing():
        shadow = trace.known_shadow(storage)
        found += [] if any(shadow is one for one in found) else [shadow]
    return found


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
