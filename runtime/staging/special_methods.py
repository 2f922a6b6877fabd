"""Functions of Python that ask a special method of their argument. The user's methods run converted.

Their prints then happen at each call of the program, and not only while it is traced.
"""

import functools
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from ...compiler.frontend.outside.read_names import note_missing
from ...compiler.tracing.traced_memory import is_traced
from ..branching.one_of import is_one_of
from .operators import answered, attribute, truth, unary, users_method

_ASKING: Final[dict[Any, str]] = {
    hash: "__hash__",
    dir: "__dir__",
    math.trunc: "__trunc__",
    math.floor: "__floor__",
    math.ceil: "__ceil__",
    operator.index: "__index__",
}
"""Functions that ask one method and look at what it returns."""
_OF_FLOATS: Final = frozenset(
    function
    for name, function in vars(math).items()
    if callable(function)
    and name not in {"comb", "factorial", "fsum", "gcd", "isqrt", "lcm", "perm", "prod", "sumprod", "dist"}
)
"""Functions of `math` that ask their arguments for floats."""
_MISSING: Final = object()

Meanings = Mapping[Any, Callable[..., Any]]


def special_method_meanings(known: Meanings) -> dict[Any, Callable[..., Any]]:
    """Maps functions to those that converted code calls instead. `known` are its other functions."""
    found: dict[Any, Callable[..., Any]] = {own: _of_floats(known.get(own, own)) for own in _OF_FLOATS}
    below: dict[Any, Callable[..., Any]] = {**known, **found}
    found |= {own: _asking(own, name, below.get(own) or own) for own, name in _ASKING.items()}
    return found | {
        reversed: _reversed(known[reversed]),
        divmod: _divmod(known.get(divmod, divmod)),
        hasattr: _hasattr(known[hasattr]),
        getattr: _getattr,
        isinstance: _class_check(known[isinstance], "__instancecheck__"),
        issubclass: _class_check(known.get(issubclass, issubclass), "__subclasscheck__"),
        operator.contains: _contains(known.get(operator.contains, operator.contains)),
        **{getattr(operator, name): functools.partial(unary, name) for name in ("neg", "pos", "invert")},
    }


def _asking(own: Any, name: str, known: Callable[..., Any]) -> Callable[..., Any]:
    def asking(*given: Any, **more: Any) -> Any:
        method = users_method(given[0], name) if len(given) == 1 and not more else None
        if method is None:
            return known(*given, **more)
        answer = method()
        return answer if is_traced(answer) else own(type("_Answer", (), {name: lambda _: answer})())

    return asking


def _of_floats(known: Callable[..., Any]) -> Callable[..., Any]:
    """A function of `math`: objects of the user's classes become the floats that they give."""

    def function(*given: Any, **more: Any) -> Any:
        return known(*map(_as_float, given), **more)

    return function


def _as_float(x: Any) -> Any:
    own = users_method(x, "__float__")
    return x if own is None else own()


def _reversed(known: Callable[..., Any]) -> Callable[..., Any]:
    def function(*given: Any, **more: Any) -> Any:
        own = users_method(given[0], "__reversed__") if len(given) == 1 and not more else None
        return known(*given, **more) if own is None else own()

    return function


def _divmod(known: Callable[..., Any]) -> Callable[..., Any]:
    def function(*given: Any) -> Any:
        if len(given) == 2:
            x, y = given
            if users_method(x, "__divmod__") or users_method(y, "__rdivmod__"):
                return answered("divmod", "divmod()", x, y)
        return known(*given)

    return function


def _hasattr(known: Callable[..., Any]) -> Callable[..., Any]:
    def function(*given: Any) -> Any:
        if len(given) != 2 or is_traced(given[0]) or is_one_of(given[0]):
            return known(*given)
        return _attribute_or(*given, _MISSING) is not _MISSING

    return function


def _getattr(*given: Any) -> Any:
    if len(given) == 3:
        return _attribute_or(*given)
    return attribute(*given) if len(given) == 2 else getattr(*given)


def _attribute_or(x: Any, name: str, default: Any) -> Any:
    """``getattr(x, name, default)``"""
    try:
        return attribute(x, name)
    except AttributeError:
        note_missing(x, name)
        return default


def _class_check(known: Callable[..., Any], name: str) -> Callable[..., Any]:
    """`isinstance` or `issubclass`, which a metaclass of the user may answer."""

    def function(*given: Any) -> Any:
        own = users_method(given[1], name) if len(given) == 2 else None
        if own is None or (name == "__instancecheck__" and type(given[0]) is given[1]):
            return known(*given)
        return _as_bool(own(given[0]))

    return function


def _contains(known: Callable[..., Any]) -> Callable[..., Any]:
    def function(*given: Any) -> Any:
        own = users_method(given[0], "__contains__") if len(given) == 2 else None
        return known(*given) if own is None else _as_bool(own(given[1]))

    return function


def _as_bool(answer: Any) -> Any:
    found = truth(answer)
    return found != 0 if is_traced(found) else bool(found)


def as_numpys(x: Any) -> Any:
    """An argument of a function of NumPy: the array that the user's ``__array__`` gives; anything else as it is."""
    kind = type(x)
    if hasattr(kind, "__array_ufunc__") or hasattr(kind, "__array_function__"):
        return x
    own = users_method(x, "__array__")
    return x if own is None else own()


def as_index(x: Any) -> Any:
    """An index or a bound, as the user's ``__index__`` gives it; anything else as it is."""
    own = users_method(x, "__index__")
    if own is None:
        return x
    answer = own()
    return answer if is_traced(answer) or type(answer) is int else x  # NumPy refuses anything else
