"""Entries of programs that serve a call only while what they rely on holds."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...compiler.frontend.outside.read_entries import ReadArray
from ...compiler.frontend.outside.read_names import ReadName, have_changed
from .generated_entry import MISS


def are_repeated(values: Iterable[Any]) -> bool:
    """Whether an array is among the values twice."""
    arrays = [id(x) for x in values if isinstance(x, np.ndarray)]
    return len(set(arrays)) < len(arrays)


def unless_repeated(entry: Callable[..., Any], outside: Sequence[Any]) -> Callable[..., Any]:
    """The entry for calls in which no argument is another one, or an array from outside."""

    def checked(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        is_plain = not kwargs and all(isinstance(x, (np.ndarray, np.generic, float, int)) for x in args)
        return entry(args, kwargs) if is_plain and not are_repeated([*args, *outside]) else MISS

    return checked


def while_unchanged(
    entry: Callable[..., Any], names: tuple[ReadName, ...], arrays: tuple[ReadArray, ...]
) -> Callable[..., Any]:
    """The entry as long as all names have the same values, and the arrays the same entries."""
    reads = tuple((one.read, one.place, one.value) for one in names)

    def checked(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            for read, place, value in reads:
                if read(place) is not value and have_changed(names):
                    return MISS
        except (AttributeError, LookupError, ValueError):  # one does not exist
            if have_changed(names):
                return MISS
        for array in arrays:
            if array.has_changed:
                return MISS
        return entry(args, kwargs)

    return checked
