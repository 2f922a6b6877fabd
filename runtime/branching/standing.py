"""Arrays and containers that stand for one of several, which a traced number chooses.

What is written to a stand-in by `table[i] = …` becomes a write to the chosen one, and what is written to one of them
shows in the stand-in. Any other change of a stand-in is refused, because the chosen one would not show it.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from ...compiler.callers.user_code import user_location
from ...compiler.errors import SideEffectError
from ...compiler.tracing.array_values import as_value
from ...compiler.tracing.sharing import share_one_way
from ...compiler.tracing.trace import Trace, current_trace, require_trace
from ...compiler.tracing.traced_array import wrap
from ...compiler.tracing.traced_memory import is_traced
from .slots import contents
from .slots_outside import NoteAtReturn
from .variables import held

_CONTAINERS = (list, dict)
_OWN_REFERENCES: Final = 2
"""To a stand-in: of its note, and of the call that counts them."""


class Standing(NoteAtReturn):
    """An array or a container that stands for one of several entries."""

    def __init__(self, found: Any, entries: Sequence[Any], place: Any) -> None:
        self.found, self.held, self.place, self.line = found, tuple(entries), place, user_location()
        self.trace = require_trace()
        self.note()
        self.trace.outermost().at_return[id(found), "entry"] = self

    def chosen(self) -> "Iterator[tuple[Any, Any]]":
        """For each entry, whether it is the chosen one, and the entry."""
        for number, one in enumerate(self.held):
            yield np.equal(self.place, number), one

    def note(self) -> None:
        """Note the current state of the stand-in, to find later writes to it alone."""
        raise NotImplementedError

    def is_unchanged(self) -> bool:
        """Whether nothing was written to the stand-in alone."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Update the stand-in from the chosen entry."""
        raise NotImplementedError

    def check(self) -> None:
        """Refuse writes to the stand-in alone."""
        if not self.is_unchanged():
            raise self.refusal()

    def refusal(self) -> SideEffectError:
        return SideEffectError(
            "an entry of a list at a traced place, or one of several lists, is changed in a way that the list would "
            "not show: write to one array that holds all entries, np.stack(entries)",
            self.line,
        )

    def __call__(self) -> None:
        self.check()


class StandingArray(Standing):
    """An array that stands for one of several."""

    def note(self) -> None:
        storage = self.found._storage
        self.state = storage, storage.version
        for one in self.held:
            if is_traced(one):
                share_one_way(one._storage, storage, f"the entry at {self.line}")

    def is_unchanged(self) -> bool:
        storage, version = self.state
        return bool(storage.version == version)

    def refresh(self) -> None:
        self.found._storage = wrap(as_value(list(self.held)))[self.place]._storage
        self.note()


class StandingContainer(Standing):
    """A list or a dict that stands for one of several. Containers in it have stand-ins of their own."""

    choose: ClassVar[Callable[[Sequence[Any], Any], Any]]
    """Makes a container of the entries of several, at a place. Set by `runtime.staging.entries`."""

    def note(self) -> None:
        self.state = contents(self.found)

    def is_unchanged(self) -> bool:
        now = contents(self.found)
        return list(now) == list(self.state) and all(now[key] is self.state[key] for key in now)

    def refresh(self) -> None:
        now = contents(StandingContainer.choose(self.held, self.place))
        for key, value in now.items():
            if not isinstance(self.found[key], _CONTAINERS):
                self.found[key] = value
        self.note()


class CopiedContainer(Standing):
    """A list or a dict with the values of one of several. As it is a copy, neither it nor these can be written to."""

    def __init__(self, found: Any, sources: Sequence[Any]) -> None:
        super().__init__(found, sources, 0)

    def note(self) -> None:
        self.state = held(self.found)

    def is_unchanged(self) -> bool:
        return held(self.found).has_objects_of(self.state)

    def chosen(self) -> "Iterator[tuple[Any, Any]]":
        raise self.refusal()

    def refresh(self) -> None:
        raise self.refusal()


def stand_for(found: Any, entries: Sequence[Any], place: Any) -> None:
    """Let a new container stand for one of several that have the same structure, with the containers in it."""
    if not isinstance(found, _CONTAINERS):
        return
    StandingContainer(found, entries, place)
    for key, one in contents(found).items():
        stand_for(one, [entry[key] for entry in entries], place)


def sources_of(container: Any) -> tuple[Any, ...]:
    """The containers that a container stands for; itself if it is no stand-in."""
    own = standing(container)
    return (container,) if own is None else own.held


def standing(x: Any) -> Standing | None:
    """The note of a stand-in; None for anything else."""
    own = require_trace().outermost().at_return.get((id(x), "entry"))
    return own if isinstance(own, Standing) and own.found is x else None


def refresh_standing(written: Any) -> None:
    """Update what stands for one of several containers, after a write to one of them.

    A stand-in that only its note refers to cannot be read any more. One of a branch that is finished is of no use: the
    code after the branch has another one.
    """
    notes = require_trace().outermost().at_return
    for key, note in list(notes.items()):
        if isinstance(note, StandingContainer | CopiedContainer) and any(one is written for one in note.held):
            note.check()
            if sys.getrefcount(note.found) > _OWN_REFERENCES and _is_running(note.trace):
                note.refresh()
            else:
                del notes[key]


def _is_running(trace: Trace) -> bool:
    running = current_trace()
    while running is not None and running is not trace:
        running = running.parent
    return running is trace
