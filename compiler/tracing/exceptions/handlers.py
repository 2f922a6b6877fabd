"""The user's exception handlers around the code that is being traced: `try` statements and context managers.

A handler sees an exception if its condition is known for the current call; the program is then for calls with the same
answer. All other exceptions, such as those of an iteration or NumPy's for a singular matrix, are left to Python: if
the program raises one, the function itself runs.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from ..array_values import as_value
from ..trace import RAISES_ON_VALUES, Trace, current_trace, require_trace
from ..values_in_call import guarded_truth

_HANDLERS: ContextVar[tuple[Callable[[], Any], ...]] = ContextVar("handlers", default=())
"""The exception classes that the user's enclosing `try` statements handle, outermost first."""


class handling:  # noqa: N801 (it reads like a function)
    """Within the block, the user's handlers wait for exceptions of these classes."""

    __slots__ = ("_before", "_checked", "_classes", "_trace")

    def __init__(self, classes: Callable[[], Any]) -> None:
        self._classes = classes

    def __enter__(self) -> None:
        self._before = _HANDLERS.get()
        _HANDLERS.set((*self._before, self._classes))
        self._trace = fall_back()
        self._checked = self._trace is not None and self._trace.checks_bounds
        if self._trace is not None and not self._checked and _may_handle_bad_index(self._classes):
            self._trace.checks_bounds = RAISES_ON_VALUES.get()

    def __exit__(self, *failure: object) -> None:
        _HANDLERS.set(self._before)
        if self._trace is not None:
            self._trace.checks_bounds = self._checked


def fall_back() -> Trace | None:
    """Note that the function itself must run if the program raises an error, because Python may not raise it.

    Returns the trace, if there is one.
    """
    trace = current_trace()
    if trace is not None:
        trace.outermost().falls_back = True
    return trace


def raise_if_handled(condition: Any, error: Exception) -> bool:
    """If one of the user's handlers waits for an exception, raise it now if the condition holds in the current call.

    Returns whether the answer is known. If it is not, the program has to raise the exception.
    """
    holds = holds_for_handler(condition, error)
    if holds:
        raise error
    return holds is not None


def holds_for_handler(condition: Any, error: Exception) -> bool | None:
    """Whether the condition of an exception holds in the current call, if one of the user's handlers waits for it.

    The program is then for calls with the same answer. None if no handler waits, or if the condition is not known
    because it belongs to an iteration or a branch.
    """
    if not is_handled(error):
        return None
    return guarded_truth(
        require_trace(), as_value(condition), f"whether {type(error).__name__} is raised in a `try`"
    )


def is_handled(error: Exception) -> bool:
    """Whether a handler of the user's waits for an exception."""
    return any(_handles(classes, error) for classes in _HANDLERS.get())


def _handles(classes: Callable[[], Any], error: Exception) -> bool:
    try:
        return isinstance(error, classes())
    except Exception:  # Python evaluates the classes only if there is an exception, and then raises this one
        return False


def _may_handle_bad_index(classes: Callable[[], Any]) -> bool:
    """Whether a handler may wait for an index out of bounds."""
    try:
        return isinstance(IndexError(), classes())
    except Exception:  # values decide the class
        return True
