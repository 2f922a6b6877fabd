"""Refuses branches and loops that set attributes or entries of objects from outside the function.

A call of the compiled program would not set them. An object is from outside if anything other than the notes of the
trace still refers to it after the function has returned.
"""

import gc
import sys
from collections.abc import Iterable
from typing import Any

from ...compiler.callers.user_code import user_location
from ...compiler.errors import SideEffectError
from ...compiler.tracing.trace import require_trace
from .slots import Slot


class NoteAtReturn:
    """A note of a trace that is checked when the outermost function has returned. It refers to objects until then."""

    held: tuple[Any, ...] = ()

    def __call__(self) -> None:
        """Check the note."""
        raise NotImplementedError


def note_set(slot: Slot) -> None:
    """When the outermost function has returned, check that an object in which a slot was set is not used elsewhere."""
    trace = require_trace().outermost()
    notes = trace.at_return
    if slot not in notes and id(slot.holder) not in trace.returned:
        before, line = slot.value, user_location()

        def check() -> None:
            held = [one.holder for one in notes if isinstance(one, Slot)]
            kept: list[Any] = [note for note in notes.values() if isinstance(note, NoteAtReturn)]
            held += [x for note in kept for x in note.held]
            if _is_held(slot, held) and gc.collect() >= 0 and _is_held(slot, held):
                slot.set(before)
                error = SideEffectError(
                    f"a branch or a loop that depends on values sets `{slot}`, of an object from outside the "
                    "function. Calls of the compiled program would not set it: make the object in the function, or "
                    "return the value",
                    line,
                )
                error.holder = slot.holder
                raise error

        notes[slot] = check


def _is_held(slot: Slot, held: Iterable[Any]) -> bool:
    """Whether anything but the notes refers to the object of a slot. Each note counts as two references here."""
    known = 2 * sum(one is slot.holder for one in held)
    return sys.getrefcount(slot.holder) > known + 1
