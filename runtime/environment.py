"""Settings from the environment that change how programs are compiled."""

import os
from functools import cache
from pathlib import Path

from ..compiler.errors import ArgumentValueError


def checking() -> bool:
    """Whether ``TRACEMILL_CHECK=1`` asks to verify the graph after every pass."""
    return "graphs" in _checks()


def usual_check_bounds() -> bool:
    """Whether ``TRACEMILL_CHECK=bounds`` asks programs to check the indices that they compute."""
    return "bounds" in _checks()


def _checks() -> frozenset[str]:
    """What ``TRACEMILL_CHECK`` lists, separated by commas: ``1`` for graphs, ``bounds``, ``0`` for nothing."""
    return _parsed(os.environ.get("TRACEMILL_CHECK", ""))


@cache
def _parsed(setting: str) -> frozenset[str]:
    words = {word.strip() for word in setting.split(",")} - {"", "0"}
    if unknown := sorted(words - {"1", "bounds"}):
        raise ArgumentValueError(
            f"TRACEMILL_CHECK={setting} is unknown: {', '.join(map(repr, unknown))} is none of '0', '1' (verify every"
            " graph after every pass) and 'bounds' (raise for indices out of bounds), as in TRACEMILL_CHECK=1,bounds"
        )
    return frozenset("graphs" if word == "1" else word for word in words)


def usual_backend() -> str:
    """The value of ``backend="auto"``: ``TRACEMILL_BACKEND``, or ``auto`` itself if it is not set."""
    return os.environ.get("TRACEMILL_BACKEND") or "auto"


def usual_lock() -> Path:
    """The file with the choices for GPU kernels: ``TRACEMILL_LOCK``, or ``tracemill.lock`` in the working directory."""
    return Path(os.environ.get("TRACEMILL_LOCK") or "tracemill.lock")
