"""Values that NumPy refuses: by an error at once where they are known, and otherwise when the program runs."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from ...builder import bind_all
from ...errors import ArgumentValueError
from ...message_values import MessageValues
from ...tracing.array_values import as_value
from ...tracing.trace import require_trace
from ...tracing.traced_memory import is_traced
from ...tracing.values_in_call import guarded_truth
from ...users_errors import attach_values, noted

_GUARD: ContextVar[Any] = ContextVar("guard", default=None)
"""Where it is true, Python would run the current code. Elsewhere the code is only computed, and raises nothing."""


@contextmanager
def guarded(test: Any) -> Generator[None]:
    """Within the block, the program raises errors only where the test is true."""
    before = _GUARD.get()
    token = _GUARD.set(test if before is None else np.logical_and(before, test))
    try:
        yield
    finally:
        _GUARD.reset(token)


def if_run(condition: Any) -> Any:
    """Whether a condition is true and Python would run the current code."""
    guard = _GUARD.get()
    return condition if guard is None else np.logical_and(condition, guard)


_HANDLERS: ContextVar[tuple[Callable[[], Any], ...]] = ContextVar("handlers", default=())
"""The classes of the exceptions that enclosing `try` statements of the user's handle, outermost first."""


class handling:  # noqa: N801 (it reads like a function)
    """Within the block, handlers of the user's wait for exceptions of these classes."""

    __slots__ = ("_before", "_classes")

    def __init__(self, classes: Callable[[], Any]) -> None:
        self._classes = classes

    def __enter__(self) -> None:
        self._before = _HANDLERS.get()
        _HANDLERS.set((*self._before, self._classes))

    def __exit__(self, *failure: object) -> None:
        _HANDLERS.set(self._before)


def raise_if_handled(condition: Any, error: Exception) -> bool:
    """Where a handler of the user's waits for an exception, raise it now if the condition holds in the call at hand.

    Whether this settled the matter. Otherwise the program has to raise the exception.
    """
    holds = holds_for_handler(condition, error)
    if holds:
        raise error
    return holds is not None


def holds_for_handler(condition: Any, error: Exception) -> bool | None:
    """Whether the condition of an exception for which a handler of the user's waits holds in the call at hand.

    The program is then for calls in which the condition is the same. None if no handler waits, or if the condition is
    that of an iteration or a branch, which is not known.
    """
    handlers = _HANDLERS.get()
    if not handlers or not any(_handles(classes, error) for classes in handlers):
        return None
    return guarded_truth(
        require_trace(), as_value(condition), f"whether {type(error).__name__} is raised in a `try`"
    )


def _handles(classes: Callable[[], Any], error: Exception) -> bool:
    try:
        return isinstance(error, classes())
    except Exception:  # Python evaluates the classes only if there is an exception, and then raises this one
        return False


def refuse_values(
    condition: Any, message: str, error: type[Exception] = ValueError, *, shown_values: Sequence[Any] = ()
) -> None:
    """Raise NumPy's error if the condition holds anywhere; the message shows `shown_values` in its braces."""
    condition = if_run(condition)
    known = condition.concrete() if is_traced(condition) else condition
    if known is None:
        marks = MessageValues()
        shown = [marks.mark(one, ":") if is_traced(one) else one for one in shown_values]
        raised = error(message.format(*shown) if shown_values else message)
        if raise_if_handled(condition, raised):
            return
        attach_values(raised, marks)
        text, values = noted(raised, None)
        bind_all("raise_if", as_value(condition), *map(as_value, values), error=text)
    elif known.any():
        numbers = [one.concrete() if is_traced(one) else one for one in shown_values]
        text = message.format(*numbers) if shown_values else message
        raise ArgumentValueError(text) if error is ValueError else error(text)
