"""Whether the caller is a signal handler: Python runs handlers between any two steps of the main thread."""

import sys
import threading
from inspect import CO_VARARGS
from types import CodeType, FrameType


def in_signal_handler(interrupted: CodeType, frame: FrameType | None = None) -> bool:
    """Whether a frame, by default the caller's, is part of a signal handler that interrupted a function with this
    code."""
    if threading.get_ident() != threading.main_thread().ident:
        return False  # Python runs handlers only in the main thread
    frame = frame or sys._getframe(1)
    while frame is not None and frame.f_code is not interrupted:
        if _is_handler(frame):
            return True
        frame = frame.f_back
    return False


def _is_handler(frame: FrameType) -> bool:
    """Whether a function was called like a handler: with a number, and with the frame that called it."""
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount]
    rest = code.co_varnames[code.co_argcount + code.co_kwonlyargcount] if code.co_flags & CO_VARARGS else None
    if len(names) < 2 and rest is None:
        return False
    values = frame.f_locals
    more = values.get(rest, ()) if rest else ()
    arguments = [*map(values.get, names), *(more if isinstance(more, tuple) else ())]
    return frame.f_back is not None and any(argument is frame.f_back for argument in arguments)
