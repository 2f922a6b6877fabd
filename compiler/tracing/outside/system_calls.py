"""`refuse_system_calls`: while a function is traced, it writes no file, and starts no process.

A program would not do so in each call. Python tells an audit hook before it opens, removes or renames a file, also for
libraries. The hook raises an error if it was the traced function that asked, so that nothing has happened yet when the
function runs uncompiled.
"""

import logging
import os
import sys
import weakref
from functools import cache
from types import FrameType
from typing import Any, Final, NoReturn

from ...callers.signal_handlers import in_signal_handler
from ...callers.user_code import asked_by_traced_code, is_users, location_at
from ...errors import SideEffectError
from ...ir import Location
from ..trace import Trace, current_trace

_ACTS: Final = {
    "open": "opens a file to write to it",
    "os.chmod": "changes a file",
    "os.chown": "changes a file",
    "os.link": "makes a link",
    "os.mkdir": "makes a folder",
    "os.posix_spawn": "starts a process",
    "os.putenv": "sets an environment variable",
    "os.remove": "removes a file",
    "os.rename": "renames a file",
    "os.rmdir": "removes a folder",
    "os.symlink": "makes a link",
    "os.system": "starts a process",
    "os.truncate": "changes a file",
    "os.unsetenv": "removes an environment variable",
    "os.utime": "changes a file",
    "socket.connect": "opens a connection",
    "socket.sendto": "sends data",
    "sqlite3.connect": "opens a database",
    "subprocess.Popen": "starts a process",
}
"""The names of Python's audit events, and what the function does then."""

_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_ON_THEIR_OWN: Final = frozenset({logging.__file__, weakref.__file__})
"""Modules that act for their own ends: a handler that opens its file late, and a finalizer."""


@cache
def refuse_system_calls() -> None:
    """Install the hook, which stays: Python cannot remove it. Without a trace, it does nothing."""
    sys.addaudithook(_refuse)


def _refuse(event: str, args: tuple[Any, ...]) -> None:
    if event not in _ACTS or (event == "open" and not _writes(*args)):
        return
    trace = current_trace()
    if trace is None or trace.is_evaluating:
        return
    frame = _asking_frame(sys._getframe(1))
    if frame is not None:
        raise act_error(trace, _ACTS[event], location_at(frame.f_code.co_filename, frame.f_lineno))


def _writes(path: Any, _: Any, flags: Any) -> bool:
    return isinstance(flags, int) and bool(flags & _WRITING) and path != os.devnull


def _asking_frame(frame: FrameType) -> FrameType | None:
    """The frame of the traced function that acts, perhaps through a library; None for imports, finalizers and signal
    handlers."""
    if not asked_by_traced_code(frame):
        return None
    asking: FrameType | None = frame
    while asking is not None and not is_users(asking.f_code.co_filename):
        code = asking.f_code
        if code.co_filename in _ON_THEIR_OWN or code.co_filename.startswith("<frozen importlib"):
            return None
        asking = asking.f_back
    if asking is None or asking.f_code.co_name == "__del__" or in_signal_handler(asking.f_code):
        return None
    return asking


def act_error(trace: Trace, what: str, location: Location | None) -> SideEffectError:
    """The error for a function that acts on the system, which runs uncompiled if it is compiled.

    It is raised again at the end of the trace, since code may catch it.
    """
    line = "" if location is None else f" at {location}".partition("  ")[0]
    error = SideEffectError(
        f"the function {what}{line}, which a program would not do in each call: do it outside the function, with its "
        "result",
        location,
    )
    error.runs_uncompiled = True

    def raise_it() -> NoReturn:
        raise error

    trace.at_return["act"] = raise_it
    return error
