"""Exceptions that the user's function raises as values decide: a graph names them, this process has them."""

import builtins
from collections import OrderedDict
from typing import Final

import numpy as np

from .errors import ConcretizationError
from .ir import Location

_MOST: Final = 4096
_KEPT = (str, bytes, int, float, complex, bool, type(None))

_noted: "OrderedDict[str, tuple[type[Exception], tuple[object, ...]]]" = OrderedDict()


def noted(error: Exception, location: Location | None) -> str:
    """The text by which a graph names an exception: its class and its arguments.

    Raises:
        ConcretizationError: its arguments are more than numbers and texts.
    """
    kind = type(error)
    if not all(isinstance(one, _KEPT) for one in error.args):
        raise ConcretizationError(
            f"{kind.__name__} is raised where values decide, with arguments that are not plain numbers or texts: give "
            "it a text that needs no value",
            location,
        )
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    text = f"{name}({', '.join(map(repr, error.args))})"
    _noted[text] = kind, error.args
    _noted.move_to_end(text)
    if len(_noted) > _MOST:
        _noted.popitem(last=False)
    return text


def error_at(text: str, location: Location | None) -> Exception:
    """An exception that a graph names, with a note of the line that raises it."""
    error = _error_of(text)
    error.add_note(f"raised at {location}")
    return error


def _error_of(text: str) -> Exception:
    """Of its class, if this process has seen that, or it is Python's or NumPy's own."""
    if text in _noted:
        kind, given = _noted[text]
        return kind(*given)
    name, _, rest = text.partition("(")
    found = getattr(np.linalg if name.startswith("numpy.linalg") else builtins, name.rpartition(".")[2], None)
    if isinstance(found, type) and issubclass(found, Exception):
        return found(rest[:-1].strip("'\""))
    return RuntimeError(text)
