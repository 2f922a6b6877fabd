"""Calls as their ops' NumPy definitions: for ops without a form, and for the reference of the self-check."""

import math
from typing import Final

import numpy as np

from ...analysis.tiling_axes import input_axes
from ...ir import Call, Extent, Shape
from ...op import lookup
from ...symbolic_size import is_known, max_expr, typical
from ..python.form import params_text
from ..python.module import Form, Scope
from ..python.text import WIDTH, call_parts, wrapped
from .quoted_meaning import expression


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


DEFINITION: Final = Form(_write_meaning)


# ---- meanings of many statements, element by element -----------------------------------------------

BLOCK: Final = 1 << 13
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


IN_BLOCKS: Final = Form(_write_in_blocks, into=True)
"""The definition, applied to one part of the longest axis after another."""
