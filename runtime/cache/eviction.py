"""The contents of the cache's folder, and eviction: the least recently used entries go first."""

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..files.cache_folder import delete, discard, problem_of
from .entry import is_key, last_used

_LOCK = ".lock"  # its file time says when the folder was last measured
_LOCK_SECONDS = 1.0
_LATELY = 600.0
_LEFTOVER_AGE = 3600.0


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry on disk, good or bad."""

    folder: Path
    bytes: int
    last_used: float  # 0 if its manifest is missing


def stored_entries(folder: Path) -> Iterator[StoredEntry]:
    """All entries in the order of their keys; none if the folder must not be used."""
    if problem_of(folder) is not None:
        return
    try:
        names = sorted(filter(is_key, os.listdir(folder)))
    except OSError:
        return
    for name in names:
        with contextlib.suppress(OSError):  # evicted meanwhile
            yield _measure(folder / name)


def evict(folder: Path, target: int) -> int:
    """Discards entries until at most `target` bytes are left, or all for 0; returns how many.

    Only one process at a time evicts; others skip it. Raises OSError.
    """
    import filelock

    if problem_of(folder) is not None or not folder.is_dir():
        return 0
    try:
        with filelock.FileLock(folder / _LOCK, timeout=_LOCK_SECONDS, mode=0o600):
            _delete_leftovers(folder)
            return _discard_oldest(folder, target)
    except filelock.Timeout:
        return 0


def note_measured(folder: Path) -> None:
    """Records for other processes that the folder has just been measured."""
    with contextlib.suppress(OSError):
        (folder / _LOCK).touch(mode=0o600)


def was_measured_lately(folder: Path) -> bool:
    """Whether any process has measured the folder in the last ten minutes."""
    try:
        return abs(time.time() - os.stat(folder / _LOCK).st_mtime) < _LATELY
    except OSError:
        return False


def _measure(folder: Path) -> StoredEntry:
    if folder.is_symlink() or not folder.is_dir():
        return StoredEntry(folder, 0, 0.0)
    with os.scandir(folder) as files:
        total = sum(file.stat(follow_symlinks=False).st_size for file in files)
    try:
        return StoredEntry(folder, total, last_used(folder))
    except OSError:
        return StoredEntry(folder, total, 0.0)


def _discard_oldest(folder: Path, target: int) -> int:
    stored = sorted(stored_entries(folder), key=lambda entry: entry.last_used)
    total = sum(entry.bytes for entry in stored)
    count = 0
    for entry in stored:
        if total <= target and target > 0:
            break
        with contextlib.suppress(OSError):  # gone already, or held open on Windows
            discard(entry.folder)
            total -= entry.bytes
            count += 1
    return count


def _delete_leftovers(folder: Path) -> None:
    """Deletes the remains of processes that were killed while they stored or discarded entries."""
    for path in folder.glob(".tmp-*"):
        with contextlib.suppress(OSError):
            if time.time() - os.lstat(path).st_mtime > _LEFTOVER_AGE:
                delete(path)
