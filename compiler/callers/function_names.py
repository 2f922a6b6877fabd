"""Names of functions, for graphs and for messages."""

from functools import partial
from typing import Any


def function_name(function: Any) -> str:
    """The name of a function for graphs. A `functools.partial` has the name of the function that it wraps."""
    name = _plain_name(function)
    return name if name.isidentifier() else "function"


def describe(function: Any) -> str:
    """A function's name in messages; a `functools.partial` is shown as such."""
    name = _plain_name(function)
    return f"partial({name})" if isinstance(function, partial) else name


def _plain_name(function: Any) -> str:
    while isinstance(function, partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))
