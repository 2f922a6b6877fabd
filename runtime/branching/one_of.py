"""`OneOf`: one of several values that a graph cannot choose between, such as texts, None, functions and objects.

A traced number tells which. What is asked of it is asked of each.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Final

import numpy as np
import optree

from ...compiler.callers.user_code import user_location
from ...compiler.errors import ConcretizationError
from ...compiler.frontend.traced_program import NAMESPACE
from ...compiler.tracing.traced_array import is_traced

_PLACE: Final = "_place_in_entries"
_ENTRIES: Final = "_entries_to_choose_from"


class OneOf:
    """One of several values: what is asked of it is asked of each, and the place chooses."""

    asked: ClassVar[Callable[["OneOf", Callable[[Any], Any]], Any]]
    """Asks something of each entry. From where entries are chosen."""

    set_attribute: ClassVar[Callable[["OneOf", str, Any], None]]
    """Sets an attribute of the entry that is meant. From there as well."""

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
        lengths = {len(one) for one in entries_of(self)}
        if len(lengths) > 1:
            raise _refusal("unpacked or iterated over by Python", self)
        return iter([OneOf.asked(self, lambda one, at=at: one[at]) for at in range(lengths.pop())])  # type: ignore[misc]

    def __bool__(self) -> bool:
        raise _refusal("asked by Python whether it is true", self)

    def __hash__(self) -> int:
        raise _refusal("a key of a dict or in a set", self)

    def __eq__(self, other: object) -> Any:
        return OneOf.asked(self, lambda one: one == other)

    def __len__(self) -> int:
        raise _refusal("asked by Python for its length", self)

    def __repr__(self) -> str:
        return " or ".join(map(repr, entries_of(self)))

    def __str__(self) -> str:
        raise _refusal("shown as a text", self)

    def __format__(self, spec: str) -> str:
        return str(self)


def entries_of(x: OneOf) -> tuple[Any, ...]:
    """The values among which it chooses."""
    found: tuple[Any, ...] = vars(x)[_ENTRIES]
    return found


def place_of(x: OneOf) -> Any:
    """The number that tells which."""
    return vars(x)[_PLACE]


def is_one_of(x: Any) -> bool:
    """Whether it is one of several values. `isinstance` asks the entries."""
    return type(x) is OneOf


def _refusal(what: str, x: OneOf) -> ConcretizationError:
    shown = " or ".join(f"{one!r:.30}" for one in entries_of(x)[:3])
    return ConcretizationError(
        f"what is {shown}, as values decide, is {what}, which needs to know which: test it, `if x == …`, or use "
        "numbers",
        user_location(),
    )


def _filled(_: object, children: Iterable[Any]) -> Any:
    """The entry that is meant, where the place is known: as in a result of the program."""
    place, *entries = children
    if np.ndim(place):
        raise ConcretizationError(
            "each example of a batch has one of several values that are not numbers, and no array holds those: "
            "return a number in place of a text or None"
        )
    is_known = not (is_traced(place) or isinstance(place, str))  # a text stands for it in messages
    return entries[int(place)] if is_known else OneOf(entries, place)


def _taken_apart(x: Any) -> tuple[tuple[Any, ...], None]:
    return (place_of(x), *entries_of(x)), None


_register: Any = optree.register_pytree_node  # which asks for a collection
_register(
    OneOf,
    _taken_apart,
    _filled,
    namespace=NAMESPACE,
)
