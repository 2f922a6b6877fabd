"""`OutsideChanges`: finds what a function changes outside, without the trace, while it is traced."""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..callers.function_names import describe
from ..dtypes import Array
from ..errors import SideEffectError
from ..tracing.outside import Outside, Written
from ..tracing.reach import Reach
from ..tracing.trace import array_type
from .reached import Reached, ReachedNames, entries_read


class OutsideChanges:
    """Changes of arrays, which the program must make in each call, and of lists, dicts and objects from outside."""

    def __init__(self, lent: tuple[Array, ...]) -> None:
        self.lent = lent
        """The arrays that the function sees as traced arrays from the beginning."""
        self._outside: Outside | None = None
        self._roots: tuple[Any, ...] = ()

    def watch(self, roots: Iterable[Any]) -> None:
        """Note the arrays that the function can reach before it runs."""
        self._roots = tuple(roots)
        self._outside = Outside(self._roots)

    @property
    def reach(self) -> Reach | None:
        """The objects that the function could reach before it ran."""
        return None if self._outside is None else self._outside.reach

    def names_read(self, found: ReachedNames) -> Iterator[Reached]:
        """The names, entries and attributes that the function has read."""
        yield from found.names.values()
        if self.reach is not None:
            yield from entries_read(self.reach, found)

    def changed(self) -> str:
        """What the function has changed outside, other than arrays; empty if nothing."""
        return "" if self._outside is None else self._outside.used_up or self._outside.changed

    @property
    def can_be_undone(self) -> bool:
        """Whether what the function changes outside can be restored: not what it took from an iterator."""
        return self._outside is not None and not self._outside.used_up

    @contextmanager
    def undone(self) -> Generator[None]:
        """Undo what the block changes outside."""
        before = Outside(self._roots)
        try:
            yield
        finally:
            for one in before.written():
                if one.can_be_restored:
                    one.restore()
            before.restore()

    def holds(self, first: int, last: int) -> bool:
        """Whether the function can reach the memory between two addresses without having made it."""
        return self._outside is None or self._outside.holds_memory(first, last)

    def found(
        self, adopted: Iterable[Array], seen: set[tuple[int, int]], function: Callable[..., Any]
    ) -> bool:
        """Whether to trace the function again, with traced arrays from the beginning. Its writes are then undone."""
        outside = self._outside
        if outside is None:
            return False
        by_numpy = outside.written(seen)
        new = [x for x in adopted if outside.holds(x)] + [one.array for one in by_numpy]
        new = [x for x in new if not any(np.may_share_memory(x, known) for known in self.lent)]
        for one in by_numpy:
            if not (one.can_be_restored and any(x is one.array for x in new)):
                raise _written_by_numpy(one, function)
            if changed := outside.changed:
                raise _depends_on_python(one, changed, function)
            one.restore()
        if new:
            outside.restore()
            self.lent = (*self.lent, *new)
        return bool(new)


def _written_by_numpy(one: Written, function: Callable[..., Any]) -> SideEffectError:
    name = one.path or "w"
    return SideEffectError(
        f"{describe(function)} writes to `{name}`, an array from outside of {array_type(one.array)}, while it is "
        f"traced, which would not happen whenever it runs: write to w = np.asarray({name}), as in w[...] = w + 1, or "
        "pass the array as an argument"
    )


def _depends_on_python(one: Written, changed: str, function: Callable[..., Any]) -> SideEffectError:
    name = one.path or "w"
    return SideEffectError(
        f"{describe(function)} writes to `{name}`, an array from outside of {array_type(one.array)}, and changes "
        f"{changed}, too, which is looked at once, when the function is traced: what it writes may then be another "
        f"in each call. Keep {changed} in an array, or change it outside of the function"
    )
