"""The arrays that a variable may be, depending on values, and an array that is one of several."""

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from ...compiler.memory_layout.layout import Layout
from ...compiler.symbolic_size import same_shape
from ...compiler.tracing.sharing import ChosenStorage, all_shared_with, plain_storages, width_of
from ...compiler.tracing.trace import Storage, Trace
from ...compiler.tracing.traced_array import array_on
from ...compiler.tracing.traced_memory import is_numpy_array, is_traced
from .alternatives import mapped

MOST_CHOICES: Final = 64
"""An array is told apart from at most this many others, because unrolled loops may make many."""

Key: TypeAlias = tuple[int, str]
"""The same for two arrays only if they are the same part of the same memory."""


def memory_of(x: Any) -> Iterator[Storage]:
    """All memory that a traced array may have, depending on values."""
    for storage in plain_storages(x._storage):
        yield storage
        for other, _ in all_shared_with(storage):
            yield from plain_storages(other)


def key_of(x: Any) -> Key:
    """Identifies an array by its memory and its views."""
    return (id(x), "") if is_numpy_array(x) else (id(x._storage), str(x._views))


def references(x: Any, trace: Trace) -> tuple[list[Any], Any]:
    """The arrays that a variable may refer to, if the choice among them was made in a trace, and the index of the
    chosen one."""
    storage = x._storage if is_traced(x) else None
    if not isinstance(storage, ChosenStorage) or storage.trace is not trace:
        return [x], 0
    found: list[Any] = []
    keys: list[Key] = []
    place: Any = 0
    for number, one in enumerate(storage.arrays):
        inner, at = references(array_on(one._storage, x.type, (*one._views, *x._views)), trace)
        for other in inner:
            if key_of(other) not in keys:
                keys.append(key_of(other))
                found.append(other)
        at = mapped([keys.index(key_of(other)) for other in inner], at)
        place = at if number == 0 else np.where(np.equal(storage.place, number), at, place)
    return found, 0 if len(found) == 1 else place


def is_expressible(x: Any, trace: Trace) -> bool:
    """Whether the views of an array can be taken outside of a trace: they use no numbers that are computed in it."""
    return not any(storage.trace is trace for view in x._views for storage in _storages_in(view))


def _storages_in(view: Any) -> Iterator[Storage]:
    if isinstance(view, Storage):
        yield view
    elif isinstance(view, tuple):
        for one in view:
            yield from _storages_in(one)
    elif is_dataclass(view):
        for field in fields(view):
            yield from _storages_in(getattr(view, field.name))


def are_alike(arrays: Sequence[Any]) -> bool:
    """Whether these are not too many arrays, none of them missing, that NumPy shows alike, apart from elements."""
    if any(one is None for one in arrays) or sum(width_of(one._storage) for one in arrays) > MOST_CHOICES:
        return False
    first, layouts = arrays[0], [one.layout.asked() for one in arrays]
    return all(
        one.dtype == first.dtype and same_shape(one.shape, first.shape) and _is_same(layouts[0], layout)
        for one, layout in zip(arrays, layouts, strict=True)
    )


def chosen(arrays: Sequence[Any], place: Any) -> Any:
    """The array with a number among several that are alike."""
    if not is_traced(place):
        return arrays[int(place)]
    return array_on(ChosenStorage(arrays, place, arrays[0].layout), arrays[0].type)


def _is_same(one: Layout, other: Layout) -> bool:
    if one.is_row_major and other.is_row_major:
        return True
    return one.strides is not None and bool(one.strides == other.strides)
