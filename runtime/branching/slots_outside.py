"""What a branch or a loop sets must be made in the function: else the next call of the program would not set it.

Once the function has returned, whatever still holds an object, beside what tracing noted, is outside of it.
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
    """A note of a trace's that is checked when the outermost function has returned, and holds objects till then."""

    held: tuple[Any, ...] = ()

    def __call__(self) -> None:
        """Check it."""
        raise NotImplementedError


def note_set(slot: Slot) -> None:
    """Have it checked, when the outermost function has returned, that nobody else sees what is set."""
    notes = require_trace().outermost().at_return
    if slot not in notes:
        before, line = slot.value, user_location()

        def check() -> None:
            held = [one.holder for one in notes if isinstance(one, Slot)]
            kept: list[Any] = [note for note in notes.values() if isinstance(note, NoteAtReturn)]
            held += [x for note in kept for x in note.held]
            if _is_held(slot, held) and gc.collect() >= 0 and _is_held(slot, held):
                slot.set(before)
                raise SideEffectError(
                    f"a branch or a loop that depends on values sets `{slot}`, of an object from outside of the "
                    "function, which calls of the program would not do: make the object in the function, or return "
                    "the value",
                    line,
                )

        notes[slot] = check


def _is_held(slot: Slot, held: Iterable[Any]) -> bool:
    """Whether anything but the notes, which are counted twice here, holds what holds a slot."""
    known = 2 * sum(one is slot.holder for one in held)
    return sys.getrefcount(slot.holder) > known + 1
