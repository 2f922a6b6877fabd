"""Which code is the user's: the frames and lines that errors name, and whose calls count as theirs."""

import functools
import linecache
import sys
from dis import opmap
from linecache import getlines
from os.path import basename, dirname, join
from types import FrameType

import numpy as np

from ..ir import Location

PACKAGE = dirname(dirname(dirname(__file__)))
"""The folder of this library."""
OPTREE = join(dirname(dirname(np.__file__)), "optree", "")
"""The folder of the library that looks for keys in the user's dicts."""
_INTERNAL = (
    *(join(PACKAGE, layer, "") for layer in ("compiler", "passes", "runtime")),
    join(dirname(np.__file__), ""),
    join(dirname(dirname(np.__file__)), "scipy", ""),
    OPTREE,
    functools.__file__,
    "<__array_function__",
)


HOOKS = "_tm"
"""The variable of a converted function that holds the hooks. Other names that conversion makes begin like this."""


def is_library(file: str) -> bool:
    """Whether code in this file is Tracemill's, NumPy's or SciPy's, or calls theirs, rather than the user's."""
    return file.startswith(_INTERNAL)


@functools.lru_cache(4096)
def is_users(file: str) -> bool:
    """Whether a file is of the user's own modules, rather than of Python, of NumPy or of what is installed."""
    return not (is_library(file) or file.startswith(("<frozen", "<__array_function__", *_installed())))


@functools.lru_cache(1)
def _installed() -> tuple[str, ...]:
    """The folders of Python's own modules and of installed ones. `sysconfig` knows, too, and is slow to load."""
    installed = [folder for folder in sys.path if basename(folder) in {"site-packages", "dist-packages"}]
    return tuple(join(folder, "") for folder in [dirname(functools.__file__), *installed])


def users_frame() -> FrameType | None:
    """The innermost frame that is neither Tracemill's nor NumPy's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_INTERNAL):
        frame = frame.f_back
    return frame


def user_location() -> Location | None:
    """The line of the innermost frame that is neither Tracemill's nor NumPy's."""
    frame = users_frame()
    if frame is None:
        return None
    return location_at(frame.f_code.co_filename, frame.f_lineno)


_locations: dict[tuple[str, int], Location] = {}


def location_at(file: str, line: int) -> Location:
    """A line of a file with its text, which is read once."""
    found = _locations.get((file, line))
    code = linecache.getline(file, line).strip()
    if found is None or found.code != code:
        found = _locations[file, line] = Location(file, line, code)
    return found


def line_of_raise(error: BaseException) -> Location | None:
    """Where a `raise` or `assert` of the user's has raised an error; None if anything else has."""
    last = error.__traceback__
    if last is None:
        return None
    while last.tb_next is not None:
        last = last.tb_next
    code = last.tb_frame.f_code
    if is_library(code.co_filename) or code.co_code[last.tb_lasti] != opmap["RAISE_VARARGS"]:
        return None
    return location_at(code.co_filename, last.tb_lineno)


def why_not_converted() -> str:
    """Why the code of the user's that is at work was not converted, as the end of a message; empty if it was."""
    frame = users_frame()
    if frame is None or HOOKS in frame.f_code.co_freevars:
        return ""
    file, name = frame.f_code.co_filename, frame.f_code.co_name
    if not is_users(file):
        library = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        return (
            f'. `{name}` is of an installed library, and not converted: convert=("{library}",) changes that'
        )
    if not getlines(file, frame.f_globals):
        return f". The source of `{name}` is not available, so it is not converted: put it into a file"
    return ""
