"""`MemoryChoices`: for each array that a loop carries, which of several arrays it is, as a number of the program.

Before the loop, a variable has memory that other variables may see. An iteration may bind it to new memory, or to that
of another variable. So there is a cell for each variable, whose contents are carried, and a number, which says whether
the variable is an array from before the loop, its own cell, or that of an earlier variable.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from ....compiler.errors import SharedMemoryError
from ....compiler.ir import Location
from ....compiler.tracing.outside.adoption import adopt, traced_replacement
from ....compiler.tracing.trace import Storage, Trace
from ....compiler.tracing.traced_array import array_on
from ....compiler.tracing.traced_memory import is_numpy_array, is_traced
from ....compiler.tracing.views import View
from ...branching.one_of import is_one_of
from ...branching.references import are_alike, chosen, is_expressible, key_of, references
from ...branching.slots import Slot
from ...branching.variables import Held, has_memory

_MOST: Final = 12
"""The most arrays that a variable may be."""

Leaf: TypeAlias = "tuple[str | Slot, int]"
"""An array in the value of a variable, by its place in there."""
Cells: TypeAlias = Mapping[Leaf, Any]
"""The arrays that hold the contents of the cells."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the cell of a variable, or all of it."""

    leaf: Leaf
    views: tuple[View, ...] = ()

    def __str__(self) -> str:
        return f"{self.leaf} {self.views}"


class MemoryChoices:
    """The arrays that each carried array may be at the start of an iteration."""

    def __init__(self, where: str, line: Location, before: Mapping[str, Any]) -> None:
        self.where, self.line, self.before = where, line, before
        self._sources: dict[Leaf, list[Any]] = {}
        """Arrays from before the loop, and parts of cells. The first is what the variable is before the loop."""
        self._found: dict[Leaf, list[Any]] = {}
        """The same at the end of an iteration, where it may be more."""
        self.last: dict[Leaf, Any] = {}
        """The number of the array that each is at the end of an iteration."""

    def add(self, key: "str | Slot", one: Held) -> None:
        """Carry the arrays of one more variable."""
        if is_one_of(one.value) and any(map(has_memory, one.arrays)):
            raise self._refusal((key, 0), "an array or something else")
        for i, x in enumerate(one.arrays):
            if has_memory(x):
                self._sources[key, i] = [adopt(x) if is_numpy_array(x) else x]

    def numbered(self) -> list[Leaf]:
        """The arrays for which a number is carried."""
        return [leaf for leaf, sources in self._sources.items() if len(sources) > 1]

    def grow(self) -> bool:
        """Note what the arrays may be after an iteration. Returns whether that is more than before."""
        has_grown = any(len(found) > len(self._sources[leaf]) for leaf, found in self._found.items())
        self._sources |= self._found
        return has_grown

    def array(self, leaf: Leaf, cells: Cells, number: Any) -> Any:
        """A carried array with a number, where the cells have these contents; otherwise the carried value."""
        if leaf not in self._sources:
            return cells[leaf]
        arrays = []
        for one in self._sources[leaf]:
            if isinstance(one, _Part):
                cell = cells[one.leaf]
                one = cell.through(*one.views) if one.views else cell
            arrays.append(one)
        if not are_alike(arrays):
            raise self._refusal(leaf, "an array of another type or layout")
        return arrays[0] if len(arrays) == 1 else chosen(arrays, number)

    def ends(self, trace: Trace, cells: Cells, leaving: Cells) -> None:
        """Find out what each array may be at the end of an iteration, and the number of what it is."""
        found = {leaf: _Leaving(leaving[leaf], trace) for leaf in self._sources}
        for leaf, cell in cells.items():
            if leaf in found and cell._storage.unreadable:
                raise self._refusal(leaf, "an array that cannot be told from another")
        for leaf, one in found.items():
            sources, numbers = list(self._sources[leaf]), []
            keys = [str(x) if isinstance(x, _Part) else key_of(x) for x in sources]
            for x in one.arrays:
                options = self._options(leaf, x, one, found, trace)
                at: Any = None
                for holds, source in reversed(options):
                    key = str(source) if isinstance(source, _Part) else key_of(source)
                    if key not in keys:
                        keys.append(key)
                        sources.append(source)
                    number = keys.index(key)
                    at = number if at is None else _where(holds, number, at)
                numbers.append(at)
            if len(sources) > _MOST:
                raise self._refusal(leaf, "one of many arrays")
            last = numbers[0]
            for place, at in enumerate(numbers[1:], 1):
                last = _where(np.equal(one.place, place), at, last)
            self._found[leaf], self.last[leaf] = sources, last

    def _options(
        self, leaf: Leaf, x: Any, one: "_Leaving", found: "Mapping[Leaf, _Leaving]", trace: Trace
    ) -> list[tuple[Any, Any]]:
        """What one of the arrays that a variable may be is in the next iteration: the first of these that holds.

        The memory of an array is the cell of the first variable that has all of it.
        """
        if is_numpy_array(x):
            x = self._adopted(x)
        elif trace.is_captured(x._storage):
            whole = self._adopted(trace.array_of_storage(x._storage))
            x = whole and array_on(whole._storage, x.type, (*whole._views, *x._views))
        if x is None:
            raise self._refusal(leaf, "an array of NumPy's own")
        if not is_expressible(x, trace):
            raise self._refusal(leaf, "a view whose place the loop computes")
        if x._storage.trace is not trace:
            return [(True, x)]
        options: list[tuple[Any, Any]] = []
        for other, its in found.items():
            place = None if its is one and x._views else its.place_of(x._storage)
            if place is not None:
                options.append((np.equal(its.place, place), _Part(other, x._views)))
                if its is one or len(its.arrays) == 1:
                    break
        else:
            if any(its.may_be_in(x._storage) for its in found.values() if its is not one):
                raise self._refusal(leaf, "a view of an array that another variable sees")
            options.append((True, _Part(leaf)))  # nothing else sees the rest
        if x._storage.shared_with:
            raise self._refusal(leaf, "an array that cannot be told from another")
        if not _is_row_major(x._storage if options[0][1].views else x):
            raise self._refusal(leaf, "an array that is not row-major")
        return options

    def _adopted(self, array: Any) -> Any:
        """A NumPy array from before the loop as a traced one; None for one that an iteration has made."""
        found = traced_replacement(array)
        if is_traced(found) or not any(array is x for x in self.before.values()):
            return found if is_traced(found) else None
        return adopt(array)

    def _refusal(self, leaf: Leaf, what: str) -> SharedMemoryError:
        name = leaf[0]
        return SharedMemoryError(
            f"the {self.where}, which binds `{name}`, writes to arrays that may share memory, and binds `{name}` to "
            f"{what}: bind a copy there, {name} = ….copy()",
            self.line,
        )


class _Leaving:
    """The arrays that a variable may be at the end of an iteration, and the number of the one that it is."""

    def __init__(self, x: Any, trace: Trace) -> None:
        self.arrays, self.place = references(x, trace)

    def place_of(self, storage: Storage) -> int | None:
        """The number with which the variable is the whole array that has this memory."""
        return next(
            (i for i, x in enumerate(self.arrays) if is_traced(x) and x._storage is storage and not x._views),
            None,
        )

    def may_be_in(self, storage: Storage) -> bool:
        """Whether it may be any part of this memory."""
        return any(is_traced(x) and x._storage is storage for x in self.arrays)


def _where(condition: Any, x: Any, y: Any) -> Any:
    if not is_traced(condition):
        return x if condition else y
    return x if x is y else np.where(condition, x, y)


def _is_row_major(x: Any) -> bool:
    return x.layout is None or x.layout.is_row_major
