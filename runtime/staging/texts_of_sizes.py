"""Texts of sizes, which have names while a function is traced: users see numbers.

In a message, the program fills in the numbers. Elsewhere a text is that of the call, and the program is for its sizes.
"""

import operator
from collections.abc import Callable
from typing import Any

import optree

from ...compiler.arguments.leaves import flattened
from ...compiler.callers.user_code import user_location
from ...compiler.errors import ConcretizationError
from ...compiler.message_values import MARK, MESSAGE_VALUES
from ...compiler.symbolic_size import SymbolicSize
from ...compiler.tracing.traced_memory import is_traced


def with_numbers(x: Any) -> Any:
    """A size, or sizes in a container, as the numbers of the call."""
    return _changed(operator.index, x)


def with_programs_number(x: Any) -> Any:
    """A size as the number that the program has; sizes in a container as those of the call."""
    return x.as_number() if isinstance(x, SymbolicSize) else with_numbers(x)


def in_message(x: Any) -> Any:
    """A size, or a container, as it should be shown in a message."""
    if isinstance(x, SymbolicSize):
        return _Size(x)
    leaves, _ = flattened(x)
    return _Container(x) if any(is_traced(leaf) or isinstance(leaf, SymbolicSize) for leaf in leaves) else x


def _changed(change: Callable[[SymbolicSize], Any], x: Any) -> Any:
    leaves, tree = flattened(x)
    if not any(isinstance(leaf, SymbolicSize) for leaf in leaves):
        return x
    changed = [change(leaf) if isinstance(leaf, SymbolicSize) else leaf for leaf in leaves]
    return optree.tree_unflatten(tree, changed)


class _Size:
    """Stands for a size in a message."""

    __slots__ = ("_size",)

    def __init__(self, size: SymbolicSize) -> None:
        self._size = size

    def __repr__(self) -> str:
        return self._mark("!r")

    def __str__(self) -> str:
        return self._mark("!s")

    def __format__(self, spec: str) -> str:
        return self._mark(f":{spec}")

    def _mark(self, form: str) -> str:
        message_values = MESSAGE_VALUES.get()
        assert message_values is not None
        return message_values.mark(self._size.as_number(), form)


class _Container:
    """Stands for a container in a message."""

    __slots__ = ("_x",)

    def __init__(self, x: Any) -> None:
        self._x = x

    def __repr__(self) -> str:
        return _TextOfContainer(self._x)

    def __format__(self, spec: str) -> str:
        return str(self) if not spec else format(self._x, spec)  # Python's TypeError


class _TextOfContainer(str):
    """A text with marks in it. It cannot be padded, because what replaces the marks has another length."""

    __slots__ = ("_x",)
    _x: Any

    def __new__(cls, x: Any) -> "_TextOfContainer":
        new = super().__new__(cls, repr(_changed(_Size, x)))
        new._x = x
        return new

    def __format__(self, spec: str) -> str:
        text = str(self)
        if not spec:
            return text
        known = repr(with_numbers(self._x))
        if MARK.search(known):
            raise ConcretizationError(
                f"the text of a {type(self._x).__name__} with values cannot be padded (`:{spec}`) before they are "
                "known: format each value",
                user_location(),
            )
        return format(known, spec)
