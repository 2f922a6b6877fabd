"""How a call becomes NumPy statements: the table of forms."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ...analysis.fusible_ops import is_elementwise
from ...analysis.memory_plan import CallMemory, Numbers
from ...analysis.tiling_axes import input_axes
from ...dtypes import DType
from ...ir import Call, Constant, Extent, Shape
from ...op import is_view, lookup
from ...symbolic_size import SymbolicSize, is_known, max_expr, typical
from ..python_text import WIDTH, call_parts, wrapped
from .module import Module, Scope
from .named_sizes import size_text
from .quoted_meaning import expression

OPAQUE = frozenset(
    {
        "call",
        "callback",
        "checkpoint",
        "custom_rule",
        "expect",
        "expect_size",
        "kernel",
        "length",
        "linear_call",
        "scan",
        "switch",
        "tiled",
        "while_loop",
    }
)
"""Ops whose NumPy definition cannot be quoted."""


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


def memory_in(module: Module, call: Call) -> CallMemory:
    """What the statement of a call in a module can do with memory. Native functions write where they are told."""
    function = module.native_function(call)
    if function is None:
        return memory_of(call)
    return CallMemory(True, function.overwriting, numbers=Numbers.READ_AT_ONCE)


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


def write_ufunc(call: Call, scope: Scope, target: str | None) -> list[str]:
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


UFUNC_FORMS = {n: Form(write_ufunc, into=True, overwrites=tuple(range(n))) for n in (1, 2, 3)}
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


def _rows_of_block(shape: Shape, axis: int) -> Extent:
    """This many rows along an axis have about as many elements as a block."""
    row = math.prod(dim for other, dim in enumerate(shape) if other != axis)
    rows: Extent = max_expr(1, BLOCK // max_expr(1, row))
    return rows


IN_BLOCKS = Form(_write_in_blocks, into=True)
"""The definition, applied to one part of the longest axis after another."""
