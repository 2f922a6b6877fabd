"""Which of our functions stands for which of NumPy's while tracing."""

from collections.abc import Callable
from typing import Any, TypeVar

from ..errors import InternalError

F = TypeVar("F", bound=Callable[..., Any])

FUNCTIONS: dict[Any, Callable[..., Any]] = {}
"""NumPy function -> what runs when one of its arguments is traced (``__array_function__``)."""

UFUNCS: dict[Any, Callable[..., Any]] = {}
"""ufunc -> function of traced operands, for those that are not one op of the same name."""

METHODS: dict[str, Callable[..., Any]] = {}
"""ndarray method -> function, for methods that differ from NumPy's function of that name."""

REFUSED: dict[str, str] = {}
"""Name of a NumPy function that cannot be traced -> the reason, which its error gives."""


def enter(table: dict[Any, Any], key: Any, entry: Any) -> None:
    """Add an entry to a table, where nothing may stand for the same thing twice."""
    if key in table:
        raise InternalError(f"{key!r} has an implementation already, in {table[key].__module__}")
    table[key] = entry


def implements(*numpy_functions: Any) -> Callable[[F], F]:
    """Register the decorated function for calls of `numpy_functions` with traced arguments."""

    def register(function: F) -> F:
        for numpy_function in numpy_functions:
            enter(FUNCTIONS, numpy_function, function)
        return function

    return register


def implements_ufunc(*ufuncs: Any) -> Callable[[F], F]:
    """Register the decorated function of operands (arrays or numbers) for the `ufuncs`."""

    def register(function: F) -> F:
        for ufunc in ufuncs:
            enter(UFUNCS, ufunc, function)
        return function

    return register


def method(name: str) -> Callable[[F], F]:
    """Register the decorated function as the ndarray method `name`."""

    def register(function: F) -> F:
        enter(METHODS, name, function)
        return function

    return register
