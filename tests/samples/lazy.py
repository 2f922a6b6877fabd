"""`Lazy`: a sequence that is made when it is first read, such as the samples of a test."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, TypeVar, overload

T_co = TypeVar("T_co", covariant=True)


class Lazy(Sequence[T_co]):
    """The items of a function that is called once, when they are first needed.

    As parameters of a test, they are made when pytest collects the test.
    """

    def __init__(self, made: Callable[[], Iterable[T_co]]) -> None:
        self._made = made

    @cached_property
    def _items(self) -> tuple[T_co, ...]:
        return tuple(self._made())

    @cached_property
    def _members(self) -> frozenset[T_co]:
        return frozenset(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, item: object) -> bool:
        return item in self._members

    @overload
    def __getitem__(self, place: int) -> T_co: ...
    @overload
    def __getitem__(self, place: slice) -> "Lazy[T_co]": ...
    def __getitem__(self, place: Any) -> Any:
        return Lazy(lambda: self._items[place]) if isinstance(place, slice) else self._items[place]

    def where(self, holds: Callable[[T_co], object]) -> "Lazy[T_co]":
        """Those for which a condition holds."""
        return Lazy(lambda: filter(holds, self._items))
