"""The user's exception handlers around the code that is being traced: `try` statements and context managers.

A handler sees an exception if its condition is known for the current call; the program is then for calls with the same
answer. All other exceptions, such as those of an iteration or NumPy's for a singular matrix, are left to Python: if
the program raises one, the function itself runs.
"""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

from ...callers.user_code import user_location
from ...errors import ConcretizationError
from ...ir import Call, called
from ...op import failure_of
from ..array_values import as_value
from ..trace import RAISES_ON_VALUES, Trace, current_trace, require_trace
from ..values_in_call import guarded_truth

_HANDLERS: ContextVar[tuple[Callable[[], Any], ...]] = ContextVar("handlers", default=())
"""The exception classes that the user's enclosing `try` statements handle, outermost first."""


class handling:  # noqa: N801 (it reads like a function)
    """Within the block, the user's handlers wait for exceptions of these classes."""

    __slots__ = ("_before", "_checked", "_classes", "_trace", "_waiting")

    def __init__(self, classes: Callable[[], Any]) -> None:
        self._classes = classes

    def __enter__(self) -> None:
        self._before = _HANDLERS.get()
        _HANDLERS.set((*self._before, self._classes))
        self._trace = fall_back()
        self._waiting = 0 if self._trace is None else self._trace.waiting
        self._checked = self._trace is not None and self._trace.checks_bounds
        if self._trace is not None and not self._checked and _may_handle_bad_index(self._classes):
            self._trace.checks_bounds = RAISES_ON_VALUES.get()

    def __exit__(self, *failure: object) -> None:
        _HANDLERS.set(self._before)
        if self._trace is not None:
            self._trace.checks_bounds = self._checked
            if self._trace.waiting > self._waiting:
                _note_handler(self._trace, self._classes)
            if self._trace.outermost().is_ahead and RAISES_ON_VALUES.get():
                _note_errors(self._trace, self._trace.calls[self._waiting :], self._classes)


def _note_handler(trace: Trace, classes: Callable[[], Any]) -> None:
    """Note, in this trace and those around it, that calls inside the block are computed after it."""
    inner: Trace | None = trace
    while inner is not None:
        inner.handled_later.append(classes)
        inner = inner.parent


def _note_errors(trace: Trace, calls: Sequence[Call], classes: Callable[[], Any]) -> None:
    """Note errors that the program may raise for these calls, although the user's handlers wait for them."""
    for call in calls:
        failure = failure_of(call)
        if failure is not None and _handles(classes, failure()):
            trace.outermost().unhandled_errors.append((failure, call.location))
        if call.op == "check_index" and _handles(classes, IndexError()):
            trace.outermost().unhandled_errors.append((IndexError, call.location))
        for graph in called((call,)):
            _note_errors(trace, graph.calls, classes)


def fall_back() -> Trace | None:
    """Note that the function itself must run if the program raises an error, because Python may not raise it.

    Returns the trace, if there is one.
    """
    trace = inner = current_trace()
    while inner is not None:
        inner.falls_back = True
        inner = inner.parent
    return trace


def raise_if_handled(condition: Any, error: BaseException) -> bool:
    """If one of the user's handlers waits for an exception, raise it now if the condition holds in the current call.

    Returns whether the answer is known. If it is not, the program has to raise the exception.
    """
    holds = holds_for_handler(condition, error)
    if holds:
        raise error
    return holds is not None


def holds_for_handler(condition: Any, error: BaseException) -> bool | None:
    """Whether the condition of an exception holds in the current call, if one of the user's handlers waits for it.

    The program is then for calls with the same answer. None if no handler waits, or if the condition is not known
    because it belongs to an iteration or a branch.

    Raises:
        ConcretizationError: it is not known whether an iterator ends. What takes its items would never come to an end.
    """
    if not is_handled(error):
        return None
    trace = require_trace()
    what = "an iterator ends" if _ends_iterator(error) else f"{type(error).__name__} is raised in a `try`"
    holds = guarded_truth(trace, as_value(condition), f"whether {what}")
    if holds is None and _ends_iterator(error):
        raise _unknown_end()
    if holds is None and RAISES_ON_VALUES.get():
        trace.outermost().unhandled_errors.append((type(error), user_location()))
    return holds


def follow_if_handled(where: str, error: Exception, names: Sequence[str] = ()) -> None:
    """Let the program follow the current call if a branch raises an exception that a handler of the user's waits for.

    The handler must not see it where Python does not run the branch, and would not see the `names` that it has set.
    """
    can_follow = require_trace().outermost().is_kept
    if not is_handled(error) or not (names or can_follow):
        return
    after = (
        f", after it has set `{names[0]}`: set it before the `try`, or raise the exception first"
        if names
        else ""
    )
    refusal = ConcretizationError(
        f"{where} raises {type(error).__name__}, which a `try` around it handles{after}", user_location()
    )
    refusal.wants_following = True
    raise refusal from None


def is_handled(error: BaseException, within: int = 0) -> bool:
    """Whether a handler of the user's waits for an exception, not counting the `within` outermost ones.

    What takes the items of an iterator, such as `for`, `list` or `next` with a default, waits for its end.
    """
    return _ends_iterator(error) or any(_handles(classes, error) for classes in _HANDLERS.get()[within:])


def _ends_iterator(error: BaseException) -> bool:
    return isinstance(error, StopIteration)


def _unknown_end() -> ConcretizationError:
    """The error for ``raise StopIteration`` under a condition that no one knows while tracing."""
    found = ConcretizationError(
        "`raise StopIteration` under a condition on values: each example, iteration or branch would take another "
        "number of items from this iterator. Use a `while` loop instead, whose test is the condition",
        user_location(),
    )
    found.wants_following = True
    return found


def handler_count() -> int:
    """How many handlers of the user's are around the code that is being traced."""
    return len(_HANDLERS.get())


def is_handled_later(trace: Trace, error: BaseException) -> bool:
    """Whether the function may handle an error of calls that are computed after it."""
    return any(_handles(classes, error) for classes in trace.handled_later)


def _handles(classes: Callable[[], Any], error: BaseException) -> bool:
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
