"""`reentrant_lock`: locks that never deadlock with a signal handler or in a forked child."""

import os
import threading
from typing import Any, Final
from weakref import WeakSet

_locks: Final[WeakSet[Any]] = WeakSet()


def reentrant_lock() -> threading.RLock:
    """A lock for a ``with`` statement, which keeps other threads out.

    A signal handler or a finalizer that runs in the middle of the block, in the thread that holds the lock, can enter
    too: otherwise it would wait for itself. So a whole other run of the block must be possible between any two of its
    steps.

    If another thread holds the lock during a fork, the child finds it free: that thread does not exist in the child.
    """
    made = threading.RLock()
    _locks.add(made)
    return made


def _free_in_child() -> None:
    for made in list(_locks):
        if made.acquire(blocking=False):  # it was free, or this thread holds it
            made.release()
        else:
            made._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_in_child)
