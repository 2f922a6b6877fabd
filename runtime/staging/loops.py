"""A Python loop as one loop of the program: its body is traced once.

Variables that the body binds and that are read later are carried from one iteration to the next. So is memory that it
writes to, as in the loops of `control_flow`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ...compiler.callers.user_code import HOOKS, line_of_raise, location_at, user_location
from ...compiler.dtypes import INT64
from ...compiler.errors import CarryMismatchError, SharedMemoryError, SideEffectError
from ...compiler.frontend.sites import Site
from ...compiler.frontend.traced_program import Argument, leaf_type, strongest_type, weak_type
from ...compiler.ir import ArrayType, Call, Constant, Value
from ...compiler.symbolic_size import SymbolicSize, is_known, same_shape
from ...compiler.tracing.adoption import as_adopted, is_adopted
from ...compiler.tracing.sharing import all_shared_with, make_unreadable, share
from ...compiler.tracing.trace import Storage, require_trace
from ...compiler.tracing.traced_array import is_traced
from ..branching.alternatives import alternatives, as_one_of, distinct, index_of, require_operators
from ..branching.effects import Watch
from ..branching.outcomes import FELL, RETURNED, UNSET, Outcome
from ..branching.slots import Slot
from ..branching.variables import Held, has_memory, held, memory
from ..control_flow.carry import Carry
from ..control_flow.scan import run_loop, slices_of
from ..control_flow.while_loop import record_while
from ..eager.nested_function import NestedFunction, Result
from ..eager.run import zeros
from ..trees import structure
from .growing_numbers import may_outgrow
from .ranges import Iterations

Iteration = Callable[[Mapping[str, Any]], Outcome]
HEAVY: Final = 32
"""A loop that contains loops or branches becomes a loop of the program if its iterations weigh this much together."""
_MOST_FORMS: Final = 16
"""The most strings, or other values that are not numbers, that a variable of a loop may have."""
VERY_LONG: Final = 256
"""A loop of this many iterations is never unrolled, even if that would tell apart arrays that may share memory."""
NUMBER: Final = f"{HOOKS}_number"
"""The variable that holds the number of the iteration."""
ROWS: Final = f"{HOOKS}_rows"
"""The variable that holds the rows of the iteration."""
_KIND = "_kind"
_VALUE = "_value"


class RunsInPythonError(Exception):
    """A loop should be unrolled. The message says why: "no value ends it"."""


class IterationRaisesError(RunsInPythonError):
    """Each iteration raises an error of the user, whatever the values are. So there is at most one iteration."""


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
        self.held: dict[str | Slot, Held] = {}
        """The flattened values of carried variables before the loop."""
        self.rows: Sequence[Any] = ()
        """The rows of the last iteration."""
        self.fixed: dict[str, Held] = {}
        """Variables with arrays that are not rebound, as far as known. Writes to these arrays are carried as memory."""
        self.carry = Carry(where, "carried", [])
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
        for key, one in self.held.items():
            value = one.filled([next(following) for _ in one.arrays])
            if isinstance(key, Slot):
                slots[key] = value
            else:
                given[key] = value
        return given, slots

    def _iteration(self, iteration: Iteration, leaves: Sequence[Any]) -> list[Any]:
        self.trace, self.entering = require_trace(), list(leaves)
        self.trace.owns_arguments = True
        given, slots = self._given(leaves)
        try:
            self.outcome, self.slots = self.watch.run(lambda: iteration(given), slots)
        except Exception as error:
            if line_of_raise(error) is None:
                raise
            raise IterationRaisesError("its first iteration raises an error") from error
        parts: tuple[Mapping[Any, Any], ...] = self.outcome.names, self.slots
        names: dict[str | Slot, Any] = {key: x for part in parts for key, x in part.items()}
        if _KIND in self.held:
            names[_KIND] = self.outcome.kind
        if _VALUE in self.held:
            names[_VALUE] = given[_VALUE] if self.outcome.value is UNSET else self.outcome.value
        found: list[Any] = []
        for name, before in self.held.items():
            if name not in names:
                raise CarryMismatchError(
                    f"{self.where}: `{name}` is set before an iteration but not after it", user_location()
                )
            found += self._as_before(name, before, held(names[name])).arrays
        self.leaving = found
        return found

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
                    "values cannot change the length or structure of a variable",
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
            names = {name: as_adopted(x) for name, x in self.names.items()}
            if any(names[name] is not x for name, x in self.names.items()):
                self.names = names  # trace again: before the first write, the NumPy array itself was read
            elif not self._grown() and not self._promoted(step.results):
                self._check_sharing(step, min(1, len(counted)))
                return step

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
            if name not in outcome.names or not _is_untouched(one, held(outcome.names[name])):
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
            self._add_zeros(name, held(outcome.names[name]))
        return len(self.held) > before

    def _add_zeros(self, name: str, one: Held) -> None:
        """Carry a variable that is not set before the loop. It starts with zeros."""
        blank = [zeros(leaf_type(x, name)) if (weak := weak_type(x)) is None else weak(0) for x in one.arrays]
        self._add(name, held(one.filled(blank)))

    def _check_sharing(self, step: NestedFunction, offset: int) -> None:
        """Refuse writes to memory that another variable shares.

        Each iteration gets every carried array as separate memory. That is correct as long as the loop does not write
        to memory that another variable can see.
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
        captured: list[Any] = [*step.captured.values()]
        stale = [array._storage.unreadable for array in captured if is_traced(array)]
        if any(stale):
            raise SharedMemoryError(
                f"the {self.where} uses an array in each iteration that {next(filter(None, stale))}",
                location_at(self.site.file, self.site.line),
            )
        for i in places:
            name, leaf = self.carry.paths[i], self.carry.leaves[i]
            if i in written:
                is_seen = not is_traced(leaf) or leaf._storage.trace.is_seen_outside(leaf._storage)
                if is_seen or before.count(memory(leaf)) > 1 or memory(leaf) in step.captured:
                    raise SharedMemoryError(
                        f"the {self.where} writes to `{name}` and rebinds it, but the array that it was before the "
                        f"loop is also used elsewhere. Begin with a copy, {name} = {name}.copy()",
                        location_at(self.site.file, self.site.line),
                    )
            others = groups[i] - {i}
            if (others & step.written.keys()) or (groups[i] & written and others - {memory(leaf)}):
                raise SharedMemoryError(
                    f"the {self.where} binds `{name}` to the array of another variable and writes to one of them: bind "
                    f"a copy, {name} = ….copy()",
                    location_at(self.site.file, self.site.line),
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
            for storage in (new._storage, *(other for other, _ in all_shared_with(new._storage))):
                if storage.trace is not self.trace:
                    groups[i].add(id(require_trace().known_shadow(storage)))
                else:  # made in the iteration or carried: the first array that has it stands for it
                    groups[i].add(holder.setdefault(id(storage), i))
        merged: list[set[int]] = []
        for group in groups.values():
            touching = [one for one in merged if one & group]
            merged = [one for one in merged if not one & group] + [group.union(*touching)]
        return {i: next(one for one in merged if i in one) for i in places}

    def depends_on_inputs(self, step: NestedFunction, rows: Sequence[Any]) -> bool:
        """Whether an iteration uses a value that is not known while tracing. Otherwise Python can run the loop."""
        used: list[Any] = [*self.carry.leaves, *step.captured.values(), *rows]
        return any(is_traced(x) and not x._trace.can_be_known(x.value) for x in used)

    def has_views_of(self, arrays: Sequence[Any], step: NestedFunction) -> bool:
        """Whether an iteration writes to a row or keeps it, so that rows must be views of their arrays."""
        leaving = [x._storage for x in self.leaving if is_traced(x) and has_memory(x)]
        kept = {id(x) for one in leaving for x in (one, *(other for other, _ in all_shared_with(one)))}
        return any(
            row._storage.version
            or id(row._storage) in kept
            or (memory(array) in step.written if is_traced(array) else is_adopted(array))
            for row, array in zip(self.rows, arrays, strict=True)
        )

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
        return [other for other, _ in all_shared_with(storage) if other.trace is not self.trace]

    def _entering_as(self, storage: Storage) -> list[Any]:
        """The arrays that had this memory before the loop, or may have had it depending on values."""
        now = {id(storage), *(id(other) for other, _ in all_shared_with(storage))}
        return [
            leaf
            for leaf, entering in zip(self.carry.leaves, self.entering, strict=True)
            if is_traced(leaf) and is_traced(entering) and id(entering._storage) in now
        ]

    def _note_sharing(self, leaves: Sequence[Any]) -> None:
        """Note which arrays may share memory after the loop, and which must no longer be used."""
        for i, leaf in enumerate(self.carry.leaves):
            if not (has_memory(leaf) and is_traced(leaf) and is_traced(leaves[i])):
                continue
            entering, leaving, name = self.entering[i], self.leaving[i], self.carry.paths[i]
            statement = f"the {self.where}, which binds `{name}`,"
            if entering._storage.version or entering._storage.unreadable:
                make_unreadable(
                    leaf._storage, f"the {self.where} has written to as `{name}`, which it also rebinds"
                )
            if not (self.has_iterations and self._is_made_in_iteration(leaving)):
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

    def _promoted(self, results: Sequence[Result]) -> bool:
        """Promote the carried types to those after an iteration. Returns whether one changed."""
        changed, carry = False, self.carry
        for place, result in enumerate(results[: len(carry.leaves)]):
            type_, weak = carry.types[place], carry.weak[place]
            if not same_shape(type_.shape, result.type.shape):
                raise CarryMismatchError(
                    f"{self.where}: `{carry.paths[place]}` is {type_} before an iteration and {result} after it: "
                    "a loop on traced values cannot change a shape",
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

    def outcome_of(self, leaves: Sequence[Any]) -> Outcome:
        """The outcome of the loop."""
        self._note_sharing(leaves)
        names, slots = self._given(leaves)
        kind, value = names.pop(_KIND, FELL), names.pop(_VALUE, UNSET)
        bound = [name for name in (*self.held, *self.fixed) if name in names]
        return Outcome(kind, value, {str(name): names[str(name)] for name in bound}, slots)


def while_loop(
    where: str,
    site: Site,
    names: Mapping[str, Any],
    test: Callable[[Mapping[str, Any]], Any],
    iteration: Iteration,
    watch: Watch,
    *,
    most: int | None = None,
    has_iterations: bool = False,
    only_if_left: bool = False,
) -> Outcome:
    """A loop that runs while a test is true, for at most `most` iterations.

    Raises:
        RunsInPythonError: with `only_if_left`, if no jump out of the loop depends on values.
    """
    loop = StagedLoop(where, site, names, watch, has_iterations=has_iterations)
    step = loop.traced(iteration)
    if only_if_left and not loop.is_left_by_values(step):
        raise RunsInPythonError("no value ends it")

    def goes_on(leaves: list[Any]) -> Any:
        given, slots = loop._given(leaves)
        kind = given.pop(_KIND, None)
        holds, left = watch.run(lambda: test(given), slots)
        if any(left[slot] is not slots.get(slot) for slot in left):
            raise SideEffectError(f"{where}: its test changes `{next(iter(left))}`", user_location())
        holds = holds if np.ndim(holds) == 0 else np.reshape(holds, ())
        return holds if kind is None else np.logical_and(kind == FELL, holds)

    goes_on.__name__ = f"{loop.name}_test"
    condition = NestedFunction(
        where, goes_on, loop._tree(), loop.carry.arguments(), beside=step, is_block=True
    )
    limit = {} if most is None else {"max_steps": most}
    return loop.outcome_of(record_while(where, loop.carry, step, condition, limit))


def is_long(site: Site, length: Any) -> bool:
    """Whether a loop of known length becomes a loop of the program rather than being unrolled."""
    if site.asks_python or isinstance(length, SymbolicSize):
        return not site.asks_python
    is_flat = site.weight == 1 and not require_trace().may_not_run
    return _is_very_long(length) if is_flat else bool(length * site.weight >= HEAVY)


def _is_very_long(length: Any) -> bool:
    """Whether the unrolled loop would be too long."""
    return isinstance(length, SymbolicSize) or bool(length >= VERY_LONG)


def known_loop(
    where: str,
    site: Site,
    names: Mapping[str, Any],
    iteration: Iteration,
    iterations: Iterations,
    has_jumped: Callable[[], bool],
    watch: Watch,
) -> Outcome:
    """A loop of known length: a `scan`, unless a jump may end it. `has_jumped` says whether one depends on values.

    Raises:
        RunsInPythonError: it is short and no value ends it, or it must run on Python's own numbers and arrays.
    """
    has_iterations = is_known(iterations.length >= 1)
    loop, slices = (
        StagedLoop(where, site, names, watch, has_iterations=has_iterations),
        slices_of(where, iterations.rows, iterations.length),
    )
    counter = Argument(ArrayType(INT64, ()), "i", int, is_scalar=True)
    step = loop.traced(iteration, [counter, *slices.arguments])
    if iterations.rows and loop.has_views_of(iterations.rows, step):
        return known_loop(where, site, names, iteration, iterations.indexed(), has_jumped, watch)
    are_sizes_known = not isinstance(iterations.length, SymbolicSize)
    if (are_sizes_known or any(loop.carry.weak)) and not loop.depends_on_inputs(step, iterations.rows):
        raise RunsInPythonError("it computes numbers that Python knows in each iteration")
    if may_outgrow(step.program.graph, _whole_numbers(loop, step), iterations.length):
        raise RunsInPythonError("it computes Python ints that may exceed 64 bits")
    if loop.outcome.kind is not FELL:
        return while_loop(
            where,
            site,
            {**names, NUMBER: 0},
            lambda given: given[NUMBER] < iterations.length,
            iteration,
            watch,
            most=iterations.length if are_sizes_known else None,
            has_iterations=has_iterations,
        )
    if not (is_long(site, iterations.length) or has_jumped()):
        raise RunsInPythonError("it is short")
    if loop.shares() and not _is_very_long(iterations.length):
        raise RunsInPythonError("its variables may be the same array afterwards")
    last, _ = run_loop(step, loop.carry, slices, {}, None, first=0)
    return loop.outcome_of(last)


def _whole_numbers(loop: StagedLoop, step: NestedFunction) -> list[tuple[Value, Value]]:
    """The carried Python ints before and after an iteration."""
    graph = step.program.graph
    return [
        (graph.inputs[1 + place], graph.outputs[step.results[place].index])
        for place, weak in enumerate(loop.carry.weak)
        if weak is int and step.results[place].index >= 0
    ]


def is_returned(kind: Any) -> Any:
    """Whether a function has returned from a loop."""
    return kind == RETURNED


def _is_untouched(one: Held, other: Held) -> bool:
    """Whether a variable still holds the same objects."""
    return one.tree == other.tree and all(x is y for x, y in zip(one.leaves, other.leaves, strict=True))


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
