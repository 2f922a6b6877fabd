"""The program: an immutable `Graph` of `Call`s on typed `Value`s. The whole IR is this file."""

import hashlib
import struct
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from .dtypes import Array, DType, dtype_name
from .errors import ArgumentTypeError
from .identifiers import identifier, unique_identifiers
from .symbolic_size import SymbolicSize, is_known, same_shape

# The size of an axis or of memory, as `shapes.dim.Extent`: an int or a `Dim`, which supports the same arithmetic. Type
# checkers take it for an int.
Extent: TypeAlias = int
Shape: TypeAlias = tuple[Extent, ...]

# The parameters of a call: plain immutable data, nested graphs, and Python callbacks.
Param: TypeAlias = "bool | int | float | str | DType | Graph | Callable[..., Any] | tuple[Any, ...] | None"


@dataclass(frozen=True, slots=True)
class ArrayType:
    """The type of an array: ``f32[2, 3]``."""

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


class BatchAxis(NamedTuple):
    """One batch that a line was mapped over."""

    size: Extent
    axis: int = 0
    """Where it lies in what the line computes."""
    is_everywhere: bool = True
    """Whether it lies there in the inputs too, and so in derivatives."""


@dataclass(frozen=True, slots=True)
class Location:
    """A line of the user's program."""

    file: str
    line: int
    code: str = ""
    is_derivative: bool = field(default=False, compare=False)
    """The calls recorded here compute the derivative of that line, not its value."""
    batch: tuple[BatchAxis, ...] = field(default=(), compare=False)
    """The batches that the line was mapped over, the outermost first."""
    errors: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """How the function itself changes NumPy's error state for this line: ``(("divide", "ignore"),)``."""

    def __str__(self) -> str:
        name = self.file.replace("\\", "/").rpartition("/")[2]
        return f"{name}:{self.line}  {self.code}".rstrip()

    def of_derivative(self) -> "Location":
        """The same line, for calls that compute its derivative."""
        if self.is_derivative:
            return self
        batch = self.batch if all(one.is_everywhere for one in self.batch) else ()
        return replace(self, is_derivative=True, batch=batch)

    def mapped(self, outer: BatchAxis) -> "Location":
        """The same line, for calls that compute it for a batch."""
        inner = (one._replace(axis=one.axis + (one.axis >= outer.axis)) for one in self.batch)
        return replace(self, batch=(outer, *inner))

    def mapped_in_parts(self) -> "Location":
        """The same line, for calls that compute one part of a batch after another. Which part is unknown."""
        return replace(self, batch=())


class Value:
    """One array of a program. Values differ by identity; names are made when printing."""

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
    """A value known while tracing. It has its own read-only array."""

    __slots__ = ("_digest", "array")

    def __init__(self, array: Any) -> None:
        own = np.array(array, order="C")
        own.flags.writeable = False
        super().__init__(ArrayType(own.dtype, own.shape))
        self.array: Array = own
        self._digest: str | None = None

    @property
    def digest(self) -> str:
        """Identifies the bytes, dtype and shape: ``sha256:…``. Computed once."""
        if self._digest is None:
            content = hashlib.sha256(f"{self.type};".encode())
            content.update(self.array.reshape(-1).view(np.uint8).data)
            self._digest = f"sha256:{content.hexdigest()}"
        return self._digest

    def same_as(self, other: "Constant") -> bool:
        """Equal bit for bit: NaN equals itself, and −0 differs from 0."""
        return self.type == other.type and self.array.tobytes() == other.array.tobytes()


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """``outputs = op(*inputs, **params)``, made at ``location`` of the user's program."""

    op: str
    inputs: tuple[Value, ...]
    params: Mapping[str, Param]
    outputs: tuple[Value, ...]
    location: Location | None = None


@dataclass(frozen=True)
class Node:
    """One step of a graph in FX's vocabulary, named as in its text."""

    op: str
    """"placeholder", "constant", "call" or "output"."""
    names: tuple[str, ...]
    """Its output values: one, unless the call has several outputs or none."""
    target: str
    """The op of a call, the text of a constant, otherwise the name."""
    args: tuple[str, ...] = ()
    """The names of its inputs. Numbers are written out: ``f32(0.5)``."""
    kwargs: Mapping[str, Param] = field(default_factory=dict[str, Param])
    types: tuple[ArrayType, ...] = ()
    """One per name; for the output node, those of the results."""
    location: Location | None = None

    @property
    def name(self) -> str:
        """The first of `names`, or the target if it has no output."""
        return self.names[0] if self.names else self.target

    @property
    def type(self) -> ArrayType | tuple[ArrayType, ...]:
        """The type if there is only one, otherwise all of them."""
        return self.types[0] if len(self.types) == 1 else self.types


@dataclass(frozen=True)
class GraphViews:
    """How a graph is displayed: functions of higher-level modules, which the package passes to `Graph`."""

    text: "Callable[[Graph], str]"
    code: "Callable[[Graph], str]"
    nodes: "Callable[[Graph], tuple[Node, ...]]"
    tabular: "Callable[[Graph], str]"
    mermaid: "Callable[[Graph], str]"
    check: "Callable[[Graph], None]"
    html: "Callable[[str], str]"


def _check_items(name: str, items: Any, kind: type) -> None:
    if not (isinstance(items, tuple) and all(isinstance(item, kind) for item in items)):
        raise ArgumentTypeError(
            f"Graph: {name} must be a tuple of {kind.__name__}. `parse` makes a graph from text, and "
            "f.lower(*args).graph is that of a compiled function"
        )


@dataclass(frozen=True, eq=False)
class Graph:
    """A function: typed inputs, calls in a valid order, outputs.

    Printing gives short typed Python, which `parse` reads back. Equality ignores the identity of values, the user's
    source lines and the names of nested graphs. Names become identifiers; those of the inputs are unique.

    >>> import numpy as np, tracemill as tm
    >>> graph = tm.compile(lambda x: np.sin(x)).lower(np.ones(3)).graph
    >>> [call.op for call in graph], tm.parse(str(graph)) == graph
    (['sin'], True)
    """

    faces: ClassVar[GraphViews]

    name: str
    inputs: tuple[Value, ...]
    calls: tuple[Call, ...]
    outputs: tuple[Value, ...]
    input_names: tuple[str, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict[str, Any], init=False, repr=False)
    """What walks through the graph have found out, which are then not repeated: see `op.effects_in`."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise ArgumentTypeError(f"Graph: name must be a text, not {type(self.name).__name__}")
        _check_items("inputs", self.inputs, Value)
        _check_items("calls", self.calls, Call)
        _check_items("outputs", self.outputs, Value)
        _check_items("input_names", self.input_names, str)
        names = self.input_names or tuple(f"x{i}" for i in range(len(self.inputs)))
        object.__setattr__(self, "name", identifier(self.name))
        object.__setattr__(self, "input_names", unique_identifiers(names))

    def __str__(self) -> str:
        return self.faces.text(self)

    def __repr__(self) -> str:
        return f"<Graph {self.name}: {len(self.calls)} calls>"

    @property
    def code(self) -> str:
        """The text of the graph without its version line.

        >>> import numpy as np, tracemill as tm
        >>> print(tm.parse("# tracemill ir 1\\ndef f(x: f64[3]) -> f64[3]:\\n    return x").code)
        def f(x: f64[3]) -> f64[3]:
            return x
        """
        return self.faces.code(self)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The graph as FX shows it: placeholder, constant, call and output nodes, in order."""
        return self.faces.nodes(self)

    def print_tabular(self) -> None:
        """Print one row per node: opcode, name, type, op, inputs, params, source line.

        >>> import tracemill as tm
        >>> tm.parse("# tracemill ir 1\\ndef f(x: f64[3]) -> f64[3]:\\n    return x").print_tabular()
        opcode       name    type    target  args  kwargs  source
        -----------  ------  ------  ------  ----  ------  ------
        placeholder  x       f64[3]  x
        output       output  f64[3]  output  x
        """
        print(self.faces.tabular(self))

    def to_mermaid(self) -> str:
        """The graph as a Mermaid flowchart.

        >>> import tracemill as tm
        >>> print(tm.parse("# tracemill ir 1\\ndef f(x: f64[3]) -> f64[3]:\\n    return x").to_mermaid())
        flowchart TD
            n0(["x: f64[3]"])
            n1(["output"])
            n0 --> n1
        """
        return self.faces.mermaid(self)

    def _repr_html_(self) -> str:
        """The text in colours, for notebooks."""
        return self.faces.html(self.code)

    def lint(self) -> None:
        """Raise `InvalidGraphError` unless every value is defined once, before its use, with the right type.

        >>> import tracemill as tm
        >>> tm.parse("# tracemill ir 1\\ndef f(x: f64[3]) -> f64[3]:\\n    return x").lint()
        """
        self.faces.check(self)

    def __iter__(self) -> Iterator[Call]:
        return iter(self.calls)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Graph) and (self is other or _same_graph(self, other))

    @cached_property
    def _body_hash(self) -> int:
        """A hash: equal for all graphs that are equal by `_same_body`, and different for almost all others."""
        numbers = {value: number for number, value in enumerate(self.inputs)}
        calls: list[Hashable] = []
        for call in self.calls:
            params = tuple((name, _hashed_param(call.params[name])) for name in sorted(call.params))
            inputs = tuple(_hashed_operand(value, numbers) for value in call.inputs)
            calls.append((call.op, params, inputs, tuple(out.type for out in call.outputs)))
            for out in call.outputs:
                numbers[out] = len(numbers)
        outputs = tuple(_hashed_operand(value, numbers) for value in self.outputs)
        return hash((tuple(value.type for value in self.inputs), tuple(calls), outputs))

    def __hash__(self) -> int:
        return hash((self.name, self._body_hash))


def called(calls: Sequence[Call]) -> Iterator[Graph]:
    """The graphs among the parameters of `calls`, or in tuples there, in order."""
    for call in calls:
        for param in call.params.values():
            if isinstance(param, (Graph, tuple)):
                yield from graphs_in(param)


def types_text(types: Iterable[ArrayType]) -> str:
    """Types in a message: ``f64[3], i64[]``, or ``none``."""
    return ", ".join(map(str, types)) or "none"


def last_reads(steps: Iterable[Iterable[Value]]) -> dict[Value, int]:
    """The number of the last step that reads each value, given the values that each step reads."""
    return {value: number for number, values in enumerate(steps) for value in values}


def graphs_in(param: Param) -> Iterator[Graph]:
    """The graphs in a parameter, or the parameter itself if it is a graph, in order."""
    if isinstance(param, Graph):
        yield param
    elif isinstance(param, tuple):
        for item in param:
            if isinstance(item, (Graph, tuple)):
                yield from graphs_in(item)


def ops_with_graphs(graph: Graph) -> set[str]:
    """The ops in a graph whose calls have graphs among their parameters. All calls of an op have some, or none has."""
    by_op = {call.op: call for call in graph.calls}
    return {op for op, call in by_op.items() if any(True for _ in called((call,)))}


def holds_graphs(graph: Graph) -> bool:
    """Whether a call has graphs among its parameters."""
    return bool(ops_with_graphs(graph))


def _same_graph(left: Graph, right: Graph) -> bool:
    return left.name == right.name and _same_body(left, right)


def _same_body(left: Graph, right: Graph) -> bool:
    """Equality up to renaming: walk both in step, and pair the values that they define."""
    if left.input_names != right.input_names or len(left.calls) != len(right.calls):
        return False
    pair: dict[Value, Value] = {}

    def made(ours: Sequence[Value], theirs: Sequence[Value]) -> bool:
        pair.update(zip(ours, theirs, strict=False))
        return len(ours) == len(theirs) and all(
            same_type(a.type, b.type) for a, b in zip(ours, theirs, strict=True)
        )

    def used(ours: Sequence[Value], theirs: Sequence[Value]) -> bool:
        return len(ours) == len(theirs) and all(map(same, ours, theirs))

    def same(ours: Value, theirs: Value) -> bool:
        if isinstance(ours, Constant) and isinstance(theirs, Constant):
            return ours.same_as(theirs)
        return pair.get(ours) is theirs

    if not made(left.inputs, right.inputs):
        return False
    for ours, theirs in zip(left.calls, right.calls, strict=True):
        if ours.op != theirs.op or not same_params(ours.params, theirs.params):
            return False
        if not (used(ours.inputs, theirs.inputs) and made(ours.outputs, theirs.outputs)):
            return False
    return used(left.outputs, right.outputs)


def same_type(ours: ArrayType, theirs: ArrayType) -> bool:
    """Whether types are known to be equal for all sizes. ``==`` asks if that is unknown, and so makes a guard."""
    return ours is theirs or (ours.dtype == theirs.dtype and same_shape(ours.shape, theirs.shape))


def same_params(ours: Mapping[str, Param], theirs: Mapping[str, Param]) -> bool:
    """Equal name by name: 1, 1.0 and True differ, NaN equals itself, nested graphs may differ in name."""
    return ours.keys() == theirs.keys() and all(_same_param(ours[name], theirs[name]) for name in ours)


def _same_param(ours: Param, theirs: Param) -> bool:
    if isinstance(ours, Graph) and isinstance(theirs, Graph):
        return ours is theirs or _same_body(ours, theirs)
    if isinstance(ours, tuple) and isinstance(theirs, tuple):
        return len(ours) == len(theirs) and all(map(_same_param, ours, theirs))
    if type(ours) is not type(theirs):
        return False
    if isinstance(ours, SymbolicSize):
        return ours is theirs or is_known(ours == theirs)
    return repr(ours) == repr(theirs) if isinstance(ours, float) else ours == theirs


def _hashed_param(param: Param) -> Hashable:
    """A key that equal parameters share."""
    if isinstance(param, Graph):
        return param._body_hash
    if isinstance(param, tuple):
        return tuple(map(_hashed_param, param))
    if isinstance(param, float):
        return repr(param)
    return hash(param if isinstance(param, (int, str)) else type(param))


def _hashed_operand(value: Value, numbers: Mapping[Value, int]) -> Hashable:
    """A key that equal operands share: the number of a value, or the first elements of a constant."""
    if isinstance(value, Constant):
        return value.type, value.array.reshape(-1)[:8].tobytes()
    return numbers.get(value)


def exact(param: Param) -> Hashable:
    """A key that distinguishes 0.0 from −0.0 and 1 from 1.0 and True. NaN equals itself."""
    if isinstance(param, float):
        return struct.pack("d", param)
    if isinstance(param, tuple):
        return tuple(map(exact, param))
    return type(param), param
