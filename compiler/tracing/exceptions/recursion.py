"""Recursive functions while they are traced, if values would end the recursion."""

import sys
from collections import Counter
from collections.abc import Iterable
from types import CodeType, FrameType
from typing import Final

from ...callers.user_code import CONVERTS, is_users, location_at
from ...errors import ConcretizationError
from ..trace import current_trace
from ..values_in_call import ARGUMENTS, FOLLOWS

_MANY_CALLS: Final = 10
"""A function that occurs more often in a traceback is recursive."""
_FRAMES_OF_BRANCH: Final = 8
"""A branch that is traced takes more frames of Tracemill's than this."""
_DEEP: Final = 8
"""With more nested branches than this, a recursive function is better traced along the path of the current call."""
_REPEATED: Final = 3
"""A function with more frames than this on the stack is recursive."""


def recursive_code(error: RecursionError) -> CodeType | None:
    """The user's function that occurs most often in an endless recursion through branches, both of which are traced.

    None if there is none. A recursion without branches has more frames of the user's, as in Python.
    """
    codes: list[CodeType] = []
    step = error.__traceback__
    while step is not None:
        codes.append(step.tb_frame.f_code)
        step = step.tb_next
    code = _most_frequent(codes, _MANY_CALLS)
    if code is None or codes.count(code) >= sys.getrecursionlimit() // _FRAMES_OF_BRANCH:
        return None
    return code


def refuse_recursion() -> None:
    """Refuse a branch that recursion has nested deep inside others, if the path of the current call can be followed
    instead."""
    depth, trace = 0, current_trace()
    outermost = trace
    while trace is not None:
        depth, outermost, trace = depth + 1, trace, trace.parent
    can_follow = outermost is not None and outermost.is_kept and CONVERTS.get() and ARGUMENTS.get()
    if depth <= _DEEP or not can_follow or FOLLOWS.get():
        return
    codes: list[CodeType] = []
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        codes.append(frame.f_code)
        frame = frame.f_back
    code = _most_frequent(codes, _REPEATED)
    if code is not None:
        raise recursion_error(code)


def _most_frequent(codes: Iterable[CodeType], number: int) -> CodeType | None:
    """The user's function that occurs most often, if it occurs more than `number` times."""
    count = Counter(code for code in codes if is_users(code.co_filename))
    code, calls = count.most_common(1)[0] if count else (None, 0)
    return code if calls > number else None


def recursion_error(code: CodeType) -> ConcretizationError:
    """The error for a function that calls itself without end."""
    error = ConcretizationError(
        f"`{code.co_name}` calls itself while it is traced, and no number that tracing knows ends that. Write a "
        "loop, `while`, with an array as its stack, or let an int argument decide how deep it goes",
        location_at(code.co_filename, code.co_firstlineno),
    )
    error.is_recursion = True
    return error
