"""What a loop iterates over, if it can be traced as one loop: the number of iterations, and the item of each."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from ....compiler.callers.user_code import HOOKS
from ....compiler.shapes.scope import end_if_fixed
from ....compiler.symbolic_size import is_known
from ....compiler.tracing.index_progressions import value_range_of
from ....compiler.tracing.outside.adoption import adopt, traced_replacement
from ....compiler.tracing.rows import columns_of, stack_of
from ....compiler.tracing.traced_array import array_on
from ....compiler.tracing.traced_memory import is_traced
from ...branching.python_numbers import as_python_number

NUMBER: Final = f"{HOOKS}_number"
"""The variable that holds the number of the iteration."""
ROWS: Final = f"{HOOKS}_rows"
"""The variable that holds the rows of the iteration."""


@dataclass(frozen=True, slots=True)
class Iterations:
    """The iterations of a loop."""

    length: Any
    """Their number: an int, a symbolic size, or a traced number."""
    item: Callable[[Any, list[Any]], Any]
    """The item of an iteration, from its number and its rows."""
    rows: tuple[Any, ...] = ()
    """The arrays whose rows the iterations get."""
    ends: tuple[Any, Any] | None = None
    """The range of the item, if it is a number and the range is known."""

    def item_at(self, number: Any) -> Any:
        """The item of the iteration with any number, which may be traced."""
        return self.item(number, [_row(array, number) for array in self.rows])

    def indexed(self) -> "Iterations":
        """The same, but iterations index the arrays themselves. The rows are then views, as in Python."""
        return replace(self, item=lambda number, _: self.item_at(number), rows=())


@dataclass(frozen=True, slots=True)
class StagedRange:
    """A ``range`` with a bound that is a traced number or a symbolic size, or with a traced step."""

    start: Any
    stop: Any
    step: Any

    @property
    def length(self) -> Any:
        """The number of iterations. With traced bounds, it is negative or zero if there are none."""
        if is_traced(self.step):
            return -((self.start - self.stop) // self.step)
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
        """Python's range. The program is then for the sizes of this call."""
        numbers = range(self.start, self.stop, self.step)
        end_if_fixed()
        return numbers

    def item(self, number: Any) -> Any:
        """The item of an iteration."""
        scaled = number * self.step if is_traced(self.step) or self.step != 1 else number
        return scaled if type(self.start) is int and self.start == 0 else self.start + scaled


@dataclass(slots=True)
class Zipped:
    """``zip``, ``enumerate`` or ``reversed`` of what can be traced as one loop."""

    plain: Callable[[], Any]
    """Makes Python's iterator."""
    iterations: Iterations
    _running: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        return iter(self.plain())

    def __next__(self) -> Any:
        if self._running is None:
            self._running = iter(self.plain())
        return next(self._running)


def iterations_of(iterated: Any) -> Iterations | None:
    """The iterations of a loop; None if only Python can iterate over this."""
    if isinstance(iterated, Zipped):
        return iterated.iterations
    if isinstance(iterated, StagedRange):
        return Iterations(iterated.length, lambda number, _: iterated.item(number), ends=_ends(iterated))
    if isinstance(iterated, range):
        known = StagedRange(iterated.start, iterated.stop, iterated.step)
        return Iterations(len(iterated), lambda number, _: known.item(number), ends=_ends(known))
    if isinstance(iterated, list):
        return _over_rows(iterated) if type(iterated) is list and iterated else None
    if (is_traced(iterated) or isinstance(iterated, np.ndarray)) and iterated.ndim:
        return Iterations(iterated.shape[0], lambda _, rows: rows[0], (iterated,))
    return None


def _over_rows(entries: list[Any]) -> Iterations | None:
    """The iterations over a list of rows of one array, or of tuples of rows of several arrays."""
    is_tuples = type(entries[0]) is tuple and all(type(entry) is tuple for entry in entries)
    columns = columns_of(entries) if is_tuples else [entries]
    found = [stack_of(column) for column in columns]
    arrays = tuple(array_on(*rows) for rows in found if rows is not None)
    if not columns or len(arrays) < len(columns):
        return None

    def item(_: Any, rows: list[Any]) -> Any:
        parts = [
            row if column[0].weak is None else as_python_number(row, column[0].weak)
            for row, column in zip(rows, columns, strict=True)
        ]
        return tuple(parts) if is_tuples else parts[0]

    return Iterations(len(entries), item, arrays)


def _ends(numbers: StagedRange) -> tuple[Any, Any] | None:
    start, stop = range_of(numbers.start), range_of(numbers.stop)
    if start is None or stop is None or is_traced(numbers.step):
        return None
    return (start[0], stop[1] - 1) if numbers.step > 0 else (stop[0] + 1, start[1])


def range_of(numbers: Any) -> tuple[Any, Any] | None:
    """The least and greatest value of an int, a size or a traced array; None if they are not known."""
    if not is_traced(numbers):
        return numbers, numbers
    found = value_range_of(numbers._trace, numbers.value)
    return found[0] if found is not None and all(map(is_known, found[1])) else None


def zipped(*parts: Any, strict: bool = False) -> Zipped | None:
    """``zip``, if a loop over it can be traced. With `strict`, Python raises the error for different lengths."""
    found = [iterations_of(part) for part in parts]
    known = [one for one in found if one is not None]
    if not parts or len(known) < len(parts) or not all(type(one.length) is int for one in known):
        return None
    length = min(one.length for one in known)
    if strict and any(one.length != length for one in known):
        return None

    def item(number: Any, rows: list[Any]) -> tuple[Any, ...]:
        following = iter(rows)
        return tuple(one.item(number, [next(following) for _ in one.rows]) for one in known)

    iterations = Iterations(length, item, tuple(array[:length] for one in known for array in one.rows))
    return Zipped(lambda: zip(*map(plainly, parts), strict=strict), iterations)


def enumerated(part: Any, start: int = 0) -> Zipped | None:
    """``enumerate``, if a loop over it can be traced."""
    found = iterations_of(part)
    if found is None or type(start) is not int:
        return None
    iterations = Iterations(
        found.length,
        lambda number, rows: (number + start if start else number, found.item(number, rows)),
        found.rows,
    )
    return Zipped(lambda: enumerate(plainly(part), start), iterations)


def reversed_iterations(part: Any) -> Any:
    """``reversed``, if a loop over it can be traced."""
    found = iterations_of(part)
    if found is None:
        return None
    last = found.length - 1
    rows = tuple(array[::-1] for array in found.rows)
    iterations = Iterations(found.length, lambda number, given: found.item(last - number, given), rows)
    return Zipped(lambda: reversed(plainly(part)), iterations)


def plainly(iterated: Any) -> Any:
    """What Python iterates over."""
    return iterated.plain() if isinstance(iterated, Zipped | StagedRange) else iterated


def _row(rows: Any, number: Any) -> Any:
    array = adopt(rows) if rows.ndim > 1 and not is_traced(rows) else traced_replacement(rows)
    return array[number] if is_traced(array) else np.take(array, number)
