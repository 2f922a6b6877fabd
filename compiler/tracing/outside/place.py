"""`Place`: where a value is held that a function can reach, and what code must mention to come to it."""

from collections import deque
from dataclasses import dataclass
from functools import partial
from types import CellType, CodeType, FunctionType
from typing import Any, TypeAlias

import numpy as np

Way: TypeAlias = str | CodeType | None
"""What code must mention to come to a value: the attribute that leads there, or a variable of the function with that
code. None if the value is the function itself or an argument."""


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
        """The current value; LookupError, AttributeError or ValueError if there is none."""
        if _has_entries(self.holder):
            return self.holder[self.key]
        if isinstance(self.holder, type):  # not its methods, which are made at each look
            return vars(self.holder)[self.key]
        return getattr(self.holder, self.key)

    def set(self, value: Any) -> None:
        if _has_entries(self.holder):
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


def _has_entries(x: Any) -> bool:
    return isinstance(x, (dict, list, deque, np.ndarray))
