"""`refusing_unseen_prints`: while a function is traced, no code of the user prints that runs without hooks.

Python calls special methods and properties where converted code has no hook, as the ``__hash__`` of a key, and
libraries call functions that they are given. What such code prints would appear once, when the function is traced. A
profile function, which Python asks before each call, stops it: nothing has been printed by then, and the function runs
uncompiled.
"""

import dis
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import CodeType, FrameType, FunctionType
from typing import Any, Final

from ...callers.signal_handlers import in_signal_handler
from ...callers.user_code import CONVERTS, is_called_by_traced_code, is_users, location_at
from ..trace import current_trace
from .system_calls import act_error
from .users_classes import is_users_class

_FUNCTIONS: Final = frozenset({"print", "warn"})
_METHODS: Final = frozenset("critical debug error exception info warn warning write writelines".split())
"""Methods of loggers and of files."""


def prints(code: CodeType) -> bool:
    """Whether code, or an inner function, prints, logs, warns or writes, to judge by the names that it calls."""
    return (
        not _FUNCTIONS.isdisjoint(code.co_names)
        or (not _METHODS.isdisjoint(code.co_names) and _calls_method(code))
        or any(prints(one) for one in code.co_consts if isinstance(one, CodeType))
    )


@lru_cache(4096)
def _calls_method(code: CodeType) -> bool:
    return any(
        step.argval in _METHODS and (step.opname == "LOAD_METHOD" or "NULL|self" in step.argrepr)
        for step in dis.get_instructions(code)
    )


def unseen_prints(reached: Iterable[Any]) -> frozenset[CodeType]:
    """The code of functions that print, if something that is `reached` may call them without hooks."""
    functions, classes = list[FunctionType](), set[type]()
    for one in reached:
        if isinstance(one, FunctionType):
            functions.append(one)
        else:
            classes.update((one if isinstance(one, type) else type(one)).__mro__)
    members = [member for kind in classes if is_users_class(kind) for member in _functions_of(kind)]
    codes = {one.__code__ for one in (*functions, *members) if is_users(one.__code__.co_filename)}
    return frozenset(filter(prints, codes if members else ()))


def _functions_of(kind: type) -> Iterator[FunctionType]:
    """The methods of a class, and the functions of its properties."""
    for member in vars(kind).values():
        parts = (getattr(member, name, None) for name in ("fget", "fset", "func", "__func__"))
        yield from (one for one in (member, *parts) if isinstance(one, FunctionType))


@contextmanager
def refusing_unseen_prints(codes: frozenset[CodeType]) -> Generator[None]:
    """Refuse to run the original code of functions, rather than the converted one, for a program that is kept.

    Raises:
        SideEffectError: such code was to run. A compiled function then runs uncompiled.
    """
    outer: Any = sys.getprofile()
    if not codes or (outer is not None and not callable(outer)):
        yield
        return

    def watch(frame: FrameType, event: str, called: Any) -> None:
        if event == "call" and frame.f_code in codes:
            _refuse(frame)
        if outer is not None:
            outer(frame, event, called)

    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(outer)


def _refuse(frame: FrameType) -> None:
    trace, code = current_trace(), frame.f_code
    if trace is None or not trace.outermost().is_kept or not CONVERTS.get():
        return
    if (
        code.co_name == "__del__"
        or not is_called_by_traced_code(frame)
        or in_signal_handler(_refuse.__code__, frame)
    ):
        return
    raise act_error(
        trace, f"calls {code.co_qualname}, which prints,", location_at(code.co_filename, code.co_firstlineno)
    )
