"""Context managers in the user's `with` statements. They may see and swallow exceptions of the program."""

import contextlib
from types import FunctionType
from typing import Any

from ....compiler.callers.user_code import is_users
from ....compiler.tracing.exceptions.handlers import handling
from ....compiler.tracing.exceptions.numpys_own import numpys_own
from ....compiler.tracing.exceptions.own_errors import pass_on
from ....compiler.tracing.trace import current_trace, require_trace
from ..operators import users_method


def managed(manager: Any) -> Any:
    """The context manager that ``with`` enters. The methods of a user's class run converted."""
    if current_trace() is None or not _may_swallow(manager):
        return manager
    methods = (users_method(manager, name) for name in ("__enter__", "__exit__"))
    enter, leave = (None if own is None else _without_self(own) for own in methods)
    return _Managed(manager, enter or type(manager).__enter__, leave or type(manager).__exit__)


def _without_self(method: Any) -> Any:
    return lambda _, *given: method(*given)


def _may_swallow(manager: Any) -> bool:
    """Whether a context manager may end exceptions: one of a user's class or generator, or of `contextlib`."""
    leave = getattr(type(manager), "__exit__", None)
    if not isinstance(leave, FunctionType) or isinstance(manager, contextlib.nullcontext):
        return False
    return is_users(leave.__code__.co_filename) or leave.__module__ == "contextlib"


class _Managed:
    """A context manager that may handle any exception of its block, and so also indices out of bounds."""

    def __init__(self, manager: Any, enter: Any, leave: Any) -> None:
        self._manager, self._enter, self._leave = manager, enter, leave
        self._handling = handling(lambda: IndexError)

    def __enter__(self) -> Any:
        found = self._enter(self._manager)
        self._handling.__enter__()
        return found

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> Any:
        self._handling.__exit__()
        seen = error if error is None or require_trace().is_evaluating else numpys_own(error)
        found = self._leave(self._manager, kind if seen is None else type(seen), seen, traceback)
        if found and error is not None:
            pass_on(error)
        return found
