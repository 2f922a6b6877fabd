"""The text of errors and warnings: a line each."""

import sysconfig
from linecache import getline
from pathlib import Path
from traceback import walk_tb

import click

from ...compiler.callers.user_code import is_library
from ...compiler.errors import CompilerWarning, HostFallbackWarning, SettingWarning, TracemillError
from ...runtime.cache.disk_cache import CacheWarning

_CLICK = str(Path(click.__file__).parent)
_OWN = (str(Path(__file__).parent.parent), sysconfig.get_path("stdlib"))
"""Used if no line belongs to the user."""


def reason_of(error: Exception) -> str:
    """The class and the message of an error, and the user's line, unless Tracemill's own error already has it."""
    place = "" if isinstance(error, TracemillError) else _line_of_the_user(error)
    return f"{type(error).__name__}: {error}{place}"


def is_about_the_installation(category: type[Warning]) -> bool:
    """Whether a warning is about the cache, the compiler, or settings, which no line of Python causes."""
    return issubclass(category, (CacheWarning, CompilerWarning, HostFallbackWarning, SettingWarning))


def _line_of_the_user(error: Exception) -> str:
    """Where an error was raised in the function that was named on the command line."""
    place = ""
    for frame, number in walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if file.startswith(_CLICK):  # the frames before are the start of the command
            place = ""
        elif not (is_library(file) or file.startswith(_OWN)):
            place = f" at {Path(file).name}:{number}  {getline(file, number).strip()}"
    return place
