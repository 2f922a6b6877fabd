"""Logs of what is compiled and why, through `logging`, if ``TRACEMILL_LOG`` or their levels ask for them."""

import contextlib
import logging
import os
import sys
import warnings
from difflib import get_close_matches
from typing import Final

from ..compiler.errors import SettingWarning
from ..compiler.locks import reentrant_lock

TOPICS: Final = ("recompiles", "fusion", "cache", "timing")
"""The names in ``TRACEMILL_LOG``, separated by commas; the loggers are ``tracemill.recompiles`` and so on, at the
level INFO."""

_lock = reentrant_lock()
_raised: set[str] = set()
"""The topics whose loggers the environment has turned on."""
_complained: set[str] = set()


def logger(topic: str) -> logging.Logger | None:
    """The logger of a topic if it is enabled; otherwise None, so that nothing is formatted."""
    asked = os.environ.get("TRACEMILL_LOG")
    if asked or _raised:
        _follow(asked or "")
    found = logging.getLogger(f"tracemill.{topic}")
    return found if found.isEnabledFor(logging.INFO) else None


def is_asked(*topics: str) -> bool:
    """Whether one of these is enabled."""
    return any(logger(topic) is not None for topic in topics)


def is_observed() -> bool:
    """Whether log lines or dumps of compilations are requested."""
    return bool(os.environ.get("TRACEMILL_DUMP")) or is_asked("fusion", "timing")


def _follow(asked: str) -> None:
    """Turn on the loggers that the environment names, on the error stream if there is no other handler."""
    words = {word.strip().lower() for word in asked.split(",")} - {""}
    for word in sorted(words - {*TOPICS}):
        complain_once(f"TRACEMILL_LOG={asked}: {_unknown(word)}")
    with _lock:
        for topic in TOPICS:
            found = logging.getLogger(f"tracemill.{topic}")
            if topic in words and not found.isEnabledFor(logging.INFO):
                found.setLevel(logging.INFO)
                _raised.add(topic)
            elif topic not in words and topic in _raised:
                found.setLevel(logging.NOTSET)
                _raised.discard(topic)
        ours = logging.getLogger("tracemill")
        if _raised and not ours.hasHandlers():
            handler = _ErrorStream()
            handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
            ours.addHandler(handler)


class _ErrorStream(logging.Handler):
    """Writes to the current `sys.stderr`, and nothing once there is another handler."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            with contextlib.suppress(OSError, ValueError):  # a closed stream
                print(self.format(record), file=sys.stderr)


def _unknown(word: str) -> str:
    near = get_close_matches(word, TOPICS, 1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return f"there is nothing called {word!r} to log{hint}: choose from {', '.join(TOPICS)}"


def complain_once(message: str) -> None:
    """A `SettingWarning` for an invalid setting of the environment."""
    with _lock:
        if message in _complained:
            return
        _complained.add(message)
    warnings.warn(message, SettingWarning, stacklevel=2)
