"""What the programs of a launch do to memory, watched: a GPU does not say when they read what they should not.

The programs of a launch run at the same time, in any order, and so do the threads of each. So no program may read
what the launch writes, except what it reads before writing it itself, and no two may write different values to one
place. Memory outside of the arrays may not exist.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class _Access:
    """What one instruction of one program reads or writes."""

    program: int
    number: int
    """How many instructions came before it."""
    places: Array
    values: Array
    """What it writes there, as whole numbers."""


@dataclass(slots=True)
class WatchedLaunch:
    """The accesses of one launch.

    Args:
        name: the function.
        arrays: where each array that it is given begins and ends; empty if that is not known.
    """

    name: str
    arrays: Sequence[tuple[int, int]]
    reads: list[_Access] = field(default_factory=list[_Access])
    writes: list[_Access] = field(default_factory=list[_Access])
    updates: list[_Access] = field(default_factory=list[_Access])
    """Atomic ones."""
    _count: int = 0

    def read(self, program: int, pointers: Array, mask: Array, itemsize: int) -> None:
        """Note an instruction that loads, and refuse what is in no array."""
        self._note(self.reads, program, pointers, mask, itemsize, None)

    def write(self, program: int, pointers: Array, mask: Array, values: Array) -> None:
        """The same of one that stores."""
        self._note(self.writes, program, pointers, mask, values.dtype.itemsize, values)

    def update(self, program: int, pointers: Array, mask: Array, itemsize: int) -> None:
        """The same of one that updates atomically."""
        self._note(self.updates, program, pointers, mask, itemsize, None)

    def check(self) -> None:
        """Refuse what gives one thing or another, depending on which program or thread comes first."""
        updated = np.unique(_joined([access.places for access in self.updates]))
        self._check_writes(updated)
        self._check_reads(updated)

    def _note(
        self,
        accesses: list[_Access],
        program: int,
        pointers: Array,
        mask: Array,
        itemsize: int,
        values: Array | None,
    ) -> None:
        pointers, mask = np.broadcast_arrays(pointers, mask.astype(bool))
        places = pointers[mask].astype(np.int64)
        if not places.size:
            return
        low, high = int(places.min()), int(places.max()) + itemsize
        if self.arrays and not any(start <= low and high <= end for start, end in self.arrays):
            raise AssertionError(f"{self.name} reads or writes beyond its arrays")
        bits = places
        if values is not None:
            whole = np.ascontiguousarray(np.broadcast_to(values, mask.shape)[mask])
            bits = whole.view(f"u{itemsize}").astype(np.uint64)
        self._count += 1
        accesses.append(_Access(program, self._count, places, bits))

    def _check_writes(self, updated: Array) -> None:
        written = _joined([access.places for access in self.writes])
        values = _joined([access.values for access in self.writes])
        if len(updated) and np.isin(written, updated).any():
            raise AssertionError(f"{self.name} writes to what it updates atomically")
        order = np.argsort(written, kind="stable")
        written, values = written[order], values[order]
        if np.any((written[1:] == written[:-1]) & (values[1:] != values[:-1])):
            raise AssertionError(f"{self.name} writes one thing and another to one place")

    def _check_reads(self, updated: Array) -> None:
        written = _joined([write.places for write in self.writes])
        if not len(written) and not len(updated):
            return
        counts = [len(write.places) for write in self.writes]
        programs = np.repeat([write.program for write in self.writes], counts)
        numbers = np.repeat([write.number for write in self.writes], counts)
        order = np.lexsort((numbers, written))  # of one place the first write comes first
        written, programs, numbers = written[order], programs[order], numbers[order]
        for read in self.reads:
            if len(updated) and np.isin(read.places, updated).any():
                raise AssertionError(f"{self.name} reads what it updates atomically")
            at = np.searchsorted(written, read.places)
            is_read = at < len(written)
            at = at[is_read]
            is_read = written[at] == read.places[is_read]
            at = at[is_read]
            if np.any(programs[at] != read.program):
                raise AssertionError(f"a program of {self.name} reads what another writes")
            if np.any(numbers[at] < read.number):
                raise AssertionError(f"{self.name} reads what it has written, perhaps by another thread")


def _joined(parts: Sequence[Array]) -> Array:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)
