"""NumPy statements of ops that move elements: views if NumPy has them, otherwise writes to memory."""

from collections.abc import Sequence

from ...ir import Call, Constant, Shape
from ...params import int_param, ints_param
from ...symbolic_size import is_known, max_expr
from ..python.module import Scope
from ..python.text import assigned, slice_text, wrapped
from .form import form


def index_text(shape: Shape, start: Shape, stop: Shape, step: Shape, scope: Scope) -> str:
    """``[1:, ::2]``: slices of an array of `shape`, without trailing full ones."""
    parts: list[str] = []
    for dim, first, last, stride in zip(shape, start, stop, step, strict=True):
        ends = [
            "" if is_known(first == 0) else scope.size(first),
            "" if is_known(last == dim) else scope.size(last),
        ]
        parts.append(slice_text([*ends, *([] if is_known(stride == 1) else [scope.size(stride)])]))
    while parts and parts[-1] == ":":
        parts.pop()
    return f"[{', '.join(parts)}]" if parts else "[...]"


def transposed(text: str, axes: Sequence[int]) -> str:
    """``x.T`` or ``x.transpose(0, 2, 1)``; the same text where nothing moves."""
    axes = tuple(axes)
    if axes == tuple(range(len(axes))):
        return text
    reverse = axes == tuple(reversed(range(len(axes))))
    return f"{text}.T" if reverse else f"{text}.transpose({', '.join(map(str, axes))})"


def reshaped(text: str, shape: Shape, scope: Scope) -> str:
    """``x.reshape(2, 3)``."""
    return f"{text}.reshape({', '.join(map(scope.size, shape)) or '()'})"


@form("reshape")
def _reshape(call: Call, scope: Scope, target: str | None) -> list[str]:
    (value,), (output,) = call.inputs, call.outputs
    if value.ndim == 0:
        text = (
            f"np.reshape({scope.array(value)}, {scope.shape(output.shape)})"
            if output.ndim
            else scope.scalar(value)
        )
    elif output.ndim == 0:
        text = f"{scope.array(value)}[{', '.join('0' * value.ndim)}]"
    else:
        text = reshaped(scope.array(value), output.shape, scope)
    return [f"    {scope.name(call)} = {text}"]


@form("transpose")
def _transpose(call: Call, scope: Scope, target: str | None) -> list[str]:
    (value,) = call.inputs
    text = transposed(scope.array(value), ints_param(call, "axes")) if value.ndim else scope.scalar(value)
    return [f"    {scope.name(call)} = {text}"]


@form("slice")
def _slice(call: Call, scope: Scope, target: str | None) -> list[str]:
    (value,) = call.inputs
    if value.ndim == 0:
        return [f"    {scope.name(call)} = {scope.scalar(value)}"]
    start, stop, step = (ints_param(call, name) for name in ("start", "stop", "step"))
    index = index_text(value.shape, start, stop, step, scope)
    return [f"    {scope.name(call)} = {scope.array(value)}{index}"]


@form("flip")
def _flip(call: Call, scope: Scope, target: str | None) -> list[str]:
    (value,), axes = call.inputs, ints_param(call, "axes")
    if value.ndim == 0:
        return [f"    {scope.name(call)} = {scope.scalar(value)}"]
    parts = ["::-1" if axis in axes else ":" for axis in range(max(axes, default=-1) + 1)]
    return [f"    {scope.name(call)} = {scope.array(value)}[{', '.join(parts) or '...'}]"]


@form("broadcast_to")
def _broadcast_to(call: Call, scope: Scope, target: str | None) -> list[str]:
    (value,), (output,) = call.inputs, call.outputs
    if output.ndim == 0:
        return [f"    {scope.name(call)} = {scope.scalar(value)}"]
    return assigned(scope.name(call), "np.broadcast_to", [scope.array(value), scope.shape(output.shape)])


@form("concatenate", into=True)
def _concatenate(call: Call, scope: Scope, target: str | None) -> list[str]:
    parts = [scope.array(value) for value in call.inputs]
    arguments = [
        f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})",
        f"axis={int_param(call, 'axis')}",
    ]
    return assigned(scope.name(call), "np.concatenate", arguments + ([f"out={target}"] if target else []))


@form("pad", into=True)
def _pad(call: Call, scope: Scope, target: str | None) -> list[str]:
    value, fill = call.inputs
    (output,) = call.outputs
    x, low, gap = scope.array(value), ints_param(call, "low"), ints_param(call, "interior")
    number = scope.scalar(fill)
    name = scope.name(call)
    if output.ndim == 0:
        return [f"    {name} = {scope.scalar(value)}"]
    if target is not None:
        lines = [f"    {name} = {target}", f"    {name}.fill({number})"]
    elif isinstance(fill, Constant) and not any(fill.array.tobytes()):
        lines = assigned(name, "np.zeros", [scope.shape(output.shape), scope.dtype(output.dtype)])
    else:
        lines = assigned(name, "np.full", [scope.shape(output.shape), number, scope.dtype(output.dtype)])
    stop = tuple(a + n + max_expr(n - 1, 0) * g for a, n, g in zip(low, value.shape, gap, strict=True))
    index = index_text(output.shape, low, stop, tuple(g + 1 for g in gap), scope)
    return [*lines, f"    {name}{index} = {x}"]


@form("update_slice", into=True, overwrites=(0,))
def _update_slice(call: Call, scope: Scope, target: str | None) -> list[str]:
    value, part = call.inputs
    x, y = scope.array(value), scope.array(part)
    name = scope.name(call)
    if value.ndim == 0:
        return [f"    {name} = {scope.scalar(part)}"]
    return [*copied(name, x, target), f"    {name}{_updated(call, scope)} = {y}"]


def updated_place(call: Call, scope: Scope) -> str:
    """``x[1:]``: what the call of `update_slice` replaces."""
    return f"{scope.array(call.inputs[0])}{_updated(call, scope)}"


def _updated(call: Call, scope: Scope) -> str:
    start, stop, step = (ints_param(call, name) for name in ("start", "stop", "step"))
    return index_text(call.inputs[0].shape, start, stop, step, scope)


def copied(name: str, x: str, target: str | None) -> list[str]:
    """A writable copy; `x` itself if that is the target."""
    if target is None:
        return [f'    {name} = {x}.copy(order="C")']
    return [f"    {name} = {target}", *([] if target == x else [f"    np.copyto({name}, {x})"])]


@form("iota")
def _iota(call: Call, scope: Scope, target: str | None) -> list[str]:
    (output,) = call.outputs
    return wrapped(
        f"{scope.name(call)} = np.arange(",
        [scope.size(output.shape[0]), f"dtype={scope.dtype(output.dtype)}"],
        ")",
    )


@form("size")
def _size(call: Call, scope: Scope, target: str | None) -> list[str]:
    of = int_param(call, "of")
    return [f"    {scope.name(call)} = np.int64({scope.size(of)})"]
