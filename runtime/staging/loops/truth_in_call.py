"""Which branch the current call takes, where no program can hold both."""

from typing import Any

from ....compiler.errors import ConcretizationError, SideEffectError
from ....compiler.tracing.values_in_call import guarded_value
from .unrolling import raise_to_tell_apart


def truth_in_call(test: Any, failure: Exception, what: str) -> bool:
    """Whether a test holds in the current call, for which the program is then made: `failure` says why it cannot hold
    both branches. Raises it if that is not known."""
    raise_to_tell_apart(failure)
    known = guarded_value(test._trace, test.value, f"the test of {what} that a program cannot hold")
    if known is not None:
        return bool(known)
    if not isinstance(failure, SideEffectError) and test._trace.numbers_used_by(test.value):
        ask_for_value(test, wanted=type(failure) is not ConcretizationError)
    raise failure


def ask_for_value(test: Any, *, wanted: bool) -> None:
    """Have the function traced again, for the values of the arguments that decide a test."""
    try:
        bool(test)
    except ConcretizationError as error:
        error.wants_values = wanted
        raise
