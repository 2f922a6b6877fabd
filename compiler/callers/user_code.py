"""Which code is the user's: the frames and lines that errors name, and whose calls count as theirs."""

import functools
import sys
from linecache import getline
from os.path import dirname, join
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


def is_library(file: str) -> bool:
    """Whether code in this file is Tracemill's, NumPy's or SciPy's, or calls theirs, rather than the user's."""
    return file.startswith(_INTERNAL)


def user_location() -> Location | None:
    """The line of the innermost frame that is neither Tracemill's nor NumPy's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_INTERNAL):
        frame = frame.f_back
    if frame is None:
        return None
    return location_at(frame.f_code.co_filename, frame.f_lineno)


_locations: dict[tuple[str, int], Location] = {}


def location_at(file: str, line: int) -> Location:
    """A line of a file with its text, which is read once."""
    found = _locations.get((file, line))
    code = getline(file, line).strip()
    if found is None or found.code != code:
        found = _locations[file, line] = Location(file, line, code)
    return found
