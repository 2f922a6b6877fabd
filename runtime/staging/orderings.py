"""``sorted``, ``min`` and ``max`` of traced numbers and of lengths, or by traced keys."""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ...compiler.symbolic_size import SymbolicSize, is_known, max_expr, min_expr
from ...compiler.tracing.traced_memory import is_traced
from ...compiler.tracing.value_lengths import depends_on_values
from ..branching.python_numbers import is_unknown, selected
from .entries import entries_at, entry


def in_order(entries: "Iterable[Any]", key: "Callable[[Any], Any] | None", *, reverse: bool) -> "list[Any]":
    """The entries in the order of ``sorted``, which is stable. The key is asked once per entry."""
    listed = list(entries)
    keys = listed if key is None else list(map(key, listed))
    columns = _columns(keys)
    if columns is None:
        if key is None:
            return sorted(listed, reverse=reverse)
        return [listed[place] for place in sorted(range(len(listed)), key=keys.__getitem__, reverse=reverse)]
    if reverse:  # equal ones keep their order, so both what is sorted and the result are turned around
        order = len(listed) - 1 - np.lexsort(tuple(column[::-1] for column in columns[::-1]))[::-1]
    else:
        order = np.lexsort(tuple(columns[::-1]))
    return entries_at(listed, order, len(listed))


def is_reversed(reverse: Any) -> bool:
    """Whether to sort in reverse order, if Python's sorting takes this option."""
    if type(reverse) is not bool:
        [].sort(reverse=reverse)
    return bool(reverse)


def best(entries: Sequence[Any], keys: Sequence[Any], better: Callable[[Any, Any], Any]) -> Any:
    """The first entry with the best key. Keys are numbers or tuples of numbers."""
    place, found = 0, keys[0]
    for number in range(1, len(keys)):
        is_new = is_better(keys[number], found, better)
        place = selected(is_new, number, place)
        found = chosen_key(is_new, keys[number], found)
    return entry(list(entries), place)


def best_of_many(entries: Sequence[Any], keys: Sequence[Any], *, largest: bool) -> Any:
    """The best of many numbers, in one reduction."""
    values = np.stack(list(keys))
    is_first_nan: Any = False
    if (
        values.dtype.kind == "f"
    ):  # as in Python, no number is better than a NaN in first place, and no later NaN is better
        is_nan = np.isnan(values)
        values, is_first_nan = np.where(is_nan, -np.inf if largest else np.inf, values), is_nan[0]
    place: Any = np.argmax(values) if largest else np.argmin(values)
    place = np.where(is_first_nan, 0, place)
    return entry(list(entries), place)


def place_among(entries: Sequence[Any], x: Any, side: Any, ends: Any) -> Any:
    """Where `bisect` finds the place of a number among sorted ones; None if Python knows it, or if it is asked for a
    part of them (`ends`)."""
    if ends or len(entries) == 0 or not (is_unknown(x) or any(map(is_unknown, entries))):
        return None
    return np.searchsorted(np.stack(list(entries)), x, side=side)


def are_orderable(keys: Sequence[Any]) -> bool:
    """Whether keys are numbers, or tuples of equally many numbers, whose order depends on values."""
    return _columns(keys) is not None


def _columns(keys: Sequence[Any]) -> "list[Any] | None":
    """The columns of keys, the most significant one first."""
    if not keys:
        return None
    rows = [tuple(key) if type(key) in (tuple, list) else (key,) for key in keys]
    if len({(type(key) in (tuple, list), len(row)) for key, row in zip(keys, rows, strict=True)}) > 1:
        return None
    numbers = [one for row in rows for one in row]
    if not any(map(is_unknown, numbers)) or not all(map(_is_number, numbers)):
        return None
    return [np.stack(list(column)) for column in zip(*rows, strict=True)]


def _is_number(x: Any) -> bool:
    return (is_traced(x) and x.ndim == 0) or isinstance(x, int | float | np.bool | np.number)


def is_better(key: Any, than: Any, better: Callable[[Any, Any], Any]) -> Any:
    """Whether a key is better than another. In tuples, the first entries that differ decide."""
    if type(key) not in (tuple, list):
        return better(key, than)
    found: Any = False
    for one, other in zip(reversed(key), reversed(than), strict=True):
        found = np.logical_or(better(one, other), np.logical_and(np.equal(one, other), found))
    return found


def chosen_key(test: Any, key: Any, other: Any) -> Any:
    if type(key) in (tuple, list):
        return tuple(selected(test, one, two) for one, two in zip(key, other, strict=True))
    return selected(test, key, other)


# ---- lengths that depend on values: their extremes are lengths as well, so that nobody needs to know them ------------


def extreme_length(entries: Sequence[Any], *, largest: bool) -> Any:
    """The minimum or maximum of lengths and ints; None if all of them are known, or if there is another number."""
    are_lengths = all(type(one) is int or isinstance(one, SymbolicSize) for one in entries)
    if not (are_lengths and any(map(depends_on_values, entries))):
        return None
    return reduce(max_expr if largest else min_expr, entries)


def magnitude(x: Any) -> Any:
    """``abs(x)``"""
    return max_expr(x, -x) if depends_on_values(x) and not is_known(x >= 0) else abs(x)
