"""The tape of the current thread: an open-ended trace, in which operations on variables are recorded."""

import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any, ClassVar

from ...compiler.builder import recording
from ...compiler.tracing.trace import Trace, current_trace
from ...compiler.tracing.traced_memory import is_traced


class Tapes(threading.local):
    """The tape of each thread, once it is needed."""

    new: "ClassVar[type[Trace] | None]" = None
    """Makes a tape, given its name. Set by `runtime.autograd.tape`; None if nothing has made a variable."""
    tape: Trace | None = None


_tapes = Tapes()


def tape_of_this_thread() -> Trace:
    tape = _tapes.tape
    if tape is None:
        if (
            Tapes.new is None
        ):  # what is recorded is no variable: it has escaped from its trace, as this one will say
            return Trace("tape")
        tape = _tapes.tape = Tapes.new("tape")
    return tape


@contextmanager
def joined() -> Generator[Trace]:
    """The current trace of this thread, or its tape."""
    trace = current_trace()
    if trace is not None:
        yield trace
        return
    with recording(tape_of_this_thread()) as tape:
        yield tape


def is_recording(leaves: Iterable[Any]) -> bool:
    """Whether operations on `leaves` are recorded now: a trace is active, or one of them is a variable."""
    return current_trace() is not None or any(map(is_traced, leaves))


def on_tape() -> bool:
    """Whether no function is being traced in this thread: operations on variables go to the tape."""
    trace = current_trace()
    return trace is None or trace.is_open_ended
