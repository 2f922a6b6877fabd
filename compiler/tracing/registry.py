"""The functions that replace NumPy's while tracing."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..errors import InternalError

F = TypeVar("F", bound=Callable[..., Any])

FUNCTIONS: dict[Any, Callable[..., Any]] = {}
"""Maps a NumPy function to the one that runs when an argument is traced (``__array_function__``)."""

UFUNCS: dict[Any, Callable[..., Any]] = {}
"""Maps a ufunc that is not one op of the same name to a function of traced operands."""

METHODS: dict[str, Callable[..., Any]] = {}
"""Maps an ndarray method that differs from NumPy's function of the same name to a function."""

CONSTRUCTORS: dict[str, Callable[..., Any]] = {}
"""Maps the name of a NumPy function without array arguments (``zeros``, ``fft.fftfreq``) to the one that the user's
code calls instead while it is traced."""

INDEXABLES: dict[str, Any] = {}
"""Maps the name of an object in NumPy that is indexed, such as ``r_``, to its replacement in the user's code."""

STAND_INS: dict[str, Callable[..., Any]] = {}
"""Maps the name of a function of SciPy, such as ``linalg.inv``, to a function for traced arrays that has those of its
parameters that change the result."""

STAGED_STAND_INS: set[str] = set()
"""Those of these names whose functions contain loops, which are converted as the user's are."""

LEAVING: dict[Any, Callable[..., Any]] = {}
"""Maps a NumPy function that writes elements to a file, or makes a text of them, to the one that runs instead."""

REFUSED: dict[str, str] = {}
"""Maps the name of a NumPy function that cannot be traced to the reason, for its error."""


def enter(table: dict[Any, Any], key: Any, entry: Any) -> None:
    """Add an entry to a table, in which it must be new."""
    if key in table:
        raise InternalError(f"{key!r} has an implementation already, in {table[key].__module__}")
    table[key] = entry


def enter_all(table: dict[str, Any], entry: Any, names: str) -> None:
    """Add an entry for each of some names."""
    for name in names.split():
        enter(table, name, entry)


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


def stands_in_for(name: str, *, has_loops: bool = False) -> Callable[[F], F]:
    """Register the decorated function for ``scipy.name`` of traced arrays: ``special.logsumexp``, ``linalg.inv``."""

    def register(function: F) -> F:
        enter(STAND_INS, name, function)
        if has_loops:
            STAGED_STAND_INS.add(name)
        return function

    return register


def place_in_numpy(name: str) -> tuple[Any, str]:
    """The module and the attribute of a name in NumPy: ``numpy.fft`` and ``fftfreq``."""
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
