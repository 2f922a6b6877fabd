"""What happens to stand-ins at the beginning and the end of a block of code that is traced once."""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

from ...compiler.tracing.trace import current_trace
from .stand_ins import is_running, notes_of_stand_ins, stand_in_of, update_stand_ins


@contextmanager
def restoring_stand_ins() -> Generator[None]:
    """Restore the contents of all stand-ins after a block, and the notes about them."""
    update_stand_ins()
    notes = notes_of_stand_ins()
    before = [(note, vars(note).copy()) for note in notes.values()]
    try:
        yield
    finally:
        for note, attributes in before:
            vars(note).update(attributes)
            note.restore()
            notes[id(note.found)] = note


def check_arrays() -> None:
    """Refuse writes of the block that ends if they changed only a stand-in.

    Raises:
        TracemillError: an array was written to that stands for one of several.
    """
    trace = current_trace()
    for note in notes_of_stand_ins().values():
        if note.trace is trace and not note.is_unchanged():
            raise note.refusal()


@contextmanager
def forget_on_error() -> Generator[None]:
    """Forget the stand-ins that the block has made if it raises an error."""
    before = set(notes_of_stand_ins())
    try:
        yield
    except BaseException:
        notes = notes_of_stand_ins()
        for key in notes.keys() - before:
            del notes[key]
        raise


def forget_finished() -> None:
    """Forget the stand-ins of blocks that are finished. The code after a block has others."""
    notes = notes_of_stand_ins()
    for key, note in list(notes.items()):
        if not is_running(note.trace):
            del notes[key]


def renew_notes(holders: Iterable[Any]) -> None:
    """Note the state of the stand-ins among some objects, after these and their entries got new contents."""
    for holder in holders if notes_of_stand_ins() else ():
        if (own := stand_in_of(holder)) is not None:
            own.note()
