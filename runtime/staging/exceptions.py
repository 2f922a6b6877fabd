"""`raised`: an exception in converted code, whose text may show values that only the program knows."""

from collections.abc import Callable
from typing import Any

from ...compiler.told_values import TELLING, Told
from ...compiler.tracing.trace import current_trace
from ...compiler.users_errors import tell


def raised(make: Callable[[], Any]) -> Any:
    """An exception that is about to be raised: the program fills in the values that its text shows."""
    if current_trace() is None:
        return make()
    told = Told()
    token = TELLING.set(told)
    try:
        error = make()
    finally:
        TELLING.reset(token)
    if told.values and isinstance(error, Exception):
        tell(error, told)
    return error
