"""How many threads compiled programs use."""

import ctypes
import os
from pathlib import Path

from ...compiler.errors import ArgumentValueError
from ..int_options import int_option

MOST = 1024
"""More threads than any machine has cores."""

_CGROUPS = Path("/sys/fs/cgroup")
_count = ctypes.c_int(0)
"""Read by all shared libraries; 0 until the number is first needed."""


def set_num_threads(count: int) -> None:
    """Let compiled programs use `count` threads from now on, in all Python threads.

    The default is ``TRACEMILL_NUM_THREADS``, otherwise ``OMP_NUM_THREADS``, otherwise the number of cores that this
    process may use. Results are bit-identical for any number. Programs on small arrays use one thread anyway. Calls
    that are running finish with the number that they began with.

    Raises:
        TransformTypeError, TransformArgumentError: `count` is not an integer from 1 to 1024.

    >>> import tracemill as tm
    >>> before = tm.get_num_threads()
    >>> tm.set_num_threads(1)
    >>> tm.get_num_threads()
    1
    >>> tm.set_num_threads(before)
    """
    _count.value = int_option("set_num_threads", "count", count, minimum=1, maximum=MOST)


def get_num_threads() -> int:
    """How many threads compiled programs use on large arrays.

    >>> import tracemill as tm
    >>> tm.get_num_threads() >= 1
    True
    """
    if _count.value == 0:
        _count.value = _wanted_at_first()
    return _count.value


def address_of_count() -> int:
    """The address from which shared libraries read the number of threads."""
    get_num_threads()
    return ctypes.addressof(_count)


def available_cores() -> int:
    """The cores that this process may use, by its affinity and the quota of its container."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    quota = _quota()
    return cores if quota is None else max(1, min(cores, round(quota)))


def _wanted_at_first() -> int:
    own = os.environ.get("TRACEMILL_NUM_THREADS")
    if own:
        count = _count_in(own)
        if count is None:
            raise ArgumentValueError(
                f"TRACEMILL_NUM_THREADS must be an integer from 1 to {MOST}, not {own!r}: correct it, or unset it"
            )
        return count
    usual = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]  # a list is about nested teams
    return _count_in(usual) or available_cores()


def _count_in(text: str) -> int | None:
    """A number of threads in the environment; None if it is not one."""
    digits = text.strip()
    if not digits.isdecimal() or len(digits) > len(str(MOST)):
        return None
    return int(digits) if 1 <= int(digits) <= MOST else None


def _quota() -> float | None:
    """The CPU quota of this process's control group, in cores, as containers set it."""
    try:
        groups = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    own = next((line[3:].lstrip("/") for line in groups if line.startswith("0::")), "")
    quotas = [_read_quota(folder / "cpu.max") for folder in {_CGROUPS, _CGROUPS / own}]
    return min((quota for quota in quotas if quota is not None), default=None)


def _read_quota(path: Path) -> float | None:
    """``200000 100000``: microseconds of work per period; ``max`` for no limit."""
    try:
        work, period = path.read_text(encoding="utf-8").split()
        return None if work == "max" else int(work) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return None
