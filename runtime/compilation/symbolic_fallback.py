"""Why no program for many sizes could be compiled: the cause of the error that compiling one raised."""

import os
from enum import Enum
from traceback import walk_tb
from typing import Final

from ...compiler.callers.user_code import PACKAGE, calls_users, is_library, is_own, is_users, location_at
from ...compiler.errors import InternalError, TracemillError

_ROOT: Final = os.path.dirname(os.path.abspath(PACKAGE))
_PYTHON: Final = os.path.dirname(os.__file__)

FIX_OF_FAULT: Final = (
    "none needed: each size gets a program. This is a Tracemill bug; please report this:"
    " TRACEMILL_CHECK=1 raises the error with its traceback, and TRACEMILL_DUMP=folder writes the program"
)


class Cause(Enum):
    """What an error while compiling for named sizes is about."""

    LIMIT = "a known limit of named sizes, with an error of its own"
    FUNCTION = (
        "code that knows nothing of named sizes: the user's function, NumPy, or a package that it calls"
    )
    FAULT = "a Tracemill bug: anything else"


def cause_of(error: Exception) -> Cause:
    """The cause of an error, by its class and by the code that raised it."""
    if isinstance(error, InternalError):
        return Cause.FAULT
    if isinstance(error, TracemillError):
        return Cause.LIMIT
    return Cause.FUNCTION if _is_raised_by_function(error) else Cause.FAULT


def _is_raised_by_function(error: Exception) -> bool:
    """Whether the user's function, or what it calls, raised an error, and not Tracemill or what that calls."""
    files = [frame.f_code.co_filename for frame, _ in walk_tb(error.__traceback__)]
    if not files or is_own(files[-1]):
        return False
    nearest = next(
        (file for file in reversed(files) if is_own(file) or is_users(file) or is_library(file)), ""
    )
    return bool(nearest) and (not is_own(nearest) or calls_users(nearest))


def summary(error: Exception) -> str:
    """One line: the error's class and the first line of its message, and where it was raised."""
    message = error.message if isinstance(error, TracemillError) else str(error)
    first = next(iter(message.splitlines()), "")
    return (f"{type(error).__name__}: {first}" if first else type(error).__name__) + _place(error)


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
