"""The functions that write lines: `print`, `warnings.warn`, and those of loggers and of `logging`."""

import io
import logging
import sys
import warnings
from typing import Any, Final

from ...compiler.callers.user_code import user_location
from ...compiler.tracing.outside.system_calls import act_error
from ...compiler.tracing.trace import require_trace

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
    """Refuse a method that writes to a file, the standard output or the standard error, outside of the function.

    Raises:
        SideEffectError: it is one. A compiled function then runs uncompiled.
    """
    if getattr(function, "__name__", "") not in {"write", "writelines"} or require_trace().is_evaluating:
        return
    stream = getattr(function, "__self__", None)
    is_file = isinstance(stream, io.IOBase) and not isinstance(stream, io.StringIO | io.BytesIO)
    if is_file or (stream is not None and stream in (sys.stdout, sys.stderr)):
        raise act_error(require_trace(), "writes to an open file", user_location())
