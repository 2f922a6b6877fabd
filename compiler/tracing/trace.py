"""`Trace`: the recording of one call of a user's function; `Storage`: the memory that an array and its views share."""

import sys
import threading
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, ClassVar, Final

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..builder import Builder, current_builder, not_recording
from ..callers.user_code import user_location
from ..dtypes import INT64, Array, is_supported
from ..error_state import error_state, state_in_force, strict_part
from ..errors import ArgumentValueError, DTypeError, ErrorStateError, EscapedTracerError
from ..free_sizes import is_symbolic, size_names
from ..interpreter import run_call
from ..ir import ArrayType, Call, Constant, Location, Param, Value
from ..symbolic_size import SymbolicSize
from .foreign_memory import ForeignMemory
from .memory_layout import Layout, LayoutQuestion, layout_of

CHECKS_BOUNDS: ContextVar[bool | None] = ContextVar("checks_bounds", default=None)
"""Whether the function that is being traced checks bounds: so do the rules that a transform of it asks for."""

LARGEST_CONTENT = 1 << 16
"""How many bytes a captured array may have of which the trace remembers what it held."""
_COMPARED: Final = 512
"""How many entries of larger ones, about, are compared with what they were."""

Known = Callable[[], "Array | None"]
"""Gives the concrete value of an input, or None where it has none."""


@dataclass(frozen=True, slots=True, eq=False)
class KnownOutside:
    """Gives the concrete value of an input that the enclosing trace has computed."""

    trace: "Trace"
    value: Value

    def __call__(self) -> "Array | None":
        return self.trace.concrete(self.value)


@dataclass(frozen=True, slots=True, eq=False)
class ExampleIndex:
    """The number of the example that a mapped function is called for: an input of its graph if it is asked for."""

    size: int
    """The number of examples."""

    type: ClassVar[ArrayType] = ArrayType(INT64, ())


_numbers = count()


def next_number() -> int:
    """A number between those of the memory that is there and of that to come."""
    return next(_numbers)


class Storage:
    """The memory that an array and its views share. A write makes a new value and a new version."""

    __slots__ = (
        "argument", "in_step", "is_input", "layout", "number", "shared_with", "trace", "unreadable", "value", "version",
    )  # fmt: skip

    def __init__(self, trace: "Trace", value: Value, layout: Layout | None = None) -> None:
        self.number = next_number()
        """Larger than that of all memory that was there before."""
        self.trace = trace
        self.value = value
        self.layout = layout
        """Where NumPy would have put the elements; None if that is row-major whatever the arguments are."""
        self.argument: LayoutQuestion | None = None
        """What is known of the flags of the argument whose memory this is."""
        self.version = 0
        self.is_input = False
        """It is the memory of an argument of its trace, or stands for memory from outside of that."""
        self.shared_with: list[tuple[Storage, str]] = []
        """Memory that is the same as this, or not, as values decide, with the statement that decides."""
        self.unreadable = ""
        """Why it must not be used at all: it may have been written to under another name."""
        self.in_step = False
        """The counter of a random generator: no value to rely on, and all examples of a batch update it together."""

    def write(self, value: Value) -> None:
        self.value = value
        self.version += 1


class Trace(Builder):
    """Records what a user's function does to its arguments.

    Arrays that the function reaches without being given them become inputs too: NumPy arrays by
    reference, arrays of an enclosing trace through a `Storage` of this trace that shadows theirs.
    """

    array_class: ClassVar[Callable[..., Any] | None] = None
    """What the arrays of this trace are, if more than traced arrays."""
    first_write: ClassVar[Callable[[Storage], None]] = staticmethod(lambda storage: None)
    """Called before memory from outside is written to for the first time. From where NumPy's arrays are adopted."""
    is_open_ended: ClassVar[bool] = False
    """Whether the trace outlives every function, so that each may use its arrays."""

    def __init__(  # noqa: PLR0915 (a statement for each thing that a trace knows)
        self,
        name: str,
        *,
        is_kept: bool = False,
        check_bounds: bool | None = None,
        may_not_run: bool = False,
        varying: frozenset[int] = frozenset(),
    ) -> None:
        super().__init__()
        self.name = name
        self.is_kept = is_kept
        """The program serves later calls, too: what it relies on now must still hold then."""
        self.parent = current_trace()
        self.may_not_run: bool = may_not_run or (self.parent is not None and self.parent.may_not_run)
        """This is a branch or the body of a loop: what fails in it must not fail before it runs."""
        if check_bounds is None:
            check_bounds = CHECKS_BOUNDS.get() if self.parent is None else self.parent.checks_bounds
        if check_bounds is None:  # what is not kept runs once, by the meanings of its ops, as NumPy would
            check_bounds = not is_kept
        self.checks_bounds: bool = check_bounds
        """Whether indices of the user's that are not known yet are checked when the program runs."""
        self.checked: set[tuple[Value, str, int, str]] = set()
        """Indices with the axes for which they have been checked, so that ``x[i] += 1`` does so once."""
        self.thread = threading.get_ident()
        self.inputs: list[Value] = []
        self.input_names: list[str] = []
        self.captured: list[Storage | Array | ForeignMemory | ExampleIndex] = []
        """What lies behind the inputs that come after the arguments."""
        self.ends: dict[Value, tuple[Any, Any]] = {}
        """Between which sizes, both included, the entries of values lie, where what computes them does not tell, or
        where it was asked before."""
        self.numbers: dict[Value, int] = {}
        """The inputs that are Python numbers, as which leaf of the arguments they were given."""
        self.frozen: list[Array] = []
        """Captured arrays whose values the trace has relied on."""
        self.owns_arguments = False
        """Its arguments are memory of its own, as in an iteration of a loop."""
        self._storages: dict[int, Storage] = {}  # by id of what is captured, which `captured` keeps alive
        self._contents: dict[int, tuple[int, bytes]] = {}
        """By id of a captured array: its number, and what `content_of` was when it was captured."""
        self.adopted: dict[int, tuple[int, int, Callable[[Array], Any]]] = {}
        """By id of a captured array that is written to: where its memory begins and ends, and what views of it are."""
        self.at_return: dict[Any, Callable[[], None]] = {}
        """What is to be checked when the function has returned."""
        self.written_by_numpy: set[tuple[int, int]] = set()
        """Where memory begins and ends that NumPy was seen to write to, though it may hold what it held before."""
        self.read_by_numpy: dict[tuple[int, int], bool] = {}
        """Where memory begins and ends that NumPy was seen to read, and whether it might have been written to."""
        self.borrowed: list[Callable[[], None]] = []
        """Put arrays back where the function reaches them, and where traced ones stand for them meanwhile."""
        self.lengths: dict[Hashable, Value] = {}
        """The arrays that are as long as a number of the program says, by what computes the number."""
        self.clipped_lengths: set[Hashable] = set()
        """Which of these are 0 where the number is negative."""
        self.length_count = 0
        """How many of these the function has, with all that is traced inside of it."""
        self.at_hand: dict[Value, Array] = {}
        """What values are in the call at hand, as far as it was asked."""
        self.arguments_at_hand: dict[Value, Any] = {}
        """The arguments of the call at hand, which may lie on a GPU."""
        self.expected: set[Value] = set()
        """The values of which the program expects that they are what they are in the call at hand."""
        self._began = len(self.outermost().captured)
        self._error_state, self._errors = error_state(), state_in_force()
        self._producer: dict[Value, Call] = {}
        self._known: dict[Value, Array | Known | None] = {}
        self._unknowable: set[Value] = set()
        """What follows from inputs whose values are not known."""
        self._outside: dict[Value, tuple[Trace, Value]] = {}
        """What inputs are in the enclosing trace."""
        self._varying = varying
        """The ids of captured objects that change between iterations, so that their first values mean nothing."""
        self._relied_on: set[Value] = set()
        """The inputs of which it was asked what they are in the enclosing trace."""

    # ---- recording -----------------------------------------------------------------------------

    def emit(self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]) -> tuple[Value, ...]:
        outputs = super().emit(op, inputs, params)
        call = self.calls[-1]
        for output in outputs:
            self._producer[output] = call
        return outputs

    def where(self) -> Location | None:
        location = self.location or user_location()
        if error_state() is self._error_state or location is None:
            return location
        return self._with_error_state(location)

    def _with_error_state(self, location: Location) -> Location:
        """A line in a block of the function's own that changes NumPy's error state."""
        before = dict(self._errors)
        changed = tuple((name, kind) for name, kind in state_in_force() if kind != before[name])
        if strict := strict_part(changed):
            asked = ", ".join(f"{name}={kind!r}" for name, kind in strict)
            raise ErrorStateError(
                f"{self.name} sets np.errstate({asked}), which a traced function cannot keep: its operations run "
                "later, in a program that ignores floating-point errors. Put `with np.errstate(...)` around the call "
                "of the function",
                location,
            )
        return replace(location, errors=tuple((dict(changed) | dict(location.errors)).items()))

    def add_input(
        self, value: Value, name: str, known: Known | None = None, layout: Layout | None = None
    ) -> Storage:
        """A new input of the graph, and the memory that it stands for."""
        self.inputs.append(value)
        self.input_names.append(name)
        self._known[value] = known
        if isinstance(known, KnownOutside):
            self._outside[value] = known.trace, known.value
        storage = Storage(self, value, layout)
        storage.is_input = True
        return storage

    def close(self) -> None:
        """Let go of all arrays once the function has returned: what escapes from the trace keeps nothing alive."""
        self.give_back()
        self._storages.clear()
        self._known.clear()
        self._producer.clear()
        self._outside.clear()
        self._unknowable.clear()
        self.numbers.clear()
        self.ends.clear()
        self.checked.clear()
        self._contents.clear()
        self.at_return.clear()
        self.lengths.clear()
        self.clipped_lengths.clear()
        self.at_hand.clear()
        self.arguments_at_hand.clear()
        self.adopted.clear()
        self.frozen.clear()

    def give_back(self) -> None:
        """Let the function's globals and the like be what they were."""
        while self.borrowed:
            self.borrowed.pop()()

    def new_storage(self, value: Value, layout: Layout | None = None) -> Storage:
        """Memory of its own that holds `value`; row-major, unless another layout is given."""
        return Storage(self, value, layout)

    def producer(self, value: Value) -> Call | None:
        """The call that made `value`; None for inputs and constants."""
        return self._producer.get(value)

    # ---- adopted arrays ------------------------------------------------------------------------

    def adopted_key(self, array: Array) -> int | None:
        """The id of the captured array that was written to and whose memory an array shares; None if there is none."""
        if not self.adopted or not array.size:
            return None
        first, last = byte_bounds(array)
        return next(
            (key for key, (low, high, _) in self.adopted.items() if first < high and low < last), None
        )

    def adopted_since(self, known: Collection[int]) -> "tuple[Array, ...]":
        """The captured arrays that are adopted, and whose ids are not among those known."""
        return tuple(
            x
            for x in self.captured
            if isinstance(x, np.ndarray) and id(x) in self.adopted and id(x) not in known
        )

    def note_numpy_write(self, array: Array) -> None:
        """NumPy is about to write to an array: nothing traced is written."""
        self.outermost().written_by_numpy.add(byte_bounds(array))

    def note_numpy_read(self, arrays: Iterable[Array]) -> None:
        """NumPy has computed something from arrays: nothing of that is recorded."""
        noted = self.outermost().read_by_numpy
        noted.update((byte_bounds(array), array.flags.writeable) for array in arrays)

    def adopted_view(self, array: Array) -> Any:
        """What stands for an array whose memory was written to; None if it was not."""
        key = self.adopted_key(array)
        return None if key is None else self.adopted[key][2](array)

    def array_behind(self, storage: Storage) -> "Array | None":
        """The array of NumPy's that captured memory stands for; None for all else."""
        what = next((x for x in self.captured if self._storages.get(id(x)) is storage), None)
        if isinstance(what, Storage):
            return what.trace.array_behind(what)
        return what if isinstance(what, np.ndarray) else None

    # ---- capturing -----------------------------------------------------------------------------

    def storage_of_array(self, array: Array | ForeignMemory) -> Storage:
        """The memory of an array from outside that the function closes over, by reference."""
        if self.parent is not None:
            return self.shadow(self.parent.storage_of_array(array))
        found = self._storages.get(id(array))
        if found is not None and (found.version or not self._has_changed(array)):
            return found
        if found is not None:  # ``row *= 2`` of NumPy's: what was recorded before is about what it held then
            self._keep_as_it_was(array)

        type_ = array.type if isinstance(array, ForeignMemory) else array_type(array)
        number = len(self.captured)

        def known() -> Array | None:  # `captured` alone holds the array: `is_made_inside` counts
            array = self.captured[number]
            if not isinstance(array, np.ndarray) or (self.is_kept and self.storage_behind(number).in_step):
                return None
            if not any(array is one for one in self.frozen):
                self.frozen.append(array)
            return self._as_it_was(array)

        if isinstance(array, np.ndarray):
            self._contents[id(array)] = number, content_of(array)
        layout = None if isinstance(array, ForeignMemory) else layout_of(array)
        return self._capture(array, Value(type_), known, layout)

    def _has_changed(self, array: Any) -> bool:
        """Whether NumPy has written to a captured array, which the trace does not see."""
        content = self._contents.get(id(array))
        return content is not None and content[1] != content_of(array)

    def _as_it_was(self, array: Array) -> Array:
        """A captured array as it was when it was captured."""
        if not self._has_changed(array):
            return array
        if array.nbytes > LARGEST_CONTENT:
            raise ArgumentValueError(
                f"the function uses {array_type(array)}, and writes to it by NumPy alone, which later uses see and "
                "earlier ones must not: make a new array (w = w * 0.5), or write to a traced one (w = np.asarray(w))",
                user_location(),
            )
        return np.frombuffer(bytearray(self._contents[id(array)][1]), array.dtype).reshape(array.shape)

    def _keep_as_it_was(self, array: Any) -> None:
        """Let what was captured be what the array held, not what it will hold."""
        before = self._as_it_was(array)
        number, _ = self._contents.pop(id(array))
        self.captured[number] = before
        self._storages[id(before)] = self._storages.pop(id(array))

    def keep_what_was_captured(self) -> None:
        """At the end, see to it that what NumPy wrote to an array after its last use changes nothing.

        Arrays from outside that later calls of the program read are left: they may change at any time.
        """
        for number, _ in list(self._contents.values()):
            if self.storage_behind(number).version or not self._has_changed(self.captured[number]):
                continue
            if not self.is_kept or self.is_made_inside(number):
                self._keep_as_it_was(self.captured[number])

    def shadow(self, outer: Storage) -> Storage:
        """This trace's memory for an array of the trace it belongs to, which must enclose this one or be open-ended."""
        if outer.trace is self:
            return outer
        if self.parent is not None:
            above, owner = self.parent.shadow(outer), self.parent
            if id(outer) in self._varying:
                self._varying |= {id(above)}
        elif outer.trace.is_open_ended:
            above, owner = outer, outer.trace
        else:
            raise EscapedTracerError(_ESCAPED)
        storage = self._storages.get(id(above))
        if storage is None:
            value = above.value
            inside = Value(value.type)
            self._outside[inside] = owner, value
            storage = self._capture(above, inside, lambda: owner.concrete(value), above.layout)
        return storage

    def known_shadow(self, outer: Storage) -> Storage:
        """This trace's memory for an array if it has any; else that of the nearest enclosing trace."""
        if outer.trace is self or self.parent is None:
            return outer
        above = self.parent.known_shadow(outer)
        return self._storages.get(id(above), above)

    def is_within(self, other: "Trace") -> bool:
        """Whether this is the other trace, or one that it encloses."""
        trace: Trace | None = self
        while trace is not None and trace is not other:
            trace = trace.parent
        return trace is other

    def storage_of_index(self, index: ExampleIndex) -> Storage:
        """The memory of the number of the example, in the trace of the mapped function."""
        return self._storages.get(id(index)) or self._capture(index, Value(ExampleIndex.type), lambda: None)

    def _capture(
        self,
        what: "Storage | Array | ForeignMemory | ExampleIndex",
        value: Value,
        known: Known,
        layout: Layout | None = None,
    ) -> Storage:
        if id(what) in self._varying:
            self._outside.pop(value, None)
            known = _unknown
        storage = self.add_input(value, f"captured{len(self.captured)}", known, layout)
        self.captured.append(what)
        self._storages[id(what)] = storage
        return storage

    def misjudged(self) -> frozenset[int]:
        """The ids of what is captured and was relied on to be what it is at first, although it is written to."""
        first = len(self.inputs) - len(self.captured)
        return frozenset(
            id(what)
            for number, what in enumerate(self.captured)
            if self.storage_behind(number).version and self.inputs[first + number] in self._relied_on
        )

    def captured_behind(self, value: Value) -> "Storage | Array | ForeignMemory | ExampleIndex | None":
        """What an input stands for that is not an argument; None for arguments."""
        index = self.inputs.index(value) - (len(self.inputs) - len(self.captured))
        return self.captured[index] if index >= 0 else None

    def outer_value(self, value: Value) -> Value | None:
        """What the enclosing trace has where an input stands for an array of its; None for all else."""
        behind = self.captured_behind(value) if value in self.inputs else None
        if not (isinstance(behind, Storage) and behind.trace is self.parent) or id(behind) in self._varying:
            return None
        self._relied_on.add(value)
        return behind.value

    def is_captured(self, storage: Storage) -> bool:
        """Whether it stands for memory from outside of this trace."""
        return any(storage is one for one in self._storages.values())

    def is_seen_outside(self, storage: Storage) -> bool:
        """Whether those who call the function see what is written to memory."""
        return self.is_captured(storage) or (storage.is_input and not self.owns_arguments)

    def storage_behind(self, index: int) -> Storage:
        """This trace's memory for the captured array of that number."""
        return self._storages[id(self.captured[index])]

    def is_made_inside(self, index: int) -> bool:
        """Whether the function itself has made the captured array of that number, as in ``row = table.copy()``.

        It has returned, and only traces hold the array: nobody else could see what is written to it.
        """
        if _holders(self._storages, id(self.captured[index])) > _HELD_ONCE:
            return False
        trace, number = self._origin(index)
        if number < self._began or _holders(trace.captured, number) > _HELD_ONCE:
            return False
        array = trace.captured[number]
        if not isinstance(array, np.ndarray):
            return False
        if array.base is None:
            return True
        base: list[Any] = [array.base]
        is_memory = isinstance(base[0], np.ndarray) and base[0].base is None
        return is_memory and _holders(base, 0) == _HELD_ONCE + 1

    def _origin(self, index: int) -> "tuple[Trace, int]":
        """The outermost trace that captured what this one has at `index`, and its index there."""
        storage, parent = self.captured[index], self.parent
        if parent is None or not isinstance(storage, Storage):
            return self, index
        behind = [i for i in range(len(parent.captured)) if parent.storage_behind(i) is storage]
        return parent._origin(behind[0]) if behind else (self, index)

    def outermost(self) -> "Trace":
        """The trace that encloses this one, and is enclosed by none."""
        return self if self.parent is None else self.parent.outermost()

    @property
    def depth(self) -> int:
        """The number of traces that are active, this one included."""
        return 1 if self.parent is None else 1 + self.parent.depth

    # ---- knowing -------------------------------------------------------------------------------

    def concrete(self, value: Value) -> "Array | None":
        """The value as an array if it follows from constants and known inputs, else None."""
        if isinstance(value, Constant):
            return value.array
        stack = [value]
        while stack:
            top = stack[-1]
            if top in self._known or isinstance(top, Constant):
                self._look_up(top)
                stack.pop()
                continue
            call = self._producer[top]
            missing = [v for v in call.inputs if not isinstance(v, Constant) and v not in self._known]
            if missing:
                stack += missing
                continue
            inputs = [self._look_up(v) for v in call.inputs]
            if any(x is None for x in inputs) or is_symbolic(call):
                self._known.update(dict.fromkeys(call.outputs))
            else:
                with not_recording(), np.errstate(all="ignore"):
                    self._known.update(
                        zip(call.outputs, map(np.asarray, run_call(call, inputs)), strict=True)
                    )
            stack.pop()
        return self._look_up(value)

    def can_be_known(self, value: Value) -> bool:
        """Whether `at_these_sizes` finds a value, without asking what the sizes are."""
        return self.concrete(value) is not None or self._calls_to_know(value) is not None

    def _calls_to_know(self, value: Value) -> list[Call] | None:
        """The calls, in no order, that are to be computed for a value; None if an input of them is not known."""
        calls: dict[Call, None] = {}
        seen: set[Value] = set()
        stack = [value]
        while stack:
            top = stack.pop()
            if top in seen or self._is_known(top):
                continue
            seen.add(top)
            if top not in self._producer or top in self._unknowable or self._needs_length(top):
                self._unknowable.add(value)
                return None
            calls[self._producer[top]] = None
            stack += self._producer[top].inputs
        return list(calls)

    def _needs_length(self, value: Value) -> bool:
        """Whether what computes a value has a size that the program finds out when it runs."""
        if not self.outermost().length_count:
            return False
        names = size_names(self._producer[value])
        return any(names & trace.bound_sizes.keys() for trace in self.enclosing())

    def enclosing(self) -> "Iterator[Trace]":
        """This trace, and those around it."""
        trace: Trace | None = self
        while trace is not None:
            yield trace
            trace = trace.parent

    def at_these_sizes(self, value: Value, because: str = "") -> "Array | None":
        """As `concrete`, also if it follows from symbolic sizes, which then are what they are for the call at hand."""
        found = self.concrete(value)
        return self._computed_at_these_sizes(value, because) if found is None else found

    def _computed_at_these_sizes(self, value: Value, because: str) -> "Array | None":
        calls = self._calls_to_know(value)
        if calls is None:
            return None
        order = {call: number for number, call in enumerate(self.calls)}
        found: dict[Value, Array] = {}
        for call in sorted(calls, key=order.__getitem__):
            inputs = [found[v] if v in found else self._look_up(v) for v in call.inputs]
            fixed = replace(
                call, params={name: _fixed(param, because) for name, param in call.params.items()}
            )
            with not_recording(), np.errstate(all="ignore"):
                found.update(zip(call.outputs, map(np.asarray, run_call(fixed, inputs)), strict=True))
        return found[value]

    def _is_known(self, value: Value) -> bool:
        return isinstance(value, Constant) or (value in self._known and self._look_up(value) is not None)

    def depends_on_arguments(self, value: Value) -> bool:
        """Whether a value is computed from an input of this trace rather than from constants alone."""
        seen: set[Value] = set()
        stack = [value]
        while stack:
            top = stack.pop()
            if isinstance(top, Constant) or top in seen:
                continue
            seen.add(top)
            if top not in self._producer:
                return True
            stack += self._producer[top].inputs
        return False

    def numbers_behind(self, value: Value) -> frozenset[int]:
        """The leaves of the arguments that a value is computed from, if they all are Python numbers; else none.

        They are those of the outermost trace, the one whose program is kept.
        """
        found: set[int] = set()
        seen: set[tuple[int, Value]] = set()
        stack: list[tuple[Trace, Value]] = [(self, value)]
        while stack:
            trace, top = stack.pop()
            if isinstance(top, Constant) or (id(trace), top) in seen:
                continue
            seen.add((id(trace), top))
            if call := trace.producer(top):
                if call.op == "random_bits" or not call.inputs:
                    return frozenset()
                stack += [(trace, one) for one in call.inputs]
                continue
            outer = trace._from_outside(top)
            if outer is not None:
                stack.append(outer)
            elif top in trace.numbers and trace.is_kept and trace.parent is None:
                found.add(trace.numbers[top])
            else:
                return frozenset()
        return frozenset(found)

    def is_counted(self, value: Value) -> bool:
        """Whether a value follows from constants and counters of loops whose bounds are known."""
        seen: set[tuple[int, Value]] = set()
        stack: list[tuple[Trace, Value]] = [(self, value)]
        counters = 0
        while stack:
            trace, top = stack.pop()
            if isinstance(top, Constant) or (id(trace), top) in seen:
                continue
            seen.add((id(trace), top))
            if top in trace.inputs and top in trace.ends:
                counters += 1
            elif call := trace.producer(top):
                stack += [(trace, one) for one in call.inputs]
            elif outer := trace._from_outside(top):
                stack.append(outer)
            else:
                return False
        return counters > 0

    def value_outside(self, value: Value) -> "tuple[Trace, Value] | None":
        """What an input is in the trace that encloses this one; None for what is not of that."""
        outside = self._from_outside(value)
        return outside if outside is not None and outside[0] is self.parent else None

    def _from_outside(self, value: Value) -> "tuple[Trace, Value] | None":
        """What an input is in the enclosing trace."""
        if value in self._outside:
            self._relied_on.add(value)
        return self._outside.get(value)

    def _look_up(self, value: Value) -> "Array | None":
        if isinstance(value, Constant):
            return value.array
        known = self._known[value]
        if callable(known):
            known = self._known[value] = known()
            if known is not None:
                self._relied_on.add(value)
        return known


def _unknown() -> None:
    """What is known of an array that changes from one iteration to the next."""


def _holders(container: Any, key: int) -> int:
    """How many hold what is in a container, where `_HELD_ONCE` stands for the container alone."""
    return sys.getrefcount(container[key])


_HELD_ONCE = _holders([object()], 0)


def content_of(array: Array) -> bytes:
    """All bytes of a small array; of a larger one some of its entries, which tell that it has been written to."""
    if array.nbytes <= LARGEST_CONTENT:
        return array.tobytes()
    return array.flat[:: array.size // _COMPARED | 1].tobytes()


_ESCAPED = (
    "a traced array is used outside of the trace that made it: it was kept in a global, an attribute or a list "
    "after its function returned, or handed to another thread. Return it from the function instead"
)


def _fixed(param: Any, because: str) -> Any:
    """A parameter with ints for symbolic sizes, as they are for the call at hand."""
    if isinstance(param, SymbolicSize):
        return param.whole(because)
    return tuple(_fixed(one, because) for one in param) if isinstance(param, tuple) else param


def array_type(array: Array) -> ArrayType:
    """The type of a NumPy array; `DTypeError` if the IR has no such dtype."""
    if not is_supported(array.dtype):
        raise DTypeError(
            f"arrays of dtype {array.dtype} cannot be traced: use bool, integers, float16 to float64, bfloat16, "
            "complex64 or complex128 in native byte order",
            user_location(),
        )
    return ArrayType(array.dtype, array.shape)


def current_trace() -> Trace | None:
    """The innermost trace of a user's function in this thread, or None."""
    builder = current_builder()
    return builder if isinstance(builder, Trace) else None


def require_trace() -> Trace:
    """The current trace; `EscapedTracerError` if there is none."""
    trace = current_trace()
    if trace is None:
        raise EscapedTracerError(_ESCAPED)
    return trace
