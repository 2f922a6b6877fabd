"""`Trace`: the record of one call of the user's function. `Storage`: the memory that an array and its views share."""

import sys
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, ClassVar, Final

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..builder import _current, current_builder
from ..callers.surroundings import Surroundings
from ..callers.user_code import user_location
from ..dtypes import INT64, Array, is_supported
from ..error_state import ErrorState, error_state, state_in_force, strict_part
from ..errors import ArgumentValueError, DTypeError, ErrorStateError, EscapedTracerError
from ..free_sizes import size_names
from ..ir import ArrayType, Constant, Location, Value
from ..memory_layout.layout import Layout, LayoutQuestion, layout_of
from .foreign_memory import ForeignMemory
from .known_values import Known, KnownValues

RAISES_ON_VALUES: ContextVar[bool] = ContextVar("raises_on_values", default=True)
"""Whether the program checks what `raise` and `assert` of the user's depend on."""

CHECKS_BOUNDS: ContextVar[bool | None] = ContextVar("checks_bounds", default=None)
"""Whether the function that is being traced checks bounds. The rules that its transforms trace do the same."""

LARGEST_CONTENT = 1 << 16
"""The trace remembers the contents of captured arrays of up to this many bytes."""
_COMPARED: Final = 512
"""About this many entries of larger arrays are compared with their old values."""


@dataclass(frozen=True, slots=True, eq=False)
class KnownOutside:
    """Gets the concrete value of an input from the enclosing trace."""

    trace: "Trace"
    value: Value

    def __call__(self) -> "Array | None":
        return self.trace.concrete(self.value)


@dataclass(frozen=True, slots=True, eq=False)
class ExampleIndex:
    """The number of the current example in a mapped function. It is an input of the graph if it is used."""

    size: int
    """The number of examples."""

    type: ClassVar[ArrayType] = ArrayType(INT64, ())


_numbers = count()


def next_number() -> int:
    """A number greater than those of all existing memory, and less than those of later memory."""
    return next(_numbers)


class Storage:
    """The memory that an array and its views share. A write makes a new value and a new version."""

    __slots__ = (
        "argument", "in_step", "is_input", "layout", "number", "shared_with", "trace", "unreadable", "value", "version",
    )  # fmt: skip

    is_chosen: ClassVar[bool] = False
    """Whether it is the memory of one of several arrays, depending on values."""

    def __init__(self, trace: "Trace", value: Value, layout: Layout | None = None) -> None:
        self.number = next_number()
        """Greater than the numbers of all memory from before."""
        self.trace = trace
        self.value = value
        self.layout = layout
        """The layout in NumPy; None if it is row-major for all arguments."""
        self.argument: LayoutQuestion | None = None
        """The flags of the argument with this memory, as far as they are known."""
        self.version = 0
        """0 if it was never written to. Versions of different contents differ."""
        self.is_input = False
        """Whether it is the memory of an argument of its trace, or represents memory from outside."""
        self.shared_with: list[tuple[Storage, str]] = []
        """Memory that may be the same as this depending on values, each with the statement that decides."""
        self.unreadable = ""
        """Why it must not be used: it may have been written to under another name."""
        self.in_step = False
        """Whether it is the counter of a random generator: no value to rely on, and a batch updates it once."""

    def write(self, value: Value) -> None:
        self.value = value
        self.version = next_number()

    def array_after_call(self) -> "Array | None":
        """The NumPy array that this memory is after its trace has ended; None if there is none."""
        return None

    def restore(self, value: Value, version: int) -> None:
        """Undo later writes."""
        self.value, self.version = value, version


class Trace(KnownValues):
    """Records what the user's function does to its arguments.

    Arrays from outside that the function uses also become inputs: NumPy arrays by reference, and arrays of an enclosing
    trace through a `Storage` of this trace that shadows theirs.
    """

    array_class: ClassVar[Callable[..., Any] | None] = None
    """The class of the arrays of this trace, if it is not `TracedArray`."""
    first_write: ClassVar[Callable[[Storage], None]] = staticmethod(lambda storage: None)
    """Called before the first write to memory from outside. Set by `compiler.tracing.outside.adoption`."""
    is_open_ended: ClassVar[bool] = False
    """Whether the trace outlives all functions, so that each may use its arrays."""
    is_evaluating: ClassVar[bool] = False
    """Whether each call is computed at once, so that Python runs the function as it is."""
    shows_values: ClassVar[bool] = False
    """Whether arrays show values while the function runs, so that loops of known length should run as they are."""

    def __init__(  # noqa: PLR0915 (a statement for each thing that a trace knows)
        self,
        name: str,
        *,
        is_kept: bool = False,
        check_bounds: bool | None = None,
        may_not_run: bool = False,
        varying: frozenset[int] = frozenset(),
        is_ahead: bool = False,
        repeats: bool = False,
    ) -> None:
        super().__init__()
        self.name = name
        self.repeats = repeats
        """Whether this is an iteration of a `for` or `while` loop, which is traced once."""
        self.is_kept = is_kept
        """Whether the program serves later calls, too: its assumptions must still hold then."""
        self.parent = current_trace()
        self.may_not_run: bool = may_not_run or (self.parent is not None and self.parent.may_not_run)
        """Whether this is a branch or the body of a loop, whose errors must not be raised before it runs."""
        if check_bounds is None:
            check_bounds = CHECKS_BOUNDS.get() if self.parent is None else self.parent.checks_bounds
        if check_bounds is None:  # a program that is not kept runs once, in NumPy, which checks indices
            check_bounds = not is_kept
        self.checks_bounds: bool = check_bounds
        """Whether the user's unknown indices are checked when the program runs."""
        self.checked: set[tuple[Value, str, int]] = set()
        """The indices that have been checked, with their axes, so that ``x[i] += 1`` checks once."""
        self.inputs: list[Value] = []
        self.input_names: list[str] = []
        self.captured: list[Storage | Array | ForeignMemory | ExampleIndex] = []
        """The captured objects, which are the inputs after the arguments."""
        self.ends: dict[Value, tuple[Any, Any]] = {}
        """The ranges of values, both ends included. Some do not follow from the calls; the others are cached."""
        self.is_ahead = is_ahead
        """Whether no other program will be made for other numbers."""
        self.numbers: dict[Value, int] = {}
        """For each input that is a Python number, its leaf among the arguments."""
        self.frozen: list[Array] = []
        """The captured arrays whose values the trace has relied on."""
        self.owns_arguments = False
        """Whether its arguments are separate memory, as in an iteration of a loop."""
        self._storages: dict[int, Storage] = {}  # by id of what is captured, which `captured` keeps alive
        self._contents: dict[int, tuple[int, bytes]] = {}
        """For the id of a captured array, its number, and its `content_of` when it was captured."""
        self.adopted: dict[int, tuple[int, int, Callable[[Array], Any]]] = {}
        """For the id of a captured array that is written to, the bounds of its memory, and its views."""
        self.falls_back = False
        """Whether the function itself runs where the program raises an error: it may handle that."""
        self.handled_later: list[Callable[[], Any]] = []
        """The exception classes of the user's handlers around calls that may be computed only after the function."""
        self.unhandled_errors: list[tuple[type[BaseException], Location | None]] = []
        """Exceptions that the program may raise, by class and line, although the user's function would handle them."""
        self.acts_before_error = False
        """Whether Python prints or writes something before an exception that a trace has ended with."""
        self.returned: set[int] = set()
        """The ids of the lists and dicts whose changes the program returns."""
        self.writes_to_copies = False
        """Whether a derivative has written to its copy of an argument, which would be wrong for one that is given
        twice."""
        self.at_return: dict[Any, Callable[[], None]] = {}
        """The checks to run when the function has returned."""
        self.written_by_numpy: set[tuple[int, int]] = set()
        """The bounds of memory that NumPy was seen to write to, even if it holds the same values as before."""
        self.read_by_numpy: dict[tuple[int, int], bool] = {}
        """The bounds of memory that NumPy was seen to read, and whether it was writeable."""
        self.replacements: list[Callable[[], None]] = []
        """Put arrays back that were replaced by traced ones, wherever the function can reach them."""
        self.lengths: dict[Hashable, Value] = {}
        """The arrays whose length is a number of the program, by the expression of that number."""
        self.recordings: dict[Hashable, Any] = {}
        """What functions record for operands of some types: see `numpy_surface.ufuncs.repeated_calls`."""
        self.clipped_lengths: set[Hashable] = set()
        """Those of them that have length 0 if the number is negative."""
        self.open_lengths: set[str] = set()
        """The names of those that may be any number: no array is known to be at least as long."""
        self.new_shapes: set[tuple[Any, int]] = set()
        """The shapes of new arrays in which sizes have names, with the bytes of an element."""
        self.length_count = 0
        """The number of these in the function and in everything that is traced inside it."""
        self.values_in_call: dict[Value, Array] = {}
        """The values in the call that is being traced that were needed so far."""
        self.argument_values: dict[Value, Any] = {}
        """The arguments of the call that is being traced, which may be on a GPU."""
        self.expected: set[Value] = set()
        """The values that the program expects to be the same as in the call that is being traced."""
        self.surroundings = Surroundings.now() if is_kept and self.parent is None else None
        """What Python prints and warns with where the function begins, if its program serves later calls."""
        self._began = len(self.outermost().captured)
        self._error_state: Any = None if self.is_evaluating else error_state()
        self._errors: ErrorState = () if self.is_evaluating else state_in_force()
        self._outside: dict[Value, tuple[Trace, Value]] = {}
        """The values of inputs in the enclosing trace."""
        self._varying = varying
        """The ids of captured objects that change between iterations, so that their first values mean nothing."""

    @property
    def waiting(self) -> int:
        """How many calls have not been computed."""
        return len(self.calls)

    # ---- recording -----------------------------------------------------------------------------

    def where(self) -> Location | None:
        location = self.location or user_location()
        if error_state() is self._error_state or location is None:
            return location
        return self._with_error_state(location)

    def _with_error_state(self, location: Location) -> Location:
        """Refuse an operation in the function's own ``with np.errstate(…)``."""
        before = dict(self._errors)
        changed = tuple((name, kind) for name, kind in state_in_force() if kind != before[name])
        if strict := strict_part(changed):
            asked = ", ".join(f"{name}={kind!r}" for name, kind in strict)
            raise ErrorStateError(
                f"{self.name} sets np.errstate({asked}), which a traced function cannot keep: its operations run "
                f"later, in a program that ignores floating-point errors. Put `with np.errstate({asked}):` around the "
                "call of the function",
                location,
            )
        return replace(location, errors=tuple((dict(changed) | dict(location.errors)).items()))

    def add_input(
        self, value: Value, name: str, known: Known | None = None, layout: Layout | None = None
    ) -> Storage:
        """A new input of the graph, and the memory that it represents."""
        self.inputs.append(value)
        self.input_names.append(name)
        self._known[value] = known
        if isinstance(known, KnownOutside):
            self._outside[value] = known.trace, known.value
        storage = Storage(self, value, layout)
        storage.is_input = True
        return storage

    def close(self) -> None:
        """Release all arrays when the function has returned: objects that escape must not keep them alive."""
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
        self.recordings.clear()
        self.values_in_call.clear()
        self.argument_values.clear()
        self.adopted.clear()
        self.frozen.clear()

    def give_back(self) -> None:
        """Restore the function's globals and other variables."""
        while self.replacements:
            self.replacements.pop()()

    def new_storage(self, value: Value, layout: Layout | None = None) -> Storage:
        """New memory that holds `value`. It is row-major, unless another layout is given."""
        return Storage(self, value, layout)

    # ---- adopted arrays ------------------------------------------------------------------------

    def adopted_key(self, array: Array) -> int | None:
        """The id of the captured and written array whose memory an array shares; None if there is none."""
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
        """Note that NumPy is about to write to an array, with nothing traced."""
        self.outermost().written_by_numpy.add(byte_bounds(array))

    def note_numpy_read(self, arrays: Iterable[Array]) -> None:
        """Note that NumPy has computed something from arrays, which is not recorded."""
        noted = self.outermost().read_by_numpy
        noted.update((byte_bounds(array), array.flags.writeable) for array in arrays)

    def adopted_view(self, array: Array) -> Any:
        """The traced array for an array whose memory was written to; None if it was not."""
        key = self.adopted_key(array)
        return None if key is None else self.adopted[key][2](array)

    def array_of_storage(self, storage: Storage) -> "Array | None":
        """The NumPy array that captured memory represents; None for other memory."""
        what = next((x for x in self.captured if self._storages.get(id(x)) is storage), None)
        if isinstance(what, Storage):
            return what.trace.array_of_storage(what)
        return what if isinstance(what, np.ndarray) else None

    # ---- capturing -----------------------------------------------------------------------------

    def storage_of_array(self, array: Array | ForeignMemory) -> Storage:
        """Capture an array from outside by reference. Returns its memory in this trace."""
        if self.parent is not None:
            return self.shadow(self.parent.storage_of_array(array))
        found = self._storages.get(id(array))
        if found is not None and (found.version or not self._has_changed(array)):
            return found
        if found is not None:  # NumPy ran ``row *= 2``: earlier records are about the old values
            self._keep_as_it_was(array)

        type_ = array.type if isinstance(array, ForeignMemory) else array_type(array)
        number = len(self.captured)

        def known() -> Array | None:  # `captured` alone holds the array: `is_made_inside` counts
            array = self.captured[number]
            if not isinstance(array, np.ndarray) or (self.is_kept and self.captured_storage(number).in_step):
                return None
            if not any(array is one for one in self.frozen):
                self.frozen.append(array)
            return self._as_it_was(array)

        if isinstance(array, np.ndarray):
            self._contents[id(array)] = number, content_of(array)
        layout = None if isinstance(array, ForeignMemory) else layout_of(array)
        return self._capture(array, Value(type_), known, layout)

    def _has_changed(self, array: Any) -> bool:
        """Whether NumPy has written to a captured array without the trace."""
        content = self._contents.get(id(array))
        return content is not None and content[1] != content_of(array)

    def _as_it_was(self, array: Array) -> Array:
        """A captured array with its values from when it was captured."""
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
        """Capture the old values of the array, not those that it will have."""
        before = self._as_it_was(array)
        number, _ = self._contents.pop(id(array))
        self.captured[number] = before
        self._storages[id(before)] = self._storages.pop(id(array))

    def keep_what_was_captured(self) -> None:
        """At the end, undo the effect of NumPy's writes to an array after its last use on the program.

        Arrays from outside that later calls of the program read are left: they may change at any time.
        """
        for number, _ in list(self._contents.values()):
            if self.captured_storage(number).version or not self._has_changed(self.captured[number]):
                continue
            if not self.is_kept or self.is_made_inside(number):
                self._keep_as_it_was(self.captured[number])

    def shadow(self, outer: Storage) -> Storage:
        """This trace's memory for an array of another trace, which must enclose this one or be open-ended."""
        if (
            outer.trace is self or outer.is_chosen
        ):  # what is chosen from several arrays reads these in any trace
            return outer
        if self.parent is not None:
            above, owner = self.parent.shadow(outer), self.parent
            if id(outer) in self._varying:
                self._varying |= {id(above)}
        elif outer.trace.is_open_ended:
            above, owner = outer, outer.trace
        else:
            array = outer.array_after_call()
            if array is None:
                raise EscapedTracerError(_ESCAPED)
            return self.storage_of_array(array)
        storage = self._storages.get(id(above))
        if storage is None:
            value = above.value
            inside = Value(value.type)
            self._outside[inside] = owner, value
            storage = self._capture(above, inside, lambda: owner.concrete(value), above.layout)
        return storage

    def known_shadow(self, outer: Storage) -> Storage:
        """This trace's memory for an array, or that of the nearest enclosing trace that has any."""
        if outer.trace is self or self.parent is None:
            return outer
        above = self.parent.known_shadow(outer)
        return self._storages.get(id(above), above)

    def is_within(self, other: "Trace") -> bool:
        """Whether this is the other trace or inside it."""
        trace: Trace | None = self
        while trace is not None and trace is not other:
            trace = trace.parent
        return trace is other

    def storage_of_index(self, index: ExampleIndex) -> Storage:
        """The memory of the number of the current example, in the trace of the mapped function."""
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
        """The ids of captured objects that are written to although the trace relied on their first values."""
        first = len(self.inputs) - len(self.captured)
        return frozenset(
            id(what)
            for number, what in enumerate(self.captured)
            if self.captured_storage(number).version and self.inputs[first + number] in self._relied_on
        )

    def captured_object(self, value: Value) -> "Storage | Array | ForeignMemory | ExampleIndex | None":
        """The captured object of an input; None for arguments."""
        index = self.inputs.index(value) - (len(self.inputs) - len(self.captured))
        return self.captured[index] if index >= 0 else None

    def outer_value(self, value: Value) -> Value | None:
        """The memory in the enclosing trace that an input shadows; None for other inputs."""
        behind = self.captured_object(value) if value in self.inputs else None
        if not (isinstance(behind, Storage) and behind.trace is self.parent) or id(behind) in self._varying:
            return None
        self._relied_on.add(value)
        return behind.value

    def is_captured(self, storage: Storage) -> bool:
        """Whether it represents memory from outside this trace."""
        return any(storage is one for one in self._storages.values())

    def is_seen_outside(self, storage: Storage) -> bool:
        """Whether callers of the function see writes to this memory."""
        return self.is_captured(storage) or (storage.is_input and not self.owns_arguments)

    def captured_storage(self, index: int) -> Storage:
        """This trace's memory for the captured array with this number."""
        return self._storages[id(self.captured[index])]

    def is_made_inside(self, index: int) -> bool:
        """Whether the function itself has made the captured array with this number, as in ``row = table.copy()``.

        The function has returned, and only traces refer to the array: nothing else could see writes to it.
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
        """The outermost trace that captured the object at `index` of this one, and its index there."""
        storage, parent = self.captured[index], self.parent
        if parent is None or not isinstance(storage, Storage):
            return self, index
        behind = [i for i in range(len(parent.captured)) if parent.captured_storage(i) is storage]
        return parent._origin(behind[0]) if behind else (self, index)

    def outermost(self) -> "Trace":
        """The outermost trace around this one."""
        return self if self.parent is None else self.parent.outermost()

    @property
    def depth(self) -> int:
        """The number of active traces, including this one."""
        return 1 if self.parent is None else 1 + self.parent.depth

    # ---- where values come from ----------------------------------------------------------------

    def _needs_length(self, value: Value) -> bool:
        """Whether a computed length occurs in the computation of a value."""
        if not self.outermost().length_count:
            return False
        names = size_names(self._producer[value])
        return any(names & trace.bound_sizes.keys() for trace in self.enclosing())

    def enclosing(self) -> "Iterator[Trace]":
        """This trace and those around it."""
        trace: Trace | None = self
        while trace is not None:
            yield trace
            trace = trace.parent

    def numbers_used_by(self, value: Value) -> frozenset[int]:
        """The leaves of the arguments that a value is computed from, if they are all Python numbers; otherwise none.

        They are arguments of the outermost trace, whose program is kept.
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

    def follows_from_loop_counters(self, value: Value) -> bool:
        """Whether a value follows from constants and from counters of loops with known bounds."""
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
        """The value of an input in the enclosing trace; None for inputs that are not from there."""
        outside = self._from_outside(value)
        return outside if outside is not None and outside[0] is self.parent else None

    def _from_outside(self, value: Value) -> "tuple[Trace, Value] | None":
        """The value of an input in the enclosing trace."""
        if value in self._outside:
            self._relied_on.add(value)
        return self._outside.get(value)


def _unknown() -> None:
    """The known value of an array that changes from one iteration to the next."""


def _holders(container: Any, key: int) -> int:
    """The number of references to the item of a container; `_HELD_ONCE` if only the container has one."""
    return sys.getrefcount(container[key])


_HELD_ONCE = _holders([object()], 0)


def content_of(array: Array) -> bytes:
    """All bytes of a small array, or some entries of a large one, to notice writes."""
    if array.nbytes <= LARGEST_CONTENT:
        return array.tobytes()
    return array.flat[:: array.size // _COMPARED | 1].tobytes()


_ESCAPED = (
    "a traced array is used outside of the trace that made it: it was kept in a global, an attribute or a list "
    "after its function returned, or handed to another thread. Return it from the function instead"
)


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
    """The innermost trace in this thread, or None."""
    builder = _current.builder  # asked by each hook, so without a call
    return builder if isinstance(builder, Trace) else None


def require_trace() -> Trace:
    """The current trace; `EscapedTracerError` if there is none."""
    builder = current_builder()
    if isinstance(builder, Trace):
        return builder
    raise EscapedTracerError(_ESCAPED)
