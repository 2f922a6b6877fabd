"""`Place`: where a value is held that a function can reach, and what code must mention to come to it."""

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, Final, TypeAlias

import numpy as np

Way: TypeAlias = str | CodeType | None
"""What code must mention to come to a value: the attribute that leads there, or a variable of the function with that
code. None if the value is the function itself or an argument."""


ABSENT: Final = object()
"""The value of a place that holds nothing."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place that holds a value: a key of a dict, a list or an object array, an attribute, or a cell."""

    holder: Any
    key: Any
    value: Any
    """The value when the walk came to it."""
    path: str
    """How the function reaches it: ``COUNT[0]``."""
    way: "Way" = None

    def now(self) -> Any:
        """The current value; `ABSENT` if there is none."""
        with suppress(LookupError, AttributeError, ValueError):
            return self._held()
        return ABSENT

    def _held(self) -> Any:
        if _has_entries(self.holder):
            return self.holder[self.key]
        if isinstance(self.holder, type):  # not its methods, which are made at each look
            return vars(self.holder)[self.key]
        return getattr(self.holder, self.key)

    def set(self, value: Any) -> None:
        """Put a value there; with `ABSENT`, delete the attribute."""
        if value is ABSENT:
            object.__delattr__(self.holder, self.key)
        elif _has_entries(self.holder):
            self.holder[self.key] = value
        elif isinstance(self.holder, partial):
            state: Any = self.holder.__reduce__()[2]
            function, args, keywords, attributes = state
            given = {"func": function, "args": args} | {self.key: value}
            self.holder.__setstate__((given["func"], given["args"], keywords, attributes))  # type: ignore[attr-defined]
        elif isinstance(self.holder, type):
            type.__setattr__(self.holder, self.key, value)
        elif isinstance(self.holder, (CellType, FunctionType)):
            setattr(self.holder, self.key, value)
        else:
            object.__setattr__(self.holder, self.key, value)


@dataclass(frozen=True, slots=True)
class Namespace:
    """The names of an object, a class or a module, or of global variables."""

    path: str
    """How the function reaches what has the names; empty for global variables."""
    values: Mapping[str, Any]
    """The dict with the names, or that of a class."""
    kind: "type | None"
    """The class, if it is one."""
    names: frozenset[str]
    """The names when the walk came to it."""
    is_watched: bool
    """Whether new names are looked for here, and not in a container."""
    way: "Way" = None

    def new(self) -> Iterator[str]:
        """The names that it has got since, other than those that Python sets, and modules that were imported."""
        for name in self.values.keys() - self.names:
            if not name.startswith("__") and not isinstance(self.values[name], ModuleType):
                yield name

    def restore(self) -> None:
        """Delete new names."""
        for name in self.new():
            if self.kind is not None:
                type.__delattr__(self.kind, name)
            elif isinstance(self.values, dict):
                del self.values[name]


def _has_entries(x: Any) -> bool:
    return isinstance(x, (dict, list, deque, np.ndarray))
