"""`StagedLoop`: a Python loop whose body is traced once, to become the body of a loop of the program.

Variables that the body binds and that are read later are carried from one iteration to the next. So is memory that it
writes to, as in the loops of `control_flow`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ....compiler.arguments.leaves import leaf_type, strongest_type, weak_type
from ....compiler.callers.user_code import HOOKS, line_of_raise, location_at, user_location
from ....compiler.errors import CarryMismatchError, SideEffectError, TracemillError
from ....compiler.frontend.program import Argument
from ....compiler.frontend.sites import Site
from ....compiler.ir import ArrayType, Call, Constant, Value
from ....compiler.symbolic_size import same_shape
from ....compiler.tracing.exceptions.python_failures import line_of_failure
from ....compiler.tracing.outside.adoption import traced_replacement
from ....compiler.tracing.sharing import TELLS_APART
from ....compiler.tracing.trace import require_trace
from ....compiler.tracing.traced_memory import is_traced
from ...branching.alternatives import alternatives, as_one_of, distinct, index_of, require_operators
from ...branching.asked_lengths import length_test
from ...branching.one_of import is_one_of
from ...branching.outcomes import FELL, UNSET, Outcome
from ...branching.slots import Slot
from ...branching.stand_ins import update_stand_ins
from ...branching.variables import Held, has_memory, held
from ...branching.watching import Watch
from ...control_flow.carry import Carry
from ...eager.nested_function import NestedFunction, Result
from ...eager.run import zeros
from ...trees import structure
from .carried_memory import CarriedMemory
from .exchanged_containers import Exchange
from .iterations import NUMBER, ROWS
from .memory_choices import Leaf, MemoryChoices
from .unrolling import IterationRaisesError

Iteration = Callable[[Mapping[str, Any]], Outcome]
_MOST_FORMS: Final = 16
"""The most strings, or other values that are not numbers, that a variable of a loop may have."""
_KIND = "_kind"
_VALUE = "_value"


class _MoreFormsError(Exception):
    """An iteration leaves a variable in a form that is not carried yet."""

    def __init__(self, name: "str | Slot", forms: Sequence[Held]) -> None:
        super().__init__(name)
        self.name, self.forms = name, forms


class StagedLoop:
    """The variables that a loop carries and their types, which are found by tracing its body until they settle."""

    def __init__(
        self, where: str, site: Site, names: Mapping[str, Any], watch: Watch, *, has_iterations: bool
    ) -> None:
        self.where, self.site, self.names, self.has_iterations = where, site, names, has_iterations
        self.watch = watch
        self.slots: dict[Slot, Any] = {}
        """The attributes and entries that the last iteration changed."""
        self.may_append = False
        """Whether iterations may append to lists that they do not read."""
        self.appended: dict[Slot, Held] = {}
        """What the last iteration appended to each list."""
        self.held: dict[str | Slot, Held] = {}
        """The flattened values of carried variables before the loop."""
        self.rows: Sequence[Any] = ()
        """The rows of the last iteration."""
        self.fixed: dict[str, Held] = {}
        """Variables with arrays that are not rebound, as far as known. Writes to these arrays are carried as memory."""
        self.carry = Carry(where, "carried", [])
        self.choices = _choices(where, site, names)
        """Which of several arrays each carried one is, if arrays that share memory are told apart."""
        self.numbers: dict[str | Slot, Leaf] = {}
        """The variables that carry the numbers of these choices."""
        self.returned = range(0)
        """The places of a value that an iteration returns. It is the last one, so nothing writes to them later."""
        for name in [NUMBER, *site.names] if NUMBER in names else site.names:
            if name in names:
                one = held(names[name])
                if any(map(has_memory, one.arrays)):
                    self.fixed[name] = one
                else:
                    self._add(name, one)

    def _add(self, key: "str | Slot", one: Held) -> None:
        self.held[key], name = one, str(key)
        if self.choices is not None:
            self.choices.add(key, one)
        more = Carry(self.where, name, one.arrays)
        if key == _VALUE:
            self.returned = range(len(self.carry.leaves), len(self.carry.leaves) + len(more.leaves))
        self.carry.leaves += more.leaves
        self.carry.types += more.types
        self.carry.weak += more.weak
        self.carry.paths += [
            name if len(more.leaves) == 1 else f"{name}_{i}" for i in range(len(more.leaves))
        ]

    def _tree(self, *before: Any) -> Any:
        return structure((([0] * len(before) + [0] * len(self.carry.leaves),), {}))

    def _given(self, leaves: Sequence[Any]) -> tuple[dict[str, Any], dict[Slot, Any]]:
        """The variables, and the attributes and entries, at the start of an iteration."""
        following = iter(leaves)
        given, slots = dict(self.names), dict[Slot, Any]()
        arrays = {key: [next(following) for _ in one.arrays] for key, one in self.held.items()}
        for key, found in (arrays if self.choices is None else self._told_apart(arrays)).items():
            value = self.held[key].filled(found)
            if isinstance(key, Slot):
                slots[key] = value
            else:
                given[key] = value
        return given, slots

    def _told_apart(self, arrays: "Mapping[str | Slot, Sequence[Any]]") -> "dict[str | Slot, list[Any]]":
        """The arrays that variables are, from the contents of their cells and the numbers that choose."""
        assert self.choices is not None
        cells = {(key, i): x for key, found in arrays.items() for i, x in enumerate(found)}
        numbers = {leaf: arrays[key][0] for key, leaf in self.numbers.items()}
        return {
            key: [self.choices.array((key, i), cells, numbers.get((key, i), 0)) for i in range(len(found))]
            for key, found in arrays.items()
            if key not in self.numbers
        }

    def _iteration(self, iteration: Iteration, leaves: Sequence[Any]) -> list[Any]:
        self.trace, self.entering = require_trace(), list(leaves)
        self.trace.owns_arguments = True
        given, slots = self._given(leaves)
        entering: dict[str | Slot, Any] = {**given, **slots}  # type: ignore[dict-item]
        self.exchange = Exchange(
            {key: x for key, x in entering.items() if key in self.held},
            {key: one.value for key, one in self.held.items()},
            self.watch,
        )
        flattened: dict[str | Slot, Held] = {}

        def block() -> Outcome:
            outcome = iteration(given)
            update_stand_ins()
            flattened.update({name: held(x) for name, x in outcome.names.items()})
            if _VALUE in self.held:
                flattened[_VALUE] = held(given[_VALUE] if outcome.value is UNSET else outcome.value)
            leaving: dict[Any, Any] = {slot: slot.value for slot in slots}
            self.exchange.leave(leaving | dict(outcome.names))
            return outcome

        try:
            self.outcome, slots = self.watch.run(block, slots, may_grow=self.may_append)
        except Exception as error:
            is_pythons = not isinstance(error, TracemillError) and line_of_failure(error) is not None
            if line_of_raise(error) is None and not is_pythons:
                raise
            raise IterationRaisesError("its first iteration raises an error") from error
        self.slots = {slot: x for slot, x in slots.items() if not slot.is_tail}
        self.appended = {slot: self.watch.flattened[slot] for slot in slots if slot.is_tail}
        self.left: dict[str | Slot, Held] = flattened | {
            slot: self.watch.flattened[slot] for slot in self.slots
        }
        if _KIND in self.held:
            self.left[_KIND] = held(self.outcome.kind)
        found: dict[str | Slot, list[Any]] = {}
        for name, before in self.held.items():
            if name in self.numbers:
                continue
            if name not in self.left:
                raise CarryMismatchError(
                    f"{self.where}: `{name}` is set before an iteration but not after it: assign to it instead of "
                    f"`del {name}`, as in {name} = 0.0",
                    user_location(),
                )
            found[name] = self._as_before(name, before, self.left[name]).arrays
        if self.choices is not None:
            found |= self._chosen_at_the_end(self.choices, found)
        self.leaving = [x for name in self.held for x in found[name]]
        return [*self.leaving, *(x for items in self.appended.values() for x in items.arrays)]

    def _chosen_at_the_end(
        self, choices: MemoryChoices, found: "Mapping[str | Slot, Sequence[Any]]"
    ) -> "dict[str | Slot, list[Any]]":
        """The numbers that say which arrays the variables are after an iteration."""
        leaving = {(key, i): x for key, arrays in found.items() for i, x in enumerate(arrays)}
        places = [(key, i) for key, one in self.held.items() for i in range(len(one.arrays))]
        choices.ends(self.trace, dict(zip(places, self.entering, strict=True)), leaving)
        return {
            key: [last if is_traced(last := choices.last[leaf]) else np.int64(last)]
            for key, leaf in self.numbers.items()
        }

    def _as_before(self, name: "str | Slot", before: Held, after: Held) -> Held:
        """The new value of a variable, in the form in which it is carried."""
        if before.has_form_of(after):
            return after
        require_operators()
        forms = [form for form, _ in alternatives(before)]
        new = distinct(form for form, _ in alternatives(after) if index_of(form, forms) is None)
        if new or len(forms) == 1:
            if len(forms) + len(new) > _MOST_FORMS:
                raise CarryMismatchError(
                    f"{self.where}: `{name}` is {before} before an iteration and {after} after it: a loop on traced "
                    "values cannot change the length or structure of a variable. Write to an array of the greatest "
                    f"length, {name} = np.zeros(most), and count its entries",
                    user_location(),
                )
            raise _MoreFormsError(name, [*forms, *new])
        return as_one_of(after, forms)

    def _carry_one_of(self, name: "str | Slot", forms: Sequence[Held]) -> None:
        """Carry a variable as a `OneOf` of these forms."""
        before, self.held = self.held | {name: as_one_of(self.held[name], forms)}, {}
        self.carry = Carry(self.where, "carried", [])
        for key, one in before.items():
            self._add(key, one)

    def carry_as(self, settled: "StagedLoop") -> None:
        """Carry what another loop with the same body has settled on, so that the body is traced once more only."""
        before, self.held, self.carry = self.held, {}, Carry(self.where, "carried", [])
        for key, one in (before | settled.held).items():
            self._add(key, one)
        self.choices, self.numbers = settled.choices, settled.numbers
        self.fixed = {name: one for name, one in self.fixed.items() if name in settled.fixed}
        self.names = {**settled.names, NUMBER: self.names[NUMBER]}
        known = dict(
            zip(settled.carry.paths, zip(settled.carry.types, settled.carry.weak, strict=True), strict=True)
        )
        for place, path in enumerate(self.carry.paths):
            if path in known:
                self.carry.types[place], self.carry.weak[place] = known[path]

    def traced(self, iteration: Iteration, counted: Sequence[Argument] = ()) -> NestedFunction:
        """The traced iteration, whose carried types are the same before and after it. It may get a number and rows."""

        def body(leaves: list[Any]) -> list[Any]:
            if not counted:
                return self._iteration(iteration, leaves)
            end = len(leaves) - len(counted) + 1
            more, self.rows = {NUMBER: leaves[0], ROWS: leaves[end:]}, leaves[end:]
            return self._iteration(lambda names: iteration({**names, **more}), leaves[1:end])

        body.__name__ = f"{self.name}_body"
        while True:
            entering = [*counted[:1], *self.carry.arguments(), *counted[1:]]
            try:
                step = NestedFunction(
                    self.where, body, self._tree(*counted), entering, repeats=True, is_block=True
                )
            except _MoreFormsError as more:
                self._carry_one_of(more.name, more.forms)
                continue
            names = {name: traced_replacement(x) for name, x in self.names.items()}
            if any(names[name] is not x for name, x in self.names.items()):
                self.names = names  # trace again: before the first write, the NumPy array itself was read
            elif not self._grown() and not self._promoted(step.results):
                self.memory = self._memory()
                self.memory.check_readable(step)
                if self.choices is None:
                    self.memory.check_sharing(step, min(1, len(counted)))
                return step

    def _memory(self) -> CarriedMemory:
        line = location_at(self.site.file, self.site.line)
        return CarriedMemory(
            self.where, line, self.carry, self.returned, self.trace, self.entering, self.leaving
        )

    def condition(self, test: Callable[[Mapping[str, Any]], Any], step: NestedFunction) -> NestedFunction:
        """The traced test of a ``while``: whether there is another iteration."""

        def goes_on(leaves: list[Any]) -> Any:
            given, slots = self._given(leaves)
            kind = given.pop(_KIND, None)
            holds, left = self.watch.run(lambda: test(given), slots)
            if any(left[slot] is not slots.get(slot) for slot in left):
                raise SideEffectError(
                    f"{self.where}: its test changes `{next(iter(left))}`: change it in the body, and test a variable, "
                    "as in `while goes_on:`",
                    user_location(),
                )
            holds = _as_number(length_test(holds))
            return holds if kind is None else np.logical_and(kind == FELL, holds)

        goes_on.__name__ = f"{self.name}_test"
        return NestedFunction(
            self.where, goes_on, self._tree(), self.carry.arguments(), beside=step, is_block=True
        )

    @property
    def name(self) -> str:
        return "while" if "while" in self.where else "for"

    def _grown(self) -> bool:
        """Also carry what the last iteration has changed."""
        before = len(self.held)
        outcome = self.outcome
        for slot in self.slots:
            if slot not in self.held:
                self._add(slot, held(slot.value))
        for name, one in list(self.fixed.items()):
            if name not in outcome.names or not one.has_objects_of(self.left[name]):
                del self.fixed[name]
                self._add(name, one)
        if outcome.kind is not FELL and _KIND not in self.held:
            self._add(_KIND, held(np.int64(FELL)))
        if outcome.value is not UNSET and _VALUE not in self.held:
            self._add_zeros(_VALUE, held(outcome.value))
        for name in self.site.names:
            if (
                name in self.held
                or name in self.fixed
                or name not in outcome.names
                or name not in self.site.after
            ):
                continue
            if not self.has_iterations and name in self.site.unset:
                raise CarryMismatchError(
                    f"{self.where}: `{name}` is set only in the loop, which may have no iterations, and is read after "
                    f"it: set `{name}` before the loop",
                    user_location(),
                )
            self._add_zeros(name, self.left[name])
        return self._have_choices_grown() or len(self.held) > before

    def _have_choices_grown(self) -> bool:
        """Whether an array may be another one after an iteration than was known. The numbers of all choices are
        carried."""
        if self.choices is None or not self.choices.grow():
            return False
        for name, i in self.choices.numbered():
            key = f"{HOOKS}_which_{name}_{i}"
            if key not in self.numbers:
                self.numbers[key] = name, i
                self._add(key, held(np.int64(0)))
        return True

    def _add_zeros(self, name: str, one: Held) -> None:
        """Carry a variable that is not set before the loop. It starts with zeros."""
        blank = [zeros(leaf_type(x, name)) if (weak := weak_type(x)) is None else weak(0) for x in one.arrays]
        self._add(name, held(one.filled(blank)))

    def depends_on_inputs(self, step: NestedFunction, rows: Sequence[Any]) -> bool:
        """Whether an iteration uses a value that is not known while tracing. Otherwise Python can run the loop."""
        used: list[Any] = [*self.carry.leaves, *step.captured.values(), *rows]
        return any(is_traced(x) and not x._trace.can_be_known(x.value) for x in used)

    def is_left_by_values(self, step: NestedFunction) -> bool:
        """Whether it depends on values unknown while tracing how an iteration ends, or how an earlier one ended."""
        if _KIND not in self.held:
            return False
        graph = step.program.graph
        makes = {output: call for call in graph.calls for output in call.outputs}
        before: list[Any] = [*self.carry.leaves, *step.captured.values()]
        seen, stack = set[int](), [self.carry.paths.index(_KIND)]
        while stack:
            place = stack.pop()
            if place in seen:
                continue
            seen.add(place)
            if is_traced(before[place]) and not before[place]._trace.can_be_known(before[place].value):
                return True
            if place < len(self.carry.leaves) and step.results[place].index >= 0:
                found = _sources(graph.outputs[step.results[place].index], makes)
                stack += [number for number, value in enumerate(graph.inputs) if value in found]
        return False

    def _promoted(self, results: Sequence[Result]) -> bool:
        """Promote the carried types to those after an iteration. Returns whether one changed."""
        changed, carry = False, self.carry
        for place, result in enumerate(results[: len(carry.leaves)]):
            type_, weak = carry.types[place], carry.weak[place]
            if not same_shape(type_.shape, result.type.shape):
                raise CarryMismatchError(
                    f"{self.where}: `{carry.paths[place]}` is {type_} before an iteration and {result} after it: "
                    "a loop on traced values cannot change a shape. Write to a part of an array of the greatest shape, "
                    f"{carry.paths[place]}[:k] = …",
                    user_location(),
                )
            kinds = [
                type_.dtype if weak is None else weak(0),
                result.weak(0) if result.weak else result.type.dtype,
            ]
            both = None if weak is None or result.weak is None else strongest_type([weak, result.weak])
            new = ArrayType(np.result_type(*kinds), type_.shape)
            if (new, both) != (type_, weak):
                carry.types[place], carry.weak[place] = new, both
                changed = True
        return changed

    def outcome_of(self, leaves: Sequence[Any], appended: "Mapping[Slot, Any] | None" = None) -> Outcome:
        """The outcome of the loop, from the carried values after it, and what it appended to lists."""
        if self.choices is None:
            self.memory.note_sharing(leaves, has_iterations=self.has_iterations)
        names, slots = self._given(leaves)
        self.exchange.relate({key: one.value for key, one in self.held.items()}, {**names, **slots})
        kind, value = names.pop(_KIND, FELL), names.pop(_VALUE, UNSET)
        bound = [name for name in (*self.held, *self.fixed) if name in names]
        return Outcome(
            kind, value, {str(name): names[str(name)] for name in bound}, slots | dict(appended or {})
        )


def _choices(where: str, site: Site, names: Mapping[str, Any]) -> MemoryChoices | None:
    return MemoryChoices(where, location_at(site.file, site.line), names) if TELLS_APART.get() else None


def _sources(value: Value, makes: Mapping[Value, Call]) -> set[Value]:
    """The inputs of a graph that a value is computed from."""
    found: set[Value] = set()
    seen, stack = set[Value](), [value]
    while stack:
        top = stack.pop()
        if top in seen or isinstance(top, Constant):
            continue
        seen.add(top)
        if call := makes.get(top):
            stack += call.inputs
        else:
            found.add(top)
    return found


def _as_number(test: Any) -> Any:
    """The test of a loop as one number, whatever object it is."""
    if is_one_of(test):
        require_operators()
    if not is_traced(test):
        return bool(test)
    return test if test.ndim == 0 else np.reshape(test, ())
