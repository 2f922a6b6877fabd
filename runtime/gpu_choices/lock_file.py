"""The lock file: choices for kernels, as readable text to commit."""

import os
from contextlib import AbstractContextManager
from hashlib import sha256
from pathlib import Path
from typing import Final

from ...compiler.errors import LockFileError
from ..cache.process_lock import alone
from ..files.input_file import read_whole
from ..files.output_file import write_output
from .lock_entry import Entries
from .lock_reader import LARGEST, entries_in
from .lock_text import lock_text

_PATIENCE: Final = 60.0
"""Seconds to wait for another process that writes the file."""


def read_lock(path: Path) -> Entries:
    """The entries of a lock file; none if there is no such file. Nothing in it is executed.

    Raises:
        LockFileError: the file cannot be read, or does not say what it should.
    """
    try:
        content = read_whole(path, LARGEST)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise LockFileError(f"{path} cannot be read: {error.strerror or error}") from error
    return entries_in(content, path)


def add_to_lock(path: Path, found: Entries) -> Entries:
    """Add entries to a lock file, all at once; returns all of its entries then.

    Entries that other processes have added meanwhile stay, in place of new ones for the same kernel.

    Raises:
        LockFileError: the file is damaged, or cannot be written.
    """
    with _alone_with(path):
        entries = {**found, **read_lock(path)}
        try:
            write_output(path, lock_text(entries).encode(), overwrite=True)
        except OSError as error:
            raise LockFileError(
                f"{path} cannot be written: {error.strerror or error}. Name another file: autotune=PATH, or"
                " TRACEMILL_LOCK"
            ) from error
    return entries


def _alone_with(path: Path) -> AbstractContextManager[None]:
    """One process of this user at a time: the lock is not beside a file that is committed. Without it, lost entries are
    measured again."""
    return alone(sha256(os.fsencode(path.resolve())).hexdigest()[:32], _PATIENCE)
