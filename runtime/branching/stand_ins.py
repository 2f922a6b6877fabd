"""Arrays and containers that stand for one of several, which a traced number chooses.

After ``row = a if c else b``, `row` is a container of its own, with the entries of the chosen one. What is written to
it by ``row[i] = …`` becomes a write to the chosen one, and what is written to one of the several shows in `row`:
`update_stand_ins` sees to that when converted code writes to a container or has called a function. Any other change is
refused where the program would miss it.
"""

import gc
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, ClassVar, Final

import numpy as np

from ...compiler.callers.user_code import user_location
from ...compiler.errors import SharedMemoryError, SideEffectError, TracemillError
from ...compiler.tracing.array_values import as_value
from ...compiler.tracing.sharing import TELLS_APART, share_one_way
from ...compiler.tracing.trace import Storage, Trace, current_trace, require_trace
from ...compiler.tracing.traced_array import wrap
from ...compiler.tracing.traced_memory import is_traced
from .alternatives import mapped
from .containers import CONTAINERS, contents_of, fill, has_contents, shallow
from .one_of import OneOf, entries_of, is_one_of
from .slots import Slot, contents
from .slots_outside import NoteAtReturn
from .variables import held

_KEY: Final = "stand-ins"
_OWN_REFERENCES: Final = 2
"""To a stand-in that only its note refers to: of the note, and of the call that counts."""


class StandInRegistry(NoteAtReturn):
    """All stand-ins of the outermost trace."""

    def __init__(self) -> None:
        self.notes: dict[int, StandIn] = {}
        """By the id of the stand-in."""
        self.entered: dict[int, int] = {}
        """The ids of containers and arrays that an iteration of a staged loop gets, and of its trace. Some may be the
        same object. Nothing refers to them here, because references tell what can still be used."""

    @property
    def held(self) -> tuple[Any, ...]:  # type: ignore[override]
        """The objects that the notes refer to, as often as they do."""
        return tuple(x for note in self.notes.values() for x in note.references())

    def __call__(self) -> None:
        for note in self.notes.values():  # the results are already read, so nothing can be updated
            if not (note.is_unchanged() and note.is_up_to_date()):
                raise note.refusal()

    def is_shared(self, note: "StandIn") -> bool:
        """Whether a stand-in, and one of its entries, can still be read."""
        slots = (one.holder for one in require_trace().outermost().at_return if isinstance(one, Slot))
        known = Counter(map(id, (*self.held, *slots)))
        others = {
            id(one)
            for other in self.notes.values()
            if other is not note and (other.group is None or other.group is not note.group)
            for one in other.entries
        }
        return sys.getrefcount(note.found) > known[id(note.found)] + 1 and any(
            id(note.entries[n]) in others or sys.getrefcount(note.entries[n]) > known[id(note.entries[n])] + 1
            for n in range(len(note.entries))
        )


class StandIn(NoteAtReturn):
    """An array or a container that stands for one of several entries."""

    def __init__(self, found: Any, entries: Sequence[Any], place: Any) -> None:
        self.found, self.entries, self.place, self.line = found, tuple(entries), place, user_location()
        self.trace = require_trace()
        self.read: tuple[int, Any] | None = None
        """The id of the table, and the index in it, if it is an entry of a table."""
        self.group: object = None
        """Stand-ins of one group are never the same entry."""
        self.note()
        stand_ins().notes[id(found)] = self

    def chosen(self) -> "Iterator[tuple[Any, Any]]":
        """For each entry, whether it is the chosen one, and the entry."""
        for number, one in enumerate(self.entries):
            yield np.equal(self.place, number), one

    def references(self) -> Iterator[Any]:
        """The objects that the note refers to."""
        yield self.found
        yield from self.entries

    def note(self) -> None:
        """Note the current state of the stand-in and the entries, to find later writes."""
        raise NotImplementedError

    def is_unchanged(self) -> bool:
        """Whether nothing was written to the stand-in alone."""
        raise NotImplementedError

    def is_up_to_date(self) -> bool:
        """Whether nothing was written to the entries since the stand-in was updated."""
        return True

    def refresh(self) -> None:
        """Update the stand-in from the chosen entry."""
        raise NotImplementedError

    def was_read(self, table: Any, index: Any) -> bool:
        """Whether it is ``table[index]``."""
        if self.read is None or self.read[0] != id(table) or self.read[1] is not index:
            return False
        known = set(map(id, contents(table).values()))
        return all(id(one) in known for one in self.entries)

    def update(self) -> bool:
        """Update the stand-in if an entry was written to. Returns whether that was so.

        Raises:
            SideEffectError: that is not possible, or the stand-in alone has changed.
        """
        raise NotImplementedError

    def release(self) -> None:
        """Forget the note, so that the stand-in can be written to.

        Raises:
            SideEffectError: the entries, or other stand-ins for them, would miss that.
        """
        notes = stand_ins()
        if notes.is_shared(self):
            _refresh_locals()
            gc.collect()  # finished blocks are in cycles
            if notes.is_shared(self):
                raise self.refusal()
        del notes.notes[id(self.found)]

    def restore(self) -> None:
        """Give the stand-in the state that was noted."""
        raise NotImplementedError

    def refusal(self) -> TracemillError:
        return SideEffectError(
            "an entry of a list at a traced place, or one of several lists, is changed in a way that the list would "
            "not show: write to one array that holds all entries, np.stack(entries)",
            self.line,
        )


class ArrayStandIn(StandIn):
    """An array that stands for one of several."""

    def note(self) -> None:
        storage = self.found._storage
        self.state = storage, storage.version
        for one in self.entries:
            if is_traced(one):
                share_one_way(one._storage, storage, f"the entry at {self.line}")

    def update(self) -> bool:
        return False  # `rows[i] += v` writes to it, and then copies it to the entry

    def refusal(self) -> TracemillError:
        """The function is traced again if its arrays are not told apart yet."""
        if TELLS_APART.get():
            return super().refusal()
        return SharedMemoryError(
            f"an array that is one of several is written to: the entry at {self.line} decides which. Use a copy there, "
            "….copy()",
            self.line,
        )

    def is_unchanged(self) -> bool:
        storage, version = self.state
        return bool(storage.version == version)

    def restore(self) -> None:
        self.found.move_to(self.state[0])

    def refresh(self) -> None:
        now = wrap(as_value(list(self.entries)))[self.place]
        self.found.move_to(wrap(now.value)._storage)
        self.note()


class ChosenArray(StandIn):
    """An array that reads and writes one of several itself."""

    def note(self) -> None:
        """Nothing can be missed."""

    def update(self) -> bool:
        return False

    def is_unchanged(self) -> bool:
        return True

    def restore(self) -> None:
        """It is always up to date."""

    def refresh(self) -> None:
        """It is always up to date."""


class ContainerStandIn(StandIn):
    """A container that stands for one of several with the same keys. Containers in it have stand-ins of their own."""

    choose: ClassVar[Callable[[Sequence[Any], Any], Any]]
    """Chooses among values, at a place. Set by `runtime.staging.entries`."""

    def note(self) -> None:
        self.state = shallow(self.found)
        self.states = [shallow(one) for one in self.entries]

    def references(self) -> Iterator[Any]:
        yield from super().references()
        for state in (self.state, *self.states):
            yield from (one for one in state.values() if isinstance(one, CONTAINERS))

    def restore(self) -> None:
        if not has_contents(self.found, self.state):
            fill(self.found, self.state)

    def is_unchanged(self) -> bool:
        return has_contents(self.found, self.state)

    def is_up_to_date(self) -> bool:
        return all(map(has_contents, self.entries, self.states))

    def update(self) -> bool:
        if not self.is_unchanged():
            self.release()
        elif sys.getrefcount(self.found) == _OWN_REFERENCES:
            del stand_ins().notes[id(self.found)]
        elif not self.is_up_to_date():
            self.refresh()
            return True
        return False

    def refresh(self) -> None:
        now = [contents(one) for one in self.entries]
        if any(list(one) != list(now[0]) for one in now):
            raise self.refusal()
        own = contents(self.found)
        changed = {
            key: ContainerStandIn.choose([one[key] for one in now], self.place)
            for key in now[0]
            if key not in own
            or any(one[key] is not state.get(key) for one, state in zip(now, self.states, strict=True))
        }
        new = {key: changed.get(key, own.get(key)) for key in now[0]}
        fill(self.found, new)
        self.note()


class CopiedContainer(StandIn):
    """A container with the values of one of several. As it is a copy, neither it nor these can be written to."""

    def __init__(self, found: Any, sources: Sequence[Any]) -> None:
        super().__init__(found, [base for one in sources for base in sources_of(one)], 0)

    def note(self) -> None:
        self.state = list(contents_of(self.found))
        self.states = [state for one in self.entries for state in contents_of(one)]

    def references(self) -> Iterator[Any]:
        yield from super().references()
        for one, state in (*self.state, *self.states):
            yield one
            yield from (inner for inner in state.values() if isinstance(inner, CONTAINERS))

    def is_unchanged(self) -> bool:
        return all(has_contents(one, state) for one, state in self.state)

    def is_up_to_date(self) -> bool:
        return all(has_contents(one, state) for one, state in self.states)

    def update(self) -> bool:
        if self.is_unchanged() and sys.getrefcount(self.found) == _OWN_REFERENCES + 1:  # of the state
            del stand_ins().notes[id(self.found)]
            return False
        if self.is_unchanged() and self.is_up_to_date():
            return False
        self.release()
        return True

    def restore(self) -> None:
        for one, state in self.state:
            if not has_contents(one, state):
                fill(one, state)

    def refresh(self) -> None:
        raise self.refusal()


def _refresh_locals() -> None:
    """Before Python 3.13, a frame that has called ``locals()`` keeps that dict, with values that variables had then."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        frame.f_locals  # noqa: B018
        frame = frame.f_back


def stand_ins() -> StandInRegistry:
    """The stand-ins of the outermost trace, which are from now on checked when the function returns."""
    known = _known_stand_ins()
    if known is None:
        known = require_trace().outermost().at_return[_KEY] = StandInRegistry()
    return known


def _known_stand_ins() -> StandInRegistry | None:
    """The same; None if there have been none so far."""
    trace = current_trace()
    if trace is None or (trace.is_evaluating and trace.parent is None):  # each call knows its values
        return None
    found = trace.outermost().at_return.get(_KEY)
    return found if isinstance(found, StandInRegistry) else None


def notes_of_stand_ins() -> dict[int, StandIn]:
    """The notes of all stand-ins. Nothing is added to them by way of this dict."""
    known = _known_stand_ins()
    return {} if known is None else known.notes


def update_stand_ins() -> bool:
    """Bring all stand-ins up to date with what was written to the containers that they stand for.

    Returns whether there are any.

    Raises:
        SideEffectError: a change was missed, or cannot be followed.
    """
    notes = notes_of_stand_ins()
    has_changed = bool(notes)
    while has_changed:
        has_changed = False
        for key in list(notes):
            if key in notes and is_running(notes[key].trace):
                has_changed = notes[key].update() or has_changed
    return bool(notes)


def is_running(trace: Trace) -> bool:
    running = current_trace()
    while running is not None and running is not trace:
        running = running.parent
    return running is trace


# ---- stand-ins for what exists before -----------------------------------------------------------------


def stand_in_of(x: Any) -> StandIn | None:
    """The note of a stand-in; None for anything else."""
    own = notes_of_stand_ins().get(id(x))
    return own if own is not None and own.found is x else None


def read(found: Any, table: Any, index: Any) -> Any:
    """Note that a value is ``table[index]``."""
    if (own := stand_in_of(found)) is not None:
        own.read = id(table), index
    return found


def sources_of(x: Any) -> tuple[Any, ...]:
    """The containers that a container stands for; itself if it is not a stand-in."""
    own = stand_in_of(x)
    return (x,) if own is None else own.entries


def note_stand_in(found: Any, entries: Sequence[Any], place: Any) -> None:
    """Let a new container stand for one of several that have the same structure, with the containers in it."""
    if isinstance(found, tuple):
        for number, one in enumerate(found):
            note_stand_in(one, [entry[number] for entry in entries], place)
    if not isinstance(found, CONTAINERS) or any(one is found for one in entries):
        return
    settled = _flat(entries, place)
    if settled is None:
        CopiedContainer(found, [one for entry in entries for one in sources_of(entry)])
        return
    entries, place = settled
    ContainerStandIn(found, entries, place)
    for key, one in contents(found).items():
        note_stand_in(one, [entry[key] for entry in entries], place)


def note_copies(found: OneOf, objects: Sequence[Any]) -> OneOf:
    """Refuse later writes to the entries of a `OneOf` that are copies of some of the objects, and to these."""
    each = [one for x in objects for one in (entries_of(x) if is_one_of(x) else (x,))]
    for entry in entries_of(found):
        form = held(entry)
        alike = [list(contents_of(one)) for one in each if held(one).has_form_of(form)]
        for number, (container, _) in enumerate(contents_of(entry)):
            sources = [those[number][0] for those in alike]
            if not any(one is container for one in sources):
                CopiedContainer(container, sources)
    return found


def _flat(entries: Sequence[Any], place: Any) -> tuple[list[Any], Any] | None:
    """Entries that are not stand-ins, each once, and the place among them. None if an entry is a copy, or if its place
    is only known in a finished block."""
    flat: list[Any] = []
    at: Any = 0
    for number, entry in enumerate(entries):
        own = stand_in_of(entry)
        if own is not None and not (isinstance(own, ContainerStandIn) and is_running(own.trace)):
            return None
        those, inner = ((entry,), 0) if own is None else (own.entries, own.place)
        numbers = [_index_in(flat, one) for one in those]
        inner = mapped(numbers, inner) if len(numbers) > 1 else numbers[0]
        at = inner if number == 0 else np.where(np.equal(place, number), inner, at)
    return flat, at


def _index_in(flat: list[Any], x: Any) -> int:
    """The place of an object in a list, to which it is added if it is new."""
    found = next((number for number, one in enumerate(flat) if one is x), None)
    if found is None:
        flat.append(x)
        return len(flat) - 1
    return found


def possible_arrays(storage: Storage) -> Iterator[Any]:
    """The entries that an array with this memory stands for."""
    for note in notes_of_stand_ins().values():
        if isinstance(note, ArrayStandIn) and note.found._storage is storage:
            yield from note.entries
