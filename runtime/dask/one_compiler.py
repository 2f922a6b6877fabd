"""Lets one process of a machine compile a program while the others wait for what it puts into the disk cache."""

from contextlib import AbstractContextManager
from typing import Final

from ..cache.process_lock import alone

_PATIENCE: Final = 120.0
"""Seconds; then a process compiles it as well: compiled twice, it is right, too."""


def alone_on_this_machine(digest: str) -> AbstractContextManager[None]:
    """One process of this user at a time, among those that share a disk cache, for a program with this digest.

    Programs whose digests begin alike wait for each other, too, so that there are at most 256 files.
    """
    return alone(f"program-{digest[:2]}", _PATIENCE)
