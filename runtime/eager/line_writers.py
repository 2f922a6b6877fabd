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
_LOGGING: Final = frozenset({*LEVELS, "exception", "log"})


def writer_name(function: Any) -> str:
    """``print``, ``warn``, ``exception`` or ``log`` for the methods of loggers; empty for other functions."""
    if function is print or function is warnings.warn:
        return str(function.__name__)
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", "")
    if name not in _LOGGING:
        return ""
    if isinstance(owner, logging.Logger):
        is_logging = function.__func__ is getattr(logging.Logger, name, None)
    else:
        is_logging = function is getattr(logging, name, None)
    return ("exception" if name == "exception" else "log") if is_logging else ""


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
