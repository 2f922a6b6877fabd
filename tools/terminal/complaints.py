"""What is said of errors and warnings: a line each."""

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
"""Where no line is the user's."""


def reason_of(error: Exception) -> str:
    """The class and the message of an error, and the line of the user's if it is not an error of ours, which say it."""
    place = "" if isinstance(error, TracemillError) else _line_of_the_user(error)
    return f"{type(error).__name__}: {error}{place}"


def is_of_ours(category: type[Warning]) -> bool:
    """Whether a warning is of the cache, the compiler, or settings: no line of Python's is its reason."""
    return issubclass(category, (CacheWarning, CompilerWarning, HostFallbackWarning, SettingWarning))


def _line_of_the_user(error: Exception) -> str:
    """Where in the function that was named on the command line an error of its own was raised."""
    place = ""
    for frame, number in walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if file.startswith(_CLICK):  # what came before is how the command was started
            place = ""
        elif not (is_library(file) or file.startswith(_OWN)):
            place = f" at {Path(file).name}:{number}  {getline(file, number).strip()}"
    return place
