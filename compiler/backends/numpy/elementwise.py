"""NumPy statements of elementwise ops that are not ufuncs: choosing, converting, parts of complex numbers."""

from ...ir import Call, Constant
from .form import Scope, assigned, form


@form("where")
def _where(call: Call, scope: Scope, target: str | None) -> list[str]:
    """Always into new memory: `np.copyto` with a mask takes longer than what it saves."""
    if call.outputs[0].ndim == 0:
        condition, x, y = map(scope.scalar, call.inputs)
        return [f"    {scope.name(call)} = {x} if {condition} else {y}"]
    arguments = [scope.array(value) for value in call.inputs]
    return assigned(scope.name(call), "np.where", arguments)


@form("clip", into=True, overwrites=(0,))
def _clip(call: Call, scope: Scope, target: str | None) -> list[str]:
    x, low, high = (scope.array(value) for value in call.inputs)
    name = scope.name(call)
    if target is None:
        return assigned(name, "np.minimum", [f"np.maximum({x}, {low})", high])
    return [
        *assigned(name, "np.maximum", [x, low, f"out={target}"]),
        f"    np.minimum({name}, {high}, out={name})",
    ]


@form("convert", into=True)
def _convert(call: Call, scope: Scope, target: str | None) -> list[str]:
    """`astype` to a real dtype drops imaginary parts with a warning, which taking the real part avoids."""
    (value,), (output,) = call.inputs, call.outputs
    x = scope.array(value)
    if value.dtype.kind == "c" and output.dtype.kind not in "cb":
        x += ".real"
    name = scope.name(call)
    if target is None:
        end = "[()]" if isinstance(value, Constant) and not output.ndim else ""
        return [f"    {name} = {x}.astype({scope.dtype(output.dtype)}){end}"]
    return [f"    {name} = {target}", f'    np.copyto({name}, {x}, casting="unsafe")']


@form("real", "imag")
def _part(call: Call, scope: Scope, target: str | None) -> list[str]:
    (x,) = map(scope.scalar if call.inputs[0].ndim == 0 else scope.array, call.inputs)
    return [f"    {scope.name(call)} = {x}.{call.op}"]


@form("complex", into=True)
def _complex(call: Call, scope: Scope, target: str | None) -> list[str]:
    (output,) = call.outputs
    if output.ndim == 0:
        re, im = map(scope.scalar, call.inputs)
        return [f"    {scope.name(call)} = {scope.dtype(output.dtype)}(complex({re}, {im}))"]
    re, im = map(scope.array, call.inputs)
    name = scope.name(call)
    memory = target or f"np.empty({scope.type(output.type)})"
    return [f"    {name} = {memory}", f"    {name}.real = {re}", f"    {name}.imag = {im}"]


@form("checkpoint_name", "stop_gradient")
def _same(call: Call, scope: Scope, target: str | None) -> list[str]:
    (x,) = map(scope.scalar if call.inputs[0].ndim == 0 else scope.array, call.inputs)
    return [f"    {scope.name(call)} = {x}"]
