"""`CarriedMemory`: which arrays that a loop carries share memory, and what it may write to."""

from collections.abc import Sequence
from typing import Any

from ....compiler.errors import SharedMemoryError
from ....compiler.ir import Location
from ....compiler.tracing.outside.adoption import adopt, is_adopted
from ....compiler.tracing.sharing import all_shared_with, make_unreadable, share
from ....compiler.tracing.trace import Storage, Trace, require_trace
from ....compiler.tracing.traced_memory import is_numpy_array, is_traced
from ...branching.references import memory_of
from ...branching.stand_ins import possible_arrays
from ...branching.variables import has_memory, memory
from ...control_flow.carry import Carry
from ...eager.nested_function import NestedFunction


class CarriedMemory:
    """The memory of carried arrays before and after an iteration, which has been traced."""

    def __init__(
        self,
        where: str,
        line: Location,
        carry: Carry,
        returned: range,
        trace: Trace,
        entering: Sequence[Any],
        leaving: Sequence[Any],
    ) -> None:
        self.where, self.line, self.carry = where, line, carry
        self.returned = returned
        """The places of a value that the iteration returns."""
        self.trace, self.entering, self.leaving = trace, entering, leaving
        self.exchanged: set[int] = set()
        """The places of arrays that the loop writes to, and that swap their memory, as in ``old, new = new, old``."""

    def check_readable(self, step: NestedFunction) -> None:
        """Refuse an array from before the loop that an iteration makes unusable for the next one."""
        captured: list[Any] = [*step.captured.values()]
        stale = [array._storage.unreadable for array in captured if is_traced(array)]
        if any(stale):
            raise SharedMemoryError(
                f"the {self.where} uses an array in each iteration that {next(filter(None, stale))}",
                self.line,
            )

    def check_sharing(self, step: NestedFunction, offset: int) -> None:
        """Refuse writes to memory that another variable shares.

        Each iteration gets every carried array as separate memory. That is correct as long as the loop does not write
        to memory that another variable can see. Arrays that only swap their memory remain separate: it is enough that
        nothing else can see the memory of any of them.
        """
        written = {place - offset for place in step.written if type(place) is int}
        places = [
            i
            for i, leaf in enumerate(self.carry.leaves)
            if i not in self.returned and has_memory(leaf) and has_memory(self.leaving[i])
        ]
        written |= {i for i in places if self.entering[i]._storage.unreadable}
        before = [memory(self.carry.leaves[i]) for i in places]
        groups = self._memory_groups(places)
        self.exchanged = {i for i in places if groups[i] & written and self._is_exchange(groups[i], places)}
        written |= self.exchanged
        for i in places:
            name, leaf = self.carry.paths[i], self.carry.leaves[i]
            if i in written:
                is_seen = not is_traced(leaf) or leaf._storage.trace.is_seen_outside(leaf._storage)
                if is_seen or before.count(memory(leaf)) > 1 or memory(leaf) in step.captured:
                    raise SharedMemoryError(
                        f"the {self.where} writes to `{name}` and rebinds it, but the array that it was before the "
                        f"loop is also used elsewhere. Begin with a copy, {name} = {name}.copy()",
                        self.line,
                    )
            others = groups[i] - {i}
            is_written = groups[i] & written and others - {memory(leaf)} and i not in self.exchanged
            if is_written or (others - set(places)) & step.written.keys():
                raise SharedMemoryError(
                    f"the {self.where} binds `{name}` to the array of another variable and writes to one of them: bind "
                    f"a copy, {name} = ….copy()",
                    self.line,
                )

    def _is_exchange(self, group: set[int], places: Sequence[int]) -> bool:
        """Whether arrays that may have the same memory in some iteration never have the same at once."""
        own = [i for i in places if i in group]
        leaving = [self.leaving[i] for i in own]
        if group - {*own, *(memory(self.carry.leaves[i]) for i in own)} or not all(map(is_traced, leaving)):
            return False
        storages = [x._storage for x in (*leaving, *(self.entering[i] for i in own))]
        is_separate = all(one.trace is self.trace and not one.shared_with for one in storages)
        return (
            is_separate
            and not any(x._views for x in leaving)
            and len({id(x._storage) for x in leaving}) == len(own)
        )

    def _memory_groups(self, places: Sequence[int]) -> dict[int, set[int]]:
        """For each carried array, the arrays that may have the same memory in some iteration.

        Carried arrays are given by place; arrays from outside by their `memory`.
        """
        groups = {i: {i, memory(self.carry.leaves[i])} for i in places}
        holder = {id(self.entering[i]._storage): i for i in places}
        for i in places:
            new = self.leaving[i]
            if not is_traced(new):
                groups[i] |= {memory(new), id(new)}
                continue
            for storage in self._memory_of(new._storage):
                if storage.trace is not self.trace:
                    groups[i].add(id(require_trace().known_shadow(storage)))
                else:  # made in the iteration or carried: the first array that has it stands for it
                    groups[i].add(holder.setdefault(id(storage), i))
        merged: list[set[int]] = []
        for group in groups.values():
            touching = [one for one in merged if one & group]
            merged = [one for one in merged if not one & group] + [group.union(*touching)]
        return {i: next(one for one in merged if i in one) for i in places}

    def needs_views(self, rows: Sequence[Any], arrays: Sequence[Any], step: NestedFunction) -> bool:
        """Whether an iteration writes to a row or keeps it, so that rows must be views of their arrays."""
        kept = {
            id(storage) for x in self.leaving if is_traced(x) and has_memory(x) for storage in memory_of(x)
        }
        return any(
            row._storage.version
            or id(row._storage) in kept
            or (memory(array) in step.written if is_traced(array) else is_adopted(array))
            for row, array in zip(rows, arrays, strict=True)
        )

    def shares(self) -> bool:
        """Whether variables may share memory after the loop, so that later writes would be refused."""
        return any(
            has_memory(leaf) and not self._is_made_in_iteration(new)
            for leaf, new in zip(self.carry.leaves, self.leaving, strict=True)
        )

    def _is_made_in_iteration(self, new: Any) -> bool:
        """Whether an array is new memory that was made in the iteration."""
        if not is_traced(new) or self._from_before(new._storage) or new._views:
            return False
        return not any(new._storage is one._storage for one in self.entering if is_traced(one))

    def _from_before(self, storage: Storage) -> list[Storage]:
        """The memory from before the loop that this is, or may be depending on values."""
        if storage.trace is not self.trace:
            return [storage]
        return [other for other in self._memory_of(storage) if other.trace is not self.trace]

    def _memory_of(self, storage: Storage) -> list[Storage]:
        """The memory that this is, or may be depending on values."""
        entries = [one for one in possible_arrays(storage) if is_traced(one)]
        others = [other for other, _ in all_shared_with(storage)]
        return [storage, *others, *(other for one in entries for other in memory_of(one))]

    def _entering_as(self, storage: Storage) -> list[Any]:
        """The arrays that had this memory before the loop, or may have had it depending on values."""
        now = {id(storage), *(id(other) for other, _ in all_shared_with(storage))}
        return [
            leaf
            for leaf, entering in zip(self.carry.leaves, self.entering, strict=True)
            if is_traced(leaf) and is_traced(entering) and id(entering._storage) in now
        ]

    def note_sharing(self, leaves: Sequence[Any], *, has_iterations: bool) -> None:
        """Note which arrays may share memory after the loop, and which must no longer be used."""
        for i, leaf in enumerate(self.carry.leaves):
            if not (has_memory(leaf) and is_traced(leaf) and is_traced(leaves[i])):
                continue
            entering, leaving, name = self.entering[i], self.leaving[i], self.carry.paths[i]
            leaving = adopt(leaving) if is_numpy_array(leaving) else leaving
            statement = f"the {self.where}, which binds `{name}`,"
            if entering._storage.version or entering._storage.unreadable or i in self.exchanged:
                make_unreadable(
                    leaf._storage, f"the {self.where} has written to as `{name}`, which it also rebinds"
                )
            if i in self.exchanged or not is_traced(leaving):  # a number has no memory
                continue
            if not (has_iterations and self._is_made_in_iteration(leaving)):
                share(leaf._storage, leaves[i]._storage, statement)
            for memory_before in self._from_before(leaving._storage) if i not in self.returned else ():
                share(memory_before, leaves[i]._storage, statement)
            for other in self._entering_as(leaving._storage) if i not in self.returned else ():
                share(other._storage, leaves[i]._storage, statement)
        self._note_shared_results(leaves)

    def _note_shared_results(self, leaves: Sequence[Any]) -> None:
        """Note pairs of variables that may be the same array after the last iteration."""
        places = [i for i, leaf in enumerate(self.leaving) if has_memory(leaf) and is_traced(leaf)]
        for at, i in enumerate(places):
            for j in places[at + 1 :]:
                one, other = self.leaving[i]._storage, self.leaving[j]._storage
                if one is other or any(x is other for x, _ in one.shared_with):
                    names = f"`{self.carry.paths[i]}` and `{self.carry.paths[j]}`"
                    share(leaves[i]._storage, leaves[j]._storage, f"the {self.where}, which binds {names},")
