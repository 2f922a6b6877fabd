"""Which of our functions stands for which of NumPy's while tracing."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..errors import InternalError

F = TypeVar("F", bound=Callable[..., Any])

FUNCTIONS: dict[Any, Callable[..., Any]] = {}
"""NumPy function -> what runs when one of its arguments is traced (``__array_function__``)."""

UFUNCS: dict[Any, Callable[..., Any]] = {}
"""ufunc -> function of traced operands, for those that are not one op of the same name."""

METHODS: dict[str, Callable[..., Any]] = {}
"""ndarray method -> function, for methods that differ from NumPy's function of that name."""

CONSTRUCTORS: dict[str, Callable[..., Any]] = {}
"""Name of a function in NumPy that makes arrays out of nothing (``zeros``, ``fft.fftfreq``) -> what the user's code
calls in its place while it is traced."""

INDEXABLES: dict[str, Any] = {}
"""Name of an object in NumPy that is indexed, such as ``r_`` -> what stands for it in the user's code."""

STAND_INS: dict[str, Callable[..., Any]] = {}
"""Name of a function in `scipy.special` that is written in Python -> function of the same parameters for traced arrays,
where SciPy's own formula loses derivatives."""

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


def constructs(name: str) -> Callable[[F], F]:
    """Register the decorated function for ``np.name``, whatever its arguments are."""

    def register(function: F) -> F:
        enter(CONSTRUCTORS, name, function)
        return function

    return register


def stands_in_for(name: str) -> Callable[[F], F]:
    """Register the decorated function, of the same parameters, for ``scipy.special.name`` of traced arrays."""

    def register(function: F) -> F:
        enter(STAND_INS, name, function)
        return function

    return register


def place_in_numpy(name: str) -> tuple[Any, str]:
    """The module and the attribute of it that a name in NumPy means: ``numpy.fft`` and ``fftfreq``."""
    module, _, attribute = name.rpartition(".")
    return (getattr(np, module) if module else np), attribute


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
