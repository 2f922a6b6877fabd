"""NumPy statements of reads and writes at places known only at run time."""

from typing import Any

from ..ir import Call
from .numpy_form import AS_MEANING, Scope, assigned, form
from .numpy_layout import transposed


@form("gather")
def _gather(call: Call, scope: Scope, target: str | None) -> list[str]:
    """Along one axis `np.take`, which clips the indices itself."""
    x, *indices = call.inputs
    axes: Any = call.params["axes"]
    if len(axes) != 1 or indices[0].dtype.name == "uint64" or call.outputs[0].ndim == 0:
        return AS_MEANING.write(call, scope, target)
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
