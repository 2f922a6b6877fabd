"""Writes the files that users name: completely or not at all, never over a device, and over a file only on request."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from ...compiler.errors import OutputExistsError, OutputFileError
from .cache_folder import temporary_in
from .input_file import kind_of

_WITHOUT_HARD_LINKS: Final = {errno.EPERM, errno.ENOSYS, errno.EMLINK, errno.ENOTSUP, errno.EOPNOTSUPP}
"""Errors of a file system without hard links."""


def check_output(path: Path, *, overwrite: bool) -> Path:
    """The path that would be written: the path itself, or the target of a link.

    Raises:
        OutputFileError: there is a folder, a device, a pipe or a socket.
        OutputExistsError: there is a file, and `overwrite` is not set.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return Path(os.path.realpath(path))
    if not stat.S_ISREG(mode):
        raise OutputFileError(f"{path} is {kind_of(mode)}, which is never replaced: name a file")
    if not overwrite:
        raise OutputExistsError(
            f"{path} exists: pass overwrite=True (on the command line, --force) to replace it, or name another file"
        )
    return Path(os.path.realpath(path))


def check_outputs(folder: Path, names: Iterable[str], *, overwrite: bool) -> None:
    """`check_output` of several files in a folder."""
    for name in names:
        check_output(folder / name, overwrite=overwrite)


def write_output(path: Path, content: bytes, *, overwrite: bool) -> None:
    """Write a file under a temporary name in the same folder, then move it into place in one step.

    A link is followed: its target is written, and the link stays.

    Raises:
        OutputFileError, OutputExistsError: as `check_output`.
        OSError: the file cannot be written. What was there is unchanged.
    """
    final = check_output(path, overwrite=overwrite)
    temporary = temporary_in(final.parent)
    try:
        before = _permissions(final)
        with open(temporary, "xb", opener=partial(os.open, mode=0o666 if before is None else 0o600)) as file:
            file.write(content)
        if overwrite:
            check_output(path, overwrite=True)  # a device may have come up meanwhile
            if before is not None:
                temporary.chmod(before)
            os.replace(temporary, final)
        else:
            _move_to_new(temporary, final)
    except FileExistsError:  # another process was faster
        check_output(path, overwrite=overwrite)
        raise
    except OutputFileError:
        raise
    except OSError as error:  # the message names the user's file, not the temporary one
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
    finally:
        with contextlib.suppress(OSError):  # it has been moved, or was never created
            temporary.unlink()


def write_outputs(folder: Path, files: Mapping[str, bytes], *, overwrite: bool) -> None:
    """Write files into a folder, which is created if it is missing. If one may not be replaced, none is written."""
    check_outputs(folder, files, overwrite=overwrite)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write_output(folder / name, content, overwrite=overwrite)


def _move_to_new(temporary: Path, final: Path) -> None:
    """Give a file its name; FileExistsError if the name is taken, even if that happened just now."""
    try:
        os.link(temporary, final)
    except OSError as error:
        if error.errno not in _WITHOUT_HARD_LINKS:
            raise
        os.close(os.open(final, os.O_WRONLY | os.O_CREAT | os.O_EXCL))  # takes the name
        os.replace(temporary, final)


def _permissions(final: Path) -> int | None:
    """Those of a file that is replaced: what takes the place of a private file is private, too, at any time."""
    try:
        return stat.S_IMODE(os.stat(final).st_mode)
    except FileNotFoundError:
        return None
