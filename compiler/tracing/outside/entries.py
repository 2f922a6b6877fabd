"""`Entries`: what a container, or an object of a library, holds at one time, and where it differs later."""

import gc
from array import array
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextvars import ContextVar
from itertools import chain
from operator import is_
from typing import Any, Final

import numpy as np

from ...nesting import shown

_KINDS: Final = (OrderedDict, dict, list, deque, set)
_VALUES: Final = (bool, int, float, complex, str, bytes, np.generic)
"""Types that are compared by value. Other objects are compared by identity."""


class Entries:
    """The entries of a container, or what an object refers to. Called with it later, this gives the same tuple if all
    of these are the same."""

    __slots__ = ("_kind", "held")

    def __init__(self, container: Any) -> None:
        self._kind: Any = next((kind for kind in _KINDS if isinstance(container, kind)), None)
        """None for buffers, and for objects of libraries."""
        self.held = self._entries(container)
        """For a dict, its keys, followed by its values; for a buffer, its bytes."""

    def __call__(self, container: Any) -> tuple[Any, ...]:
        if self._kind is None:
            now = self._entries(container)
            return self.held if is_same(self.held, now) else now
        length = len(self.held) // 2 if issubclass(self._kind, dict) else len(self.held)
        if len(container) == length and all(map(is_, self._iterator(container), self.held)):
            return self.held
        return self._entries(container)

    def _entries(self, container: Any) -> tuple[Any, ...]:
        if self._kind is not None:
            return tuple(self._iterator(container))
        if isinstance(container, (bytearray, array)):
            return (bytes(memoryview(container)),)
        return (
            (container.get(None),)
            if isinstance(container, ContextVar)
            else tuple(gc.get_referents(container))
        )

    def _iterator(self, container: Any) -> Iterator[Any]:
        """The entries, without running code of the user, who may have written another ``__iter__``."""
        entries: Iterator[Any] = self._kind.__iter__(container)
        return chain(entries, self._kind.values(container)) if isinstance(container, dict) else entries

    def difference(self, path: str, container: Any) -> str:
        """The first difference, as in ``path[0] was 1 and is 2``; empty if there is none."""
        now = self(container)
        if is_same(self.held, now):
            return ""
        is_dict = isinstance(container, dict)
        if self._kind is None or (self._kind is set and len(now) == len(self.held)):
            return f"{path} holds something else"
        if len(now) != len(self.held):
            return f"len({path}) {became(len(self.held) >> is_dict, len(now) >> is_dict)}"
        pairs = enumerate(zip(self.held, now, strict=True))
        place, pair = next((place, pair) for place, pair in pairs if not is_same(*pair))
        count = len(now) // 2
        if is_dict and place < count:
            return f"{path} has other keys, or in another order"
        key = shown(now[place - count], 20) if is_dict else place
        return f"{path}[{key}] {became(*pair)}"


def is_same(before: Any, now: Any) -> bool:
    """Whether two values of a place make no difference: the same object, or equal numbers or texts of one type."""
    if before is now:
        return True
    if type(before) is not type(now):
        return False
    if isinstance(before, tuple):
        return len(before) == len(now) and all(map(is_same, before, now))
    return isinstance(before, _VALUES) and repr(before) == repr(now)


def became(before: Any, now: Any) -> str:
    """How a value has changed: ``was 1 and is 2``."""
    if isinstance(before, _VALUES) and isinstance(now, _VALUES):
        return f"was {shown(before, 40)} and is {shown(now, 40)}"
    return (
        f"is another {type(now).__name__}" if type(before) is type(now) else f"is a {type(now).__name__} now"
    )
