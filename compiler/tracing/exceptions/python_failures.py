"""Errors that Python raises in a branch or an iteration of the user's function, where no `raise` stands."""

import re
from typing import Final

from ...callers.user_code import calls_users, is_own, is_raise, last_step, users_line_of
from ...errors import TracemillError
from ...ir import Location
from ..tracing_again import names_needed_value
from .handlers import fall_back

_OF_CODE: Final = (AttributeError, ImportError, NameError, TypeError, ValueError)
"""What Python raises for a missing attribute, name or module, and for a value or a type that an operation refuses."""
_STAND_INS: Final = re.compile(r"\b(TracedArray|SymbolicSize|Dim|OneOf|StagedRange)\b")
"""The classes that stand for the user's values while tracing."""


def line_of_failure(error: BaseException) -> Location | None:
    """The user's line at which Python failed, as at a missing key or attribute; None for errors that only tracing has.

    A failure that has to do with types may be one of tracing after all: if the program raises it, the function itself
    runs.
    """
    if isinstance(error, LookupError | ZeroDivisionError):
        return users_line_of(error)
    if not isinstance(error, _OF_CODE) or not _is_pythons(error):
        return None
    fall_back()
    return users_line_of(error)


def _is_pythons(error: Exception) -> bool:
    """Whether Python raised an error in the user's code or for an operator of it, and not because of tracing."""
    if isinstance(error, TracemillError | UnboundLocalError) or error.__cause__ is not None:
        return False
    last = last_step(error)
    if last is None or is_raise(last):
        return False
    file, text = last.tb_frame.f_code.co_filename, str(error)
    is_of_tracing = is_own(file) and not calls_users(file)
    return not (is_of_tracing or _STAND_INS.search(text) or names_needed_value(text))
