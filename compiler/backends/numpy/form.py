"""How a call becomes NumPy statements: the table of forms, and what a form knows while it writes."""

import builtins
import json
import keyword
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from ...analysis.fusible_ops import is_elementwise
from ...analysis.memory_plan import CallMemory, Numbers
from ...analysis.tiling_axes import input_axes
from ...dtypes import DType
from ...free_sizes import sizes_in_graph
from ...identifiers import identifier
from ...ir import ArrayType, Call, Constant, Dim, Graph, Shape, Value
from ...op import all_ops, is_view, lookup
from ...symbolic_size import SymbolicSize, is_known, max_expr, typical
from ..native_library import NativeFunction, NativeLibrary
from ..python_literals import dtype_text, number_name, number_text
from ..python_text import WIDTH, Names, call_parts, wrapped
from .named_sizes import names_of_sizes, size_text
from .quoted_meaning import expression

PAGE = 4096
"""Memory with at least this many bytes is worth aligning."""

OPAQUE = frozenset(
    {
        "call",
        "callback",
        "checkpoint",
        "custom_rule",
        "kernel",
        "linear_call",
        "scan",
        "switch",
        "tiled",
        "while_loop",
    }
)
"""Ops whose NumPy definition cannot be quoted."""

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
    """The inputs that are arrays which nothing else needs: they may be overwritten."""
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


@dataclass(slots=True)
class Module:
    """Shared by the functions of a generated module: names, constants, quoted definitions, nested graphs."""

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

    def memory_of(self, call: Call) -> CallMemory:
        """What the statement of a call can do with memory. Native functions write to given memory."""
        function = self.native_function(call)
        if function is None:
            return memory_of(call)
        return CallMemory(True, function.overwriting, numbers=Numbers.READ_AT_ONCE)

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
            self.sizes_of[graph] = [self.sizes[name] for name in names_of_sizes(sizes_in_graph(graph))]
        return self.sizes_of[graph]

    def size(self, size: Dim) -> str:
        """A size: a number, or an expression of the named sizes."""
        return size_text(size, self.sizes)

    def shape(self, shape: Iterable[Dim]) -> str:
        """``(2, B)``."""
        return shape_text(map(self.size, shape))

    def new_memory(self, nbytes: Dim) -> str:
        """A number of bytes. If they may be many, they are aligned to a cache line."""
        if not self.sizes and nbytes < PAGE:
            return f"np.empty({self.size(nbytes)}, np.uint8)"
        self.makes_memory = True
        return f"new_memory({self.size(nbytes)})"

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

    def dtype(self, dtype: DType) -> str:
        self.module.note_dtype(dtype)
        return dtype_text(dtype)

    def size(self, size: Dim) -> str:
        """A size: a number, or an expression of the named sizes."""
        return self.module.size(size)

    def shape(self, shape: Iterable[Dim]) -> str:
        """``(2, B)``."""
        return self.module.shape(shape)

    def type(self, type: ArrayType) -> str:
        """``(2, 3), np.float32``."""
        return f"{self.shape(type.shape)}, {self.dtype(type.dtype)}"


def shape_text(shape: Iterable[object]) -> str:
    """``(2, 3)``."""
    dims = list(shape)
    return f"({dims[0]},)" if len(dims) == 1 else f"({', '.join(map(str, dims))})"


def assigned(name: str, function: str, arguments: Sequence[str], *, indent: int = 4) -> list[str]:
    """``name = function(arguments)``."""
    return wrapped(f"{name} = {function}(", arguments, ")", indent=indent)


Write: TypeAlias = Callable[[Call, Scope, str | None], list[str]]
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


LARGE = 1 << 14
"""Results of at least this many bytes are kept from call to call, because fresh memory costs page faults."""

FORMS: dict[str, Form] = {}
"""The form of each op that is not written as its definition."""


def form(*ops: str, into: bool = False, overwrites: tuple[int, ...] = ()) -> Callable[[Write], Write]:
    """Register a function as the form of `ops`."""

    def enter(write: Write) -> Write:
        for op in ops:
            FORMS[op] = Form(write, into, overwrites)
        return write

    return enter


def form_of(call: Call) -> Form:
    """The form of a call: its own, that of all ufuncs, or its definition."""
    found = FORMS.get(call.op)
    if found is not None:
        return found
    meaning = lookup(call.op).numpy
    if isinstance(meaning, np.ufunc) and meaning.nout == 1 and meaning.signature is None:
        return UFUNC_FORMS[len(call.inputs)]
    return IN_BLOCKS if is_elementwise(call) and not is_view(call) else AS_MEANING


def memory_of(call: Call) -> CallMemory:
    """What the form of a call can do with memory."""
    found = form_of(call)
    overwrites = dict.fromkeys(range(len(call.outputs)), found.overwrites)
    return CallMemory(found.into, overwrites, is_view=is_view(call), smallest=LARGE)


# ---- ufuncs ----------------------------------------------------------------------------------------

OPERATORS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}
"""How two NumPy numbers are combined ten times faster than by the ufunc, with the same result."""

UNARY_OPERATORS = {"negative": "-{0}", "square": "{0} * {0}"}


def _has_operators(dtype: DType) -> bool:
    return dtype.kind in "iu" or dtype.name in ("float32", "float64")


def _write_ufunc(call: Call, scope: Scope, target: str | None) -> list[str]:
    """``np.multiply(x, y, out=target)``; numbers by operators."""
    function = f"np.{lookup(call.op).numpy.__name__}"
    if call.outputs[0].ndim == 0 and _has_operators(call.inputs[0].dtype):
        known = all(isinstance(value, Constant) for value in call.inputs)
        if call.op in OPERATORS and not known:
            x, y = map(scope.number, call.inputs)
            return [f"    {scope.name(call)} = {x} {OPERATORS[call.op]} {y}"]
        if call.op in UNARY_OPERATORS and not known:
            text = UNARY_OPERATORS[call.op].format(scope.number(call.inputs[0]))
            return [f"    {scope.name(call)} = {text}"]
    arguments = [scope.array(value) for value in call.inputs]
    return assigned(scope.name(call), function, arguments + ([f"out={target}"] if target else []))


UFUNC_FORMS = {n: Form(_write_ufunc, into=True, overwrites=tuple(range(n))) for n in (1, 2, 3)}
"""By number of operands."""


# ---- the rest --------------------------------------------------------------------------------------


def params_text(call: Call, scope: Scope) -> dict[str, str]:
    """The parameters of a call as expressions."""
    return {name: param_expression(param, scope) for name, param in call.params.items()}


def param_expression(param: object, scope: Scope) -> str:
    """A parameter as an expression; dtypes as NumPy's instances, because definitions read their kind."""
    if isinstance(param, np.dtype):
        return f"np.dtype({scope.dtype(param)})"
    if isinstance(param, tuple):
        items = [param_expression(item, scope) for item in param]
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    if isinstance(param, str):
        return json.dumps(param, ensure_ascii=False)
    if isinstance(param, SymbolicSize):
        return size_text(param, scope.module.sizes)
    return repr(param)


def _write_meaning(call: Call, scope: Scope, target: str | None) -> list[str]:
    """The definition in the op's record: an expression, or a call of a quoted function."""
    arguments = [scope.array(value) for value in call.inputs]
    params = params_text(call, scope)
    text = expression(call.op, arguments, params)
    if text is None:
        head, items, tail = (
            f"{scope.module.helper(call.op)}(",
            [*arguments, *map("=".join, params.items())],
            ")",
        )
    else:
        head, items, tail = (text, [], "") if len(text) < WIDTH // 2 else call_parts(text)
    if len(call.outputs) == 1 and not _returns_tuple(call):
        is_function = head.startswith("np.") and isinstance(lookup(call.op).numpy, np.ufunc)
        end = "[()]" if call.outputs[0].ndim == 0 and not is_function else ""
        return wrapped(f"{scope.name(call)} = {head}", items, tail + end)
    names = []
    for output in call.outputs:
        scope.of[output] = scope.names.numbered(call.op)
        names.append(scope.of[output])
    if not names:
        return wrapped(head, items, tail)
    left = f"({names[0]},)" if len(names) == 1 else ", ".join(names)
    numbers = [f"    {scope.of[v]} = {scope.of[v]}[()]" for v in call.outputs if v.ndim == 0]
    return [*wrapped(f"{left} = {head}", items, tail), *numbers]


def _returns_tuple(call: Call) -> bool:
    types = lookup(call.op).type(*[value.type for value in call.inputs], **call.params)
    return isinstance(types, tuple)


AS_MEANING = Form(_write_meaning)


# ---- meanings of many statements, element by element -----------------------------------------------

BLOCK = 1 << 13
"""The number of elements that such a definition gets at once: its intermediate values stay in the cache."""


def _write_in_blocks(call: Call, scope: Scope, target: str | None) -> list[str]:
    """``for first in range(0, 65536, 8192): erf_1[first : first + 8192] = erf(x[first : first + 8192])``."""
    (output,) = call.outputs
    shape = output.shape
    axis = max(range(output.ndim), key=lambda axis: typical(shape[axis]), default=0)
    cuts = None if is_known(output.type.size <= BLOCK) else input_axes(call, axis)
    if cuts is None:
        lines = _write_meaning(call, scope, None)
        return lines if target is None else [*lines, f"    {target}[...] = {scope.of[output]}"]
    rows = scope.size(_rows_of_block(shape, axis))
    first = scope.names.numbered("first")

    def part(text: str, axis: int | None) -> str:
        return text if axis is None else f"{text}[{':, ' * axis}{first} : {first} + {rows}]"

    arguments = [part(scope.array(value), cut) for value, cut in zip(call.inputs, cuts, strict=True)]
    arguments += map("=".join, params_text(call, scope).items())
    name = scope.name(call)
    return [
        f"    {name} = {target or f'np.empty({scope.type(output.type)})'}",
        f"    for {first} in range(0, {scope.size(shape[axis])}, {rows}):",
        *wrapped(f"    {part(name, axis)} = {scope.module.helper(call.op)}(", arguments, ")"),
    ]


def _rows_of_block(shape: Shape, axis: int) -> Dim:
    """This many rows along an axis have about as many elements as a block."""
    row = math.prod(dim for other, dim in enumerate(shape) if other != axis)
    rows: Dim = max_expr(1, BLOCK // max_expr(1, row))
    return rows


IN_BLOCKS = Form(_write_in_blocks, into=True)
"""The definition, applied to one part of the longest axis after another."""
