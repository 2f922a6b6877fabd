"""Why no program for many sizes could be compiled, if compiling one raised an error that does not occur for a single
size."""

import os
from dataclasses import dataclass
from traceback import walk_tb
from typing import Final

from ...compiler.callers.user_code import PACKAGE, is_library, location_at
from ...compiler.errors import InternalError, TracemillError

_ROOT: Final = os.path.dirname(os.path.abspath(PACKAGE))
_PYTHON: Final = os.path.dirname(os.__file__)

_OURS: Final = (
    "none needed: each size gets a program. This is a Tracemill bug; please report this:"
    " TRACEMILL_CHECK=1 raises the error with its traceback, and TRACEMILL_DUMP=folder writes the program"
)


@dataclass(frozen=True, slots=True)
class SymbolicFallback:
    """An error that is not the function's own, as it does not occur for concrete sizes."""

    what: str
    """The error's class and the first line of its message, and where it was raised."""
    is_ours: bool
    """Unexpected: not one of Tracemill's own errors about the limits of named sizes."""

    @property
    def fix(self) -> str:
        """What to do about it, if the message does not say enough."""
        return _OURS if self.is_ours else ""

    @staticmethod
    def of(error: Exception) -> "SymbolicFallback":
        """A summary in one line."""
        message = error.message if isinstance(error, TracemillError) else str(error)
        first = next(iter(message.splitlines()), "")
        what = f"{type(error).__name__}: {first}" if first else type(error).__name__
        is_ours = not isinstance(error, TracemillError) or isinstance(error, InternalError)
        return SymbolicFallback(what + _place(error), is_ours and not _is_refused_by_others(error))


def _is_refused_by_others(error: Exception) -> bool:
    """Whether code that knows nothing of named sizes, such as a function in C, has raised an error at a user's line."""
    frames = [frame.f_code.co_filename for frame, _ in walk_tb(error.__traceback__)]
    is_ours = bool(frames) and frames[-1].startswith(PACKAGE) and is_library(frames[-1])
    return not (is_ours or isinstance(error, TracemillError))


def _place(error: Exception) -> str:
    """The innermost line of the user's program, and the line of a library in which it was raised."""
    lines = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    users = error.location if isinstance(error, TracemillError) else None
    if users is None and (theirs := [line for line in lines if not is_library(line[0])]):
        own = [line for line in theirs if not line[0].startswith(_PYTHON)]
        users = location_at(*(own or theirs)[-1])
    notes: list[str] = getattr(error, "__notes__", [])
    places = [note for note in notes if "\n" not in note] + [f"by {users}"] * (users is not None)
    file, line = lines[-1]
    if not isinstance(error, TracemillError) and (users is None or (users.file, users.line) != (file, line)):
        root = next((root for root in (_ROOT, _PYTHON) if file.startswith(root)), os.path.dirname(file))
        places.append(f"raised in {os.path.relpath(file, root)}:{line}")
    return "".join(f", {place}" for place in places)
