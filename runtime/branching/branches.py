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
from ...compiler.tracing.sharing import all_shared_with, share
from ...compiler.tracing.trace import Storage, require_trace
from ...compiler.tracing.traced_array import as_value, is_traced
from ...compiler.users_errors import noted
from ...compiler.value_ops import nonzero_mask
from ..control_flow.cond import record_switch
from ..eager.nested_function import NestedFunction, Result
from ..trees import structure
from .alternatives import alternatives, distinct, index_of, mapped, require_operators
from .effects import Watch, watching
from .one_of import OneOf, is_one_of
from .outcomes import RETURNED, UNSET, Outcome
from .slots import CONTAINERS, Slot
from .variables import Held, has_memory, held, joined

_NO_ARGUMENTS = structure(((), {}))
_VALUE = "the value that is returned"


class Way:
    """One of the ways that a program may take: traced, with what came of it taken apart."""

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
        """By variable: the number of its first leaf among the results."""
        self.slots: dict[Slot, Any] = {}
        self.raised: tuple[Exception, Location] | None = None
        """What the function raises on this way, and where."""
        self.raises_before = False
        """Whether it may raise something else before that, as values decide."""
        self.trace: Any = None
        self.outcome = Outcome(None, UNSET, {})
        self.held: dict[str | Slot, Held] = {}

        def run() -> list[Any]:
            self.trace = require_trace()
            try:
                found = watch.run(
                    lambda: self._taken_apart(block()), {slot: slot.value for slot in slots}, may_grow=True
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

    def _taken_apart(self, outcome: Outcome) -> "tuple[Outcome, dict[str | Slot, Held]]":
        """An outcome, and its variables while what they hold is as this way leaves it."""
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
        """What a variable holds, or what is returned; None for slots."""
        if name == _VALUE:
            return self.outcome.value
        return self.outcome.names.get(name) if isinstance(name, str) else None

    def memory_before(self, leaf: Any) -> Iterator[Storage]:
        """The memory that was there before this way and that an array is, or may be as values decide."""
        if not is_traced(leaf):
            return
        for storage in (leaf._storage, *(other for other, _ in all_shared_with(leaf._storage))):
            if storage.trace is not self.trace or storage.is_input:
                yield storage

    def results(self, name: "str | Slot") -> list[Result]:
        """What is known of the leaves of a variable."""
        first = self.places[name]
        return self.function.results[first : first + len(self.held[name].arrays)]


@dataclass(frozen=True)
class Only:
    """The only way on: the other one raises, which has been noted."""

    block: Callable[[], Outcome]


Blocks: TypeAlias = "tuple[tuple[str, Callable[[], Outcome]], tuple[str, Callable[[], Outcome]]]"


def choose(
    where: str, test: Any, blocks: Blocks, wanted: Sequence[str], watch: Watch, unset: Container[str] = ()
) -> "Outcome | Only":
    """The outcome of the block that a test chooses: the first where it is false.

    A variable that only one of them sets is set afterwards, to anything on the other, unless it may be read `unset`.
    """
    ways: list[Way] = []
    for place in (1, 0):  # what raises is mostly in the second
        way = Way(where, *blocks[place], wanted, watch)
        if way.raised is not None:
            test = _if_run(test if place else np.logical_not(test))
            if way.raises_before:
                nothing = NestedFunction(where, _nothing, _NO_ARGUMENTS, [], is_block=True)
                record_switch(where, nonzero_mask, test, [nothing, way.function], [], [], [])
            else:
                bind_raise(test, *way.raised)
            return Only(blocks[1 - place][1])
        ways.insert(0, way)
    slots = dict.fromkeys(slot for way in ways for slot in way.slots)
    for slot in filter(_is_tail, slots):
        if len({len(way.slots.get(slot, ())) for way in ways}) > 1:
            raise watch.refusal(f"`{slot.path.rpartition('[')[0]}`, a list")
    for place, block in enumerate(blocks):
        if len(ways[place].slots) < len(slots):
            ways[place] = Way(where, *block, wanted, watch, slots)
    merge = _Merge(where, ways)
    kind = merge.kind()
    value = merge.variable(_VALUE, may_be_missing=True)
    variables = {name: merge.variable(name, may_be_missing=name not in unset) for name in wanted}
    changed = {slot: merge.variable(slot, may_be_missing=False) for slot in slots}
    given = record_switch(
        where, nonzero_mask, test, [way.function for way in ways], [], merge.types, merge.picks
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
    """The outcome of one of two blocks, with what it sets."""
    with watched as watch:
        found = choose(where, test, blocks, wanted, watch, unset)
    return found.block() if isinstance(found, Only) else found.applied()


def value_of(where: str, test: Any, body: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    """``body() if test else orelse()``"""
    blocks: Blocks = (
        ("otherwise", lambda: Outcome(RETURNED, orelse(), {})),
        ("then", lambda: Outcome(RETURNED, body(), {})),
    )
    return branch_on(watching(where, {}, user_location()), where, np.reshape(test, ()), blocks).value


_GUARD: ContextVar[Any] = ContextVar("guard", default=None)
"""Where it holds, Python runs what is traced; else it is only computed, and raises nothing."""


@contextmanager
def guarded(test: Any) -> Generator[None]:
    """Raise errors in the block only where a test holds, too."""
    before = _GUARD.get()
    token = _GUARD.set(test if before is None else np.logical_and(before, test))
    try:
        yield
    finally:
        _GUARD.reset(token)


def raise_where(condition: Any, error: Exception, line: "Location | None") -> None:
    """Have the program raise an error of the user's where a condition holds."""
    bind_raise(_if_run(condition), error, line)


def _if_run(condition: Any) -> Any:
    """Whether a condition holds, and Python runs what is traced."""
    guard = _GUARD.get()
    return condition if guard is None else np.logical_and(condition, guard)


def bind_raise(condition: Any, error: Exception, line: "Location | None") -> None:
    """Have the program raise an error of the user's where a condition holds, whatever is traced now."""
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
    """The number of a result of the switch."""


class _Merge:
    """What the ways agree on, and which of their leaves the switch chooses between."""

    def __init__(self, where: str, ways: Sequence[Way]) -> None:
        self.where, self.ways = where, ways
        self.types: list[Result] = []
        self.picks: list[list[int | None]] = []
        self.shared: dict[int, tuple[str, list[Storage]]] = {}
        """By number of a result: the variable, and memory that was there before, which it may be."""

    def mark_shared(self, given: Sequence[Any]) -> None:
        """Note which results may be arrays that were there before."""
        for place, (name, memory) in self.shared.items():
            for storage in memory:
                share(given[place]._storage, storage, f"the {self.where}, which binds `{name}`,")

    def kind(self) -> Any:
        kinds = [way.outcome.kind for way in self.ways]
        if not any(map(is_traced, kinds)) and len(set(kinds)) == 1:
            return kinds[0]
        return self._add("the way it ends", [way.function.results[0] for way in self.ways], [0, 0])

    def variable(self, name: "str | Slot", *, may_be_missing: bool) -> Any:
        """UNSET, what the variable is on all ways, or its form with the places of its leaves."""
        objects = [way.object(name) for way in self.ways]
        if any(map(is_one_of, objects)):
            objects = [None]
        if isinstance(objects[0], CONTAINERS) and all(one is objects[0] for one in objects):
            return _Same(objects[0])  # whatever the ways have changed in it are slots
        have = [way for way in self.ways if name in way.held]
        if not have or (len(have) < len(self.ways) and not may_be_missing):
            return UNSET
        forms = [way.held[name] for way in have]
        first = forms[0]
        if not all(map(first.has_form_of, forms[1:])):
            return self._several(name, have)
        return first, [self._leaf(name, have, i) for i in range(len(first.arrays))]

    def _several(self, name: "str | Slot", have: Sequence[Way]) -> "_Several":
        """What has another form on each way."""
        require_operators()
        found = [alternatives(way.held[name]) for way in have]
        forms = distinct(form for parts in found for form, _ in parts)
        leaves = [
            [self._leaf_of_form(name, have, found, form, i) for i in range(len(form.arrays))]
            for form in forms
        ]
        are_several = [is_one_of(way.held[name].value) for way in have]
        pairs = list(zip(have, are_several, strict=True))
        raw: Any = 0
        if any(are_several):
            raw = self._add(
                str(name),
                [way.results(name)[0] if several else None for way, several in pairs],
                [way.places[name] if several else None for way, several in pairs],
            )
        numbers = [[index_of(form, forms) for form, _ in parts] for parts in found]
        return _Several(forms, leaves, raw, numbers)

    def _leaf_of_form(
        self,
        name: "str | Slot",
        have: Sequence[Way],
        found: Sequence["list[tuple[Held, int]]"],
        form: Held,
        i: int,
    ) -> "_Place":
        """The place of a leaf of a form, which some of the ways may not have."""
        results: list[Result | None] = []
        picks: list[int | None] = []
        old: list[Storage] = []
        for way, parts in zip(have, found, strict=True):
            at = next((first + i for one, first in parts if one.has_form_of(form)), None)
            results.append(None if at is None else way.results(name)[at])
            picks.append(None if at is None else way.places[name] + at)
            if at is not None and has_memory(way.held[name].arrays[at]):
                old += way.memory_before(way.held[name].arrays[at])
        place = self._add(str(name), results, picks)
        if old:
            self.shared[place] = str(name), old
        return place

    def _leaf(self, name: "str | Slot", have: Sequence[Way], i: int) -> Any:
        """A leaf that is the same object on all ways, or the place of the result that chooses."""
        leaves = [way.held[name].arrays[i] for way in have]
        if len(have) == len(self.ways) and all(one is leaves[0] for one in leaves):
            return leaves[0]
        place = self._add(
            str(name),
            [way.results(name)[i] if way in have else None for way in self.ways],
            [way.places[name] + i if way in have else None for way in self.ways],
        )
        pairs = zip(have, leaves, strict=True)
        old = [storage for way, leaf in pairs if has_memory(leaf) for storage in way.memory_before(leaf)]
        if old:
            self.shared[place] = str(name), old
        return place

    def _add(self, name: str, results: Sequence[Result | None], picks: list[int | None]) -> _Place:
        self.types.append(joined(self.where, name, results))
        self.picks.append(picks)
        return _Place(len(self.picks) - 1)


@dataclass(frozen=True)
class _Same:
    """A container that is the same object on all ways."""

    value: Any


@dataclass(frozen=True)
class _Several:
    """One of several values of different forms."""

    forms: Sequence[Held]
    leaves: Sequence[Sequence[Any]]
    """For each form, the places of its leaves."""
    raw: Any
    """The place of the number that tells which form a way has that may have several."""
    numbers: Sequence[Sequence[int]]
    """For each way, which of the forms are those of that number."""

    def filled(self, given: Sequence[Any], test: Any) -> OneOf:
        """The value, from the results of the switch; its test chooses the second way."""
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
