"""`maker`: how converted code makes an object of a user's class."""

import sys
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from ...compiler.callers.user_code import is_users
from ...compiler.frontend.conversion import call_converted
from ...compiler.frontend.reached import note_made


def maker(made: type) -> Callable[..., Any]:
    """A function that makes an object of a user's class with its ``__init__`` converted; any other class itself."""
    if not _is_users(made):
        return made
    start: Any = made.__init__  # type: ignore[misc]
    create: Any = made.__new__
    is_plain = type(made) is type and create is object.__new__ and isinstance(start, FunctionType)

    def make(*given: Any, **more: Any) -> Any:
        new: Any = object.__new__(made) if is_plain else made(*given, **more)
        note_made(new)
        if is_plain:
            call_converted(MethodType(start, new), *given, **more)
        return new

    return make


def _is_users(made: type) -> bool:
    return is_users(getattr(sys.modules.get(made.__module__), "__file__", None) or "<frozen>")
