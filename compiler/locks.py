"""`reentrant_lock`: locks that neither a signal handler nor a forked child waits for in vain."""

import os
import threading
from typing import Any, Final
from weakref import WeakSet

_locks: Final[WeakSet[Any]] = WeakSet()


def reentrant_lock() -> threading.RLock:
    """A lock for a ``with`` statement, which keeps other threads out.

    A signal handler or a finalizer that runs in the middle of the block, in the thread that has the lock, gets in
    as well: if it waited, it would wait for itself. So the steps of a block must allow a whole other run of the
    block between any two of them.

    A child that was forked while another thread had the lock finds it free: that thread is not in the child.
    """
    made = threading.RLock()
    _locks.add(made)
    return made


def _free_in_child() -> None:
    for made in list(_locks):
        if made.acquire(blocking=False):  # it was free, or this thread has it
            made.release()
        else:
            made._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_in_child)
