"""Tracebacks that show the frames of the user's program and not those of Tracemill."""

import contextlib
import os
from collections.abc import Callable, Iterator
from functools import wraps
from types import TracebackType
from typing import ParamSpec, TypeVar

from ..compiler.callers.user_code import is_generated, is_library, is_own
from ..compiler.errors import InternalError

P = ParamSpec("P")
R = TypeVar("R")


def with_users_frames(function: Callable[P, R]) -> Callable[P, R]:
    """A public function whose errors have tracebacks without Tracemill's frames."""

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            hide_own_frames(error)
            raise

    return called


def hide_own_frames(error: BaseException) -> None:
    """Remove Tracemill's frames from the traceback of an error, and from those of the errors that led to it.

    The frames of NumPy and Python that Tracemill called are removed, too. Of a compiled program, the statement that
    failed remains. ``TRACEMILL_DEBUG=1`` keeps all frames, and so does an `InternalError`, which is a bug.
    """
    if isinstance(error, InternalError) or os.environ.get("TRACEMILL_DEBUG", "0") not in ("", "0"):
        return
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        found.__traceback__ = _without_own(found.__traceback__)
        found = found.__cause__ or (None if found.__suppress_context__ else found.__context__)


def _without_own(first: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    is_inside = False
    for entry in _entries(first):
        file = entry.tb_frame.f_code.co_filename
        if is_generated(file):
            if kept and is_generated(kept[-1].tb_frame.f_code.co_filename):
                kept.pop()
            kept.append(entry)
            is_inside = True
        elif is_own(file) or (is_inside and (is_library(file) or file == contextlib.__file__)):
            is_inside = True
        else:
            kept.append(entry)
            is_inside = False
    found: TracebackType | None = None
    for entry in reversed(kept):
        # A signal may arrive at an instruction without a line: its `tb_lineno` is None, and Python makes no entry for
        # it.
        found = TracebackType(found, entry.tb_frame, entry.tb_lasti, entry.tb_lineno or -1)
    return found


def _entries(entry: TracebackType | None) -> Iterator[TracebackType]:
    while entry is not None:
        yield entry
        entry = entry.tb_next
