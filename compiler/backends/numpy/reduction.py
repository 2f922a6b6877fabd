"""NumPy statements of reductions: the `reduce` of a ufunc, which is what `np.sum` calls in the end."""

from typing import Any

import numpy as np

from ...ir import Call, Constant, Value
from .form import Scope, assigned, form
from .layout import reshaped

UFUNCS = {
    "sum": "np.add",
    "prod": "np.multiply",
    "max": "np.maximum",
    "min": "np.minimum",
    "any": "np.logical_or",
    "all": "np.logical_and",
}


LONGEST = 1024
"""Rows of at most this length are summed by BLAS, whose rounding error grows faster with the length than that of
NumPy's pairwise sums. Down a column both add one number after the other."""


def _sums_rows(value: Value, axes: tuple[int, ...]) -> bool:
    """Whether the last axis of many short rows is summed: NumPy takes ten times as long as BLAS for that."""
    return (
        value.dtype.name in ("float32", "float64")
        and value.ndim > 1
        and axes == (value.ndim - 1,)
        and 4 <= value.shape[-1] <= LONGEST
        and value.type.size >= 16 * value.shape[-1]
    )


def _sums_columns(value: Value, axes: tuple[int, ...]) -> bool:
    """Whether the columns of a matrix are summed: NumPy takes two to ten times as long as BLAS for that."""
    return (
        value.dtype.name in ("float32", "float64")
        and value.ndim == 2
        and axes == (0,)
        and value.shape[0] >= 4
    )


def _ones(length: int, value: Value, scope: Scope) -> str:
    return scope.module.constant(Constant(np.ones(length, value.dtype)))


def _row_sums(call: Call, scope: Scope, target: str | None) -> list[str]:
    """The product with a vector of ones, or of such a vector with planes."""
    (value,) = call.inputs
    length = value.shape[-1]
    x, ones = scope.array(value), _ones(length, value, scope)
    if value in scope.in_planes:
        flat = f"np.moveaxis({x}, -1, 0).reshape({length}, {value.type.size // length})"
        return _reshaped(f"np.dot({ones}, {flat})", call, scope, target)
    if value.ndim == 2:
        return assigned(scope.name(call), "np.dot", [x, ones, *([f"out={target}"] if target else [])])
    return _reshaped(
        f"np.dot({reshaped(x, (value.type.size // length, length))}, {ones})", call, scope, target
    )


def _reshaped(text: str, call: Call, scope: Scope, target: str | None) -> list[str]:
    """Sums in the shape of the result. They are copied to the target, which may be a strided part of an array."""
    name, text = scope.name(call), reshaped(text, call.outputs[0].shape)
    if target is None:
        return [f"    {name} = {text}"]
    return [f"    {name} = {target}", f"    {name}[...] = {text}"]


def _column_sums(call: Call, scope: Scope, target: str | None) -> list[str]:
    (value,) = call.inputs
    ones = _ones(value.shape[0], value, scope)
    arguments = [ones, scope.array(value), *([f"out={target}"] if target else [])]
    return assigned(scope.name(call), "np.dot", arguments)


@form(*UFUNCS, into=True)
def _reduce(call: Call, scope: Scope, target: str | None) -> list[str]:
    (value,), (output,) = call.inputs, call.outputs
    axes: Any = call.params["axes"]
    if call.op == "sum" and _sums_rows(value, axes):
        return _row_sums(call, scope, target)
    if call.op == "sum" and _sums_columns(value, axes):
        return _column_sums(call, scope, target)
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
