"""Limits on this process, and an audit hook for everything that reading a file must not do."""

import os
import resource
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

MOST_MEMORY: Final = 192 << 20
"""The address space in bytes that this process may use for all inputs together."""
MOST_SECONDS: Final = 1.0
"""Processor seconds for one input."""
LONGEST_RUN: Final = 600
"""Processor seconds after which the system ends the process."""

_FORBIDDEN: Final = (
    *(
        "exec",
        "compile",
        "import",
        "code.",
        "marshal.",
        "pickle.",
        "ctypes.",
        "socket.",
        "subprocess.",
        "shutil.",
    ),
    *("os.", "tempfile.", "urllib.", "http.", "glob.", "sqlite3.", "webbrowser.", "pty.", "ftplib.", "mmap."),
    *("cpython.run_", "builtins.input", "signal.", "resource.", "sys.unraisablehook", "gc."),
)
_ALLOWED: Final = ("os.listdir", "os.scandir")


class ForbiddenError(BaseException):
    """An input made this process do something forbidden. It is not an `Exception`, so that no handler hides it."""


class TooSlowError(BaseException):
    """An input took too long."""


_watching: list[str] = []
"""The events while the process is watched. The first item says that it is."""


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if not _watching:
        return
    if event == "open":
        _, mode, flags = args
        writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        if not writes and not (isinstance(mode, str) and set(mode) & set("wax+")):
            return
    elif not event.startswith(_FORBIDDEN) or event in _ALLOWED:
        return
    found = f"{event}{args!r:.300}"
    _watching.append(found)
    raise ForbiddenError(found)


def _alarm(number: int, frame: FrameType | None) -> None:
    raise TooSlowError


def confine() -> None:
    """From now on this process has little memory and time. It watches itself if told to.

    All that is imported when it is needed must have been.
    """
    with open("/proc/self/statm", encoding="ascii") as file:
        taken = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MOST_MEMORY, taken + MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (LONGEST_RUN, LONGEST_RUN))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    signal.signal(signal.SIGVTALRM, _alarm)
    sys.addaudithook(_hook)


@contextmanager
def watched() -> Generator[None]:
    """Within the block, writing, executing and importing raise a `ForbiddenError`, even if the code catches it."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
    _watching[:] = ["watching"]
    try:
        yield
    finally:
        found = _watching[1:]
        _watching.clear()
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    if found:
        raise ForbiddenError(found[0])


def ran_out_of_memory(error: BaseException | None) -> bool:
    """Whether an error is, or was caused by, a lack of memory."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, MemoryError):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False
