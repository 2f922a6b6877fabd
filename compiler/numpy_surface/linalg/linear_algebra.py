"""`numpy.linalg`: norms, traces, diagonals."""

import operator
from typing import Any

import numpy as np

from ...arguments.axes import normalize_axis
from ...arguments.option_checks import c_long
from ...builder import bind
from ...dtypes import is_inexact
from ...errors import ArgumentValueError, ShapeError
from ...tracing.array_values import as_value
from ...tracing.registry import implements
from ...tracing.traced_array import wrap
from ...value_ops import convert
from ..ufuncs.reductions import accumulator, finished_reduction, root_of_squares
from ..ufuncs.ufunc_calls import as_array


def _squares(x: Any) -> Any:
    return x.real * x.real + x.imag * x.imag if x.dtype.kind == "c" else x * x


def _length(squares: Any) -> Any:
    """The square root of a sum of squares. Its derivatives at 0 are 0, which is its smallest subgradient."""
    return wrap(root_of_squares(squares.value))


def _vector_norm(x: Any, order: Any, axis: Any, keepdims: bool) -> Any:
    """The norm along one axis, or along several as if they were one."""
    if order is None or order == 2:
        return _length(np.sum(_squares(x), axis=axis, keepdims=keepdims))
    if isinstance(order, str):
        raise ArgumentValueError(f"Invalid norm order '{order}' for vectors")
    size = np.abs(x)
    if order == np.inf:
        return np.max(size, axis=axis, keepdims=keepdims, initial=0)
    if order == -np.inf:
        return np.min(size, axis=axis, keepdims=keepdims)
    if order == 0:
        return np.sum((x != 0).astype(size.dtype), axis=axis, keepdims=keepdims)
    if order == 1:
        return np.sum(size, axis=axis, keepdims=keepdims)
    is_even = order % 2 == 0 and order > 0 and x.dtype.kind != "c"
    # An even power is smooth where an entry is 0; its absolute value is not.
    total = np.sum((x if is_even else size) ** order, axis=axis, keepdims=keepdims)
    exponent = np.reciprocal(np.asarray(order, total.dtype))[()]
    if order < 0:
        return total**exponent
    is_zero = total == 0
    return np.where(is_zero, 0, np.where(is_zero, 1, total) ** exponent)


def _matrix_norm(x: Any, order: Any, axes: tuple[int, int], keepdims: bool) -> Any:
    row, column = axes
    if row == column:
        raise ArgumentValueError("Duplicate axes given.")
    if order in (None, "fro", "f"):
        result = _length(np.sum(_squares(x), axis=axes))
    elif order in (1, -1, np.inf, -np.inf):
        summed, other = (row, column) if order in (1, -1) else (column, row)
        sums = np.sum(np.abs(x), axis=summed)
        place = other - (other > summed)
        result = np.max(sums, axis=place, initial=0) if order > 0 else np.min(sums, axis=place)
    elif order == "nuc":
        result = wrap(bind("nuclear_norm", as_value(np.moveaxis(x, axes, (-2, -1)))))
    elif order in (2, -2):
        values: Any = np.linalg.svd(np.moveaxis(x, axes, (-2, -1)), compute_uv=False)
        result = np.max(values, axis=-1, initial=0) if order == 2 else np.min(values, axis=-1)
    else:
        raise ArgumentValueError("Invalid norm order for matrices.")
    if keepdims:
        shape = tuple(1 if axis in axes else dim for axis, dim in enumerate(x.shape))
        return np.reshape(result, shape)
    return result


def _floating(a: Any) -> Any:
    x: Any = as_array(a)
    return x if is_inexact(x.dtype) else x.astype(float)


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    a = _floating(x)
    if axis is None:
        if ord is None or (a.ndim == 1 and ord == 2) or (a.ndim == 2 and ord in ("fro", "f")):
            flat: Any = np.ravel(a)
            result: Any = _length(np.sum(_squares(flat)))
            return np.reshape(result, (1,) * a.ndim) if keepdims else result
        axes = tuple(range(a.ndim))
    else:
        axes = tuple(normalize_axis(one, a.ndim) for one in (axis if isinstance(axis, tuple) else (axis,)))
    if len(axes) == 1:
        return _vector_norm(a, ord, axes[0], keepdims)
    if len(axes) == 2:
        return _matrix_norm(a, ord, (axes[0], axes[1]), keepdims)
    raise ShapeError("Improper number of dimensions to norm.")


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    return _vector_norm(_floating(x), ord, axis, keepdims)


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    a = _floating(x)
    if a.ndim < 2:
        raise ShapeError(f"matrix_norm needs matrices, not an array of {a.ndim} axes")
    return _matrix_norm(a, ord, (a.ndim - 2, a.ndim - 1), keepdims)


@implements(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    x = as_value(a)
    if x.ndim < 2:
        raise ShapeError("trace needs an array of at least two axes")
    axes = (normalize_axis(axis1, x.ndim, "axis1"), normalize_axis(axis2, x.ndim, "axis2"))
    if axes[0] == axes[1]:
        raise ShapeError("axis1 and axis2 cannot be the same")
    given = convert(x, accumulator(np.add, x.dtype, dtype, out))
    return finished_reduction(
        bind("trace", given, offset=c_long(operator.index(offset)), axes=axes), out, x.shape, axes, False
    )


@implements(np.linalg.trace)
def linalg_trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return np.trace(as_array(x), offset, -2, -1, dtype)


@implements(np.linalg.diagonal)
def linalg_diagonal(x: Any, /, *, offset: int = 0) -> Any:
    return np.diagonal(as_array(x), offset, -2, -1)


@implements(np.linalg.matrix_transpose)
def linalg_matrix_transpose(x: Any, /) -> Any:
    return np.swapaxes(as_array(x), -1, -2)
