"""Objects among the arguments. The traced function gets them as they are, and its changes are undone after tracing.

No program can make these changes, so a function that makes them runs uncompiled.
"""

from collections import deque
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final

import numpy as np

from ...callers.function_names import describe
from ...errors import ArgumentTypeError, SideEffectError
from ...tracing.traced_memory import is_traced
from .object_state import set_state, shown, state_of

_CONTAINERS: Final = (dict, list, deque, set)
_FIXED: Final = (
    *(type, ModuleType, FunctionType, MethodType, BuiltinFunctionType, np.ndarray, np.generic),
    *(int, float, complex, str, bytes, type(None)),
)
"""Objects that do not change, or whose changes are noticed elsewhere."""
_MOST: Final = 100_000


class ArgumentObjects:
    """The objects among a call's settings, all that they hold, and their state before the call."""

    def __init__(self, values: Iterable[Any]) -> None:
        self._before: dict[int, tuple[Any, Any]] = {}
        stack = list(values)
        while stack and len(self._before) < _MOST:
            x = stack.pop()
            if id(x) in self._before or is_traced(x) or isinstance(x, _FIXED):
                continue
            state = _state(x)
            self._before[id(x)] = x, state
            stack += state.values() if isinstance(state, dict) else state
            if isinstance(x, _CONTAINERS):
                stack += state_of(x).values()

    def error_after(
        self, function: Callable[..., Any], error: BaseException | None, *, is_held: bool, is_refused: bool
    ) -> BaseException | None:
        """The error to raise after tracing, given the one that tracing raised, if any.

        If the function has changed an object, the change is undone, and the error is about it, unless the program
        holds the object (`is_held`), or refuses the function for another reason (`is_refused`) than that it returns a
        changed object.
        """
        is_of_branch = isinstance(error, SideEffectError) and id(error.holder) in self._before
        changed = "what a branch or a loop sets" if is_of_branch else self._changed()
        if not changed or is_held:
            return error
        returns_it = isinstance(error, ArgumentTypeError)  # whose traced arrays would be of no use
        self._restore()
        return (
            error if is_refused and not (is_of_branch or returns_it) else changes_argument(function, changed)
        )

    def _changed(self) -> str:
        """What has changed, as part of a message; empty if nothing has."""
        changed = (_change(x, before) for x, before in self._before.values() if not _is_same(x, before))
        return next(changed, "")

    def _restore(self) -> None:
        """Undo all changes."""
        for x, before in self._before.values():
            if not _is_same(x, before):
                _set_state(x, before)


def changes_argument(function: Callable[..., Any], what: str) -> SideEffectError:
    """The error for a function that changes an object among its arguments."""
    error = SideEffectError(
        f"{describe(function)} changes {what}, of an object among its arguments, which no program can do: return the "
        "new values, and set them after the call, or pass a list or a dict"
    )
    error.runs_uncompiled = True
    return error


def _state(x: Any) -> Any:
    """What an object holds: a dict, a list or a set."""
    if isinstance(x, dict):
        return dict(x)
    if isinstance(x, set | frozenset):
        return set(x)
    return list(x) if isinstance(x, list | deque | tuple) else state_of(x)


def _is_same(x: Any, before: Any) -> bool:
    now = _state(x)
    if isinstance(now, set):
        return bool(now == before)
    if len(now) != len(before):
        return False
    if isinstance(now, list):
        return all(one is other for one, other in zip(now, before, strict=True))
    return all(
        name is key and one is other
        for (name, one), (key, other) in zip(now.items(), before.items(), strict=True)
    )


def _change(x: Any, before: Any) -> str:
    now = _state(x)
    if isinstance(x, _CONTAINERS):
        return f"the contents of a {type(x).__name__}"
    names = [name for name in (*before, *now) if now.get(name, _change) is not before.get(name, _change)]
    return f"the attribute `{shown(names[0])}`"


def _fill(x: "dict[Any, Any] | list[Any] | deque[Any]", before: Any) -> None:
    if isinstance(x, dict):
        x.update(before)
    else:
        x.extend(before)


def _set_state(x: Any, before: Any) -> None:
    if isinstance(x, set):
        x.intersection_update(before)
        x.update(before)
    elif isinstance(x, dict | list | deque):
        x.clear()
        _fill(x, before)
    else:
        set_state(x, before)
