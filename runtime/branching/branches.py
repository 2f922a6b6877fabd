"""An ``if`` whose test is traced: both branches are traced, and a `switch` of the program chooses."""

from collections.abc import Callable, Container, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ...compiler.builder import bind_all
from ...compiler.callers.user_code import line_of_raise, user_location
from ...compiler.frontend.traced_program import raises_later
from ...compiler.ir import Location
from ...compiler.tracing.array_values import as_value
from ...compiler.tracing.sharing import all_shared_with, share
from ...compiler.tracing.trace import RAISES_ON_VALUES, Storage, require_trace
from ...compiler.tracing.traced_memory import is_traced
from ...compiler.users_errors import noted
from ...compiler.value_ops import nonzero_mask
from ..control_flow.cond import record_switch
from ..eager.nested_function import NestedFunction, Result
from ..trees import structure
from .alternatives import alternatives, distinct, index_of, mapped, require_operators
from .one_of import OneOf, is_one_of
from .outcomes import RETURNED, UNSET, Outcome
from .slots import CONTAINERS, Slot
from .variables import Held, has_memory, held, joined
from .watching import Watch, watching

_NO_ARGUMENTS = structure(((), {}))
_VALUE = "the returned value"


class Branch:
    """A branch that has been traced, and its flattened results."""

    def __init__(
        self,
        where: str,
        name: str,
        block: Callable[[], Outcome],
        wanted: Sequence[str],
        watch: Watch,
        slots: Iterable[Slot] = (),
    ) -> None:
        self.where, self.wanted = where, wanted
        self.places: dict[str | Slot, int] = {}
        """For each variable, the place of its first leaf among the results."""
        self.slots: dict[Slot, Any] = {}
        self.raised: tuple[Exception, Location] | None = None
        """The error that the function raises in this branch, and its line."""
        self.raises_before = False
        """Whether it may raise another error before that, depending on values."""
        self.trace: Any = None
        self.outcome = Outcome(None, UNSET, {})
        self.held: dict[str | Slot, Held] = {}

        def run() -> list[Any]:
            self.trace = require_trace()
            try:
                found = watch.run(
                    lambda: self._flattened(block()), {slot: slot.value for slot in slots}, may_grow=True
                )
                (self.outcome, self.held), self.slots = found
            except Exception as error:
                if (line := line_of_raise(error)) is None:
                    raise
                self.raised = error, line
                self.raises_before = raises_later(self.trace, error)
                return []
            return self._leaves()

        run.__name__ = name
        self.function = NestedFunction(where, run, _NO_ARGUMENTS, [], is_block=True)

    def _flattened(self, outcome: Outcome) -> "tuple[Outcome, dict[str | Slot, Held]]":
        """An outcome, and its variables as this branch leaves them: containers still hold what it has put into them."""
        found: dict[str | Slot, Held] = {
            name: held(outcome.names[name]) for name in self.wanted if name in outcome.names
        }
        if outcome.value is not UNSET:
            found[_VALUE] = held(outcome.value)
        return outcome, found

    def _leaves(self) -> list[Any]:
        self.held |= {slot: held(value) for slot, value in self.slots.items()}
        leaves: list[Any] = [self.outcome.kind]
        for name, one in self.held.items():
            self.places[name] = len(leaves)
            leaves += one.arrays
        return leaves

    def object(self, name: "str | Slot") -> Any:
        """The value of a variable, or the returned value; None for slots."""
        if name == _VALUE:
            return self.outcome.value
        return self.outcome.names.get(name) if isinstance(name, str) else None

    def memory_before(self, leaf: Any) -> Iterator[Storage]:
        """The memory from before this branch that an array has, or may have depending on values."""
        if not is_traced(leaf):
            return
        for storage in (leaf._storage, *(other for other, _ in all_shared_with(leaf._storage))):
            if storage.trace is not self.trace or storage.is_input:
                yield storage

    def results(self, name: "str | Slot") -> list[Result]:
        """The results for the leaves of a variable."""
        first = self.places[name]
        return self.function.results[first : first + len(self.held[name].arrays)]


@dataclass(frozen=True)
class OnlyBranch:
    """The only branch that does not raise. The check that raises the error of the other one is in the program."""

    block: Callable[[], Outcome]


Blocks: TypeAlias = "tuple[tuple[str, Callable[[], Outcome]], tuple[str, Callable[[], Outcome]]]"


def choose(
    where: str, test: Any, blocks: Blocks, wanted: Sequence[str], watch: Watch, unset: Container[str] = ()
) -> "Outcome | OnlyBranch":
    """Trace both blocks. The result is the outcome of the second where the test is true, and of the first otherwise.

    A variable that only one block sets is set afterwards, to an arbitrary value if the other block ran. If code may
    read it while it is unset, it is in `unset`, and is UNSET afterwards.
    """
    branches: list[Branch] = []
    for place in (1, 0):  # a block that raises is usually the second
        branch = Branch(where, *blocks[place], wanted, watch)
        if branch.raised is not None:
            test = _if_run(test if place else np.logical_not(test))
            if branch.raises_before:
                nothing = NestedFunction(where, _nothing, _NO_ARGUMENTS, [], is_block=True)
                record_switch(where, nonzero_mask, test, [nothing, branch.function], [], [], [])
            else:
                bind_raise(test, *branch.raised)
            return OnlyBranch(blocks[1 - place][1])
        branches.insert(0, branch)
    slots = dict.fromkeys(slot for branch in branches for slot in branch.slots)
    for slot in filter(_is_tail, slots):
        if len({len(branch.slots.get(slot, ())) for branch in branches}) > 1:
            raise watch.refusal(f"`{slot.path.rpartition('[')[0]}`, a list")
    for place, block in enumerate(blocks):
        if len(branches[place].slots) < len(slots):
            branches[place] = Branch(where, *block, wanted, watch, slots)
    merge = _Merge(where, branches)
    kind = merge.kind()
    value = merge.variable(_VALUE, may_be_missing=True)
    variables = {name: merge.variable(name, may_be_missing=name not in unset) for name in wanted}
    changed = {slot: merge.variable(slot, may_be_missing=False) for slot in slots}
    given = record_switch(
        where, nonzero_mask, test, [branch.function for branch in branches], [], merge.types, merge.picks
    )
    merge.mark_shared(given)
    return Outcome(
        given[kind] if type(kind) is _Place else kind,
        _filled(value, given, test),
        {name: _filled(one, given, test) for name, one in variables.items() if one is not UNSET},
        {slot: _filled(one, given, test) for slot, one in changed.items()},
    )


def branch_on(
    watched: AbstractContextManager[Watch],
    where: str,
    test: Any,
    blocks: Blocks,
    wanted: Sequence[str] = (),
    unset: Container[str] = (),
) -> Outcome:
    """The outcome of one of two blocks, after setting the attributes and entries that it sets."""
    with watched as watch:
        found = choose(where, test, blocks, wanted, watch, unset)
    return found.block() if isinstance(found, OnlyBranch) else found.applied()


def value_of(where: str, test: Any, body: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    """``body() if test else orelse()``"""
    blocks: Blocks = (
        ("otherwise", lambda: Outcome(RETURNED, orelse(), {})),
        ("then", lambda: Outcome(RETURNED, body(), {})),
    )
    return branch_on(watching(where, {}, user_location()), where, np.reshape(test, ()), blocks).value


_GUARD: ContextVar[Any] = ContextVar("guard", default=None)
"""Where it is true, Python would run the current code. Elsewhere the code is only computed, and raises nothing."""


@contextmanager
def guarded(test: Any) -> Generator[None]:
    """Within the block, the program raises errors only where the test is true."""
    before = _GUARD.get()
    token = _GUARD.set(test if before is None else np.logical_and(before, test))
    try:
        yield
    finally:
        _GUARD.reset(token)


def raise_where(condition: Any, error: Exception, line: "Location | None") -> None:
    """Make the program raise the user's error where a condition is true and Python would run the current code."""
    bind_raise(_if_run(condition), error, line)


def _if_run(condition: Any) -> Any:
    """Whether a condition is true and Python would run the current code."""
    guard = _GUARD.get()
    return condition if guard is None else np.logical_and(condition, guard)


def bind_raise(condition: Any, error: Exception, line: "Location | None") -> None:
    """Make the program raise the user's error where a condition is true, unless it was asked not to check."""
    if not RAISES_ON_VALUES.get():
        return
    trace = require_trace()
    text, told = noted(error, line)
    before, trace.location = trace.location, line
    try:
        bind_all("raise_if", nonzero_mask(as_value(condition)), *map(as_value, told), error=text)
    finally:
        trace.location = before


def _nothing() -> list[Any]:
    return []


def _is_tail(slot: Slot) -> bool:
    return slot.is_tail


class _Place(int):
    """The place of a result of the switch."""


class _Merge:
    """The results of the switch: what is the same in both branches, and the leaves that it chooses between."""

    def __init__(self, where: str, branches: Sequence[Branch]) -> None:
        self.where, self.branches = where, branches
        self.types: list[Result] = []
        self.picks: list[list[int | None]] = []
        self.shared: dict[int, tuple[str, list[Storage]]] = {}
        """For the place of a result: its variable, and the memory from before the switch that it may have."""

    def mark_shared(self, given: Sequence[Any]) -> None:
        """Note which results may be arrays from before the switch."""
        for place, (name, memory) in self.shared.items():
            for storage in memory:
                share(given[place]._storage, storage, f"the {self.where}, which binds `{name}`,")

    def kind(self) -> Any:
        kinds = [branch.outcome.kind for branch in self.branches]
        if not any(map(is_traced, kinds)) and len(set(kinds)) == 1:
            return kinds[0]
        return self._add("how it ends", [branch.function.results[0] for branch in self.branches], [0, 0])

    def variable(self, name: "str | Slot", *, may_be_missing: bool) -> Any:
        """UNSET, the object that the variable is in both branches, or its form with the places of its leaves."""
        objects = [branch.object(name) for branch in self.branches]
        if any(map(is_one_of, objects)):
            objects = [None]
        if isinstance(objects[0], CONTAINERS) and all(one is objects[0] for one in objects):
            return _Same(objects[0])  # what the branches have changed in it are slots
        have = [branch for branch in self.branches if name in branch.held]
        if not have or (len(have) < len(self.branches) and not may_be_missing):
            return UNSET
        forms = [branch.held[name] for branch in have]
        first = forms[0]
        if not all(map(first.has_form_of, forms[1:])):
            return self._several(name, have)
        return first, [self._leaf(name, have, i) for i in range(len(first.arrays))]

    def _several(self, name: "str | Slot", have: Sequence[Branch]) -> "_Several":
        """A variable that has a different form in each branch."""
        require_operators()
        found = [alternatives(branch.held[name]) for branch in have]
        forms = distinct(form for parts in found for form, _ in parts)
        leaves = [
            [self._leaf_of_form(name, have, found, form, i) for i in range(len(form.arrays))]
            for form in forms
        ]
        are_several = [is_one_of(branch.held[name].value) for branch in have]
        pairs = list(zip(have, are_several, strict=True))
        raw: Any = 0
        if any(are_several):
            raw = self._add(
                str(name),
                [branch.results(name)[0] if several else None for branch, several in pairs],
                [branch.places[name] if several else None for branch, several in pairs],
            )
        numbers = [[index_of(form, forms) for form, _ in parts] for parts in found]
        return _Several(forms, leaves, raw, numbers)

    def _leaf_of_form(
        self,
        name: "str | Slot",
        have: Sequence[Branch],
        found: Sequence["list[tuple[Held, int]]"],
        form: Held,
        i: int,
    ) -> "_Place":
        """The place of a leaf of a form that a branch may not have."""
        results: list[Result | None] = []
        picks: list[int | None] = []
        old: list[Storage] = []
        for branch, parts in zip(have, found, strict=True):
            at = next((first + i for one, first in parts if one.has_form_of(form)), None)
            results.append(None if at is None else branch.results(name)[at])
            picks.append(None if at is None else branch.places[name] + at)
            if at is not None and has_memory(branch.held[name].arrays[at]):
                old += branch.memory_before(branch.held[name].arrays[at])
        place = self._add(str(name), results, picks)
        if old:
            self.shared[place] = str(name), old
        return place

    def _leaf(self, name: "str | Slot", have: Sequence[Branch], i: int) -> Any:
        """A leaf that is the same object in both branches, or the place of the result that chooses between two."""
        leaves = [branch.held[name].arrays[i] for branch in have]
        if len(have) == len(self.branches) and all(one is leaves[0] for one in leaves):
            return leaves[0]
        place = self._add(
            str(name),
            [branch.results(name)[i] if branch in have else None for branch in self.branches],
            [branch.places[name] + i if branch in have else None for branch in self.branches],
        )
        pairs = zip(have, leaves, strict=True)
        old = [
            storage for branch, leaf in pairs if has_memory(leaf) for storage in branch.memory_before(leaf)
        ]
        if old:
            self.shared[place] = str(name), old
        return place

    def _add(self, name: str, results: Sequence[Result | None], picks: list[int | None]) -> _Place:
        self.types.append(joined(self.where, name, results))
        self.picks.append(picks)
        return _Place(len(self.picks) - 1)


@dataclass(frozen=True)
class _Same:
    """A container that is the same object in both branches."""

    value: Any


@dataclass(frozen=True)
class _Several:
    """A value that has a different form in each branch."""

    forms: Sequence[Held]
    leaves: Sequence[Sequence[Any]]
    """For each form, the places of its leaves."""
    raw: Any
    """The place of the number that says which form the value has, for branches in which it may have several."""
    numbers: Sequence[Sequence[int]]
    """For each branch, the forms that this number stands for, by their places in `forms`."""

    def filled(self, given: Sequence[Any], test: Any) -> OneOf:
        """The value, from the results of the switch. A true test chooses the second branch."""
        raw = given[self.raw] if type(self.raw) is _Place else self.raw
        first, second = (mapped(numbers, raw) for numbers in self.numbers)
        entries = [
            form.filled([given[place] for place in places])
            for form, places in zip(self.forms, self.leaves, strict=True)
        ]
        return OneOf(entries, np.where(test, second, first))


def _filled(found: Any, given: Sequence[Any], test: Any) -> Any:
    if found is UNSET:
        return UNSET
    if isinstance(found, _Same):
        return found.value
    if isinstance(found, _Several):
        return found.filled(given, test)
    form, places = found
    return form.filled([given[place] if type(place) is _Place else place for place in places])
