"""Settings from the environment that change how programs are built."""

import os


def checking() -> bool:
    """Whether ``TRACEMILL_CHECK=1`` asks to verify the graph after every pass."""
    return os.environ.get("TRACEMILL_CHECK", "0") not in ("", "0")


def usual_backend() -> str:
    """What ``backend="auto"`` means: ``TRACEMILL_BACKEND``, which is ``auto`` itself if it is not set."""
    return os.environ.get("TRACEMILL_BACKEND") or "auto"
