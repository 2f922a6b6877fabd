"""`OutsideArrays`: the arrays from outside that a function can reach, with their contents, to find writes by NumPy.

``COUNT += 1`` without traced operands runs when the function is traced, but not when its program runs. Such writes are
found by comparison and undone. Then the function is traced again with traced arrays, so that the program writes.
"""

import itertools
import warnings
import zlib
from array import array
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from types import GeneratorType
from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ...dtypes import Array, is_supported
from .object_walk import ObjectWalk
from .place import ABSENT, Namespace, Place

_LARGEST_COPY: Final = 1 << 22
"""Arrays of up to this many bytes are copied; larger ones are not restored."""
_LARGEST_READ: Final = 1 << 26
"""Arrays of up to this many bytes are compared completely."""
_LONGEST: Final = 100_000
"""Lists and dicts of up to this many entries are restored."""


class OutsideArrays:
    """The contents of arrays, lists, dicts and objects from outside a function, before it was traced."""

    def __init__(self, roots: Iterable[Any]) -> None:
        walk = ObjectWalk()
        for root in roots:
            walk.of(root, "")
        memory: dict[tuple[int, int], tuple[str, Array]] = {}
        for path, x in walk.arrays.values():
            if x.size and is_supported(x.dtype) and _is_writeable(x):
                known = memory.get(byte_bounds(x))
                if known is None or not known[1].flags.writeable:
                    memory[byte_bounds(x)] = path, x
        self._before = [Written(path, x, _content(x)) for path, x in memory.values()]
        self.objects = walk
        """What the function could reach before it ran."""
        self._slots = walk.slots
        self._namespaces = [one for one in walk.namespaces.values() if one.is_watched]
        self._sources = [(path, x, _state(x)) for path, x in walk.sources]
        self._caches = [(cached, entries, set(entries)) for cached, entries in walk.caches]
        self._containers = [(x, _copy(x)) for x in walk.containers if len(x) <= _LONGEST]

    def holds(self, array: Array) -> bool:
        """Whether the function can reach the memory of an array without having made it."""
        return self.holds_memory(*byte_bounds(array))

    def holds_memory(self, first: int, last: int) -> bool:
        """The same for memory between two addresses."""
        bounds = (byte_bounds(one.array) for one in self._before)
        return any(first < high and low < last for low, high in bounds)

    def written(self, seen: Collection[tuple[int, int]] = ()) -> "list[Written]":
        """The arrays whose contents have changed, and those to which NumPy was seen to write."""
        return [
            one
            for one in self._before
            if _content(one.array) != one.before
            or any(
                first < high and low < last for low, high in [byte_bounds(one.array)] for first, last in seen
            )
        ]

    @property
    def used_up(self) -> str:
        """An iterator or a random generator that has gone on since; empty if none has."""
        return next((f"`{path}`" for path, x, before in self._sources if _state(x) != before), "")

    @property
    def changed(self) -> str:
        """The name or the kind of something other than an array that has changed; empty if nothing has."""
        is_cached = any(entries.keys() - before for _, entries, before in self._caches)
        return self._changed_objects or ("a cache" if is_cached else "")

    @property
    def changed_objects(self) -> str:
        """`changed` without caches, and iterators that have certainly gone on."""
        sources = [
            one for one in self._sources if not isinstance(one[1], Random) and type(one[2]) is not object
        ]
        gone_on = next((f"`{path}`" for path, x, before in sources if _state(x) != before), "")
        return gone_on or self._changed_objects

    @property
    def _changed_objects(self) -> str:
        for place in self._moved():
            return f"`{place.path}`"
        for one, name in self._new_names():
            return f"`{one.path}.{name}`" if one.path else f"`{name}`"
        found = (type(x).__name__ for x, before in self._containers if not _is_same(x, before))
        return next((f"a {kind}" for kind in found), "")

    def _moved(self) -> Iterator[Place]:
        """The places that hold something else, other than results that a full cache has forgotten."""
        cached = {id(entries) for _, entries, _ in self._caches}
        for place in self._slots:
            now = place.now()
            if now is not place.value and not (now is ABSENT and id(place.holder) in cached):
                yield place

    def _new_names(self) -> Iterator[tuple[Namespace, str]]:
        """The names that classes, modules and global variables have got."""
        return ((one, name) for one in self._namespaces for name in one.new())

    @property
    def keeps_traced(self) -> bool:
        """Whether something that has changed holds a traced array or a symbolic size."""
        walk = ObjectWalk()
        new = (one.values[name] for one, name in self._new_names())
        for now in (*(place.now() for place in self._moved()), *new):
            walk.of(now, "")
        for x, before in self._containers:
            if not _is_same(x, before):
                for one in x.values() if isinstance(x, dict) else x:
                    walk.of(one, "")
        return walk.has_met_traced

    def restore(self) -> None:
        """Restore lists, dicts and objects, and let cached functions forget what they have computed."""
        for cached, entries, before in self._caches:
            if len(entries) > len(before) == 0:
                cached.cache_clear()
            for key in entries.keys() - before:
                entries.pop(key, None)
        for x, before in self._containers:
            if not _is_same(x, before):
                _refill(x, before)
        for place in self._moved():
            with suppress(LookupError, AttributeError, ValueError, TypeError):
                place.set(place.value)
        for one in self._namespaces:
            one.restore()


@dataclass(frozen=True, slots=True)
class Written:
    """An array that NumPy wrote to."""

    path: str
    """How the function reaches it."""
    array: Array
    before: Any
    """Its old contents: its bytes, or a checksum of them."""

    @property
    def can_be_restored(self) -> bool:
        return isinstance(self.before, bytes) and bool(self.array.flags.writeable)

    def restore(self) -> None:
        """Restore the contents of the array."""
        self.array[...] = np.frombuffer(self.before, self.array.dtype).reshape(self.array.shape)


def _state(x: Any) -> Any:
    """What changes when something is taken from an iterator or a random generator."""
    if isinstance(x, Random):
        return x.getstate()
    if isinstance(x, GeneratorType):
        local = {} if x.gi_frame is None else x.gi_frame.f_locals
        plain = {name: one for name, one in local.items() if isinstance(one, (int, float, str))}
        return None if x.gi_frame is None else (x.gi_frame.f_lasti, plain)
    if isinstance(x, (itertools.count, itertools.repeat)):
        return repr(x)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # those of itertools lose it in Python 3.14
            parts = x.__reduce__()
    except (TypeError, AttributeError):  # it says nothing of its state, so it may have gone on
        return object()
    return repr(
        [one for part in parts for one in (part if isinstance(part, tuple) else (part,)) if type(one) is int]
    )


def _copy(x: Any) -> Any:
    """A copy of a container as one of Python's own types."""
    if isinstance(x, (bytearray, array)):
        return bytes(x)
    kind = next(kind for kind in (list, deque, dict, set) if isinstance(x, kind))
    return kind(x)


def _refill(x: Any, before: Any) -> None:
    """Give a container the entries of its copy."""
    if isinstance(x, bytearray):
        x[:] = before
    elif isinstance(x, array):
        del x[:]
        x.frombytes(before)
    else:
        x.clear()
        (x.extend if isinstance(x, (list, deque)) else x.update)(before)


def _is_same(x: Any, before: Any) -> bool:
    if isinstance(before, bytes):
        return bytes(x) == before
    return len(x) == len(before) and all(one is old for one, old in zip(x, before, strict=True))


def _is_writeable(x: Array) -> bool:
    """Whether the memory of an array is writeable. A read-only view does not protect it."""
    owner: Any = x
    while isinstance(getattr(owner, "base", None), np.ndarray):
        owner = owner.base
    return bool(owner.flags.writeable)


def _content(x: Array) -> Any:
    """The bytes of an array, or a checksum of them for a large one."""
    if x.nbytes <= _LARGEST_COPY:
        return x.tobytes()
    sample = x if x.nbytes <= _LARGEST_READ else x.flat[:: x.size // (1 << 20) | 1]
    return zlib.crc32(np.ascontiguousarray(sample).data.cast("B"))
