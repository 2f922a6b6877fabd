"""Lets one process of a machine compile a program while the others wait for what it puts into the disk cache."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from ..cache.disk_cache import default_cache
from ..files.cache_folder import make_private

_PATIENCE: Final = 120.0
"""Seconds; then a process compiles it as well."""


@contextmanager
def alone_on_this_machine(digest: str) -> Generator[None]:
    """One process of this user at a time, among those that share a disk cache, for a program with this digest.

    Programs whose digests begin alike wait for each other, too, so that there are at most 256 files.
    """
    import filelock

    try:
        folder = default_cache().folder
        make_private(folder)
        lock = filelock.FileLock(folder / f".lock-program-{digest[:2]}", timeout=_PATIENCE, mode=0o600)
        lock.acquire()
    except (OSError, filelock.Timeout):  # compiled twice, it is right as well
        yield
        return
    try:
        yield
    finally:
        lock.release()
