"""Reads the files that users name: only regular files, and only up to a limit."""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from ...compiler.errors import InputFileError, TransformArgumentError, TransformTypeError
from ...compiler.nesting import shown
from ...compiler.text.units import show_bytes

_KINDS: Final = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_FLAGS: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0)
"""Opening a pipe does not wait for its other end."""


def kind_of(mode: int) -> str:
    """The type of a file that is not regular: ``"a pipe"``.

    >>> kind_of(stat.S_IFIFO)
    'a pipe'
    """
    return next((name for is_kind, name in _KINDS if is_kind(mode)), "no regular file")


def path_of(function: str, given: Any) -> Path:
    """The path that `function` was given. Raises `TransformTypeError` for anything else, such as a file descriptor."""
    found = os.fspath(given) if isinstance(given, os.PathLike) else given
    if isinstance(found, str):
        if "\0" in found:
            raise TransformArgumentError(
                f"{function}: path holds a null byte, as no file's name does: {shown(found)}"
            )
        return Path(found)
    raise TransformTypeError(
        f"{function}: path must be a str or a pathlib.Path, not {type(given).__name__}: {shown(given)}"
    )


@contextmanager
def opened(path: str | os.PathLike[str]) -> Generator[IO[bytes]]:
    """A regular file, open for reading.

    Raises:
        InputFileError: it is a folder, a pipe, a socket or a device. Nothing is read, so that nothing waits for data.
        OSError: it is missing, or cannot be read.
    """
    if not stat.S_ISREG(mode := os.stat(path).st_mode):  # opening a device may have an effect
        raise _not_regular(path, mode)
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _FLAGS)) as file:
        if not stat.S_ISREG(mode := os.fstat(file.fileno()).st_mode):
            raise _not_regular(path, mode)
        yield file


def read_whole(path: str | os.PathLike[str], most: int) -> bytes:
    """The bytes of a regular file. Raises like `opened`, and `InputFileError` if there are more than `most`."""
    with opened(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise InputFileError(f"{os.fspath(path)} has more than the {show_bytes(most)} that are read")
    return content


def _not_regular(path: str | os.PathLike[str], mode: int) -> InputFileError:
    return InputFileError(
        f"{os.fspath(path)} is {kind_of(mode)}, and only regular files are read: name a file"
    )
