"""Errors that only tracing raises. The user's handlers must not see them, because Python would not raise them."""

from collections.abc import Callable
from typing import Any, Final

from ...errors import (
    ArgumentTypeError,
    ArgumentValueError,
    DTypeError,
    ImmutableScalarError,
    OutOfBoundsError,
    ReadOnlyError,
    ShapeError,
    TracemillError,
)
from ..trace import current_trace
from ..tracing_again import needs_value, wants_pythons_number
from ..values_in_call import FOLLOWS

LIKE_NUMPYS: Final = (
    ArgumentTypeError,
    ArgumentValueError,
    DTypeError,
    ImmutableScalarError,
    OutOfBoundsError,
    ReadOnlyError,
    ShapeError,
)
"""The errors that stand for NumPy's own."""


def pass_on(error: BaseException, classes: Callable[[], Any] = lambda: ()) -> None:
    """Raise an error again after a handler for these classes has caught it, if only tracing raises such errors.

    A handler that names an error class of Tracemill sees the error.
    """
    found = _own_error(error)
    if found is not None and not _is_named(found, classes):
        raise found


def is_refusal(error: BaseException | None) -> bool:
    """Whether an error says that Tracemill cannot do something, and does not stand for one of NumPy's."""
    return isinstance(error, TracemillError) and not isinstance(error, LIKE_NUMPYS)


def _own_error(error: BaseException) -> Exception | None:
    """The error of tracing that an exception is, or contains; None if Python raises the same."""
    trace = current_trace()
    if trace is None or not isinstance(error, Exception):
        return None
    if isinstance(error, ExceptionGroup):
        return next((found for one in error.exceptions if (found := _own_error(one)) is not None), None)
    if isinstance(error, TracemillError):
        return None if isinstance(error, LIKE_NUMPYS) else error
    if isinstance(error, UnboundLocalError):  # a branch that is traced sets the variable
        return None if trace.is_evaluating or FOLLOWS.get() else error
    return needs_value(trace, error) if wants_pythons_number(trace, error) else None


def _is_named(error: Exception, classes: Callable[[], Any]) -> bool:
    found = classes()
    named = found if isinstance(found, tuple) else (found,)
    return any(
        isinstance(one, type) and issubclass(one, TracemillError) and isinstance(error, one) for one in named
    )
