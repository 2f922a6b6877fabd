"""NumPy statements of reads and writes at positions that are only known at run time."""

from collections.abc import Sequence

from ...ir import Call, Shape, Value
from ...params import ints_param, text_param
from ...symbolic_size import is_known
from ..python.module import Scope
from ..python.text import assigned
from .definition import DEFINITION
from .form import form
from .layout import copied, transposed


@form("gather")
def _gather(call: Call, scope: Scope, target: str | None) -> list[str]:
    """Along one axis `np.take`, which clips the indices itself; a single position as an index."""
    x, *indices = call.inputs
    axes = ints_param(call, "axes")
    if not any(index.ndim for index in indices) and is_known(x.type.size >= 1):
        at = {
            axis: f"min(max({scope.scalar(index)}, 0), {scope.size(x.shape[axis] - 1)})"
            for axis, index in zip(axes, indices, strict=True)
        }
        text = f"{scope.array(x)}[{', '.join(at.get(axis, ':') for axis in range(max(axes) + 1))}]"
        return [f"    {scope.name(call)} = {text}{'.copy()' if call.outputs[0].ndim else ''}"]
    if len(axes) != 1 or indices[0].dtype.name == "uint64" or call.outputs[0].ndim == 0:
        return DEFINITION.write(call, scope, target)
    (axis,) = axes
    name = scope.name(call)
    lines = assigned(
        name, "np.take", [scope.array(x), scope.array(indices[0]), f"axis={axis}", 'mode="clip"']
    )
    if axis == 0:
        return lines
    spanned = range(axis, axis + indices[0].ndim)
    order = (*spanned, *(a for a in range(call.outputs[0].ndim) if a not in spanned))
    moved = transposed(name, order)
    return lines if moved == name else [*lines, f"    {name} = {moved}"]


@form("scatter", overwrites=(0,))
def _scatter(call: Call, scope: Scope, target: str | None) -> list[str]:
    """A single position as an assignment, which does nothing if it is outside the array."""
    x, updates, *indices = call.inputs
    if any(index.ndim for index in indices):
        return DEFINITION.write(call, scope, target)
    axes = ints_param(call, "axes")
    mode = text_param(call, "mode")
    at = dict(zip(axes, map(scope.scalar, indices), strict=True))
    inside = " and ".join(f"0 <= {index} < {scope.size(x.shape[axis])}" for axis, index in at.items())
    place = ", ".join(at.get(axis, ":") for axis in range(max(axes) + 1))
    text, new = scope.array(x), scope.array(updates)
    name = scope.name(call)
    if mode != "set":
        new = f"np.{mode}({name}[{place}], {new})"
    return [*copied(name, text, target), f"    if {inside}:", f"        {name}[{place}] = {new}"]


def _window(shape: Shape, starts: Sequence[Value], sizes: Shape, scope: Scope) -> tuple[list[str], str]:
    """Statements that move the starts so that the window fits, and ``[start_1 : start_1 + 3]``."""
    lines: list[str] = []
    parts: list[str] = []
    for dim, start, size in zip(shape, starts, sizes, strict=True):
        if is_known(size == dim):
            parts.append(":")
            continue
        name = scope.names.numbered("start")
        lines.append(f"    {name} = min(max(int({scope.array(start)}), 0), {scope.size(dim - size)})")
        parts.append(f"{name} : {name} + {scope.size(size)}")
    while parts and parts[-1] == ":":
        parts.pop()
    return lines, f"[{', '.join(parts) or '...'}]"


@form("dynamic_slice")
def _dynamic_slice(call: Call, scope: Scope, target: str | None) -> list[str]:
    x, *starts = call.inputs
    if x.ndim == 0:
        return [f"    {scope.name(call)} = {scope.scalar(x)}"]
    lines, index = _window(x.shape, starts, call.outputs[0].shape, scope)
    return [*lines, f"    {scope.name(call)} = {scope.array(x)}{index}"]


@form("dynamic_update_slice", into=True, overwrites=(0,))
def _dynamic_update_slice(call: Call, scope: Scope, target: str | None) -> list[str]:
    x, part, *starts = call.inputs
    if x.ndim == 0:
        return [f"    {scope.name(call)} = {scope.scalar(part)}"]
    lines, index = _window(x.shape, starts, part.shape, scope)
    text, new = scope.array(x), scope.array(part)
    name = scope.name(call)
    return [*lines, *copied(name, text, target), f"    {name}{index} = {new}"]
