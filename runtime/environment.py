"""Settings from the environment that change how programs are built."""

import os
from pathlib import Path


def checking() -> bool:
    """Whether ``TRACEMILL_CHECK=1`` asks to verify the graph after every pass."""
    return os.environ.get("TRACEMILL_CHECK", "0") not in ("", "0")


def usual_backend() -> str:
    """What ``backend="auto"`` means: ``TRACEMILL_BACKEND``, which is ``auto`` itself if it is not set."""
    return os.environ.get("TRACEMILL_BACKEND") or "auto"


def usual_lock() -> Path:
    """Where choices for GPU kernels are kept: ``TRACEMILL_LOCK``, or ``tracemill.lock`` in the working directory."""
    return Path(os.environ.get("TRACEMILL_LOCK") or "tracemill.lock")
