"""Whether functions may change something that others see, judged by their code and by what it can reach."""

import dis
from collections import deque
from collections.abc import Callable
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, Final

from ...compiler.callers.user_code import is_library
from ..eager.reached_objects import reached_objects

_OUTSIDE: Final = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "YIELD_VALUE"})
_ENTRIES: Final = frozenset({"STORE_SUBSCR", "DELETE_SUBSCR"})
_CALLED: Final = frozenset({"delattr", "eval", "exec", "next", "send", "setattr"})
"""Names of functions and methods that may change anything."""
_METHODS: Final = frozenset(
    """
    add append appendleft clear difference_update discard extend extendleft insert intersection_update pop popitem
    popleft remove reverse rotate setdefault sort symmetric_difference_update update __delitem__ __setitem__
    """.split()
)
"""Names of methods that change a container."""
_CONTAINERS: Final = (list, dict, set, deque, bytearray)


def may_change_objects(*functions: Callable[..., Any]) -> bool:
    """Whether functions of the user may change a list, a dict, an attribute or a variable outside of themselves.

    Arrays are left out: writes to them are recorded.
    """
    reached = list(reached_objects(functions))
    codes = [one.__code__ for one in reached if isinstance(one, FunctionType)]
    codes = [code for code in codes if not is_library(code.co_filename)]
    if any(map(_changes_others, codes)):
        return True
    return any(isinstance(one, _CONTAINERS) for one in reached) and any(map(_changes_entries, codes))


@lru_cache(4096)
def _changes_others(code: CodeType) -> bool:
    if not _CALLED.isdisjoint(code.co_names):
        return True
    for step in dis.get_instructions(code):
        is_of_others = step.opname in ("STORE_DEREF", "DELETE_DEREF") and step.argval in code.co_freevars
        if step.opname in _OUTSIDE or is_of_others:
            return True
    return any(_changes_others(one) for one in code.co_consts if isinstance(one, CodeType))


@lru_cache(4096)
def _changes_entries(code: CodeType) -> bool:
    if not _METHODS.isdisjoint(code.co_names):
        return True
    if any(step.opname in _ENTRIES for step in dis.get_instructions(code)):
        return True
    return any(_changes_entries(one) for one in code.co_consts if isinstance(one, CodeType))
