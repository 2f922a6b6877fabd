"""What a loop runs over, if it can be traced as one: how many turns there are, and what each binds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...compiler.symbolic_size import is_known
from ...compiler.tracing.adoption import adopt, as_adopted
from ...compiler.tracing.index_progressions import value_range_of
from ...compiler.tracing.traced_array import is_traced


@dataclass(frozen=True, slots=True)
class Turns:
    """The turns of a loop."""

    length: Any
    """How many: an int, a symbolic size, or a traced number."""
    item: Callable[[Any, list[Any]], Any]
    """What the loop binds in the turn of a number, of which it gets the rows."""
    rows: tuple[Any, ...] = ()
    """Arrays of which each turn gets a row."""
    ends: tuple[Any, Any] | None = None
    """Between which numbers lies what the loop binds, if that is a number and they are known."""

    def item_at(self, number: Any) -> Any:
        """What the loop binds in the turn of a number that may be any."""
        return self.item(number, [_row(array, number) for array in self.rows])

    def indexed(self) -> "Turns":
        """The same with rows that a turn takes itself: they are views, as Python's are."""
        return replace(self, item=lambda number, _: self.item_at(number), rows=())


@dataclass(frozen=True, slots=True)
class StagedRange:
    """A ``range`` of which a bound is a traced number or a symbolic size."""

    start: Any
    stop: Any
    step: int

    @property
    def length(self) -> Any:
        """The number of turns; of traced bounds it may be negative, where there are none."""
        distance = self.stop - self.start if self.step > 0 else self.start - self.stop
        return distance if abs(self.step) == 1 else (distance + abs(self.step) - 1) // abs(self.step)

    def __iter__(self) -> Iterator[int]:
        return iter(self.plain())

    def __len__(self) -> int:
        return len(self.plain())

    def __getitem__(self, index: Any) -> Any:
        return self.plain()[index]

    def __contains__(self, x: object) -> bool:
        return x in self.plain()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.plain(), dtype)

    def plain(self) -> range:
        """Python's own: the program is for the sizes of the call at hand."""
        return range(self.start, self.stop, self.step)

    def item(self, number: Any) -> Any:
        """The number that a turn binds."""
        scaled = number if self.step == 1 else number * self.step
        return scaled if type(self.start) is int and self.start == 0 else self.start + scaled


@dataclass(slots=True)
class Zipped:
    """``zip``, ``enumerate`` or ``reversed`` of what a loop may run over as a whole."""

    plain: Callable[[], Any]
    """Makes Python's own iterator."""
    turns: Turns
    _running: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        return iter(self.plain())

    def __next__(self) -> Any:
        if self._running is None:
            self._running = iter(self.plain())
        return next(self._running)


def turns_of(iterated: Any) -> Turns | None:
    """The turns of a loop over something; None for what only Python can run over."""
    if isinstance(iterated, Zipped):
        return iterated.turns
    if isinstance(iterated, StagedRange):
        return Turns(iterated.length, lambda number, _: iterated.item(number), ends=_ends(iterated))
    if isinstance(iterated, range):
        known = StagedRange(iterated.start, iterated.stop, iterated.step)
        return Turns(len(iterated), lambda number, _: known.item(number), ends=_ends(known))
    if (is_traced(iterated) or isinstance(iterated, np.ndarray)) and iterated.ndim:
        return Turns(iterated.shape[0], lambda _, rows: rows[0], (iterated,))
    return None


def _ends(numbers: StagedRange) -> tuple[Any, Any] | None:
    start, stop = range_of(numbers.start), range_of(numbers.stop)
    if start is None or stop is None:
        return None
    return (start[0], stop[1] - 1) if numbers.step > 0 else (stop[0] + 1, start[1])


def range_of(numbers: Any) -> tuple[Any, Any] | None:
    """Between which numbers those of an int, a size or a traced array lie for sure; None if that is not known."""
    if not is_traced(numbers):
        return numbers, numbers
    found = value_range_of(numbers._trace, numbers.value)
    return found[0] if found is not None and all(map(is_known, found[1])) else None


def zipped(*parts: Any) -> Zipped | None:
    """``zip`` of parts, if a loop over it can be traced."""
    found = [turns_of(part) for part in parts]
    known = [one for one in found if one is not None]
    if not parts or len(known) < len(parts) or not all(type(one.length) is int for one in known):
        return None
    length = min(one.length for one in known)

    def item(number: Any, rows: list[Any]) -> tuple[Any, ...]:
        following = iter(rows)
        return tuple(one.item(number, [next(following) for _ in one.rows]) for one in known)

    turns = Turns(length, item, tuple(array[:length] for one in known for array in one.rows))
    return Zipped(lambda: zip(*map(plainly, parts), strict=False), turns)


def enumerated(part: Any, start: int = 0) -> Zipped | None:
    """``enumerate``, if a loop over it can be traced."""
    found = turns_of(part)
    if found is None or type(start) is not int:
        return None
    turns = Turns(
        found.length,
        lambda number, rows: (number + start if start else number, found.item(number, rows)),
        found.rows,
    )
    return Zipped(lambda: enumerate(plainly(part), start), turns)


def turned_around(part: Any) -> Any:
    """``reversed``, if a loop over it can be traced."""
    found = turns_of(part)
    if found is None:
        return None
    last = found.length - 1
    rows = tuple(array[::-1] for array in found.rows)
    turns = Turns(found.length, lambda number, given: found.item(last - number, given), rows)
    return Zipped(lambda: reversed(plainly(part)), turns)


def plainly(iterated: Any) -> Any:
    """What Python runs over."""
    return iterated.plain() if isinstance(iterated, Zipped | StagedRange) else iterated


def _row(rows: Any, number: Any) -> Any:
    array = adopt(rows) if rows.ndim > 1 and not is_traced(rows) else as_adopted(rows)
    return array[number] if is_traced(array) else np.take(array, number)
