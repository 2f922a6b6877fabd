"""Recording calls: `bind` appends one to the current `Builder`, whose calls become a graph."""

import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from .errors import InternalError, TransformTypeError
from .free_sizes import bound_size, bound_sizes
from .ir import ArrayType, Call, Graph, Location, Param, Value
from .op import lookup
from .substitution import Substitution, with_values
from .symbolic_size import SymbolicSize


class Builder:
    """Collects calls in the order in which they are bound."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.location: Location | None = None
        self.bound_sizes: dict[str, SymbolicSize] = {}
        """The named sizes that calls have given a value."""

    def emit(self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]) -> tuple[Value, ...]:
        """Append a call. The op gives the types of its outputs."""
        types = lookup(op).type(*[value.type for value in inputs], **params)
        outputs = (Value(types),) if isinstance(types, ArrayType) else tuple(map(Value, types))
        self.append(Call(op, inputs, params, outputs, self.where()))
        if (size := bound_size(self.calls[-1])) is not None:
            self.bound_sizes[str(size)] = size
        return outputs

    def append(self, call: Call) -> None:
        """Append a call whose outputs have the types that the op gives them, and which gives no size its value."""
        self.calls.append(call)

    def where(self) -> Location | None:
        """The line of the user's program that the next call comes from."""
        return self.location


B = TypeVar("B", bound=Builder)


class _Current(threading.local):
    """The builder that `bind` records into, per thread."""

    builder: Builder | None = None


_current = _Current()


def current_builder() -> Builder | None:
    """The builder that is recording in this thread, or None."""
    return _current.builder


def line_at_work() -> Location | None:
    """The current line of the user's program, if it is known."""
    builder = current_builder()
    return None if builder is None else builder.where()


class _Recording(Generic[B]):
    """A block, faster than one that a generator makes."""

    __slots__ = ("_builder", "_previous")

    def __init__(self, builder: B) -> None:
        self._builder = builder

    def __enter__(self) -> B:
        self._previous = _current.builder
        _current.builder = self._builder
        return self._builder

    def __exit__(self, *error: object) -> None:
        _current.builder = self._previous


def recording(builder: B) -> _Recording[B]:
    """Make `bind` record into `builder` in this thread; restores the one before, also after an exception."""
    return _Recording(builder)


@contextmanager
def not_recording() -> Generator[None]:
    """Run the block eagerly in this thread, as if outside of any trace."""
    previous = _current.builder
    _current.builder = None
    try:
        yield
    finally:
        _current.builder = previous


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
    graph = _with_sizes_of_its_own(graph, builder)
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


def _with_sizes_of_its_own(graph: Graph, builder: Builder) -> Graph:
    """The graph with other names for the sizes to which it gives values, where `builder` has sizes of these names."""
    clashing = [size for size in bound_sizes(graph) if str(size) in builder.bound_sizes]
    if not clashing:
        return graph
    renamed: dict[str, SymbolicSize] = {}
    for size in clashing:
        number = 2
        while f"{size}_{number}" in builder.bound_sizes:
            number += 1
        renamed[str(size)] = size.called(f"{size}_{number}")
    return Substitution(lambda size: with_values(size, renamed)).graph(graph)


def as_tuple(result: Any) -> tuple[Any, ...]:
    """The outputs of a rule. An op with one output may return it without a tuple."""
    return result if type(result) is tuple else (result,)


def require_graph(what: str, given: Any) -> None:
    """Raise `TransformTypeError` unless this is a graph."""
    if not isinstance(given, Graph):
        raise TransformTypeError(
            f"{what} must be a Graph, not {type(given).__name__}: `parse` reads one from text, and a compiled "
            "function gives its own, f.lower(*args).graph"
        )
