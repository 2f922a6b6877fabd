"""The classes of labelled data, once their library has been loaded. Without it, none of this package is imported."""

from collections.abc import Callable
from typing import Any, Final

CONVERTERS: Final[dict[type[Any], Callable[[Any], Any]]] = {}
"""By the classes of pandas, and those for functions that are traced: what an object is in such a function."""
WAITED_FOR: Final = {"pandas", "xarray", "torch"}
"""Modules whose classes are registered once they are loaded."""


class LabelledDataError(Exception):
    """A Series or a DataFrame has a column with which no program can compute."""

    def __init__(self, text: str, data: Any) -> None:
        super().__init__(text)
        self.data = data


def is_labelled(x: Any) -> bool:
    """Whether it is a Series or a DataFrame, of pandas or in a function that is traced."""
    return type(x) in CONVERTERS


def as_labelled(x: Any) -> Any:
    """A Series or a DataFrame as the function that is traced sees it."""
    return CONVERTERS[type(x)](x)


MEMORY: Final[dict[type[Any], Callable[[Any], tuple[Any, ...]]]] = {}
"""By the classes of libraries: what holds an object: something else once a column has been replaced, or a tensor of
torch written to."""
