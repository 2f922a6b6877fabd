"""`Outside`: the arrays that a function gets at, and what they hold: NumPy alone may write to them during a trace.

``COUNT += 1`` with nothing traced happens where the function is traced, and not where its program runs. It is found by
comparison and undone, and the function is traced again with traced arrays in their place, so that the program does it.
"""

import zlib
from collections import deque
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..dtypes import Array, is_supported
from .reach import Reach

_LARGEST_COPY: Final = 1 << 22
"""How many bytes an array may have of which a copy is kept: larger ones are not restored."""
_LARGEST_READ: Final = 1 << 26
"""How many bytes an array may have that is read as a whole."""
_LONGEST: Final = 100_000
"""How many entries a list or a dict may have that is restored."""


class Outside:
    """What arrays from outside of a function held before it was traced, and what stood in lists, dicts and objects."""

    def __init__(self, roots: Iterable[Any]) -> None:
        reach = Reach()
        for root in roots:
            reach.of(root, "")
        memory: dict[tuple[int, int], tuple[str, Array]] = {}
        for path, x in reach.arrays.values():
            if x.size and is_supported(x.dtype) and _is_writeable(x):
                known = memory.get(byte_bounds(x))
                if known is None or not known[1].flags.writeable:
                    memory[byte_bounds(x)] = path, x
        self._before = [Written(path, x, _content(x)) for path, x in memory.values()]
        self._slots = reach.slots
        self._containers = [(x, _copy(x)) for x in reach.containers if len(x) <= _LONGEST]

    def holds(self, array: Array) -> bool:
        """Whether the function gets at the memory of an array without having made it."""
        return self.holds_memory(*byte_bounds(array))

    def holds_memory(self, first: int, last: int) -> bool:
        """The same for memory between two addresses."""
        bounds = (byte_bounds(one.array) for one in self._before)
        return any(first < high and low < last for low, high in bounds)

    def written(self, seen: Collection[tuple[int, int]] = ()) -> "list[Written]":
        """The arrays that hold something else now, and those whose memory NumPy was seen to write to."""
        return [
            one
            for one in self._before
            if _content(one.array) != one.before
            or any(
                first < high and low < last for low, high in [byte_bounds(one.array)] for first, last in seen
            )
        ]

    @property
    def changed(self) -> str:
        """The name or the kind of something that has changed beside arrays; empty if nothing has."""
        for place in self._slots:
            with suppress(LookupError, AttributeError, ValueError):
                if place.now() is not place.value:
                    return f"`{place.path}`"
        found = (type(x).__name__ for x, before in self._containers if not _is_same(x, before))
        return next((f"a {kind}" for kind in found), "")

    def restore(self) -> None:
        """Let lists, dicts and objects be what they were before."""
        for x, before in self._containers:
            if not _is_same(x, before):
                x.clear()
                (x.extend if isinstance(x, (list, deque)) else x.update)(before)
        for place in self._slots:
            with suppress(LookupError, AttributeError, ValueError, TypeError):
                if place.now() is not place.value:
                    place.set(place.value)


@dataclass(frozen=True, slots=True)
class Written:
    """An array that NumPy wrote to."""

    path: str
    """How the function gets at it."""
    array: Array
    before: Any
    """What it held: its bytes, or a number made of them."""

    @property
    def can_be_restored(self) -> bool:
        return isinstance(self.before, bytes) and bool(self.array.flags.writeable)

    def restore(self) -> None:
        """Let the array hold what it held before."""
        self.array[...] = np.frombuffer(self.before, self.array.dtype).reshape(self.array.shape)


def _copy(x: Any) -> Any:
    """What a container holds, as one of Python's own."""
    kind = next(kind for kind in (list, deque, dict, set) if isinstance(x, kind))
    return kind(x)


def _is_same(x: Any, before: Any) -> bool:
    return len(x) == len(before) and all(one is old for one, old in zip(x, before, strict=True))


def _is_writeable(x: Array) -> bool:
    """Whether anybody may write to the memory of an array: a read-only view does not protect it."""
    owner: Any = x
    while isinstance(getattr(owner, "base", None), np.ndarray):
        owner = owner.base
    return bool(owner.flags.writeable)


def _content(x: Array) -> Any:
    """All bytes of an array; of a large one a number that is made of them."""
    if x.nbytes <= _LARGEST_COPY:
        return x.tobytes()
    sample = x if x.nbytes <= _LARGEST_READ else x.flat[:: x.size // (1 << 20) | 1]
    return zlib.crc32(np.ascontiguousarray(sample).data.cast("B"))
