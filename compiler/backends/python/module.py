"""What the functions of a generated module share, `Module`, what writes their calls, `CallWriter`, and the names of
values in one of them, `Scope`."""

import builtins
import keyword
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from ...dtypes import DType
from ...free_sizes import names_bound_in, sizes_in_graph
from ...identifiers import identifier
from ...ir import ArrayType, Call, Constant, Extent, Graph, Value
from ...op import all_ops
from ...symbolic_size import is_known
from ..large_arrays import LARGE, LARGE_ARRAY
from .literals import dtype_text, number_name, number_text
from .named_sizes import names_of_sizes, size_text
from .native_library import NativeFunction, NativeLibrary
from .text import Names

PAGE = 4096
"""Memory with at least this many bytes is worth aligning."""

MODULES = (
    "base64",
    "collections",
    "concurrent",
    "contextvars",
    "ctypes",
    "ml_dtypes",
    "np",
    "os",
    "pathlib",
    "shlex",
    "subprocess",
    "sys",
    "tempfile",
    "time",
)
"""The imports that a generated module may have."""

NUMBERED = frozenset({"bits", "first", "result", "start"})
"""The names of variables, with a number, except those of values, which are named after their ops."""

RESERVED = (*keyword.kwlist, *dir(builtins), "_", *MODULES)


@dataclass(frozen=True, slots=True)
class Nested:
    """A nested graph, and what its caller does with memory."""

    graph: Graph
    owned: tuple[int, ...] = ()
    """The inputs that nothing else needs: they may be overwritten."""
    own_results: int | None = None
    """How many outputs must have their own memory; the caller copies the rest at once. None for all."""
    is_plain: bool = False
    """Whether every call is written as its op's definition, with new memory for each."""


@dataclass(frozen=True, slots=True)
class Tile:
    """The graph of a tile, the axes along which its inputs are split, and those along which its outputs are joined."""

    graph: Graph
    cuts: tuple[int | None, ...]
    joins: tuple[int, ...]
    is_last: bool = False
    """The remainder after the tiles, which are longer."""
    is_plain: bool = False
    """Whether every call is written as its op's definition."""


Write: TypeAlias = "Callable[[Call, Scope, str | None], list[str]]"
"""``write(call, scope, target)``: statements that assign the output's name. `target` is an expression for the memory
to write to, or None for new memory."""


@dataclass(frozen=True, slots=True)
class Form:
    """How the calls of one op are written."""

    write: Write
    into: bool = False
    """Whether it can write to given memory."""
    overwrites: tuple[int, ...] = ()
    """Inputs whose memory it can overwrite while reading them."""


class CallWriter(Protocol):
    """Writes the calls of a graph as statements, except those of other graphs, loops, tiles and lengths."""

    @property
    def definition(self) -> Form:
        """How a call is written as the definition of its op, with new memory for the result."""
        ...

    def form_of(self, call: Call) -> Form:
        """How a call is written."""
        ...

    def function_text(self, op: str, name: str) -> list[str]:
        """The definition of an op as a function of that name: see `Module.helper`."""
        ...

    def updated_place(self, call: Call, scope: "Scope") -> str:
        """The part of an array that an `update_slice` replaces."""
        ...

    def returns_rows(self, call: Call) -> bool:
        """Whether the result of a call is row-major for any layout of its operands."""
        ...


@dataclass(slots=True)
class Module:
    """Shared by the functions of a generated module: names, constants, quoted definitions, nested graphs."""

    writer: CallWriter
    names: Names = field(default_factory=lambda: Names(RESERVED))
    constants: dict[bytes, tuple[str, Constant]] = field(default_factory=dict[bytes, "tuple[str, Constant]"])
    """By dtype, shape and bytes."""
    helpers: dict[str, str] = field(default_factory=dict[str, str])
    """The name of the function with the definition of an op."""
    callbacks: list[tuple[str, Call]] = field(default_factory=list["tuple[str, Call]"])
    nested: dict[Nested, str] = field(default_factory=dict[Nested, str])
    """The names of their functions."""
    tiles: dict[Tile, tuple[str, str]] = field(default_factory=dict[Tile, "tuple[str, str]"])
    """The names of their functions, and of those that lay out their memory."""
    uses_bfloat16: bool = False
    fixed_names: Sequence[str] = ()
    """Names of the module's own functions."""
    known: list[str] = field(default_factory=list[str])
    """Statements that run once, when the module is loaded."""
    sizes: Mapping[str, str] = field(default_factory=dict[str, str])
    """The variables of the named sizes."""
    sizes_of: dict[Graph, list[str]] = field(default_factory=dict[Graph, list[str]])
    """The variables of nested graphs, which are parameters of their functions."""
    makes_memory: bool = False
    """Whether `new_memory` was used: the module has a function of that name."""
    makes_large_arrays: bool = False
    """Whether `large_array` was used."""
    library: NativeLibrary | None = None
    """Collects functions that replace statements; None if everything is NumPy."""

    def constant(self, value: Constant) -> str:
        """The variable that holds a constant array."""
        self.note_dtype(value.dtype)
        key = f"{value.type}".encode() + value.array.tobytes()
        if key not in self.constants:
            if value.array.size == 1 and number_text(value.array.reshape(())):
                wanted = number_name(value.array.reshape(())) + "".join(f"_x{dim}" for dim in value.shape)
            else:
                wanted = f"constant_{len(self.constants) + 1}"
            self.constants[key] = self.names.claim(wanted), value
        return self.constants[key][0]

    def helper(self, op: str) -> str:
        """The function with the definition of an op."""
        if op not in self.helpers:
            self.helpers[op] = self.names.claim(op)
        return self.helpers[op]

    def function(self, nested: Nested) -> str:
        """The function of the module that runs a nested graph."""
        if nested not in self.nested:
            name = identifier(nested.graph.name) + "_reference" * nested.is_plain
            stem, _, number = name.rpartition("_")
            if number.isdigit() and stem in NUMBERED | all_ops().keys():  # like the names of values
                name += "_"
            self.nested[nested] = self.names.claim(name)
        return self.nested[nested]

    def native_function(self, call: Call) -> NativeFunction | None:
        """The function of another language that computes a call, if there is one."""
        return self.library.function_of(call, self.names) if self.library else None

    def tile(self, tile: Tile) -> tuple[str, str]:
        """The function of the module that computes a tile, and the one that lays out its memory."""
        if tile not in self.tiles:
            end = ("rest" if tile.is_last else "tile") + "_reference" * tile.is_plain
            name = self.names.claim(f"{identifier(tile.graph.name)}_{end}")
            self.tiles[tile] = name, self.names.claim(f"{name}_memory")
        return self.tiles[tile]

    def sizes_in(self, graph: Graph) -> list[str]:
        """The variables of the named sizes in a nested graph."""
        if not self.sizes:
            return []
        if graph not in self.sizes_of:
            own = names_bound_in(graph)
            names = (name for name in names_of_sizes(sizes_in_graph(graph)) if name not in own)
            self.sizes_of[graph] = [self.sizes[name] for name in names]
        return self.sizes_of[graph]

    def size(self, size: Extent) -> str:
        """A size: a number, or an expression of the named sizes."""
        return size_text(size, self.sizes)

    def shape(self, shape: Iterable[Extent]) -> str:
        """``(2, B)``."""
        return shape_text(map(self.size, shape))

    def new_memory(self, nbytes: Extent) -> str:
        """A number of bytes. If they may be many, they are aligned to a cache line."""
        if not self.sizes and nbytes < PAGE:
            return f"np.empty({self.size(nbytes)}, np.uint8)"
        self.makes_memory = True
        return f"new_memory({self.size(nbytes)})"

    def new_result(self, type: ArrayType, text: str) -> str:
        """New memory for a result of a native function, whose type is written so."""
        if is_known(type.nbytes < LARGE):
            return f"np.empty({text})"
        self.makes_large_arrays = True
        if is_known(type.nbytes >= LARGE):
            return f"{LARGE_ARRAY}({text})"
        size, most = self.size(type.size), LARGE // type.dtype.itemsize
        return f"(np.empty if {size} < {most} else {LARGE_ARRAY})({text})"

    def note_dtype(self, dtype: DType) -> None:
        self.uses_bfloat16 |= dtype.name == "bfloat16"


@dataclass(slots=True)
class Scope:
    """The names of the values within one function."""

    module: Module
    names: Names
    of: dict[Value, str] = field(default_factory=dict[Value, str])
    is_plain: bool = False
    """Calls are written as their ops' definitions."""
    in_planes: set[Value] = field(default_factory=set[Value])
    """Values whose last axis is the first in memory."""

    def array(self, value: Value) -> str:
        """An expression for an operand; constants have the dtype of the value, too."""
        return self.module.constant(value) if isinstance(value, Constant) else self.of[value]

    def number(self, value: Value) -> str:
        """A number next to another operand with the dtype: constants are plain Python numbers."""
        if isinstance(value, Constant) and value.dtype.name != "bfloat16":
            return number_text(value.array) or self.array(value)
        return self.array(value)

    def scalar(self, value: Value) -> str:
        """A number of NumPy's own type: ``np.float32(0.5)``."""
        if not isinstance(value, Constant):
            return self.array(value)
        text = number_text(value.array)
        return f"{self.dtype(value.dtype)}({text})" if text else f"{self.array(value)}[()]"

    def name(self, call: Call) -> str:
        """The name of a call's output: that in the IR."""
        (output,) = call.outputs
        self.of[output] = self.names.numbered(call.op)
        return self.of[output]

    def name_outputs(self, call: Call) -> list[str]:
        """Variables for the outputs of a call: ``call_1``, ``call_2``."""
        for output in call.outputs:
            self.of[output] = self.names.numbered(call.op)
        return [self.of[output] for output in call.outputs]

    def dtype(self, dtype: DType) -> str:
        self.module.note_dtype(dtype)
        return dtype_text(dtype)

    def size(self, size: Extent) -> str:
        """A size: a number, or an expression of the named sizes."""
        return self.module.size(size)

    def shape(self, shape: Iterable[Extent]) -> str:
        """``(2, B)``."""
        return self.module.shape(shape)

    def type(self, type: ArrayType) -> str:
        """``(2, 3), np.float32``."""
        return f"{self.shape(type.shape)}, {self.dtype(type.dtype)}"


def shape_text(shape: Iterable[object]) -> str:
    """``(2, 3)``."""
    dims = list(shape)
    return f"({dims[0]},)" if len(dims) == 1 else f"({', '.join(map(str, dims))})"
