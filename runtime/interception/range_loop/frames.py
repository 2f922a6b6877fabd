"""`run_loop`: the loop that a running function is about to begin, as a whole, with its variables as it leaves them."""

import ctypes
import sys
import threading
from collections.abc import Sequence
from types import FrameType
from typing import Any

from ....compiler.callers.loop_source import LoopSource, loop_source
from ....compiler.errors import TracemillError
from ....compiler.symbolic_size import SymbolicSize
from ....compiler.tracing.trace import current_trace
from .turns import LoopTracer
from .values import NotInLanguageError


class _Begun(threading.local):
    """The frame, and where it is, whose range has still to ask for its second size."""

    at: tuple[FrameType, int] | None = None


_begun = _Begun()
_SEES_VARIABLES = frozenset({"locals", "vars", "eval", "exec", "dir", "_getframe", "currentframe"})


def run_loop(size: SymbolicSize, frame: FrameType, rows: Any = None) -> int | str:
    """Run the loop over a range for which a frame needs a size as an int, or over the rows of an array.

    Returns:
        An int for which the range is empty; else why the loop runs turn by turn, a text that is empty if there is none.
    """
    begun, _begun.at = _begun.at, None
    if begun == (frame, frame.f_lasti):
        return 0  # `range` asks for the second of two sizes
    source = None if current_trace() is None else loop_source(frame)
    if source is None:
        return ""
    turns = LoopTracer(source, frame.f_globals, frame.f_builtins)
    try:
        return _run(turns, source, size, frame, rows)
    except NotInLanguageError as error:
        reason = str(error)
    except TracemillError as error:
        reason = error.message
    except Exception as error:  # it fails turn by turn, too, and then where it does
        reason = f"{type(error).__name__}: {error}"
    turns.undo()
    file = source.code.co_filename.replace("\\", "/").rpartition("/")[2]
    return f"the loop at {file}:{source.loop.lineno} runs turn by turn, since {reason}"


def _run(turns: LoopTracer, source: LoopSource, size: SymbolicSize, frame: FrameType, rows: Any) -> int:
    if _SEES_VARIABLES & {*source.code.co_names}:
        raise NotInLanguageError("the function looks at its variables by their names")
    before = dict(frame.f_locals)
    bounds = _bounds(turns, source, size, before) if rows is None else (size,)
    names = dict(before)
    turns.run(source.loop, bounds, names, rows)
    rebound = {name: x for name, x in names.items() if name not in before or before[name] is not x}
    _rebind(frame, rebound)
    if _are_sizes(bounds):
        _begun.at = (frame, frame.f_lasti)
    return next((bound for bound in bounds[:2] if type(bound) is int), 0)


def _bounds(
    turns: LoopTracer, source: LoopSource, size: SymbolicSize, names: dict[str, Any]
) -> tuple[Any, ...]:
    """What ``range`` is given, of which the size is the first that is not known."""
    found: list[Any] = []
    for argument in source.bounds:
        try:
            found.append(turns.reader.value(argument, names))
        except NotInLanguageError:  # an attribute of the user's, or a call: it gave the size
            found.append(size)
    if len(found) == 1:
        return (size,)
    if _are_sizes(found) and found[0] is size and found[1] is not size:
        return tuple(found)
    if sum(bound is size for bound in found) != 1 or not all(
        type(one) is int or one is size for one in found
    ):
        raise NotInLanguageError("its range is not between sizes and ints that can be told apart")
    return tuple(found)


def _are_sizes(bounds: Sequence[Any]) -> bool:
    return len(bounds) > 1 and all(isinstance(bound, SymbolicSize) for bound in bounds[:2])


def _rebind(frame: FrameType, names: dict[str, Any]) -> None:
    """Let variables of a running function be these values."""
    if sys.version_info >= (3, 13):
        frame.f_locals.update(names)
    else:  # there, they are copies, which a debugger makes anew at each line of this
        write, given = ctypes.pythonapi.PyFrame_LocalsToFast, (ctypes.py_object(frame), ctypes.c_int(0))
        frame.f_locals.update(names), write(*given)  # pyright: ignore[reportUnusedExpression]
    now = frame.f_locals
    if not all(now[name] is value for name, value in names.items()):
        raise NotInLanguageError("its variables cannot be set")
