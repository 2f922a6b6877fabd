"""The functions that write lines: `print`, `warnings.warn`, and those of loggers and of `logging`."""

import logging
import sys
import warnings
from typing import Any, Final

from ...compiler.callers.user_code import user_location
from ...compiler.errors import ConcretizationError

LEVELS: Final = {
    "critical": logging.CRITICAL,
    "debug": logging.DEBUG,
    "error": logging.ERROR,
    "fatal": logging.CRITICAL,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "warning": logging.WARNING,
}


def writer_name(function: Any) -> str:
    """``print``, ``warn``, or the name of a method of loggers; empty for other functions."""
    if function is print or function is warnings.warn:
        return str(function.__name__)
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", "")
    if isinstance(owner, logging.Logger) and name in {*LEVELS, "log"}:
        return "log" if function.__func__ is getattr(logging.Logger, name, None) else ""
    return "log" if name in {*LEVELS, "log"} and function is getattr(logging, name, None) else ""


def refuse_stream(function: Any) -> None:
    """Refuse a method that writes to the standard output or the standard error.

    Raises:
        ConcretizationError: it is one.
    """
    name, stream = getattr(function, "__name__", ""), getattr(function, "__self__", None)
    if name in {"write", "writelines"} and stream is not None and stream in (sys.stdout, sys.stderr):
        raise ConcretizationError(
            f"{name}() of a standard stream would write only while the function is traced: use print(), which prints "
            "in each call",
            user_location(),
        )
