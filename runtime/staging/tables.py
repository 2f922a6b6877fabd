"""Reading and writing ``table[i]`` in converted code, for containers and NumPy arrays at traced places."""

import os
import sys
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from ...compiler.callers.subscripts import CURRENT_SUBSCRIPT, Subscript
from ...compiler.callers.user_code import user_location
from ...compiler.errors import ConcretizationError
from ...compiler.symbolic_size import is_known
from ...compiler.tracing.array_values import as_value
from ...compiler.tracing.outside.adoption import adopt_for_write, traced_replacement
from ...compiler.tracing.trace import current_trace, require_trace
from ...compiler.tracing.traced_array import located, wrap
from ...compiler.tracing.traced_memory import is_numpy_array, is_traced
from ..branching.one_of import OneOf, is_one_of, refusal_of
from ..branching.python_numbers import as_place, is_unknown_integer
from ..branching.stand_ins import read, stand_in_of, update_stand_ins
from ..branching.watching import is_watched
from ..eager.environment import variable
from .dictionaries import is_unknown_key, known_key, set_value, value_at
from .entries import check_settable, entry_at_place, from_start, set_entry, write_through
from .loops.iterations import StagedRange, plainly, range_of
from .methods import PLAIN_KEYS
from .numpy_functions import indexable
from .operators import iterated, users_method
from .special_methods import as_index

_COUNTS_TEMPORARIES: Final = sys.version_info < (3, 14)
"""Later versions of Python do not count all references."""
_OF_TEMPORARY: Final = 2
"""The references to a value that no variable holds: of the argument, and of the call that counts."""
_SEQUENCES: Final = (list, tuple, deque, str)
_PLAIN_TABLES: Final = frozenset({dict, list, str, tuple})


def get_item(table: Any, index: Any) -> Any:
    """``table[index]``"""
    trace = current_trace()
    if trace is None or (trace.is_evaluating and _is_plain(trace, table, index)):
        return table[index]
    update_stand_ins()
    if is_one_of(table) or is_one_of(index) or users_method(table, "__getitem__") is not None:
        return _get_item_of_each(table, index)
    return _get_item(table, index)


def _is_plain(trace: Any, table: Any, index: Any) -> bool:
    """Whether an entry is read and written as Python does, where no value is unknown."""
    kind = type(table)
    if kind is trace.array_class:
        return True
    return kind in _PLAIN_TABLES and type(index) in PLAIN_KEYS and trace.parent is None


def _get_item_of_each(table: Any, index: Any) -> Any:
    """``table[index]`` where either is a `OneOf`, or where the table has a class of the user's."""
    if is_one_of(table):
        return OneOf.asked(table, lambda one: get_item(one, index))
    if is_one_of(index):
        return OneOf.asked(index, lambda one: get_item(table, one))
    own = users_method(table, "__getitem__")
    return get_item(table, index) if own is None else own(index)


def _get_item(table: Any, index: Any) -> Any:
    if (found := indexable(table)) is not None:
        return located(found.__getitem__, index)
    if isinstance(table, dict):
        return read(value_at(table, index), table, index)
    if table is os.environ:
        return variable(index)
    index = as_index(_with_plain_ranges(index))
    if not _is_traced_index(index):
        return _of_numpys_array(table, index) if is_numpy_array(table) else table[index]
    if isinstance(table, (StagedRange, range, *_SEQUENCES)):
        index = as_place(index)
    _check_index_of_loops(table, index)
    if isinstance(table, StagedRange | range) and is_unknown_integer(index):
        numbers = table if isinstance(table, range) else table.plain()
        return numbers.start + from_start(index, len(numbers), "range object index") * numbers.step
    if isinstance(table, _SEQUENCES) and is_unknown_integer(index) and len(table):
        place = from_start(index, len(table), _name_of_index(table))
        return read(entry_at_place(table, place), table, index)
    with _at_work("slice" if _has_slice(index) else "entry"):
        return (wrap(as_value(table)) if is_numpy_array(table) else table)[index]


def _name_of_index(table: Any) -> str:
    """What Python calls an index of a sequence in its exceptions."""
    kind = next(one for one in _SEQUENCES if isinstance(table, one))
    return "string index" if kind is str else f"{kind.__name__} index"


def _of_numpys_array(table: Any, index: Any) -> Any:
    """A part of a NumPy array at a known place. Only a view shows later writes to the array."""
    if _may_change():
        return wrap(as_value(table))[index]
    found = table[index]
    if not (is_numpy_array(found) and np.may_share_memory(found, table)):
        require_trace().note_numpy_read([table])
    return found


def set_item(value: Any, table: Any, index: Any) -> None:
    """``table[index] = value``"""
    trace = current_trace()
    if trace is None or (trace.is_evaluating and _is_plain(trace, table, index)):
        table[index] = value
        return
    is_temporary = _COUNTS_TEMPORARIES and sys.getrefcount(value) <= _OF_TEMPORARY and _has_own_memory(value)
    if (own := users_method(table, "__setitem__")) is not None:
        own(index, value)
        return
    if is_one_of(table):
        raise refusal_of("written to", table)
    if write_through(table, index, value, get_item, set_item):
        return
    if isinstance(table, list | deque):
        index = as_place(index)
    if isinstance(table, dict):
        if is_unknown_key(index):
            set_value(table, index, value)
        else:
            table[known_key(index)] = value
    elif isinstance(table, list | deque) and is_unknown_integer(index):
        _check_index_of_loops(table, index)
        check_settable(table, len(table))
        what = "list assignment index" if isinstance(table, list) else "deque index"
        place = from_start(index, len(table), what)
        places = {number: place == number for number in range(len(table))}
        set_entry(table, index, places, value, is_temporary=is_temporary)
    else:
        _store(value, table, index)
    update_stand_ins()


def _has_own_memory(x: Any) -> bool:
    """Whether no other array has the memory of this one, as far as only this one refers to it."""
    return (
        is_traced(x)
        and not (x._views or x._storage.shared_with or x._storage.is_chosen)
        and not stand_in_of(x)
    )


def _store(value: Any, table: Any, index: Any) -> None:
    index = _with_plain_ranges(index)
    if is_numpy_array(table) and (_is_traced_index(index) or _holds_traced(value) or _may_change()):
        table = adopt_for_write(table)
    elif is_numpy_array(table):
        require_trace().note_numpy_write(table)
    if _is_traced_index(index):
        _check_index_of_loops(table, index)
    with _at_work("write"):
        table[index] = value


def _with_plain_ranges(index: Any) -> Any:
    """An index with Python's ranges. The program is then for their lengths."""
    if type(index) is tuple:
        return tuple(map(plainly, index))
    return plainly(index)


def with_adopted(over: Any) -> Any:
    """What Python iterates over. NumPy arrays that the program has written to are replaced by their traced arrays."""
    if current_trace() is None or type(over) is range or is_traced(over):
        return over
    update_stand_ins()
    return map(_adopted, iterated(over))


def _adopted(item: Any) -> Any:
    return tuple(map(_adopted, item)) if type(item) is tuple else traced_replacement(item)


def _may_change() -> bool:
    """Whether a NumPy array may have other values when the current code runs than it has now."""
    return is_watched() or require_trace().may_not_run


@contextmanager
def _at_work(place: Subscript) -> Generator[None]:
    token = CURRENT_SUBSCRIPT.set(place)
    try:
        yield
    finally:
        CURRENT_SUBSCRIPT.reset(token)


def note_range(number: Any, ends: Any) -> None:
    """Note the range of a number that differs between iterations."""
    if is_traced(number) and number.dtype.kind in "iu" and ends is not None:
        number._trace.ends[number.value] = ends


def range_of_known(array: Any) -> Any:
    """The range of an integer array that does not depend on arguments; None for other arrays."""
    if not is_traced(array) or array.dtype.kind not in "iu" or not array._trace.can_be_known(array.value):
        return None
    return range_of(array) or (-np.inf, np.inf)


def max_iterations(length: Any) -> Any:
    """The greatest possible number of iterations, as an int or a size; None if it is not known."""
    if not is_traced(length):
        return length
    found = range_of(length)
    return max(0, found[1]) if found is not None and isinstance(found[1], int) else None


def _check_index_of_loops(table: Any, index: Any) -> None:
    """Refuse an index that depends only on counters of loops and may be out of range, because Python would raise.

    If it also depends on values of arguments, it is checked only in programs that check bounds.
    """
    items = index if type(index) is tuple else (index,)
    shape = getattr(table, "shape", None) or ((len(table),) if type(table) in (list, tuple) else ())
    if (
        not is_watched()
        or require_trace().checks_bounds
        or any(one is None or one is Ellipsis for one in items)
    ):
        return
    for item, length in zip(items, shape, strict=False):
        if not (is_traced(item) and item.ndim == 0 and item.dtype.kind in "iu"):
            continue
        if not item._trace.follows_from_loop_counters(item.value):
            continue
        found = range_of(item)
        if found is None or not (is_known(found[0] >= -length) and is_known(found[1] < length)):
            raise ConcretizationError(
                f"an index may be out of bounds for an axis with size {length} in a later iteration: keep it in "
                "the axis, as with np.clip, or compile with check_bounds=True",
                user_location(),
            )


def _has_slice(index: Any) -> bool:
    return isinstance(index, slice) or (type(index) is tuple and any(isinstance(one, slice) for one in index))


def _is_traced_index(index: Any) -> bool:
    if type(index) is tuple:
        return any(map(_is_traced_index, index))
    if isinstance(index, slice):
        return is_traced(index.start) or is_traced(index.stop) or is_traced(index.step)
    return is_traced(index)


def _holds_traced(value: Any) -> bool:
    return any(map(_holds_traced, value)) if type(value) in (list, tuple) else is_traced(value)
