"""NumPy statements of reductions: the `reduce` of a ufunc, which is what `np.sum` calls in the end."""

from typing import Any

from ..ir import Call
from .numpy_form import Scope, assigned, form

UFUNCS = {
    "sum": "np.add",
    "prod": "np.multiply",
    "max": "np.maximum",
    "min": "np.minimum",
    "any": "np.logical_or",
    "all": "np.logical_and",
}


@form(*UFUNCS, into=True)
def _reduce(call: Call, scope: Scope, target: str | None) -> list[str]:
    (value,), (output,) = call.inputs, call.outputs
    axes: Any = call.params["axes"]
    arguments = [scope.array(value), f"axis={axes[0] if len(axes) == 1 else axes}"]
    if call.op in ("sum", "prod") and value.dtype.kind in "biu":
        arguments.append(f"dtype={scope.dtype(output.dtype)}")  # NumPy would widen small integers
    if target:
        arguments.append(f"out={target}")
    lines = assigned(scope.name(call), f"{UFUNCS[call.op]}.reduce", arguments)
    if output.ndim == 0 and value.ndim == 0:
        lines.append(f"    {scope.of[output]} = {scope.of[output]}[()]")
    return lines


@form("argmax", "argmin", into=True)
def _index_of_extremum(call: Call, scope: Scope, target: str | None) -> list[str]:
    (value,) = call.inputs
    arguments = [scope.array(value), f"axis={call.params['axis']}", *([f"out={target}"] if target else [])]
    return assigned(scope.name(call), f"np.{call.op}", arguments)
