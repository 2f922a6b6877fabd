"""Special methods of the user's classes, which Python calls as they are written where operators have no hooks."""

from functools import lru_cache
from types import FunctionType
from typing import Any, Final

from .user_code import is_users

BINARY: Final = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
_NAMES: Final = (
    *(f"__{kind}{name}__" for name in BINARY for kind in ("", "r", "i")),
    *("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__", "__setattr__"),
)


def users_method_of(kind: "type[Any]", name: str) -> FunctionType | None:
    """A method that the user has written for a class or one of its bases; None if it has none."""
    if kind.__module__ == "builtins":
        return None
    try:
        now: Any = getattr(kind, name, None)
        return _users_method(kind, name, now)  # type: ignore[arg-type]
    except TypeError:  # it is something else, which has no hash
        return None


@lru_cache(4096)
def _users_method(kind: "type[Any]", name: str, _now: Any) -> FunctionType | None:
    """The same. Classes may get other methods, so what is found belongs to what a class has now."""
    found = next((vars(one)[name] for one in kind.__mro__ if name in vars(one)), None)
    return found if type(found) is FunctionType and is_users(found.__code__.co_filename) else None


@lru_cache(1024)
def defines_operators(kind: "type[Any]") -> bool:
    """Whether a class of the user gets values by operators on two operands or by assignments to its attributes.

    Such a method may ask for the types of traced numbers. Those that `dataclass` generates do not.
    """
    methods = [found for name in _NAMES if (found := users_method_of(kind, name)) is not None]
    for one in kind.__mro__:
        for held in vars(one).values():
            setter = held.fset if isinstance(held, property) else users_method_of(type(held), "__set__")
            if isinstance(setter, FunctionType):
                methods.append(setter)
    return any(
        is_users(found.__code__.co_filename) and found.__code__.co_filename != "<string>" for found in methods
    )
