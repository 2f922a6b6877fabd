"""Finds the user's code: the frames and lines that errors name."""

import functools
import linecache
import sys
from contextvars import ContextVar
from dis import opmap
from linecache import getlines
from os.path import basename, dirname, join
from types import CodeType, FrameType, ModuleType, TracebackType
from typing import Any

import numpy as np

from ..ir import Location
from .source_text import tree_around

PACKAGE = dirname(dirname(dirname(__file__)))
"""The folder of this library."""
OPTREE = join(dirname(dirname(np.__file__)), "optree", "")
"""The folder of optree, which compares and hashes the keys of the user's dicts."""
_OWN = tuple(join(PACKAGE, layer, "") for layer in ("compiler", "passes", "runtime"))
_HOOKS = join(PACKAGE, "runtime", "staging", ""), join(PACKAGE, "compiler", "message_values.py")
"""What converted functions call for an operation."""
_CALLING = join(PACKAGE, "compiler", "frontend", "conversion.py")
"""What calls the user's functions, also those that are not converted."""
_SHOWN = join(PACKAGE, "compiler", "nesting.py")
"""What shows values in messages."""
_DEBUGGERS = frozenset({"bdb", "pydevd", "_pydevd_bundle", "debugpy"})
"""Modules that stop in the user's code and show its variables. Most debuggers are based on `bdb`."""
_SCIPY = join(dirname(dirname(np.__file__)), "scipy", "")
_INTERNAL = (
    *_OWN,
    join(dirname(np.__file__), ""),
    _SCIPY,
    OPTREE,
    functools.__file__,
    "<__array_function__",
)


HOOKS = "_tm"
"""The variable of a converted function that holds the hooks. Other generated names start the same way."""


def is_own(file: str) -> bool:
    """Whether a file belongs to Tracemill."""
    return file.startswith(_OWN)


def calls_users(file: str) -> bool:
    """Whether a file of Tracemill makes the calls of the user's function, which chooses what is called."""
    return file.startswith((*_HOOKS, _CALLING))


def is_generated(file: str) -> bool:
    """Whether a file name is that of a compiled program, which exists in memory only."""
    return file.startswith("<tracemill ")


@functools.lru_cache(4096)
def is_library(file: str) -> bool:
    """Whether a file belongs to Tracemill, NumPy or SciPy, or to code that calls them, and not to the user."""
    return file.startswith(_INTERNAL)


@functools.lru_cache(4096)
def is_users(file: str) -> bool:
    """Whether a file belongs to the user's own modules, not to Python, NumPy or an installed package."""
    return not (is_library(file) or file.startswith(("<frozen", "<__array_function__", *_installed())))


def is_users_module(module: ModuleType) -> bool:
    """Whether a module is the user's: by its file, or by its folders, or because code has made it."""
    if file := getattr(module, "__file__", None):
        return is_users(file)
    spec = getattr(module, "__spec__", None)
    if spec is None:
        return True
    folders = spec.submodule_search_locations
    return spec.origin is None and folders is not None and all(is_users(join(one, "")) for one in folders)


def is_defined_by_user(kind: type) -> bool:
    """Whether a class is defined in one of the user's own modules."""
    module = sys.modules.get(kind.__module__)
    return module is not None and is_users_module(module)


@functools.lru_cache(1)
def _installed() -> tuple[str, ...]:
    """The folders of Python's own modules and of installed ones. `sysconfig` also knows them, but is slow to import."""
    installed = [folder for folder in sys.path if basename(folder) in {"site-packages", "dist-packages"}]
    return tuple(join(folder, "") for folder in [dirname(functools.__file__), *installed])


def users_frame() -> FrameType | None:
    """The innermost frame that does not belong to Tracemill or NumPy."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_library(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def users_level() -> int:
    """The ``stacklevel`` with which a warning of the caller names the user's line."""
    level, frame = 1, sys._getframe(1)
    above: FrameType | None = frame
    while above is not None and is_library(above.f_code.co_filename):
        above, level = above.f_back, level + 1
    return level


def user_location() -> Location | None:
    """The line of the innermost frame that does not belong to Tracemill or NumPy."""
    frame = users_frame()
    if frame is None:
        return None
    return location_at(frame.f_code.co_filename, frame.f_lineno)


Place = tuple[CodeType, int]
"""Where a frame is: its code, and the instruction."""


def users_place() -> Place | None:
    """The place of the innermost frame that does not belong to Tracemill or NumPy, faster than its line."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and is_library(frame.f_code.co_filename):
        frame = frame.f_back
    return None if frame is None else (frame.f_code, frame.f_lasti)


def location_of(place: Place) -> Location:
    """The line of a place."""
    code, instruction = place
    lines = (line for start, end, line in code.co_lines() if line is not None and start <= instruction < end)
    return location_at(code.co_filename, next(lines, 0))


_locations: dict[tuple[str, int], tuple[Any, Location]] = {}
"""The lines that have been asked for, each with what `linecache` had of its file."""


def location_at(file: str, line: int) -> Location:
    """A line of a file with its text. The file is read once.

    Some instructions, at which a signal may arrive, have no line: None becomes 0.
    """
    line = line or 0
    known, found = _locations.get((file, line), (None, None))
    if found is None or known is None or linecache.cache.get(file) is not known:
        code = linecache.getline(file, line).strip()
        if found is None or found.code != code:
            found = Location(file, line, code)
        _locations[file, line] = linecache.cache.get(file), found
    return found


CONVERTS: ContextVar[bool | tuple[str, ...]] = ContextVar("converts", default=True)
"""Whether functions are converted when they are traced; names of libraries whose functions are, too."""
OPERATORS: ContextVar[bool] = ContextVar("operators", default=False)
"""Whether operators and attributes get hooks, too. Methods of the user's classes that depend on values need them."""


def line_of_raise(error: BaseException) -> Location | None:
    """Where a `raise` or `assert` in the user's code or in SciPy's, which may be converted, raised an error; None if
    something else raised it."""
    last = last_step(error)
    if last is None or not is_raise(last):
        return None
    file = last.tb_frame.f_code.co_filename
    return None if is_library(file) and not file.startswith(_SCIPY) else location_at(file, last.tb_lineno)


def last_step(error: BaseException) -> TracebackType | None:
    """The innermost step of the traceback of an error."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return last


def is_raise(step: TracebackType) -> bool:
    """Whether a step of a traceback is at a `raise` or an `assert`, and not at an operation that failed."""
    return step.tb_frame.f_code.co_code[step.tb_lasti] == opmap["RAISE_VARARGS"]


def users_line_of(error: BaseException) -> Location | None:
    """The last of the user's lines in the traceback of an error, or else of another library's."""
    found, step = None, error.__traceback__
    while step is not None:
        file = step.tb_frame.f_code.co_filename
        if is_users(file) or (found is None and not is_library(file)):
            found = step
        step = step.tb_next
    return None if found is None else location_at(found.tb_frame.f_code.co_filename, found.tb_lineno)


def asked_by_traced_code(frame: FrameType) -> bool:
    """Whether the traced function asks for something: in this frame, or in code that it calls, such as the ``__repr__``
    of a dataclass. Debuggers and messages of Tracemill do not count."""
    asking: FrameType | None = frame
    while asking is not None:
        file = asking.f_code.co_filename
        if HOOKS in asking.f_code.co_freevars or calls_users(file):
            return True
        if is_own(file) or str(asking.f_globals.get("__name__")).partition(".")[0] in _DEBUGGERS:
            return False
        asking = asking.f_back
    return False


def is_called_by_traced_code(frame: FrameType) -> bool:
    """Whether the traced function has this code called: by itself, or by what it calls, such as Tracemill's part of
    NumPy that asks for an ``__index__``. Debuggers and messages do not count."""
    calling = frame.f_back
    while calling is not None:
        file = calling.f_code.co_filename
        if HOOKS in calling.f_code.co_freevars or calls_users(file):
            return True
        if file == _SHOWN or str(calling.f_globals.get("__name__")).partition(".")[0] in _DEBUGGERS:
            return False
        calling = calling.f_back
    return False


def why_not_converted() -> str:
    """Why the user's running code was not converted, as the end of a message; empty if it was converted."""
    frame = users_frame()
    if frame is None or HOOKS in frame.f_code.co_freevars:
        return ""
    file, name = frame.f_code.co_filename, frame.f_code.co_name
    if not is_users(file):
        library = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        return (
            f'. `{name}` belongs to an installed library, which is converted only with convert=("{library}",)'
        )
    lines = getlines(file, frame.f_globals)
    # Since Python 3.13, the text of `python -c` has the name of every text that is executed.
    if not lines or (file.startswith("<") and tree_around(frame.f_code, lines) is None):
        return f". The source of `{name}` is not available, so it is not converted: put it into a file"
    return ""
