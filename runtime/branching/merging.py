"""`Merge`: the variables after an ``if`` from those of its branches, and the results that a `switch` gives for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ...compiler.memory_layout.layout import layout_of
from ...compiler.tracing.outside.adoption import adopt, is_reachable
from ...compiler.tracing.sharing import TELLS_APART, share
from ...compiler.tracing.trace import Storage
from ...compiler.tracing.traced_array import array_on, wrap
from ...compiler.tracing.traced_memory import is_numpy_array, is_traced
from ...compiler.value_ops import constant
from ..eager.nested_function import Result
from .alternatives import alternatives, distinct, index_of, mapped, only_alternative, require_operators
from .branch import Branch
from .one_of import OneOf, is_one_of
from .outcomes import UNSET
from .references import Key, are_alike, chosen, key_of, memory_of
from .slots import CONTAINERS, Slot
from .stand_ins import possible_arrays
from .variables import Held, has_memory, joined


class Place(int):
    """The place of a result of the switch."""


class Merge:
    """The results of the switch: what is the same in both branches, and the leaves that it chooses between."""

    def __init__(self, where: str, branches: Sequence[Branch]) -> None:
        self.where, self.branches = where, branches
        self.types: list[Result] = []
        self.picks: list[list[int | None]] = []
        self.shared: dict[int, tuple[str, list[Storage]]] = {}
        """For the place of a result: its variable, and the memory from before the switch that it may have."""
        self.users: dict[tuple[Branch, Storage], dict[int, str]] = {}
        """For the new memory of a branch, the places of the results that may have it, and their variables."""
        self.adopted: dict[int, tuple[Any, Any]] = {}
        """NumPy arrays that a branch leaves, by id, and the traced arrays that replace them."""
        self.contents: dict[tuple[Branch, int], Place] = {}
        """The places of the results that hold the contents of the new memory of a branch, by its id."""

    def mark_shared(self, given: Sequence[Any]) -> None:
        """Note which results may be arrays from before the switch, and which may be the same new array."""
        for place, (name, memory) in self.shared.items():
            for storage in memory:
                share(given[place]._storage, storage, f"the {self.where}, which binds `{name}`,")
        for names in self.users.values():
            for (one, name), (other, _) in combinations(names.items(), 2):
                share(given[one]._storage, given[other]._storage, f"the {self.where}, which binds `{name}`,")

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
            [self._leaf_of_form(name, have, form, i) for i in range(len(form.arrays))] for form in forms
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
        form: Held,
        i: int,
    ) -> "Place":
        """The place of a leaf of a form that a branch may not have."""
        results: list[Result | None] = []
        picks: list[int | None] = []
        used: list[tuple[Branch, int]] = []
        for branch in have:
            own = only_alternative(branch.held[name], form)
            at = None if own is None else own[1] + i
            results.append(None if at is None else branch.results(name)[at])
            picks.append(None if at is None else branch.places[name] + at)
            if at is not None and has_memory(branch.held[name].arrays[at]):
                used.append((branch, at))
        place = self._add(str(name), results, picks)
        self._note(place, name, used)
        return place

    def _leaf(self, name: "str | Slot", have: Sequence[Branch], i: int) -> Any:
        """A leaf that is the same object in both branches, or the place of the result that chooses between two."""
        leaves = [branch.held[name].arrays[i] for branch in have]
        if len(have) == len(self.branches) and all(one is leaves[0] for one in leaves):
            return leaves[0]
        if TELLS_APART.get() and all(map(has_memory, leaves)):
            found = self._told_apart(name, have, i)
            if found is not None:
                return found
        place = self._add(
            str(name),
            [branch.results(name)[i] if branch in have else None for branch in self.branches],
            [branch.places[name] + i if branch in have else None for branch in self.branches],
        )
        self._note(
            place, name, [(branch, i) for branch, leaf in zip(have, leaves, strict=True) if has_memory(leaf)]
        )
        return place

    def _note(self, place: Place, name: "str | Slot", used: Sequence[tuple[Branch, int]]) -> None:
        """Note the memory that a result may have, from the leaves of branches that it is made of."""
        old = [storage for branch, i in used for storage in branch.before[name, i]]
        for branch, i in used:
            x = branch.held[name].arrays[i]
            entries = [x] if is_numpy_array(x) else possible_arrays(x._storage)
            old += [storage for one in entries for storage in memory_of(self._traced(one))]
        if old:
            self.shared[place] = str(name), old
        for branch, i in used:
            for storage in branch.own[name, i]:
                self.users.setdefault((branch, storage), {})[place] = str(name)

    def _traced(self, x: Any) -> Any:
        """The traced array that replaces a NumPy array. If nothing can reach that, a branch has made it."""
        if is_traced(x):
            return x
        if id(x) in self.adopted:
            return self.adopted[id(x)][1]
        if is_reachable(x):
            new = adopt(x)
        else:
            layout = layout_of(x)
            new = wrap(constant(x.copy()), is_scalar=False, layout=None if layout.is_row_major else layout)
            for other, its in self.adopted.values():
                if np.may_share_memory(x, other):
                    share(new._storage, its._storage, f"the {self.where}")
        self.adopted[id(x)] = x, new
        return new

    def _told_apart(self, name: "str | Slot", have: Sequence[Branch], i: int) -> "_OneOfArrays | Any | None":
        """A leaf as one of the arrays that it may be; None if it is new in each branch or cannot be told apart."""
        if len(have) == len(self.branches) and all(branch.is_alone((name, i)) for branch in have):
            return None
        found = [branch.references[name, i] for branch in have]
        arrays = [[self._traced(x) if is_numpy_array(x) else x for x in one.arrays] for one in found]
        if not are_alike([x for given in arrays for x in given]):
            return None
        sources: dict[Key, tuple[Place | None, Any]] = {}
        # What a branch leaves that does not set the variable is arbitrary.
        numbers = {branch: [0] for branch in self.branches}
        for branch, given in zip(have, arrays, strict=True):
            for x in given:
                if key_of(x) not in sources:
                    is_own = x._storage in branch.own[name, i]
                    sources[key_of(x)] = self._content(name, branch, x._storage) if is_own else None, x
            keys = list(sources)
            numbers[branch] = [keys.index(key_of(x)) for x in given]
        if [place for place, _ in sources.values()] == [None]:
            return arrays[0][0]
        places = {branch: one.place for branch, one in zip(have, found, strict=True) if len(one.arrays) > 1}
        raw: Any = self._add_of(name, places) if places else 0
        return _OneOfArrays(list(sources.values()), raw, [numbers[branch] for branch in self.branches])

    def _content(self, name: "str | Slot", branch: Branch, storage: Storage) -> Place:
        """The place of the result that holds the contents of new memory."""
        if (branch, id(storage)) not in self.contents:
            place = self._add_of(name, {branch: branch.contents[id(storage)]})
            self.contents[branch, id(storage)] = place
            self.users.setdefault((branch, storage), {})[place] = str(name)
        return self.contents[branch, id(storage)]

    def _add_of(self, name: "str | Slot", places: Mapping[Branch, int]) -> Place:
        """Add a result that some branches give, each as one of its own results."""
        picks = [places.get(branch) for branch in self.branches]
        results = [
            None if pick is None else branch.function.results[pick]
            for branch, pick in zip(self.branches, picks, strict=True)
        ]
        return self._add(str(name), results, picks)

    def _add(self, name: str, results: Sequence[Result | None], picks: list[int | None]) -> Place:
        self.types.append(joined(self.where, name, results))
        self.picks.append(picks)
        return Place(len(self.picks) - 1)


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
        raw = given[self.raw] if type(self.raw) is Place else self.raw
        first, second = (mapped(numbers, raw) for numbers in self.numbers)
        entries = [
            form.filled([given[place] for place in places])
            for form, places in zip(self.forms, self.leaves, strict=True)
        ]
        return OneOf(entries, np.where(test, second, first))


@dataclass(frozen=True)
class _OneOfArrays:
    """An array that is one of several, whose memory is told apart."""

    sources: Sequence[tuple[Place | None, Any]]
    """Each array, and the place of the contents of its memory if a branch has made it."""
    raw: Any
    """The place of the number that says which of its arrays it is in a branch in which it may be several."""
    numbers: Sequence[Sequence[int]]
    """For each branch, the arrays that this number stands for, by their places in `sources`."""

    def filled(self, given: Sequence[Any], test: Any) -> Any:
        """The array, from the results of the switch. A true test chooses the second branch."""
        arrays = [
            x if place is None else array_on(given[place]._storage, x.type, x._views)
            for place, x in self.sources
        ]
        if len(arrays) == 1:
            return arrays[0]
        raw = given[self.raw] if type(self.raw) is Place else self.raw
        first, second = (mapped(numbers, raw) for numbers in self.numbers)
        return chosen(arrays, np.where(test, second, first))


def filled(found: Any, given: Sequence[Any], test: Any) -> Any:
    """A variable after the switch, from its results."""
    if found is UNSET:
        return UNSET
    if isinstance(found, _Same):
        return found.value
    if isinstance(found, _Several):
        return found.filled(given, test)
    form, places = found
    return form.filled([_leaf_at(place, given, test) for place in places])


def _leaf_at(place: Any, given: Sequence[Any], test: Any) -> Any:
    if isinstance(place, _OneOfArrays):
        return place.filled(given, test)
    return given[place] if type(place) is Place else place
