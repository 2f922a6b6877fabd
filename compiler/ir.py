"""The program: an immutable `Graph` of `Call`s on typed `Value`s. The whole IR is this file."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .dtypes import Array, DType, dtype_name

if TYPE_CHECKING:
    from .nodes import Node

# A dimension. Symbolic dimensions will join the ints here; nothing else names the type of a size.
Dim: TypeAlias = int
Shape: TypeAlias = tuple[Dim, ...]

# What a call may be parameterised by: plain immutable data, nested graphs, and Python callbacks.
Param: TypeAlias = "None | bool | int | float | str | DType | Graph | Callable[..., Any] | tuple[Any, ...]"


@dataclass(frozen=True, slots=True)
class ArrayType:
    """What is known of an array before it exists: ``f32[2, 3]``."""

    dtype: DType
    shape: Shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        size = 1
        for dim in self.shape:
            size *= dim
        return size

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __str__(self) -> str:
        return f"{dtype_name(self.dtype)}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True)
class Location:
    """A line of the user's program."""

    file: str
    line: int
    code: str = ""

    def __str__(self) -> str:
        name = self.file.replace("\\", "/").rpartition("/")[2]
        return f"{name}:{self.line}  {self.code}".rstrip()


class Value:
    """One array of a program. Values are told apart by identity; names are made when printing."""

    __slots__ = ("type",)

    def __init__(self, type: ArrayType) -> None:
        self.type = type

    @property
    def dtype(self) -> DType:
        return self.type.dtype

    @property
    def shape(self) -> Shape:
        return self.type.shape

    @property
    def ndim(self) -> int:
        return len(self.type.shape)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.type}>"


class Constant(Value):
    """A value known while tracing. Holds a read-only array of its own."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        own = np.array(array, order="C")
        own.flags.writeable = False
        super().__init__(ArrayType(own.dtype, own.shape))
        self.array: Array = own

    @property
    def digest(self) -> str:
        """Names the bytes, dtype and shape: ``sha256:…``."""
        head = f"{self.type};".encode()
        return f"sha256:{hashlib.sha256(head + self.array.tobytes()).hexdigest()}"

    def same_as(self, other: "Constant") -> bool:
        """Equal bit for bit, so that NaN equals itself and −0 differs from 0."""
        return self.type == other.type and self.array.tobytes() == other.array.tobytes()


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """``outputs = op(*inputs, **params)``, made at ``location`` of the user's program."""

    op: str
    inputs: tuple[Value, ...]
    params: Mapping[str, Param]
    outputs: tuple[Value, ...]
    location: Location | None = None


@dataclass(frozen=True, eq=False)
class Graph:
    """A function: typed inputs, calls in an order in which they can run, outputs.

    Printing gives short typed Python that `parse` reads back; equality is equality up to the
    identity of values and the user's source lines.
    """

    name: str
    inputs: tuple[Value, ...]
    calls: tuple[Call, ...]
    outputs: tuple[Value, ...]
    input_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.input_names and self.inputs:
            object.__setattr__(self, "input_names", tuple(f"x{i}" for i in range(len(self.inputs))))

    # The faces of a graph live with their concept and are imported when asked for, so that
    # this file stays at the bottom of the house.

    def __str__(self) -> str:
        from .text import to_text

        return to_text(self)

    def __repr__(self) -> str:
        return f"<Graph {self.name}: {len(self.calls)} calls>"

    @property
    def code(self) -> str:
        """The text of the graph without its version line."""
        from .text import to_code

        return to_code(self)

    @property
    def nodes(self) -> "tuple[Node, ...]":
        """The graph as FX shows it: placeholder, constant, call and output nodes, in order."""
        from .nodes import nodes

        return nodes(self)

    def print_tabular(self) -> None:
        """Print one row per node: opcode, name, type, op, inputs, params, source line."""
        from .nodes import tabular

        print(tabular(self))

    def to_mermaid(self) -> str:
        """The graph as a Mermaid flowchart."""
        from .nodes import mermaid

        return mermaid(self)

    def lint(self) -> None:
        """Raise `InvalidGraphError` unless every value is made once, before its use, and every type is right."""
        from .check import check

        check(self)

    def __iter__(self) -> Iterator[Call]:
        return iter(self.calls)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Graph) and (self is other or _same_graph(self, other))

    @cached_property
    def _hash(self) -> int:
        ops = tuple((call.op, tuple(out.type for out in call.outputs)) for call in self.calls)
        return hash((self.name, tuple(v.type for v in self.inputs), ops))

    def __hash__(self) -> int:
        return self._hash


def called(calls: Sequence[Call]) -> Iterator[Graph]:
    """The graphs that are parameters of `calls`, outermost first."""
    for call in calls:
        for param in call.params.values():
            if isinstance(param, Graph):
                yield param


def _same_graph(left: Graph, right: Graph) -> bool:
    """Equality up to renaming: walk both in step, pairing the values that they make."""
    if left.name != right.name or left.input_names != right.input_names or len(left.calls) != len(right.calls):
        return False
    pair: dict[Value, Value] = {}

    def made(ours: Sequence[Value], theirs: Sequence[Value]) -> bool:
        pair.update(zip(ours, theirs, strict=False))
        return len(ours) == len(theirs) and all(a.type == b.type for a, b in zip(ours, theirs, strict=True))

    def used(ours: Sequence[Value], theirs: Sequence[Value]) -> bool:
        return len(ours) == len(theirs) and all(map(same, ours, theirs))

    def same(ours: Value, theirs: Value) -> bool:
        if isinstance(ours, Constant) and isinstance(theirs, Constant):
            return ours.same_as(theirs)
        return pair.get(ours) is theirs

    if not made(left.inputs, right.inputs):
        return False
    for ours, theirs in zip(left.calls, right.calls, strict=True):
        if ours.op != theirs.op or dict(ours.params) != dict(theirs.params):
            return False
        if not (used(ours.inputs, theirs.inputs) and made(ours.outputs, theirs.outputs)):
            return False
    return used(left.outputs, right.outputs)
