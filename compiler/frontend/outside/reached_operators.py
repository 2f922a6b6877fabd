"""`has_reached_operators`: whether a function that runs as it goes reads objects whose operators need hooks.

A function that is compiled is asked by a walk through all that it can reach, which takes longer than its gradient.
"""

from collections.abc import Iterator
from contextvars import ContextVar
from functools import lru_cache
from itertools import islice
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from ...callers.user_code import OPERATORS
from ...callers.users_operators import defines_operators
from .read_names import chains

_MOST: Final = 8
"""How many entries of a container are looked at."""
_OTHERS: Final = frozenset(
    {
        ModuleType,
        FunctionType,
        BuiltinFunctionType,
        type,
        np.ndarray,
        np.ufunc,
        float,
        int,
        bool,
        str,
        type(None),
    }
)
"""Types of values that have no operators of the user's."""

ASKED: "ContextVar[set[CodeType] | None]" = ContextVar("asked", default=None)
"""The code of the functions that were asked in a call that runs as it goes."""


def has_reached_operators(function: FunctionType) -> bool:
    """Whether a function's variables hold such objects, directly, in attributes or as first entries.

    Each function is checked once per call.
    """
    asked, code = ASKED.get(), function.__code__
    if asked is None or code in asked:
        return False
    asked.add(code)
    module, cells = function.__globals__, function.__closure__ or ()
    for root, cell, attributes in _roots(code):
        held = module.get(root) if cell is None else _content(cells[cell])
        if type(held) not in _OTHERS:
            parts = (held, *(getattr(held, "__dict__", {}).get(name) for name in attributes))
            kinds: set[Any] = {type(one) for part in parts for one in _with_entries(part)}
            if any(map(defines_operators, kinds)):
                return not OPERATORS.get()
    return False


@lru_cache(4096)
def _roots(code: CodeType) -> tuple[tuple[str, int | None, frozenset[str]], ...]:
    """The names that code reads from outside, each with the number of its cell, or None for a global, and with the
    attributes that follow it."""
    found: dict[str, set[str]] = {}
    for root, attributes in chains(code):
        found.setdefault(root, set()).update(attributes[:1])
    cells = {name: number for number, name in enumerate(code.co_freevars)}
    return tuple((root, cells.get(root), frozenset(attributes)) for root, attributes in found.items())


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is unset
        return None


def _with_entries(x: Any) -> Iterator[Any]:
    yield x
    if isinstance(x, (list, tuple, dict)):
        yield from islice(x.values() if isinstance(x, dict) else x, _MOST)
