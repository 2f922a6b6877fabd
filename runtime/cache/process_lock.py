"""`alone`: one process at a time, among those of a user that share the disk cache."""

from collections.abc import Generator
from contextlib import contextmanager

from ..files.cache_folder import make_private
from .disk_cache import default_cache


@contextmanager
def alone(name: str, patience: float) -> Generator[None]:
    """Hold the lock of that name in the cache's folder; without it, if it cannot be had within `patience` seconds."""
    import filelock

    try:
        folder = default_cache().folder
        make_private(folder)
        lock = filelock.FileLock(folder / f".lock-{name}", timeout=patience, mode=0o600)
        lock.acquire()
    except (OSError, filelock.Timeout):
        yield
        return
    try:
        yield
    finally:
        lock.release()
