"""Which objects of the user's classes a function has made that it returns, and whether a program can make them anew.

It can if they hold only what it can make anew, too, and if nothing else refers to them: no cache, registry or closure.
"""

import gc
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import partial
from types import CellType, FunctionType, MethodType
from typing import Any, Final, TypeAlias

import numpy as np
import optree

from ...arguments.leaves import NAMESPACE
from ...callers.function_names import describe
from ...callers.user_code import is_defined_by_user
from ...errors import SideEffectError
from ...symbolic_size import SymbolicFact, SymbolicSize
from ...tracing.outside.object_walk import ObjectWalk
from ...tracing.trace import require_trace
from ...tracing.traced_memory import is_traced
from .object_state import entries_of, shows_all_slots, state_of

Test: TypeAlias = Callable[[Any], bool]

_FIXED: Final = frozenset(
    {type(None), bool, int, float, complex, str, bytes, SymbolicSize, SymbolicFact}
)  # of these types, an object is as good as another that is equal
_SEVERAL: Final = (list, tuple, set, frozenset, deque)
_EMPTY: Final = CellType()


def objects_made(
    function: Callable[..., Any],
    holders: Sequence[Any],
    is_callers: Test,
    is_noted: Test,
    outside: ObjectWalk | None,
) -> frozenset[int]:
    """The ids of the objects of the user's classes that a function has made and returns, or gives to its caller.

    The `holders` are lists and dicts that hold this, and what `is_callers`. Nothing else refers to the result. Of some
    objects, it `is_noted` that the function has made them. It may have made any that it did not find `outside`.

    Raises:
        SideEffectError: no program can make them anew.
    """

    def is_new(x: Any) -> bool:
        if not (_is_users_object(x) and optree.tree_is_leaf(x, namespace=NAMESPACE)):
            return False
        return is_noted(x) or (outside is not None and not outside.has_met(x))

    made = _held_anywhere(holders, is_new)
    if not made:
        return frozenset()
    nodes = _Nodes(is_new)
    nodes.meet_all(holders, is_callers)
    made |= {id(x): type(x) for x in nodes.nodes if is_new(x)}
    obstacle = nodes.obstacle or nodes.other_holder()
    if not obstacle:
        return frozenset(made)
    for one in (nodes.nodes, *holders):  # so that nothing in the traceback refers to the objects
        one.clear()
    error = SideEffectError(
        f"{describe(function)} returns an object that no program can make anew in each call, because of {obstacle}: "
        "return its values, and make it after the call"
    )
    error.runs_uncompiled, error.made = True, made
    raise error


def are_alive(made: Mapping[int, type]) -> bool:
    """Whether one of these objects still exists."""
    if not made:
        return False
    gc.collect()
    return any(made.get(id(x)) is type(x) for x in gc.get_objects())


def _is_users_object(x: Any) -> bool:
    return not isinstance(x, type | Enum) and is_defined_by_user(type(x))


def _held_anywhere(holders: Iterable[Any], is_new: Test) -> dict[int, type]:
    """The classes of the new objects in containers, also as keys, and in closures; also those of such closures."""
    found: dict[int, type] = {}
    seen: dict[int, Any] = {}  # keeps them alive, so that ids stay unique
    stack: list[Any] = list(holders)
    while stack:
        x = stack.pop()
        if id(x) in seen or type(x) in _FIXED or is_traced(x):
            continue
        seen[id(x)] = x
        if is_new(x):
            found[id(x)] = type(x)
        elif issubclass(
            type(x), dict
        ):  # not `isinstance`: one of several dicts passes for a dict without items
            stack += (*x.keys(), *x.values())
        elif issubclass(type(x), _SEVERAL):
            stack += x
        elif isinstance(x, MethodType):
            stack.append(x.__self__)
        elif isinstance(x, partial):
            stack += (x.func, *x.args, *x.keywords.values())
        elif isinstance(x, FunctionType):
            held = [cell.cell_contents for cell in x.__closure__ or () if cell != _EMPTY]
            if any(map(is_traced, held)):
                found[id(x)] = FunctionType
            stack += held
        elif not optree.tree_is_leaf(x, namespace=NAMESPACE):
            stack += optree.tree_flatten_one_level(x, namespace=NAMESPACE)[0]
    return found


class _Nodes:
    """All that a result holds and that has an identity, with the number of references from the result to each."""

    def __init__(self, is_new: Test) -> None:
        self._is_new = is_new
        self.nodes: list[Any] = []
        self._references: list[int] = []
        self._places: dict[int, int] = {}
        self.obstacle = ""

    def meet_all(self, holders: Iterable[Any], is_callers: Test) -> None:
        """Meet what the containers hold, and what that holds, up to the first obstacle."""
        for holder in holders:
            for x in holder.values() if isinstance(holder, dict) else holder:
                if not is_callers(x):
                    self._meet(x)
        for x in self.nodes:  # which grows
            for one in self._held_by(x):
                self._meet(one)
            if self.obstacle:
                return

    def _meet(self, x: Any) -> None:
        if _is_fixed(x):
            return
        place = self._places.setdefault(id(x), len(self.nodes))
        if place == len(self.nodes):
            self.nodes.append(x)
            self._references.append(1)
        elif self._is_new(x):
            self._references[place] += 1
        else:
            self.obstacle = f"a {type(x).__name__} in two places"

    def _held_by(self, x: Any) -> Iterable[Any]:
        """What an object holds, if it can be made anew with that."""
        kind = type(x)
        if self._is_new(x):
            if _can_be_made(kind):
                return state_of(x).values()
            self.obstacle = f"the way in which {kind.__name__} makes and ends objects"
        elif kind is dict and all(map(_is_key, x)):
            return x.values()  # type: ignore[no-any-return]
        elif kind in (list, tuple) or (optree.is_namedtuple_class(kind) and entries_of(x) is None):
            return x  # type: ignore[no-any-return]
        else:
            self.obstacle = f"a {kind.__name__} in it"
        return ()

    def other_holder(self) -> str:
        """An obstacle if something else refers to one of the objects; otherwise empty."""
        for place in range(len(self.nodes)):  # a variable for the object would refer to it
            is_new = self._is_new(self.nodes[place])
            entries = [entries_of(self.nodes[place])] if is_new else [None]
            if (
                _holders(self.nodes, place) != _HELD_ONCE + self._references[place]
                or (entries[0] is not None and _holders(entries, 0) != _HELD_ONCE + 1)
                or (is_new and weakref.getweakrefcount(self.nodes[place]))
            ):
                return f"something else that refers to a {type(self.nodes[place]).__name__} of it"
        return ""


def _holders(container: Any, key: int) -> int:
    """The number of references to the item of a container; `_HELD_ONCE` if only the container has one."""
    return sys.getrefcount(container[key])


_HELD_ONCE: Final = _holders([object()], 0)


def _is_fixed(x: Any) -> bool:
    """Whether it does not matter if an object is another one that is equal: an array in a result is a new one."""
    if is_traced(x):
        return not x.ndim or not require_trace().is_captured(x._storage)
    return _is_key(x) or isinstance(x, np.generic)


def _is_key(x: Any) -> bool:
    """The same for keys of dicts."""
    return type(x) in _FIXED or is_traced(x) or (type(x) is tuple and all(type(one) in _FIXED for one in x))


def _can_be_made(kind: Any) -> bool:
    """Whether an object can be made without its ``__init__``."""
    is_special = (
        issubclass(kind, BaseException) or kind.__new__ is not object.__new__ or hasattr(kind, "__del__")
    )
    return not is_special and shows_all_slots(kind)
