"""Which failures of a trace may be mended by tracing the function again, and how."""

import re
import struct
from contextvars import ContextVar
from typing import Final

from ..callers.user_code import OPERATORS, users_line_of
from ..errors import ConcretizationError, SharedMemoryError, SideEffectError
from .sharing import TELLS_APART
from .trace import Trace
from .values_in_call import ARGUMENTS, FOLLOWS

_VALUE_NEEDED: Final = re.compile(
    r"(?:not|from|object of type) '?traced array\b|'traced array' object cannot be |a Rational instance|be Rational",
    re.IGNORECASE,
)
"""What Python says where it takes only its own numbers."""
_NUMBER_NEEDED: Final = re.compile("an integer is required|required argument is not an? (float|integer)")
"""What it says there without naming what it got."""


def mode_for(error: Exception, *, can_follow: bool) -> "ContextVar[bool] | None":
    """What to trace a function with that failed without; None if nothing may help."""
    if isinstance(error, SideEffectError) and error.runs_uncompiled:
        return None
    if isinstance(error, SharedMemoryError) and not TELLS_APART.get():
        return TELLS_APART
    is_of_values = isinstance(
        error, SharedMemoryError | UnboundLocalError
    ) or (  # only one branch sets the variable
        isinstance(error, ConcretizationError) and error.wants_following
    )
    if not is_of_values and not OPERATORS.get() and may_need_operators(error):
        return OPERATORS
    needs_numbers = isinstance(error, ConcretizationError) and bool(error.numbers)  # for the signature
    return FOLLOWS if can_follow and not needs_numbers and ARGUMENTS.get() and not FOLLOWS.get() else None


def may_need_operators(error: Exception) -> bool:
    """Whether hooks for operators may help. They do not if the program needs the size of an argument."""
    if isinstance(error, ConcretizationError):
        return type(error) is ConcretizationError and (
            not error.numbers or (error.message.startswith("bool(x)") and not error.wants_values)
        )
    return True


def wants_pythons_number(record: Trace, error: BaseException) -> bool:
    """Whether code such as ``json.dumps``, `struct` or `decimal` refuses a traced number."""
    text, outermost = str(error), record.outermost()
    if type(error) is TypeError and _VALUE_NEEDED.search(text):
        return True
    has_numbers = outermost.is_kept and bool(outermost.numbers)  # otherwise it refuses something else
    return has_numbers and isinstance(error, TypeError | struct.error) and bool(_NUMBER_NEEDED.search(text))


def names_needed_value(text: str) -> bool:
    """Whether the text of an error may be that of code which takes only Python's own numbers."""
    return bool(_VALUE_NEEDED.search(text) or _NUMBER_NEEDED.search(text))


def needs_value(record: Trace, error: BaseException) -> ConcretizationError:
    """The error for code that takes only Python's own numbers, such as ``json.dumps``, and got a traced one."""
    outermost = record.outermost()
    found = ConcretizationError(
        f"{str(error).replace('traced array', 'a traced number or array')}. Its value is not known while tracing: do "
        "this outside the function, with its result",
        users_line_of(error),
    )
    found.numbers = frozenset(outermost.numbers.values()) if outermost.is_kept else frozenset()
    found.is_of_text, found.act = not found.numbers, "gives a number to code that needs its value"
    return found
