"""Clocks and Python's random numbers: values that a function reads while it is traced would never change again."""

import datetime
import dis
import os
import random
import sys
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from functools import lru_cache
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    ModuleType,
)
from typing import Any, Final

from ...compiler.callers.function_names import describe
from ...compiler.callers.user_code import is_library, location_at
from ...compiler.errors import ClockError, RandomStateError, TracemillError
from ...compiler.ir import Location
from ...compiler.tracing.values_in_call import is_undone
from .generator_states import DrawnFrom
from .reached_objects import INSTALLED, STANDARD, names_used

_CLOCKS: Final = {
    getattr(time, name): f"time.{name}"
    for clock in ("time", "perf_counter", "monotonic", "process_time", "thread_time", "clock_gettime")
    for name in (clock, f"{clock}_ns")
    if hasattr(time, name)
} | {os.times: "os.times"}
"""Functions in C that read a clock, and their names."""
_CLOCKS_BY_NAME: Final = frozenset({"getrusage", "generate_time_safe", "UuidCreate"})
"""Others, in modules that this one does not load: of `resource`, and what ``uuid.uuid1`` calls."""
_OF_NOW: Final = {time.localtime: 0, time.gmtime: 0, time.ctime: 0, time.asctime: 0, time.strftime: 1}
"""Functions that read the clock unless they get a time, and the position of that argument."""
_NOW: Final = frozenset({"now", "today"})
"""The arguments with which ``np.datetime64`` reads the clock. It is a class, whose calls a profile function does not
see."""
_TODAY: Final = frozenset({"now", "utcnow", "today"})
"""Methods of dates that read the clock."""
_ENTROPY: Final = frozenset({os.urandom, *([os.getrandom] if sys.platform == "linux" else [])})
_SYSTEM_DRAW: Final = random.SystemRandom.getrandbits.__code__
"""What NumPy's generators call if they get no seed."""
_UNSEEDED: Final = frozenset(
    {"default_rng", "RandomState", "SeedSequence", "PCG64", "Philox", "MT19937", "SFC64"}
)
_DRAWS: Final = frozenset({"random", "getrandbits"})
"""The C methods by which all others of ``random.Random`` draw."""
_SETTERS: Final = frozenset({"seed", "setstate"})
_PASSING_ON: Final = frozenset({"random", "secrets", "statistics", "timeit", "uuid"})
"""Modules whose functions draw, or read a clock, on behalf of their callers."""
_MODULES: Final = frozenset({"time", "datetime", *_PASSING_ON})
_NAMED: Final = _MODULES | {
    "RAND_bytes",
    "RandomState",
    "datetime64",
    "default_rng",
    "eval",
    "exec",
    "getrandom",
    "getrusage",
    "times",
    "urandom",
}
"""Code that uses none of these names, and reaches none of these objects under other names, reads no clock and draws
nothing."""


@contextmanager
def refusing_impure_calls(function: Callable[..., Any], *, clocks: bool) -> Generator[None]:
    """Raise an error at the end if code in this thread read a clock or drew one of Python's random numbers.

    Raises:
        RandomStateError: a number was drawn.
        ClockError: a clock was read, if `clocks`. Clocks may be read by the standard library and by installed packages,
            which log and measure, except by the package that `function` is from.
    """
    outer = sys.getprofile()
    is_taken = outer is not None and not callable(outer)  # by cProfile in Python 3.11, which cannot share
    if is_taken:
        yield
        return
    watch = _Watch(function, outer, clocks=clocks)
    sys.setprofile(watch)
    try:
        yield
    except Exception as error:
        if is_undone(error) or isinstance(error, TracemillError):
            is_restored = watch.drawn.restore()
            if isinstance(watch.error, RandomStateError) and is_undone(error) and not is_restored:
                raise watch.error from None  # the function would draw twice
        raise
    finally:
        sys.setprofile(outer)
        if sys.gettrace() is _not_traced:
            sys.settrace(None)
    if watch.error is not None:
        watch.drawn.restore()
        raise watch.error


class _Watch:
    """A profile function, which Python calls for each call in its thread; records an error for the first impure one."""

    def __init__(self, function: Callable[..., Any], outer: Any, *, clocks: bool) -> None:
        self.function, self.outer, self.clocks = function, outer, clocks
        self.error: TracemillError | None = None
        self.drawn = DrawnFrom()
        self.made: list[random.Random] = []
        """Generators that the function has made from a seed: they draw the same numbers each time, also in NumPy."""

    def __call__(self, frame: FrameType, event: str, called: Any) -> None:
        if event == "call":
            is_gauss = frame.f_code is random.Random.gauss.__code__  # which keeps every second number
            if is_gauss and not self._is_made(frame.f_locals["self"]):
                self.drawn.note(frame.f_locals["self"])
                self._drew(frame, "random.gauss")
            elif "datetime64" in frame.f_code.co_names and (lines := _lines_of_now(frame.f_code)):
                self._watch_lines(frame, lines)
        elif event == "c_call":
            if called in _CLOCKS:
                self._read(frame, _CLOCKS[called])
            elif called in _OF_NOW:
                if not _is_given(frame.f_code, frame.f_lasti, _OF_NOW[called]):
                    self._read(frame, f"time.{called.__name__}")
            elif called in _ENTROPY:
                self._drew(frame, f"os.{called.__name__}")
            elif isinstance(called, BuiltinFunctionType):
                self._method(frame, called)
        if self.outer is not None:
            self.outer(frame, event, called)

    def _method(self, frame: FrameType, called: Any) -> None:
        name = called.__name__
        if name in _TODAY:
            owner = called.__self__
            if isinstance(owner, type) and issubclass(owner, datetime.date):
                self._read(frame, f"{owner.__name__}.{name}")
        elif name in _CLOCKS_BY_NAME:
            self._read(frame, f"{called.__module__}.{name}")
        elif name == "RAND_bytes":
            self._drew(frame, "ssl.RAND_bytes")
        elif name in _DRAWS:
            if isinstance(called.__self__, random.Random) and not self._is_made(called.__self__):
                self.drawn.note(called.__self__)
                self._drew(frame, f"random.{name}")
        elif name in _SETTERS and isinstance(called.__self__, random.Random):
            is_new = frame.f_back is not None and frame.f_back.f_code is random.Random.__init__.__code__
            if not is_new and not self._is_made(called.__self__):
                self.drawn.note(called.__self__)
                self._drew(frame, f"random.{name}")
            elif frame.f_locals.get("a") is not None:
                self.made.append(called.__self__)

    def _watch_lines(self, frame: FrameType, lines: dict[int, str]) -> None:
        """Check whether any of these lines of a starting function runs, unless a debugger watches them."""

        def at_line(frame: FrameType, event: str, arg: Any) -> Any:
            if event == "line" and frame.f_lineno in lines:
                self._read(frame, lines[frame.f_lineno])
            return at_line

        if sys.gettrace() is None:
            sys.settrace(_not_traced)
        if sys.gettrace() is _not_traced:
            frame.f_trace = at_line

    def _is_made(self, generator: Any) -> bool:
        return any(generator is one for one in self.made)

    def _read(self, frame: FrameType, what: str) -> None:
        if not self.clocks:
            return
        what, asking = _asking(frame, what)
        if asking is None or is_library(asking.f_code.co_filename) or self._is_others(asking):
            return
        self.error = self.error or ClockError(
            f"{what} was called while tracing {describe(self.function)}: the time would be frozen into the program, "
            "the same at each run. Read the clock outside, and pass what you need as an argument",
            _line(asking),
        )

    def _drew(self, frame: FrameType, what: str) -> None:
        what, asking = _asking(frame, what)
        if asking is None or is_library(asking.f_code.co_filename) or self._is_incidental(asking):
            return
        if frame.f_code is _SYSTEM_DRAW and (
            unseeded := sorted(_UNSEEDED.intersection(asking.f_code.co_names))
        ):
            self.error = self.error or RandomStateError(
                f"np.random.{unseeded[0]}() without a seed was called while tracing {describe(self.function)}: the "
                "seed that it takes from the system would be frozen into the graph. Give it a seed, as in "
                "np.random.default_rng(0), or pass the random numbers as an argument",
                _line(asking),
            )
        self.error = self.error or RandomStateError(
            f"{what} was called while tracing {describe(self.function)}: its number would be frozen into the graph. "
            "Draw from a generator of tracemill.random.default_rng, or outside, and pass the result as an argument",
            _line(asking),
        )

    def _is_incidental(self, frame: FrameType) -> bool:
        """Whether a draw is not the function's own: one for the name of a file, or in an internal package."""
        above: FrameType | None = frame
        while above is not None and self._is_others(above):
            if "importlib" in above.f_code.co_filename:  # a module that is being imported
                return True
            above = above.f_back
        is_ours = above is None or is_library(above.f_code.co_filename)
        return is_ours or frame.f_globals.get("__name__") == "tempfile"

    def _is_others(self, frame: FrameType) -> bool:
        """Whether this is code of the standard library, or of an installed package other than the function's own."""
        file = frame.f_code.co_filename
        if not file.startswith((STANDARD, "<frozen")) and not any(part in file for part in INSTALLED):
            return False
        own = str(getattr(self.function, "__module__", "")).partition(".")[0]
        return str(frame.f_globals.get("__name__")).partition(".")[0] != own


def _is_hook(frame: FrameType) -> bool:
    """Whether this is between the user's converted code and what it calls."""
    return ".runtime.staging." in str(frame.f_globals.get("__name__"))


def _asking(frame: FrameType, what: str) -> tuple[str, FrameType | None]:
    """The caller and the called function, through Python functions that draw on behalf of others."""
    asking: FrameType | None = frame
    while asking is not None:
        name = asking.f_globals.get("__name__")
        if name in _PASSING_ON:
            what = f"{name}.{asking.f_code.co_name}"
        elif not _is_hook(asking):
            break
        asking = asking.f_back
    return what, asking


def _line(frame: FrameType) -> Location:
    return location_at(frame.f_code.co_filename, frame.f_lineno)


def _not_traced(frame: FrameType, event: str, arg: Any) -> None:
    """A trace function that follows no function: Python only reports lines of others while there is one."""


@lru_cache(maxsize=4096)
def _is_given(code: CodeType, offset: int, place: int) -> bool:
    """Whether the call at this instruction has an argument at that position, other than None."""
    before: list[dis.Instruction] = []
    for instruction in dis.get_instructions(code):
        if instruction.offset >= offset:
            loads = [one for one in before if one.opname not in ("PRECALL", "KW_NAMES", "CACHE")]
            is_none = bool(loads) and loads[-1].opname == "LOAD_CONST" and loads[-1].argval is None
            count = instruction.arg if instruction.opname in ("CALL", "CALL_KW", "PRECALL") else None
            return count is None or count > place + is_none
        before.append(instruction)
    return True


@lru_cache(maxsize=4096)
def _lines_of_now(code: CodeType) -> dict[int, str]:
    """The lines that call ``np.datetime64("now")`` or ``("today")``, and what they call."""
    found: dict[int, str] = {}
    last: dis.Instruction | None = None
    for instruction in dis.get_instructions(code):
        if instruction.opname in (
            "PUSH_NULL",
            "CACHE",
            "PRECALL",
            "CALL",
        ):  # converted code calls a hook in between
            continue
        is_called = last is not None and last.argval == "datetime64"
        line = instruction.positions.lineno if instruction.positions is not None else None
        if (
            is_called
            and instruction.opname == "LOAD_CONST"
            and line is not None
            and instruction.argval in _NOW
        ):
            found[line] = f'np.datetime64("{instruction.argval}")'
        last = instruction
    return found


def may_be_impure(reached: Iterable[Any]) -> bool:
    """Whether code among these objects, which are all that it reaches, could read a clock or draw."""
    return any(
        is_impure(value) or (isinstance(value, FunctionType) and not _NAMED.isdisjoint(names_used(value)))
        for value in reached
    )


def is_impure(value: Any) -> bool:
    """Whether this is a module, a class, a generator or a function that draws or reads a clock."""
    if isinstance(value, ModuleType):
        return value.__name__ in _MODULES
    if isinstance(value, type):
        return issubclass(value, (datetime.date, random.Random))
    if isinstance(value, (BuiltinFunctionType, FunctionType)):
        is_named = value.__module__ in _MODULES or value.__name__ in _NAMED
        return is_named or isinstance(getattr(value, "__self__", None), random.Random)
    return isinstance(value, random.Random)
