"""`OneOf`: one of several values that a graph cannot choose between, such as strings, None, functions and objects.

A traced number says which one. An operation on a `OneOf` is applied to each entry.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Final

import numpy as np
import optree

from ...compiler.arguments.leaves import NAMESPACE
from ...compiler.callers.user_code import asked_by_traced_code, user_location
from ...compiler.errors import ConcretizationError
from ...compiler.tracing.traced_memory import is_traced

_PLACE: Final = "_place_in_entries"
_ENTRIES: Final = "_entries_to_choose_from"


class OneOf:
    """One of several entries: an operation is applied to each, and the traced place chooses among the results."""

    asked: ClassVar[Callable[["OneOf", Callable[[Any], Any]], Any]]
    """Applies a function to each entry and chooses among the results. Set by `runtime.staging.entries`."""

    set_attribute: ClassVar[Callable[["OneOf", str, Any], None]]
    """Sets an attribute of the chosen entry. Set by the same module."""

    def __init__(self, entries: Sequence[Any], place: Any) -> None:
        vars(self)[_ENTRIES], vars(self)[_PLACE] = tuple(entries), place

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride, reportIncompatibleMethodOverride]
        kinds = {type(one) for one in entries_of(self)}
        return kinds.pop() if len(kinds) == 1 else OneOf

    def __getattr__(self, name: str) -> Any:
        return OneOf.asked(self, lambda one: getattr(one, name))

    def __setattr__(self, name: str, value: Any) -> None:
        OneOf.set_attribute(self, name, value)

    def __iter__(self) -> Iterator[Any]:
        items = {id(one): list(one) for one in entries_of(self)}
        lengths = set(map(len, items.values()))
        if len(lengths) > 1:
            raise refusal_of("unpacked or iterated over", self)
        return iter(
            [OneOf.asked(self, lambda one, at=at: items[id(one)][at]) for at in range(lengths.pop())]  # type: ignore[misc]
        )

    def __bool__(self) -> bool:
        raise refusal_of("used as a condition", self)

    def __hash__(self) -> int:
        raise refusal_of("used in a set or as the key of a dict", self)

    def __eq__(self, other: object) -> Any:
        return OneOf.asked(self, lambda one: one == other)

    def __len__(self) -> int:
        raise refusal_of("passed to len", self)

    def __repr__(self) -> str:
        if asked_by_traced_code(sys._getframe(1)):
            return str(self)
        return " or ".join(map(repr, entries_of(self)))

    def __str__(self) -> str:
        raise refusal_of("converted to a string", self)

    def __format__(self, spec: str) -> str:
        return str(self)


def entries_of(x: OneOf) -> tuple[Any, ...]:
    """The values that it chooses among."""
    found: tuple[Any, ...] = vars(x)[_ENTRIES]
    return found


def place_of(x: OneOf) -> Any:
    """The number of the chosen entry."""
    return vars(x)[_PLACE]


def is_one_of(x: Any) -> bool:
    """Whether it is a `OneOf`. `isinstance` cannot tell, because it asks the entries."""
    return type(x) is OneOf


def refusal_of(what: str, x: OneOf) -> ConcretizationError:
    """The error for what cannot be done with one of several values."""
    shown = " or ".join(f"{one!r:.30}" for one in entries_of(x)[:3])
    return ConcretizationError(
        f"a value that is {shown}, depending on other values, is {what}, but tracing does not know which one it is: "
        "test it, `if x == …`, or use numbers",
        user_location(),
    )


def _filled(_: object, children: Iterable[Any]) -> Any:
    """The chosen entry if the place is known, as in a result of the program; otherwise a `OneOf`."""
    place, *entries = children
    if np.ndim(place):
        raise ConcretizationError(
            "the result of a batch has a different value for each example, and an array cannot hold strings, None or "
            "objects: return a number instead"
        )
    is_known = not (is_traced(place) or isinstance(place, str))  # in messages, a string stands for the place
    return entries[int(place)] if is_known else OneOf(entries, place)


def _flattened(x: Any) -> tuple[tuple[Any, ...], None]:
    return (place_of(x), *entries_of(x)), None


_register: Any = optree.register_pytree_node  # its annotation asks for a collection
_register(
    OneOf,
    _flattened,
    _filled,
    namespace=NAMESPACE,
)
