"""NumPy statements of reductions: the `reduce` of a ufunc, which `np.sum` calls in the end."""

import math

import numpy as np

from ...ir import Call, Constant, Extent, Value
from ...params import int_param, ints_param
from ...symbolic_size import SymbolicSize, is_known, typical
from ..python.module import Scope
from ..python.text import assigned
from .form import form
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
NumPy's pairwise sums. Along columns both add one number after another."""


def _sums_rows(value: Value, axes: tuple[int, ...]) -> bool:
    """Whether the last axis of many short rows is summed: NumPy takes ten times as long as BLAS for that."""
    return (
        value.dtype.name in ("float32", "float64")
        and value.ndim > 1
        and axes == (value.ndim - 1,)
        and typical(value.shape[-1]) >= 4
        and not is_known(value.shape[-1] > LONGEST)
        and typical(value.type.size) >= 16 * typical(value.shape[-1])
    )


def _sums_columns(value: Value, axes: tuple[int, ...]) -> bool:
    """Whether the columns of a matrix are summed: NumPy takes two to ten times as long as BLAS for that."""
    return (
        value.dtype.name in ("float32", "float64")
        and value.ndim == 2
        and axes == (0,)
        and typical(value.shape[0]) >= 4
    )


def _row_sums(call: Call, scope: Scope, name: str, target: str | None, indent: int = 4) -> list[str]:
    """The product with a vector of ones, or of such a vector with planes."""
    (value,), (output,) = call.inputs, call.outputs
    length, count = value.shape[-1], math.prod(value.shape[:-1])
    x, ones = scope.array(value), _ones(length, value, scope)
    if value in scope.in_planes:
        planes = reshaped(f"np.moveaxis({x}, -1, 0)", (length, count), scope)
        return _reshaped(f"np.dot({ones}, {planes})", output, scope, name, target, indent)
    if value.ndim == 2:
        return assigned(name, "np.dot", [x, ones, *([f"out={target}"] if target else [])], indent=indent)
    rows = reshaped(x, (count, length), scope)
    return _reshaped(f"np.dot({rows}, {ones})", output, scope, name, target, indent)


def _ones(length: Extent, value: Value, scope: Scope) -> str:
    """As many as there are elements in a row, which are at most `LONGEST`."""
    if not isinstance(length, SymbolicSize):
        return scope.module.constant(Constant(np.ones(length, value.dtype)))
    return f"{scope.module.constant(Constant(np.ones(LONGEST, value.dtype)))}[:{scope.size(length)}]"


def _reshaped(
    text: str, output: Value, scope: Scope, name: str, target: str | None, indent: int
) -> list[str]:
    """Sums in the shape of the result. They are copied to the target, which may be a strided part of an array."""
    space, text = " " * indent, reshaped(text, output.shape, scope)
    if target is None:
        return [f"{space}{name} = {text}"]
    return [f"{space}{name} = {target}", f"{space}{name}[...] = {text}"]


def _column_sums(call: Call, scope: Scope, target: str | None) -> list[str]:
    (value,) = call.inputs
    length = value.shape[0]
    if isinstance(length, SymbolicSize):
        ones = f"np.ones({scope.size(length)}, {scope.dtype(value.dtype)})"
    else:
        ones = scope.module.constant(Constant(np.ones(length, value.dtype)))
    arguments = [ones, scope.array(value), *([f"out={target}"] if target else [])]
    return assigned(scope.name(call), "np.dot", arguments)


@form(*UFUNCS, into=True)
def _reduce(call: Call, scope: Scope, target: str | None) -> list[str]:
    (value,) = call.inputs
    axes = ints_param(call, "axes")
    if call.op == "sum" and _sums_columns(value, axes):
        return _column_sums(call, scope, target)
    name = scope.name(call)
    if call.op != "sum" or not _sums_rows(value, axes):
        return _by_ufunc(call, scope, name, target)
    if is_known(value.shape[-1] <= LONGEST):
        return _row_sums(call, scope, name, target)
    return [
        f"    if {scope.size(value.shape[-1])} <= {LONGEST}:",
        *_row_sums(call, scope, name, target, indent=8),
        "    else:",
        *_by_ufunc(call, scope, name, target, indent=8),
    ]


def _by_ufunc(call: Call, scope: Scope, name: str, target: str | None, indent: int = 4) -> list[str]:
    (value,), (output,) = call.inputs, call.outputs
    axes = ints_param(call, "axes")
    arguments = [scope.array(value), f"axis={axes[0] if len(axes) == 1 else axes}"]
    if call.op in ("sum", "prod") and value.dtype.kind in "biu":
        arguments.append(f"dtype={scope.dtype(output.dtype)}")  # NumPy would widen small integers
    if target:
        arguments.append(f"out={target}")
    lines = assigned(name, f"{UFUNCS[call.op]}.reduce", arguments, indent=indent)
    if output.ndim == 0 and value.ndim == 0:
        lines.append(f"    {name} = {name}[()]")
    return lines


@form("argmax", "argmin", into=True)
def _index_of_extremum(call: Call, scope: Scope, target: str | None) -> list[str]:
    (value,) = call.inputs
    arguments = [
        scope.array(value),
        f"axis={int_param(call, 'axis')}",
        *([f"out={target}"] if target else []),
    ]
    return assigned(scope.name(call), f"np.{call.op}", arguments)
