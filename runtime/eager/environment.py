"""What a function reads of its process, such as an environment variable: noted, and compared before each call."""

import os
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from ...compiler.frontend.outside.read_names import note_read

_READERS: Final = (os.getenv, os.getcwd, os.getpid, os.getppid)


def reader(function: Any) -> "Callable[..., Any] | None":
    """What stands for a function that reads of the process; None for all else."""
    if getattr(function, "__self__", None) is os.environ and function.__name__ == "get":
        return partial(note_read, "os.environ.get", function)
    if any(function is one for one in _READERS):
        return partial(note_read, f"os.{function.__name__}", function)
    return None


def variable(name: Any) -> Any:
    """``os.environ[name]``"""
    return note_read("os.environ.__getitem__", os.environ.__getitem__, name)
