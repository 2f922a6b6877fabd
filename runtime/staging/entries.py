"""`entry`: the entry of a list or a table at a traced place: a number, array, container, object or function.

The result stands for one of the entries. A write to it becomes a write to each of them that only takes effect in the
chosen one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType, MethodType, ModuleType
from typing import Any, Final

import numpy as np
import optree

from ...compiler.arguments.leaves import flattened, is_array_like, strongest_type, weak_type
from ...compiler.callers.user_code import user_location
from ...compiler.errors import ConcretizationError, TracemillError
from ...compiler.numpy_surface.ufuncs.value_checks import guarded, refuse_values
from ...compiler.symbolic_size import is_known
from ...compiler.tracing.array_values import as_value
from ...compiler.tracing.index_checks import check_index, unchecked
from ...compiler.tracing.outside.adoption import adopt
from ...compiler.tracing.rows import rows_of
from ...compiler.tracing.sharing import TELLS_APART, plain_storages, share
from ...compiler.tracing.trace import RAISES_ON_VALUES
from ...compiler.tracing.traced_array import wrap
from ...compiler.tracing.traced_memory import is_numpy_array, is_traced
from ...compiler.tracing.values_in_call import FOLLOWS, guarded_value
from ..branching.alternatives import mapped, one_of
from ..branching.branches import raise_where, value_of
from ..branching.one_of import OneOf, entries_of, is_one_of, place_of
from ..branching.python_numbers import as_python_number, number_of_argument, selected
from ..branching.references import are_alike, chosen
from ..branching.stand_ins import (
    ArrayStandIn,
    ChosenArray,
    ContainerStandIn,
    CopiedContainer,
    StandIn,
    note_copies,
    note_stand_in,
    stand_in_of,
    update_stand_ins,
)
from ..branching.variables import has_dict, has_memory, is_same, key_orders
from .loops.iterations import range_of

_SETTABLE: Final = 256
"""The most entries of a list or a dict that can be written to at a traced place."""


def entry(entries: Sequence[Any], place: Any) -> Any:
    """The entry at a traced place, counted from the start.

    Raises:
        ConcretizationError: a graph cannot choose between the entries, and the place depends on values of arrays.
    """
    try:
        return _entry(entries, place)
    except ConcretizationError:
        if (known := number_of_argument(place)) is None:
            raise
        return entries[known]


def entry_at_place(entries: Iterable[Any], place: Any) -> Any:
    """The entry at a traced place from `from_start`. If that is out of bounds, and the program has no checks, the
    nearest entry."""
    with unchecked():
        return entry(list(entries), np.maximum(place, 0))


def from_start(place: Any, length: int, what: str) -> Any:
    """Count a traced place, which may be counted from the end, from the start.

    The program raises Python's `IndexError` for a place out of bounds of `what`, as in "list index". Python's
    sequences do not have NumPy's rule, by which programs only check bounds on request.
    """
    low, high = range_of(place) or (-np.inf, np.inf)
    if not RAISES_ON_VALUES.get():
        check_index(as_value(place), length, 0)
    elif not (is_known(low >= -length) and is_known(high < length)):
        refuse_values((place < -length) | (place >= length), f"{what} out of range", IndexError)
    return np.where(place < 0, place + length, place)


def _entry(entries: Sequence[Any], place: Any) -> Any:
    if any(map(is_one_of, entries)):
        return _one_of(entries, place)
    if any(isinstance(one, (list, tuple, dict)) for one in entries):
        return _container(entries, place)
    if all(map(is_array_like, entries)):
        return _array(entries, place)
    first = entries[0]
    if all(is_same(one, first) for one in entries):
        return first
    if FOLLOWS.get() and is_traced(place):
        known = guarded_value(place._trace, as_value(place), "which of several objects is used")
        if known is not None:
            return entries[int(known)]
    if all(callable(one) or _is_object(one) for one in entries):
        return OneOf(entries, place)
    return _one_of(entries, place)


def _one_of(entries: Sequence[Any], place: Any) -> Any:
    found = one_of(entries, place)
    return note_copies(found, entries) if is_one_of(found) else found


def _array(entries: Sequence[Any], place: Any) -> Any:
    shapes = {np.shape(one) for one in entries}
    if len(shapes) > 1:
        raise ConcretizationError(
            f"an array is chosen by a traced {place.type}, and the arrays have different shapes: "
            f"{', '.join(sorted(map(str, shapes)))}. A program can only choose between arrays of one shape: pad them, "
            "or compute with each in its own branch, `if i == 0: … elif i == 1: …`",
            user_location(),
        )
    if (told := _told_apart(entries, place)) is not None:
        return told
    found = wrap(as_value(list(entries)))[place]
    if (weak := _weak(entries)) is not None:
        return as_python_number(found, weak)
    if found.ndim:
        found = wrap(found.value)  # with memory of its own, as the entry has
        ArrayStandIn(found, entries, place)
    return found


def _told_apart(entries: Sequence[Any], place: Any) -> Any:
    """The array at a traced place, which reads and writes the entry itself; None if arrays are not told apart."""
    if not (TELLS_APART.get() and all(has_memory(one) and np.ndim(one) for one in entries)):
        return None
    arrays = [adopt(one) if is_numpy_array(one) else one for one in entries]
    if not are_alike(arrays):
        return None
    found = chosen(arrays, place)
    if is_traced(place):
        ChosenArray(found, arrays, place)
    return found


def _container(entries: Sequence[Any], place: Any) -> Any:
    found = _chosen_container(entries, place)
    if not is_one_of(found):
        note_stand_in(found, entries, place)
    return found


def _chosen_container(entries: Sequence[Any], place: Any) -> Any:
    """A container of the same structure as the entries, whose leaves are chosen one by one."""
    leaves, trees = zip(*map(flattened, entries), strict=True)
    orders = [key_orders(one) for one in entries] if has_dict(trees[0]) else []
    if any(tree != trees[0] for tree in trees[1:]) or any(order != orders[0] for order in orders):
        return _one_of(entries, place)
    return optree.tree_unflatten(trees[0], [entry(column, place) for column in zip(*leaves, strict=True)])


def _weak(entries: Sequence[Any]) -> "type[Any] | None":
    """The type of the result, if all entries are Python numbers; otherwise None."""
    kinds = [weak_type(one) for one in entries]
    return None if None in kinds else strongest_type(kinds)


def entries_at(entries: Sequence[Any], places: Any, count: int) -> list[Any]:
    """The entries at `count` traced places."""
    if all(map(is_array_like, entries)) and len({np.shape(one) for one in entries}) == 1:
        rows = (
            [_told_apart(entries, places[number]) for number in range(count)]
            if np.ndim(entries[0])
            else [None]
        )
        if all(row is not None for row in rows):
            return rows
        found = wrap(as_value(list(entries)))[places]
        if found.ndim > 1:
            found = wrap(found.value)
            ArrayStandIn(found, entries, places)
        return rows_of(found[:count], is_scalar=found.ndim == 1, weak=_weak(entries))
    return [entry(entries, places[number]) for number in range(count)]


# ---- writing -----------------------------------------------------------------------------------------


def check_settable(table: Any, count: int) -> None:
    """`ConcretizationError` if a write at a traced place may be to any of too many entries of a list or a dict."""
    if count > _SETTABLE:
        raise ConcretizationError(
            f"a write at a traced place to a {type(table).__name__} of {count} entries, and each may be the one that "
            f"is set: for more than {_SETTABLE} entries, use an array, as in np.array(items)",
            user_location(),
        )


def set_entry(
    table: Any, index: Any, places: "Mapping[Any, Any]", value: Any, *, is_temporary: bool = False
) -> None:
    """``table[index] = value`` for a list or a dict. `places` says for each key whether it is the one to set. Nothing
    else refers to a temporary value.

    Raises:
        ConcretizationError: a graph cannot choose between the old and new values.
    """
    own = stand_in_of(value)
    if own is not None and own.was_read(table, index):
        if not own.is_unchanged():
            _write_back(own)  # `rows[i] += v`
        return
    for key, test in places.items():
        table[key] = select(test, value, table[key], is_temporary=is_temporary)


def _write_back(own: StandIn) -> None:
    """Copy the stand-in, which was written to in place, to the chosen entry."""
    new = wrap(as_value(own.found))  # a copy, which the writes below do not change
    for test, one in own.chosen():
        one[...] = np.where(test, new, one)
    own.refresh()


def select(test: Any, new: Any, old: Any, *, is_temporary: bool = False) -> Any:
    """``new if test else old`` for numbers, arrays, and containers of them that have the same structure. Nothing else
    refers to a temporary new value."""
    if is_array_like(new) and is_array_like(old) and np.shape(new) == np.shape(old):
        if has_memory(new) and has_memory(old) and np.ndim(new):
            return _one_of_two(test, new, old, is_temporary=is_temporary)
        return selected(test, new, old)
    return value_of("an entry at a traced place", test, lambda: new, lambda: old)


def _one_of_two(test: Any, new: Any, old: Any, *, is_temporary: bool) -> Any:
    """One of two arrays, and notes that a later write to one of the three must show in the others."""
    if new is old:
        return old
    if not is_temporary and (told := _told_apart([old, new], np.where(test, 1, 0))) is not None:
        return told
    found, line = selected(test, new, old), user_location()
    for one in (old,) if is_temporary else (old, new):
        array = adopt(one) if is_numpy_array(one) else one
        for storage in plain_storages(array._storage):
            share(found._storage, storage, f"the entry set at {line}")
    return found


def write_through(
    holder: Any,
    index: Any,
    value: Any,
    read: Callable[[Any, Any], Any],
    store: Callable[[Any, Any, Any], None],
) -> bool:
    """If `holder` stands for one of several entries, write to the chosen one. Returns whether it does."""
    update_stand_ins()
    own = stand_in_of(holder)
    if own is None:
        return False
    if isinstance(own, CopiedContainer):
        own.release()
        return False
    is_known = not any(map(is_traced, index if type(index) is tuple else (index,)))
    if is_known and any(isinstance(one, dict) and index not in one for one in own.entries):
        raise own.refusal()
    for test, one in own.chosen():
        old = read(wrap(as_value(one)) if is_numpy_array(one) else one, index)
        store(np.where(test, value, old) if np.ndim(old) else selected(test, value, old), one, index)
    own.refresh()
    return True


# ---- objects and functions ---------------------------------------------------------------------------


def _asked(chosen: OneOf, question: Callable[[Any], Any]) -> Any:
    """Apply a function to each entry, and choose. If it fails for the chosen one, the program raises that error."""
    entries, place = entries_of(chosen), place_of(chosen)
    answers: list[Any] = []
    numbers: list[int] = []
    refused: list[tuple[int, Exception]] = []
    for number, one in enumerate(entries):
        try:
            with guarded(np.equal(place, number)):
                answers.append(question(one))
        except TracemillError:
            raise
        except (TypeError, AttributeError, LookupError, ValueError) as error:
            refused.append((number, error))
            numbers.append(0)
        else:
            numbers.append(len(answers) - 1)
    if not answers:
        raise refused[0][1]
    for number, refusal in refused:
        raise_where(np.equal(place, number), _as_pythons(refusal), user_location())
    if all(isinstance(one, MethodType) for one in answers) and len(answers) == len(entries):
        functions = {one.__func__ for one in answers}
        if len(functions) == 1:  # they have one class: call the method once, on `chosen`
            return MethodType(functions.pop(), chosen)
    return answers[0] if len(answers) == 1 else entry(answers, mapped(numbers, place))


def _as_pythons(error: Exception) -> Exception:
    """An error whose text names the type that numbers have when the program runs."""
    return type(error)(*(str(one).replace("TracedArray", "float") for one in error.args))


def _set_attribute(chosen: OneOf, name: str, value: Any) -> None:
    for number, one in enumerate(entries_of(chosen)):
        setattr(one, name, select(np.equal(place_of(chosen), number), value, getattr(one, name)))


OneOf.asked, OneOf.set_attribute = staticmethod(_asked), staticmethod(_set_attribute)
ContainerStandIn.choose = staticmethod(entry)


def call_one(
    chosen: OneOf, callee: Callable[[Any], Any], given: tuple[Any, ...], more: dict[str, Any]
) -> Any:
    """Call the chosen one of several functions. Only that one runs."""
    entries, place = entries_of(chosen), place_of(chosen)
    methods = {_method_of_calls(type(one)) for one in entries}
    method = methods.pop()
    if not methods and type(method) is FunctionType:
        return callee(MethodType(method, chosen))(*given, **more)

    def called(number: int) -> Any:
        if number == len(entries) - 1:
            return callee(entries[number])(*given, **more)
        return value_of(
            "a function at a traced place",
            np.equal(place, number),
            lambda: callee(entries[number])(*given, **more),
            lambda: called(number + 1),
        )

    return called(0)


def _method_of_calls(kind: "type[Any]") -> Any:
    return next((vars(one)["__call__"] for one in kind.__mro__ if "__call__" in vars(one)), None)


def _is_object(x: Any) -> bool:
    """Whether it is an object of a class that is not built in."""
    return type(x).__module__ != "builtins" and not isinstance(x, (type, ModuleType))
