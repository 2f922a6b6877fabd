"""Values that NumPy refuses: by an error at once where they are known, and otherwise when the program runs."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from ...builder import bind_all
from ...dtypes import INT64, DType
from ...errors import ArgumentValueError
from ...message_values import MessageValues
from ...tracing.array_values import as_value
from ...tracing.exceptions.handlers import raise_if_handled
from ...tracing.traced_memory import is_traced
from ...users_errors import attach_values, named

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


def refuse_values(
    condition: Any, message: str, error: type[Exception] = ValueError, *, shown_values: Sequence[Any] = ()
) -> None:
    """Raise NumPy's error if the condition holds anywhere; the message shows `shown_values` in its braces."""

    def raised_now() -> Exception:
        numbers = [one.concrete() if is_traced(one) else one for one in shown_values]
        text = message.format(*numbers) if shown_values else message
        return ArgumentValueError(text) if error is ValueError else error(text)

    def raised_later() -> Exception:
        marks = MessageValues()
        shown = [marks.mark(one, ":") if is_traced(one) else one for one in shown_values]
        found = error(message.format(*shown) if shown_values else message)
        attach_values(found, marks)
        return found

    raise_where(condition, raised_now, raised_later)


def raise_where(
    condition: Any, now: Callable[[], Exception], later: Callable[[], Exception], *, is_pythons: bool = True
) -> None:
    """Raise an error if the condition holds anywhere. `now` makes the error if that is known; otherwise `later` makes
    the error of the program. The user's handlers only see errors that Python raises, too (`is_pythons`)."""
    condition = if_run(condition)
    known = condition.concrete() if is_traced(condition) else condition
    if known is not None:
        if np.any(known):
            raise now()
        return
    error = later()
    if not (is_pythons and raise_if_handled(condition, error)):
        found = named(error)
        bind_all("raise_if", as_value(condition), *map(as_value, found.values), error=found.text)


def refuse_unfit(x: Any, dtype: DType) -> None:
    """Raise NumPy's error where a Python int that meets an array of narrower integers is out of their bounds.

    In branches and iterations, Python's ints have 64 bits and wrap around.
    """
    if not (is_traced(x) and x.weak is int and dtype.kind in "iu" and dtype != INT64):
        return
    if x._trace.parent is not None or not x._trace.depends_on_arguments(x.value):
        return
    limits = np.iinfo(dtype)
    is_unfit = np.less(x, int(limits.min))
    if dtype.itemsize < INT64.itemsize:
        is_unfit = np.logical_or(is_unfit, np.greater(x, int(limits.max)))
    refuse_values(
        is_unfit, f"Python integer {{}} out of bounds for {dtype}", OverflowError, shown_values=(x,)
    )
