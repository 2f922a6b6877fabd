"""Recording calls into a graph (`Builder`, `bind`); running one (`evaluate`, `Interpreter`)."""

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np

from .dtypes import Array
from .error_state import quiet_unless_strict, under
from .errors import (
    ArgumentTypeError,
    InternalError,
    OutOfBoundsError,
    TracemillError,
    TransformArgumentError,
    TransformTypeError,
)
from .ir import ArrayType, Call, Constant, Graph, Location, Param, Value
from .op import CHECKS_INDICES, lookup


class Builder:
    """Collects calls in the order in which they are bound."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.location: Location | None = None

    def emit(self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]) -> tuple[Value, ...]:
        """Append a call after asking the op for the types of its outputs."""
        types = lookup(op).type(*[value.type for value in inputs], **params)
        outputs = (Value(types),) if isinstance(types, ArrayType) else tuple(map(Value, types))
        self.calls.append(Call(op, inputs, params, outputs, self.where()))
        return outputs

    def where(self) -> Location | None:
        """The line of the user's program that the next call comes from."""
        return self.location


B = TypeVar("B", bound=Builder)


Watch: TypeAlias = Callable[[Call, Sequence[Any], tuple[Any, ...]], None]
"""Told of each call that is run by its meaning, with its inputs and outputs."""


class _Current(threading.local):
    """What happens to calls, per thread: the builder that `bind` records into, and who watches those that run."""

    builder: Builder | None = None
    watch: Watch | None = None


_current = _Current()


def current_builder() -> Builder | None:
    """The builder that is recording in this thread, or None."""
    return _current.builder


@contextmanager
def recording(builder: B) -> Generator[B]:
    """Make `bind` record into `builder` in this thread; restores the one before, also after an exception."""
    previous = _current.builder
    _current.builder = builder
    try:
        yield builder
    finally:
        _current.builder = previous


@contextmanager
def not_recording() -> Generator[None]:
    """Run what follows for real in this thread, as outside of any trace."""
    previous = _current.builder
    _current.builder = None
    try:
        yield
    finally:
        _current.builder = previous


@contextmanager
def watching(watch: Watch) -> Generator[None]:
    """Call `watch` for each call that runs in this thread; compiled functions are interpreted meanwhile."""
    previous = _current.watch
    _current.watch = watch
    try:
        yield
    finally:
        _current.watch = previous


def is_watched() -> bool:
    """Whether somebody watches the calls that run in this thread."""
    return _current.watch is not None


def is_idle() -> bool:
    """Whether nothing is recorded or watched in this thread: what is called may just run."""
    return _current.builder is None and _current.watch is None


def bind_all(op: str, *inputs: Value, **params: Param) -> tuple[Value, ...]:
    """Record ``op(*inputs, **params)`` in the current builder; its outputs."""
    builder = _current.builder
    if builder is None:
        raise InternalError(f"bind({op!r}) outside of any trace")
    return builder.emit(op, inputs, params)


def bind(op: str, *inputs: Value, **params: Param) -> Value:
    """Record a call of an op with one output."""
    (output,) = bind_all(op, *inputs, **params)
    return output


def inline(graph: Graph, inputs: Sequence[Value]) -> tuple[Value, ...]:
    """Record the calls of `graph` on `inputs` in the current builder, keeping their source lines."""
    builder = _current.builder
    if builder is None:
        raise InternalError(f"inline({graph.name}) outside of any trace")
    env: dict[Value, Value] = dict(zip(graph.inputs, inputs, strict=True))
    before = builder.location
    try:
        for call in graph.calls:
            builder.location = call.location or before
            outputs = builder.emit(call.op, tuple(env.get(v, v) for v in call.inputs), call.params)
            env.update(zip(call.outputs, outputs, strict=True))
    finally:
        builder.location = before
    return tuple(env.get(v, v) for v in graph.outputs)


def as_tuple(result: Any) -> tuple[Any, ...]:
    """The outputs of a rule: an op with one output may return it bare."""
    return result if type(result) is tuple else (result,)


def require_graph(what: str, given: Any) -> None:
    """`TransformTypeError` unless a graph is given."""
    if not isinstance(given, Graph):
        raise TransformTypeError(
            f"{what} must be a Graph, not {type(given).__name__}: `parse` reads one from text, and a compiled "
            "function gives its own, f.lower(*args).graph"
        )


class Interpreter:
    """Runs a graph on arrays, one call at a time, by the NumPy meaning of its ops.

    Override `call` to watch or change what runs:

    >>> class Trace(Interpreter):
    ...     def call(self, call, inputs):
    ...         print(call.op)
    ...         return super().call(call, inputs)
    """

    def __init__(self, graph: Graph) -> None:
        require_graph(type(self).__name__, graph)
        self.graph = graph

    def run(self, *inputs: Any) -> tuple[Any, ...]:
        """The outputs for these inputs. Intermediate arrays are released after their last use."""
        graph = self.graph
        if len(inputs) != len(graph.inputs):
            raise ArgumentTypeError(f"{graph.name} takes {len(graph.inputs)} inputs, not {len(inputs)}")
        env: dict[Value, Any] = dict(zip(graph.inputs, inputs, strict=True))
        dying = self._dying
        for index, call in enumerate(graph.calls):
            outputs = _one_per_output(call, self.call(call, [self.value(v, env) for v in call.inputs]))
            env.update(zip(call.outputs, outputs, strict=True))
            for value in dying.get(index, ()):
                del env[value]
        return tuple(self.value(v, env) for v in graph.outputs)

    @cached_property
    def _dying(self) -> dict[int, list[Value]]:
        return last_uses(self.graph)

    def value(self, value: Value, env: Mapping[Value, Any]) -> Any:
        """What an input of a call stands for."""
        return value.array if isinstance(value, Constant) else env[value]

    def call(self, call: Call, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The outputs of one call."""
        return run_call(call, inputs)


def _one_per_output(call: Call, result: Any) -> tuple[Any, ...]:
    """What an overridden `call` gave, which may be bare if it is one thing."""
    outputs = as_tuple(result)
    if len(outputs) != len(call.outputs):
        raise TransformArgumentError(
            f"{call.op} has {len(call.outputs)} outputs, but `call` gave {len(outputs)} for it", call.location
        )
    return outputs


def run_call(call: Call, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Run one call on arrays by its op's NumPy meaning."""
    errors = () if call.location is None else call.location.errors
    try:
        with under(errors):
            outputs = as_tuple(lookup(call.op).numpy(*inputs, **call.params))
    except TracemillError as error:
        error.locate(call.location)
        raise
    except Exception as error:
        if lookup(call.op).effect == CHECKS_INDICES:
            raise OutOfBoundsError(str(error), call.location) from None
        error.add_note(f"while running {call.op} at {call.location}")
        raise
    if _current.watch is not None:
        _current.watch(call, inputs, outputs)
    return outputs


def evaluate(graph: Graph, *inputs: Any) -> tuple[Array, ...]:
    """The outputs of `graph` on `inputs` by the NumPy meaning of its ops: the reference for every backend.

    Floating-point errors are ignored, unless `np.errstate` asks for more than NumPy's default.
    """
    with not_recording(), quiet_unless_strict():
        return tuple(np.asarray(out) for out in Interpreter(graph).run(*inputs))


class Transformer(Interpreter):
    """Rebuilds a graph call by call. Override `call` to emit something else: it gets and gives values.

    >>> class SineToCosine(Transformer):
    ...     def call(self, call, inputs):
    ...         return super().call(replace(call, op="cos") if call.op == "sin" else call, inputs)
    """

    def value(self, value: Value, env: Mapping[Value, Any]) -> Any:
        return value if isinstance(value, Constant) else env[value]

    def call(self, call: Call, inputs: Sequence[Any]) -> tuple[Any, ...]:
        return bind_all(call.op, *inputs, **call.params)

    def transform(self) -> Graph:
        """The rebuilt graph."""
        graph = self.graph
        inputs = tuple(Value(v.type) for v in graph.inputs)
        with recording(Builder()) as builder:
            env: dict[Value, Any] = dict(zip(graph.inputs, inputs, strict=True))
            for call in graph.calls:
                builder.location = call.location
                outputs = _one_per_output(call, self.call(call, [self.value(v, env) for v in call.inputs]))
                _require_values(call, outputs)
                env.update(zip(call.outputs, outputs, strict=True))
            outputs = tuple(self.value(v, env) for v in graph.outputs)
        return Graph(graph.name, inputs, tuple(builder.calls), outputs, graph.input_names)


def _require_values(call: Call, outputs: Sequence[Any]) -> None:
    for output in outputs:
        if not isinstance(output, Value):
            kind = type(output).__name__
            raise TransformTypeError(f"`call` gave a {kind} for {call.op}, not a Value", call.location)


def last_uses(graph: Graph) -> dict[int, list[Value]]:
    """For each call's index, the values that nothing needs after it (also outputs that nothing uses)."""
    kept = set(graph.outputs)
    last: dict[Value, int] = {}
    for index, call in enumerate(graph.calls):
        for value in (*call.inputs, *call.outputs):
            if not isinstance(value, Constant):
                last[value] = index
    dying: dict[int, list[Value]] = {}
    for value, index in last.items():
        if value not in kept:
            dying.setdefault(index, []).append(value)
    return dying


def depends_on(graph: Graph, inputs: Sequence[bool]) -> set[Value]:
    """Every value of `graph` that is computed from an input that is marked True, these inputs included."""
    reached = {value for value, marked in zip(graph.inputs, inputs, strict=True) if marked}
    for call in graph.calls:
        if any(value in reached for value in call.inputs):
            reached.update(call.outputs)
    return reached
