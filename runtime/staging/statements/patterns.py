"""`matched`: the subject of a ``match`` statement that Python runs, and the classes of numbers in its patterns."""

import builtins
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from ....compiler.callers.user_code import is_defined_by_user, user_location
from ....compiler.errors import ConcretizationError
from ....compiler.symbolic_size import SymbolicSize
from ....compiler.tracing.traced_memory import is_traced
from ..built_in_functions import is_instance

_DEEPEST: Final = 4
_PYTHONS: Final = (bool, complex, float, int)


def matched(subject: Any, pythons: tuple[Any, ...], others: tuple[Any, ...]) -> Any:
    """The subject of patterns, of which some are for classes of numbers: those that have the names of Python's, for
    which others stand, and those that have the names of NumPy's.

    Raises:
        ConcretizationError: the first are not Python's; or the second are NumPy's, and the subject holds a traced
            number, which Python does not see to be of such a class.
    """
    for kind in pythons:
        if kind not in _PYTHONS:
            raise ConcretizationError(
                f"this `match` asks for a class `{getattr(kind, '__name__', kind)}` that is not Python's: give your "
                "class another name",
                user_location(),
            )
    for kind in others:
        if isinstance(kind, type) and issubclass(kind, np.generic) and _holds_number(subject):
            raise ConcretizationError(
                f"this `match` asks for np.{kind.__name__}, the class of a number that is traced, inside of a pattern "
                "for a sequence, a mapping or an object, or beside one: ask in the guard, as in "
                f"`case [a, b] if isinstance(a, np.{kind.__name__}):`",
                user_location(),
            )
    return subject


def _holds_number(x: Any, depth: int = 0) -> bool:
    if is_traced(x) or isinstance(x, SymbolicSize):
        return True
    if depth == _DEEPEST:
        return False
    parts: Iterable[Any] = ()
    if isinstance(x, Mapping):
        parts = x.values()
    elif isinstance(x, (list, tuple)):
        parts = x
    elif is_defined_by_user(type(x)):
        parts = getattr(x, "__dict__", {}).values()
    return any(_holds_number(one, depth + 1) for one in parts)


class _Kind(type):
    """Makes a class that stands for Python's `kind` in patterns, and also matches numbers that are traced."""

    kind: type

    def __instancecheck__(cls, x: Any) -> bool:
        return is_instance(x, cls.kind)


def _standing_for(kind: "type[Any]", base: "type[Any]") -> Any:
    """Such a class. A pattern may have an argument for the number itself if `base` is one of those that allow it."""
    return _Kind(kind.__name__, (base,), {"kind": kind, "__module__": builtins.__name__})


BOOL_PATTERN = _standing_for(bool, int)  # no class can be derived from bool
COMPLEX_PATTERN = _standing_for(complex, complex)
FLOAT_PATTERN = _standing_for(float, float)
INT_PATTERN = _standing_for(int, int)
