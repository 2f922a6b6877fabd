"""The identity of settings. Calls whose settings have the same identity share programs."""

from enum import Enum
from typing import Any, Final

from ...compiler.callers.user_code import is_defined_by_user

_PLAIN: Final = (bool, int, float, complex, str, bytes, type(None), type, Enum)


class Same:
    """Stands for an object that equals only itself, and keeps it alive, so that no other one gets its id."""

    __slots__ = ("_x",)

    def __init__(self, x: Any) -> None:
        self._x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other._x is self._x

    def __hash__(self) -> int:
        return id(self._x)


def identity_of(value: Any) -> Any:
    """The identity of a static value: 1, 1.0 and True differ, also within tuples; −0 is not 0; NaN is NaN.

    Sets and dicts whose order differs are different, because Python iterates in that order. Two objects of a user's
    class are different, whatever ``__eq__`` says, unless they are frozen dataclasses with the same plain values.

    >>> identity_of((1, 2)) == identity_of((1.0, 2)), identity_of(float("nan")) == identity_of(float("nan"))
    (False, True)
    >>> identity_of({1, 2}) == identity_of({1, 2}), identity_of({1, 2}) == identity_of({1, 3})
    (True, False)
    """
    if isinstance(value, tuple | set | frozenset) or type(value) is list:
        return type(value), *map(identity_of, value)
    if type(value) is dict:
        return dict, *map(identity_of, value.items())
    if isinstance(value, (float, complex)):
        return type(value), repr(value)
    if not isinstance(value, _PLAIN) and is_object(value):
        return _fields(value) or Same(value)
    return type(value), value


def is_object(value: Any) -> bool:
    """Whether it is an object of a user's class that can change, or of a subclass of list or dict: its attributes and
    entries are compared before each call."""
    return isinstance(value, list | dict) or is_defined_by_user(type(value))


def can_change(value: Any) -> bool:
    """Whether the identity of a setting may change later."""
    if isinstance(value, tuple):
        return any(map(can_change, value))
    return isinstance(value, set) or type(value) in (list, dict)


def _fields(value: Any) -> Any:
    """The class and the fields of a frozen dataclass with plain values; None for other objects."""
    parameters = getattr(type(value), "__dataclass_params__", None)
    if parameters is None or not parameters.frozen:
        return None
    fields = [getattr(value, name, Same(value)) for name in value.__dataclass_fields__]
    if hasattr(value, "__dict__") and vars(value).keys() - value.__dataclass_fields__.keys():
        return None
    return (type(value), *map(identity_of, fields)) if all(map(_is_plain, fields)) else None


def _is_plain(x: Any) -> bool:
    return all(map(_is_plain, x)) if isinstance(x, tuple) else isinstance(x, _PLAIN)
