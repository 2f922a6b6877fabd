"""Functions that call functions: along an axis, over axes, piece by piece."""

import itertools
from typing import Any

import numpy as np

from ...arguments.axes import normalize_axes, normalize_axis
from ...errors import ArgumentValueError
from ...tracing.array_values import check_fits
from ...tracing.registry import implements
from ..ufuncs.ufunc_calls import as_array


@implements(np.apply_along_axis)
def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """`func1d` of every line along `axis`. It is traced once per line; `tracemill.vmap` traces it once."""
    x: Any = as_array(arr)
    axis = normalize_axis(axis, x.ndim)
    lines = np.moveaxis(x, axis, -1)
    outer = lines.shape[:-1]
    if 0 in outer:
        raise ArgumentValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    results = [
        as_array(func1d(lines[index], *args, **kwargs))
        for index in itertools.product(*(range(dim) for dim in outer))
    ]
    inner = results[0].shape
    stacked: Any = np.reshape(np.stack(results), (*outer, *inner))
    here = tuple(range(len(outer), len(outer) + len(inner)))
    return np.moveaxis(stacked, here, tuple(range(axis, axis + len(inner))))


@implements(np.apply_over_axes)
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    """`func(a, axis)` for one axis after another; if the function drops the axis, it is restored."""
    result: Any = as_array(a)
    for axis in normalize_axes(tuple(axes) if np.iterable(axes) else axes, result.ndim):
        reduced: Any = func(result, axis)
        if reduced.ndim != result.ndim:
            reduced = np.expand_dims(reduced, axis)
        if reduced.ndim != result.ndim:
            raise ArgumentValueError("function is not returning an array of the correct shape")
        result = reduced
    return result


@implements(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Each function is applied to the whole array, and its values are used where its condition is the last true one."""
    array: Any = as_array(x)
    conditions = _conditions(condlist, array)
    functions = list(funclist)
    if len(functions) == len(conditions) + 1:
        nothing: Any = conditions[0]
        for condition in conditions[1:]:
            nothing = nothing | condition
        conditions.append(~nothing)
    elif len(functions) != len(conditions):
        raise ArgumentValueError(
            f"with {len(conditions)} condition(s), the same number of functions or one more is expected, "
            f"not {len(functions)}"
        )
    result: Any = np.zeros_like(array)
    for condition, function in zip(conditions, functions, strict=True):
        value: Any = function(array, *args, **kw) if callable(function) else function
        check_fits(value, array.dtype)
        result = np.where(condition, as_array(value).astype(array.dtype), result)
    return result


def _conditions(condlist: Any, x: Any) -> list[Any]:
    """The conditions as boolean arrays; a single condition need not be in a list."""
    if (
        isinstance(condlist, bool)
        or (not isinstance(condlist, (list, tuple)) and np.ndim(condlist) == 0)
        or (not isinstance(condlist, (list, tuple)) and np.ndim(condlist) == x.ndim and x.ndim)
        or (isinstance(condlist, (list, tuple)) and condlist and np.ndim(condlist[0]) == 0 and x.ndim)
    ):
        condlist = [condlist]
    return [as_array(condition).astype(bool) for condition in condlist]
