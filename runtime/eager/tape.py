"""The tape: a trace without end, which computes each call at once and keeps it only as long as an array needs it."""

import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, TypeGuard
from weakref import ReferenceType, ref

import numpy as np

from ...compiler.builder import not_recording, recording
from ...compiler.callers.user_code import user_location
from ...compiler.dtypes import Array, is_inexact
from ...compiler.error_state import quiet_unless_strict
from ...compiler.errors import NotRecordedError, ReleasedGraphError
from ...compiler.interpreter import are_calls_observed, run_call
from ...compiler.ir import ArrayType, Call, Constant, Location, Param, Value
from ...compiler.memory_layout.layout import Layout, layout_of
from ...compiler.op import lookup
from ...compiler.tracing.foreign_memory import ForeignMemory
from ...compiler.tracing.trace import Storage, Trace, current_trace
from ...compiler.tracing.traced_memory import is_traced
from .grad_mode import is_grad_enabled


class Forgotten(Value):
    """An output of a recorded call that is no longer referenced."""

    __slots__ = ()


class Maker:
    """A recorded call. Its results hold it, and it holds its inputs, so a graph lives as long as its results."""

    __slots__ = ("_behind", "inputs", "is_released", "location", "op", "outputs", "params")

    def __init__(
        self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param], location: Location | None
    ) -> None:
        self.op, self.inputs, self.params, self.location = op, inputs, params, location
        self.outputs: tuple[tuple[ArrayType, ReferenceType[Value]], ...] = ()
        self.is_released = False
        self._behind: tuple[tuple[ReferenceType[Value], Maker | None], ...] = ()

    def call(self) -> Call:
        """As a call of the IR."""
        if self.is_released:
            raise ReleasedGraphError(
                f"the graph behind this {self.op} was released by the first call of grad or backward: pass "
                "retain_graph=True there",
                self.location,
            )
        outputs = tuple(reference() or Forgotten(type) for type, reference in self.outputs)
        return Call(self.op, self.inputs, self.params, outputs, self.location)

    def release(self) -> None:
        """Release the inputs and their elements; which calls made them remains known."""
        if not self.is_released:
            self._behind = self._origins()
            self.inputs = ()
            self.is_released = True

    def comes_from(self, values: Iterable[Value]) -> bool:
        """Whether the call depends, directly or indirectly, on one of `values`; also if it was released."""
        wanted = set(values)
        seen: set[Maker] = set()
        stack: list[Maker] = [self]
        while stack:
            maker = stack.pop()
            if maker in seen:
                continue
            seen.add(maker)
            for reference, before in maker._behind or maker._origins():
                if reference() in wanted:
                    return True
                if before is not None:
                    stack.append(before)
        return False

    def _origins(self) -> "tuple[tuple[ReferenceType[Value], Maker | None], ...]":
        return tuple((ref(v), v.maker) for v in self.inputs if is_recorded(v))


class Recorded(Value):
    """A known value, with the call that computed it if that was recorded."""

    __slots__ = ("__weakref__", "array", "maker")

    def __init__(self, array: Array, maker: Maker | None = None) -> None:
        super().__init__(ArrayType(array.dtype, array.shape))
        self.array = array
        """Never written to."""
        self.maker = maker


class Gradient:
    """Where `backward` adds the gradient of a leaf."""

    __slots__ = ("array",)

    def __init__(self) -> None:
        self.array: Any = None


class Leaf(Recorded):
    """A value with which recording starts."""

    __slots__ = ("gradient",)

    def __init__(self, array: Array, gradient: Gradient) -> None:
        super().__init__(array)
        self.gradient = gradient


Known = Recorded | Constant


def is_recorded(value: Value) -> TypeGuard[Recorded]:
    """Whether you can ask for the derivative with respect to a value, or to what it was computed from."""
    return isinstance(value, Leaf) or (isinstance(value, Recorded) and value.maker is not None)


class Memory(Storage):
    """Shared by a variable and its views."""

    __slots__ = ("leaf",)

    def __init__(
        self, trace: Trace, value: Value, leaf: Leaf | None = None, layout: Layout | None = None
    ) -> None:
        super().__init__(trace, value, layout)
        self.leaf = leaf
        """The initial value of the variable, if gradients with respect to it are requested."""

    def write(self, value: Value) -> None:
        if self.leaf is not None and not is_grad_enabled():
            value = self.leaf = Leaf(array_of(value), self.leaf.gradient)
        super().write(value)


class _Outside(Storage):
    """A NumPy array that is combined with a variable: its current contents are a constant."""

    __slots__ = ("array",)

    def __init__(self, trace: Trace, array: Array) -> None:
        super().__init__(trace, Constant(array), layout_of(array))
        self.array = array

    def write(self, value: Value) -> None:
        if is_recorded(value):
            raise NotRecordedError(
                f"writing a variable to {ArrayType(self.array.dtype, self.array.shape)}, a NumPy array, would lose its "
                "derivative: make the array a variable, too, with requires_grad=False, or write x.detach()",
                user_location(),
            )
        super().write(value)
        self.array[...] = array_of(value)


class Tape(Trace):
    """The trace of variables. It holds nothing itself; each thread has one."""

    is_open_ended: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__("tape")
        self.parent = None

    def emit(self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]) -> tuple[Value, ...]:
        """Run the call; record it if an input is recorded and the mode allows it."""
        maker = Maker(op, inputs, params, None)
        types = lookup(op).type(*[value.type for value in inputs], **params)
        is_differentiated = is_grad_enabled() and any(map(is_recorded, inputs))
        if is_differentiated or are_calls_observed():
            maker.location = self.where()
        call = Call(op, inputs, params, (), maker.location)
        with not_recording(), quiet_unless_strict():
            arrays = [np.asarray(out) for out in run_call(call, list(map(array_of, inputs)))]
        outputs = tuple(
            Recorded(array, maker if is_differentiated and is_inexact(array.dtype) else None)
            for array in arrays
        )
        types = (types,) if isinstance(types, ArrayType) else types
        maker.outputs = tuple((type, ref(output)) for type, output in zip(types, outputs, strict=True))
        return outputs

    def where(self) -> Location | None:
        return self.location or user_location()  # code that runs at once obeys the current error state

    def new_storage(self, value: Value, layout: Layout | None = None) -> Storage:
        return Memory(self, value, layout=layout)

    def producer(self, value: Value) -> Call | None:
        maker = value.maker if isinstance(value, Recorded) else None
        return None if maker is None else maker.call()

    def producer_towards(self, values: Sequence[Value]) -> Callable[[Value], Call | None]:
        """Like `producer`, but recording also begins at a released call to which none of `values` leads."""

        def producer(value: Value) -> Call | None:
            maker = value.maker if isinstance(value, Recorded) else None
            if maker is not None and maker.is_released and not maker.comes_from(values):
                return None
            return self.producer(value)

        return producer

    def storage_of_array(self, array: Array | ForeignMemory) -> Storage:
        return _Outside(self, np.asarray(array))

    def shadow(self, outer: Storage) -> Storage:
        return outer if outer.trace.is_open_ended else super().shadow(outer)

    def concrete(self, value: Value) -> Array:
        return array_of(value)

    def depends_on_arguments(self, value: Value) -> bool:
        return is_recorded(value)


def array_of(value: Value) -> Array:
    """The elements of a value on the tape."""
    assert isinstance(value, Known)
    return value.array


class _Tapes(threading.local):
    def __init__(self) -> None:
        self.tape = Tape()


_tapes = _Tapes()


@contextmanager
def joined() -> Generator[Trace]:
    """The current trace of this thread, or its tape."""
    trace = current_trace()
    if trace is not None:
        yield trace
        return
    with recording(_tapes.tape) as tape:
        yield tape


def tape_of_this_thread() -> Tape:
    return _tapes.tape


def is_recording(leaves: Iterable[Any]) -> bool:
    """Whether operations on `leaves` are recorded now: a trace is active, or one of them is a variable."""
    return current_trace() is not None or any(map(is_traced, leaves))


def on_tape() -> bool:
    """Whether no function is being traced in this thread: operations on variables go to the tape."""
    trace = current_trace()
    return trace is None or isinstance(trace, Tape)
