"""Methods of lists, tuples and dictionaries that take traced numbers as arguments or sort them."""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from types import BuiltinMethodType, MethodType, NoneType
from typing import Any, Final

import numpy as np

from ...compiler.callers.user_code import user_location
from ...compiler.message_values import MessageValues
from ...compiler.tracing.array_values import refuse_several
from ...compiler.tracing.traced_memory import is_traced
from ...compiler.users_errors import attach_values
from ..branching.branches import raise_where
from ..branching.python_numbers import (
    PYTHON_KINDS,
    as_python_number,
    is_unknown,
    is_unknown_integer,
    selected,
)
from .dictionaries import DICT_METHODS, is_unknown_key
from .entries import entry_at_place, from_start, select
from .operators import text_in_call
from .orderings import in_order, is_reversed
from .user_call import call


def method_on_values(
    function: BuiltinMethodType, callee: Callable[[Any], Any]
) -> "Callable[..., Any] | None":
    """The function to call for a method of a container whose result depends on values; None for other methods."""
    own: Any = function.__self__
    name = function.__name__
    is_dict = isinstance(own, dict)
    if isinstance(own, list) and name == "sort":
        return partial(_sort, own, function, callee)
    if isinstance(own, str) and name == "join":
        return lambda texts: own.join(map(text_in_call, texts))
    if not is_dict and not isinstance(own, list | tuple):
        return None
    meaning = (DICT_METHODS if is_dict else _SEQUENCE_METHODS).get(name)
    if meaning is None:
        return None
    is_meant: Callable[[Any], bool] = is_unknown_key if is_dict else is_unknown

    def method(*given: Any, **more: Any) -> Any:
        by_values = not more and bool(given) and (is_meant(given[0]) or _searches(name, own))
        return meaning(own, *given) if by_values else call(function, *given, **more)

    return method


# ---- where each call is computed at once -----------------------------------------------------------------

_STRING_METHODS: Final = """
    capitalize casefold center count endswith expandtabs find index isalnum isalpha isascii isdecimal isdigit islower
    isnumeric isspace istitle isupper ljust lower lstrip partition removeprefix removesuffix replace rfind rindex rjust
    rpartition rsplit rstrip split splitlines startswith strip swapcase title upper zfill
"""
UNCHANGED_METHODS: Final[dict[type, frozenset[str]]] = {
    list: frozenset("append clear copy reverse".split()),
    dict: frozenset("clear copy items keys popitem values".split()),
    set: frozenset("clear copy".split()),
    deque: frozenset("append appendleft clear copy popleft reverse".split()),
    str: frozenset(_STRING_METHODS.split()),
}
"""Methods that are called as they are, whatever they get, where no value is unknown."""
_OF_KEYS: Final[dict[type, frozenset[str]]] = {
    list: frozenset("insert pop".split()),
    dict: frozenset("get pop setdefault".split()),
    set: frozenset("add discard remove".split()),
    deque: frozenset(["pop"]),
}
"""Methods that are if their first argument is a plain key or number."""
PLAIN_KEYS: Final = frozenset({int, str, float, bool, NoneType})


def plain_method(
    function: BuiltinMethodType, meaning: Callable[[Any], Callable[..., Any]]
) -> "Callable[..., Any] | None":
    """What to call for a method of a container that gets a key, where no value is unknown; None for other methods.

    `meaning` finds out what to call for keys of other types.
    """
    own = type(function.__self__)
    if own is str and function.__name__ == "format":
        return partial(_formatted, function, meaning)
    if own not in _OF_KEYS or function.__name__ not in _OF_KEYS[own]:
        return None

    def method(*given: Any, **more: Any) -> Any:
        if not more and (not given or type(given[0]) in PLAIN_KEYS):
            return function(*given)
        return meaning(function)(*given, **more)

    return method


def _formatted(function: BuiltinMethodType, meaning: Any, *given: Any, **more: Any) -> Any:
    """``text.format(…)``"""
    if not more and PLAIN_KEYS.issuperset(map(type, given)):
        return function(*given)
    return meaning(function)(*given, **more)


def array_method(function: MethodType) -> Callable[..., Any]:
    """The function to call for a method of a traced array that returns Python numbers; None for other methods."""
    array: Any = function.__self__
    meaning = _ARRAY_METHODS.get(function.__name__)
    if meaning is None or array._trace.can_be_known(array.value):
        return function
    if array.dtype.kind not in "fc" and array._trace.numbers_used_by(array.value):
        return function  # the program is for these numbers
    return partial(meaning, array)


def _item(array: Any, *place: Any) -> Any:
    if len(place) == 1 and type(place[0]) is not tuple:
        array, place = np.ravel(array), (place[0],)
    elif place:
        array = array[place[0] if type(place[0]) is tuple else place]
        place = ()
    else:
        refuse_several(array, np.ndarray.item)
    number = array[place] if place else np.reshape(array, ())
    return as_python_number(number, PYTHON_KINDS[number.dtype.kind])


def _tolist(array: Any) -> Any:
    return [_tolist(row) for row in array] if array.ndim else _item(array)


def _searches(name: str, entries: Any) -> bool:
    """Whether a method compares its argument with traced entries."""
    return name in ("index", "count", "remove") and any(map(is_unknown, entries))


def _sort(own: list[Any], sort: Any, callee: Callable[[Any], Any], *given: Any, **options: Any) -> None:
    """``entries.sort()``, within which the list is empty, as in Python."""
    key = options.get("key")
    if given or options.keys() - {"key", "reverse"}:
        sort(*given, **options)  # an error of Python's
    reverse = is_reversed(options.get("reverse", False))
    found = entries = list(own)
    is_changed = False
    own.clear()
    try:
        found = in_order(entries, None if key is None else callee(key), reverse=reverse)
        is_changed = bool(own)
    finally:
        own[:] = found
    if is_changed:
        raise ValueError("list modified during sort")


def _index(entries: "Sequence[Any]", x: Any, *ends: int) -> Any:
    first, last = (*ends, *(0, len(entries))[len(ends) :])
    return _place(entries, range(len(entries))[first:last], x, _not_found(type(entries)().index, x))


def _place(entries: "Sequence[Any]", places: range, x: Any, missing: Exception) -> Any:
    """The first of these places with an entry that is equal to `x`. The program raises `missing` if there is none."""
    equal = np.stack([entries[place] == x for place in places] or [np.False_])
    raise_where(np.logical_not(np.any(equal)), missing, user_location())
    return as_python_number(np.argmax(equal) + places.start, int)


def _not_found(search: Callable[[Any], Any], x: Any) -> Exception:
    """The exception of a method of an empty list or tuple that searches a value, which the program fills in."""
    values = MessageValues()
    try:
        search(_Shown(values.mark(x, "!r") if is_traced(x) else repr(x)))
    except ValueError as error:
        attach_values(error, values)
        return error.with_traceback(None)
    raise AssertionError("an empty sequence contains nothing")


class _Shown:
    """Stands for a value in a message."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _count(entries: "Sequence[Any]", x: Any) -> Any:
    return sum((selected(one == x, 1, 0) for one in entries), 0)


def _pop(entries: list[Any], place: Any = -1) -> Any:
    if not is_unknown_integer(place) or not entries:
        return entries.pop(place)
    place = from_start(place, len(entries), "pop index")
    found = entry_at_place(entries, place)
    for number in range(len(entries) - 1):
        entries[number] = select(place <= number, entries[number + 1], entries[number])
    del entries[-1]
    return found


def insert_at(entries: list[Any], place: Any, x: Any) -> None:
    """``entries.insert(place, x)``"""
    length = len(entries)
    place = np.clip(np.where(place < 0, place + length, place), 0, length)
    entries.append(x)
    for number in range(length, 0, -1):
        after = select(place == number, x, entries[number - 1])
        entries[number] = select(place > number, entries[number], after) if number < length else after
    entries[0] = select(place == 0, x, entries[0])


def _remove(entries: list[Any], x: Any) -> None:
    missing = _not_found([].remove, x)
    _pop(entries, _place(entries, range(len(entries)), x, missing))


_ARRAY_METHODS: Final[dict[str, Callable[..., Any]]] = {"item": _item, "tolist": _tolist}
_SEQUENCE_METHODS: Final[dict[str, Callable[..., Any]]] = {
    "index": _index,
    "count": _count,
    "pop": _pop,
    "insert": insert_at,
    "remove": _remove,
}
