"""``x[i, 1:]`` in loops that are read, where NumPy would not raise: a program cannot."""

from typing import Any

import numpy as np

from ....compiler.symbolic_size import SymbolicSize
from ....compiler.tracing.trace import array_type, require_trace
from ....compiler.tracing.traced_array import array_on, contains_traced
from .counted import BoundedInt
from .values import NotInLanguageError, is_array, is_traced_exactly


def read_item(of: Any, index: Any) -> Any:
    """``of[index]``."""
    if type(of) is tuple:
        if type(index) is int or (type(index) is slice and _is_plain(index)):
            return of[index]
        raise NotInLanguageError("it indexes a tuple by a number of the program")
    if not is_array(of):
        raise NotInLanguageError(f"it indexes {type(of).__name__}")
    found = checked_index(of.shape, index)
    if type(of) is np.ndarray and contains_traced(found if type(found) is tuple else (found,)):
        return array_on(require_trace().storage_of_array(of), array_type(of))[found]
    return of[found]


def checked_index(shape: tuple[Any, ...], index: Any) -> Any:
    """An index for an array of this shape, with the counter as a number of the program."""
    items = index if type(index) is tuple else (index,)
    consumed = sum(item is not None and item is not Ellipsis for item in items)
    axis, found = 0, list[Any]()
    for item in items:
        if item is Ellipsis:
            axis += len(shape) - consumed
        elif item is not None:
            if not (axis < len(shape) and _is_allowed(item, shape[axis])):
                raise NotInLanguageError(_reason(item))
            axis += 1
        found.append(item.number if type(item) is BoundedInt else item)
    return tuple(found) if type(index) is tuple else found[0]


def _is_allowed(item: Any, length: Any) -> bool:
    if type(item) is BoundedInt:
        return item.indexes(length)
    if type(item) is slice:
        return _is_plain(item)
    if is_array(item):
        return bool(item.dtype.kind in "iu" and (is_traced_exactly(item) or type(length) is int))
    return type(item) is int or isinstance(item, SymbolicSize)


def _is_plain(index: slice) -> bool:
    """Whether a slice is the same in each turn."""
    ends = (index.start, index.stop, index.step)
    return all(end is None or type(end) is int or isinstance(end, SymbolicSize) for end in ends)


def _reason(item: Any) -> str:
    if type(item) is BoundedInt:
        return "its counter may be no index of the array"
    return "it slices by its counter" if type(item) is slice else f"it indexes by {type(item).__name__}"
