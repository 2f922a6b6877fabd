"""Dictionaries with numbers as keys, at traced keys: ``table[k]``, ``table.get(k, 0.0)``, ``k in table``.

The dictionary has the keys that it has while tracing. For a missing key, the program raises Python's error.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from ...compiler.arguments.leaves import is_array_like, plain_key
from ...compiler.callers.user_code import user_location
from ...compiler.errors import ConcretizationError, SideEffectError
from ...compiler.tracing.exceptions.handlers import fall_back
from ...compiler.tracing.traced_array import OTHER_KEYS_IN_BATCH
from ...compiler.tracing.traced_memory import is_traced
from ..branching.branches import raise_where
from ..branching.python_numbers import is_unknown, is_unknown_place, number_of_argument
from .entries import check_settable, entry, set_entry


def is_unknown_key(key: Any) -> bool:
    """Whether a key is, or is a tuple that holds, a traced number whose value is not known while tracing."""
    return any(map(is_unknown_key, key)) if type(key) is tuple else is_unknown_place(key)


def known_key(key: Any) -> Any:
    """A key whose value is known, as Python looks it up: a NaN is equal to itself only."""
    found = plain_key(key)
    return key if isinstance(found, float | complex | np.inexact) and np.isnan(found) else found


def value_at(table: "dict[Any, Any]", key: Any) -> Any:
    """``table[key]``"""
    if not is_unknown_key(key):
        return table[known_key(key)]
    if isinstance(table, Counter):
        return get(table, key, 0)
    if hasattr(type(table), "__missing__") and not isinstance(table, defaultdict):
        raise ConcretizationError(
            f"`__missing__` of a {type(table).__name__} runs at keys that it lacks, and values decide this key: use a "
            "dict, and test `if k in table:` before",
            user_location(),
        )
    found = _Found(table, key)
    if not all(map(is_array_like, found.values)) and (known := number_of_argument(key)) is not None:
        return table[known]
    if isinstance(table, defaultdict) and table.default_factory is not None:
        _refuse_growth(table, found)
    else:
        raise_where(np.logical_not(found.is_there), _missing(key), user_location())
    return found.value()


def get(table: "dict[Any, Any]", key: Any, default: Any = None) -> Any:
    """``table.get(key, default)``"""
    if not is_unknown_key(key):
        return table.get(known_key(key), default)
    found = _Found(table, key)
    if not found.keys:
        return default
    if default is None:
        raise ConcretizationError(
            "table.get(k) of a traced key gives None where the key is missing, which a program cannot choose: give a "
            "number, table.get(k, 0.0), or ask `if k in table:` before",
            user_location(),
        )
    return entry([*found.values, default], np.where(found.is_there, found.place, len(found.values)))


def has_key(table: "Mapping[Any, Any]", key: Any) -> Any:
    """``key in table``"""
    return _Found(table, key).is_there


def set_value(table: "dict[Any, Any]", key: Any, value: Any) -> None:
    """``table[key] = value``"""
    found = _Found(table, key)
    _refuse_growth(table, found)
    places = found.matches()
    check_settable(table, len(places))
    set_entry(table, key, places, value)


def _refuse_growth(table: Any, found: "_Found") -> None:
    fix = "begin with all keys, dict.fromkeys(range(n), 0), or use an array, np.zeros(n)"
    if not found.keys:
        raise ConcretizationError(
            f"a {type(table).__name__} gets an entry at a key that values decide, which decide its length then: {fix}. "
            f"{OTHER_KEYS_IN_BATCH}",
            user_location(),
        )
    error = KeyError(
        f"a compiled program cannot add a key that values decide to a {type(table).__name__}: {fix}"
    )
    fall_back()  # the function itself adds the key
    raise_where(np.logical_not(found.is_there), error, user_location())


class _Found:
    """A traced key, and the keys of a dictionary that may be equal to it."""

    def __init__(self, table: "Mapping[Any, Any]", key: Any) -> None:
        pairs = [(one, value) for one, value in table.items() if _can_be(one, key)]
        self.keys = [one for one, _ in pairs]
        self.values = [value for _, value in pairs]
        parts = key if type(key) is tuple else (key,)
        columns = zip(*(one if type(key) is tuple else (one,) for one in self.keys), strict=True)
        self._key = key
        self._is_of_ints = not any(is_traced(part) and part.dtype.kind not in "biu" for part in parts)
        self._equal = np.ones(len(self.keys), bool)
        is_same = [one is key for one in self.keys]  # so Python finds a NaN
        for part, column in zip(parts, columns, strict=False):
            if is_traced(part) or not isinstance(part, str | bytes | None):
                self._equal = np.logical_and(self._equal, np.equal(np.asarray(column), part))
        if any(is_same):
            self._equal = np.logical_or(self._equal, is_same)

    @property
    def is_there(self) -> Any:
        return np.any(self._equal) if self.keys else np.False_

    @property
    def place(self) -> Any:
        """The place of the key; arbitrary if the key is missing."""
        return np.argmax(self._equal)

    def value(self) -> Any:
        """The value at the key; arbitrary if the key is missing."""
        if not self.keys:
            raise KeyError(self._key if self._is_of_ints else "the dictionary has no number among its keys")
        return entry(self.values, self.place)

    def matches(self) -> "dict[Any, Any]":
        """For each key, whether it is equal to the traced one."""
        return {key: self._equal[number] for number, key in enumerate(self.keys)}


def _can_be(one: Any, key: Any) -> bool:
    """Whether a key of a dictionary may be equal to a traced key."""
    if type(key) is tuple:
        is_alike = type(one) is tuple and len(one) == len(key)
        return is_alike and all(map(_can_be, one, key))
    if is_unknown(key):
        return isinstance(plain_key(one), int | float | complex | np.generic)
    return bool(one == plain_key(key))


def _missing(key: Any) -> KeyError:
    """Python's error for a key that is not there. The program fills in a number, but no tuple."""
    return KeyError("a tuple that is not among the keys" if type(key) is tuple else key)


def _set_default(table: "dict[Any, Any]", key: Any, default: Any = None) -> Any:
    del default  # a program cannot add a key
    found = _Found(table, key)
    _refuse_growth(table, found)
    return found.value()


def _pop(table: "dict[Any, Any]", *_: Any) -> Any:
    raise SideEffectError(
        f"{type(table).__name__}.pop of a key that values decide leaves other keys for other values: keep "
        "the entry, and mark it in an array of bools",
        user_location(),
    )


DICT_METHODS: Final[dict[str, Callable[..., Any]]] = {
    "get": get,
    "setdefault": _set_default,
    "pop": _pop,
    "__getitem__": value_at,
}
"""What methods do whose first argument is a key."""
