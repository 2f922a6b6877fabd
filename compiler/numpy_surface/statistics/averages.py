"""Averages and spread: means, variances, weighted averages, covariances."""

from typing import Any

import numpy as np

from ...arguments.axes import normalize_axes
from ...dtypes import FLOAT32, FLOAT64, DType, is_complex, is_inexact, real_dtype
from ...errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError
from ...ir import Value
from ...ops.arrays.reduction import keep_dims
from ...symbolic_size import has_no_entries, max_expr, same_shape
from ...tracing.array_values import as_value
from ...tracing.registry import implements
from ...tracing.traced_array import TracedArray, wrap
from ...value_ops import (
    add,
    broadcast_to,
    convert,
    divide,
    imag,
    inverse_permutation,
    maximum,
    multiply,
    number,
    real,
    reshape,
    subtract,
    sum_,
)
from ..arrays.reshaping import broadcast_shape
from ..ufuncs.reductions import (
    NO_VALUE,
    Axes,
    accumulator,
    count_along,
    finished_reduction,
    fold_all,
    keeps_axes,
    masked,
    out_dtype,
    root_of_squares,
    some_axes,
)
from ..ufuncs.ufunc_calls import apply, as_array
from ..ufuncs.value_checks import refuse_values

# ---- means and variances -----------------------------------------------------------------------------


def _count(x: Value, where: Any, axes: Axes) -> Value:
    """How many entries are combined into each reduced entry, with its axes kept, as f64 (exact)."""
    if where is True or where is NO_VALUE:
        return number(count_along(x.shape, axes), FLOAT64)
    counted = broadcast_to(convert(as_value(where), FLOAT64), x.shape)
    return keep_dims(sum_(counted, axes), x.shape, axes)


def mean_dtypes(given: DType, dtype: Any) -> tuple[DType, DType]:
    """The dtype in which a mean is summed, and the dtype of the mean."""
    if dtype is not None:
        chosen = np.dtype(dtype)
        return chosen, chosen
    if given.kind in "biu":
        return FLOAT64, FLOAT64
    if given.itemsize == 2:
        return FLOAT32, given
    return given, given


def quotient(total: Value, count: Value, out: Any = None) -> Value:
    """``total / count``, with the total in the dtype of ``out=`` if it is given.

    NumPy divides in a dtype that holds any count and casts back, also to integers.
    """
    if out is not None:
        total = convert(total, out_dtype(out))
    wide = FLOAT64 if total.dtype.kind in "biu" else FLOAT32 if total.dtype.itemsize == 2 else total.dtype
    return divide(convert(total, wide), convert(count, wide))


@implements(np.mean)
def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *,
         where: Any = True) -> TracedArray:  # fmt: skip
    x = _spread_over(as_value(a), where)
    axes = some_axes(axis, x.ndim)
    wide, result = mean_dtypes(x.dtype, dtype)
    averages = quotient(_total(x, wide, where, axes), _count(x, where, axes), out)
    averages = convert(averages, result if out is None else out_dtype(out))
    return finished_reduction(_without(averages, axes), out, x.shape, axes, keepdims)


def _total(x: Value, dtype: DType, where: Any, axes: Axes) -> Value:
    """The sum over `axes`, which are kept with length 1."""
    return keep_dims(fold_all("sum", masked(convert(x, dtype), where, 0), axes), x.shape, axes)


def _spread_over(x: Value, where: Any) -> Value:
    """`x` broadcast with the mask of ``where=``."""
    if where is True or where is NO_VALUE:
        return x
    return broadcast_to(x, broadcast_shape(x.shape, as_value(where).shape))


def _without(x: Value, axes: Axes) -> Value:
    return reshape(x, tuple(dim for axis, dim in enumerate(x.shape) if axis not in axes))


def one_ddof(ddof: Any, correction: Any) -> Any:
    """The number subtracted from the count, which the Array API calls `correction`; only one of the names may be
    used."""
    if correction is NO_VALUE:
        return ddof
    if ddof != 0:
        raise ArgumentValueError("ddof and correction can't be provided simultaneously")
    return correction


def variance(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = NO_VALUE,
    correction: Any = NO_VALUE,
    root: bool = False,
) -> TracedArray:
    """The mean of |x − mean|², divided by the count minus ``ddof``; its square root for `root`.

    If all entries are equal, the root has derivatives 0, like norms at 0.
    """
    ddof = one_ddof(ddof, correction)
    x = _spread_over(as_value(a), where)
    axes = some_axes(axis, x.ndim)
    wide = accumulator(np.add, FLOAT64 if x.dtype.kind in "biu" else x.dtype, dtype, None)
    count = _count(x, where, axes)
    if mean is NO_VALUE:
        centre = convert(quotient(_total(x, wide, where, axes), count), wide)
    else:
        centre = as_value(mean)
    squares = _squared_size(x.dtype, apply(np.subtract, wrap(x), wrap(centre)).value)
    narrow = real_dtype(wide) if is_complex(wide) and dtype is None else wide
    total = _total(squares, narrow, where, axes)
    freedom = maximum(subtract(count, convert(as_value(ddof, FLOAT64), FLOAT64)), 0)
    variances = quotient(total, freedom, out)
    result = _without(convert(variances, narrow if out is None else out_dtype(out)), axes)
    if root:
        is_array = out is not None or (keeps_axes(keepdims) and x.ndim > 0) or result.ndim > 0
        result = _root(result, is_array)
    return finished_reduction(result, out, x.shape, axes, keepdims)


def _squared_size(given: DType, x: Value) -> Value:
    """|x|² of deviations; NumPy takes x² for those of real numbers, also from a complex mean."""
    if is_complex(x.dtype) and given.kind not in "fiu":
        return add(multiply(real(x), real(x)), multiply(imag(x), imag(x)))
    return multiply(x, x)


def _root(variances: Value, is_array: bool) -> Value:
    """The square root, in the same dtype; NumPy only casts to integers if the result is a scalar."""
    exact = not is_inexact(variances.dtype)
    root = apply(np.sqrt, wrap(variances)).value if exact else root_of_squares(variances)
    if is_array and not np.can_cast(root.dtype, variances.dtype, "same_kind"):
        raise DTypeError(
            f"standard deviations of {variances.dtype} cannot be cast from {root.dtype}: give a floating dtype= or out="
        )
    return convert(root, variances.dtype)


implements(np.var)(variance)


@implements(np.std)
def std(*args: Any, **kwargs: Any) -> TracedArray:
    return variance(*args, root=True, **kwargs)


# ---- weighted averages -------------------------------------------------------------------------------


@implements(np.average)
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> Any:
    x = as_array(a)
    keep = keeps_axes(keepdims)
    if weights is None:
        mean_of_x: Any = np.mean(x, axis=axis, keepdims=keep)
        if any(
            map(has_no_entries, mean_of_x.shape)
        ):  # NumPy divides the number of entries by that of the means
            raise ZeroDivisionError("division by zero")
        return _returned(mean_of_x, count_along(x.shape, some_axes(axis, x.ndim)), returned)
    w = matching_weights(x, as_array(weights), axis)
    dtype = np.result_type(x.dtype, w.dtype, *(["f8"] if x.dtype.kind in "biu" else []))
    total: Any = np.sum(w, axis=axis, dtype=dtype, keepdims=keep)
    refuse_values(total == 0, "Weights sum to zero, can't be normalized", ZeroDivisionError)
    weighted: Any = np.sum(np.multiply(x, w, dtype=dtype), axis=axis, keepdims=keep)
    return _returned(weighted / total, total, returned)


def _returned(result: Any, total: Any, returned: bool) -> Any:
    if not returned:
        return result
    count = as_array(total).astype(result.dtype, copy=False)
    if same_shape(count.shape, result.shape):
        return result, count
    return result, np.broadcast_to(count, result.shape).copy()


def matching_weights(x: TracedArray, weights: TracedArray, axis: Any) -> Any:
    """Weights in the shape of x: already in this shape, or along one axis, or along several."""
    if weights.ndim == x.ndim and weights.shape == x.shape:
        return weights
    if axis is None:
        raise ArgumentTypeError("axis must be specified when shapes of a and weights differ")
    axes = normalize_axes(axis, x.ndim)
    if weights.shape != tuple(x.shape[i] for i in axes):
        raise ShapeError(
            f"weights of shape {weights.shape} do not match the axes {axes} of an array of {x.shape}"
        )
    in_order = np.transpose(weights, inverse_permutation(axes))
    return np.reshape(in_order, tuple(dim if i in axes else 1 for i, dim in enumerate(x.shape)))


# ---- covariances -------------------------------------------------------------------------------------


@implements(np.cov)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    given = [as_array(x) for x in (m, y) if x is not None]
    if any(x.ndim > 2 for x in given):
        raise ShapeError("cov: an array has more than 2 dimensions")
    chosen = np.result_type(*[x.dtype for x in given], np.float64) if dtype is None else np.dtype(dtype)
    rows = [_variables_as_rows(x.astype(chosen), rowvar) for x in given]
    x: Any = rows[0] if len(rows) == 1 else np.concatenate(rows, axis=0)
    if x.shape[0] == 0:
        return np.zeros((0, 0)) if y is None else x
    ddof = (0 if bias else 1) if ddof is None else ddof
    if ddof != int(ddof):
        raise ArgumentValueError("cov: ddof must be an integer")
    weights = _observation_weights(x, fweights, aweights)
    average_of_x, total = average(x, axis=1, weights=weights, returned=True)
    total = total[0]
    if weights is None:
        freedom = max_expr(x.shape[1] - int(ddof), 0)
    elif ddof == 0:
        freedom = total
    elif aweights is None:
        freedom = total - ddof
    else:
        freedom = total - ddof * np.sum(weights * as_array(aweights)) / total
    centred = x - average_of_x[:, None]
    scaled = centred if weights is None else centred * weights
    product: Any = np.dot(centred, np.conj(scaled.T))
    with np.errstate(divide="ignore"):
        scale = np.true_divide(1, freedom if weights is None else np.maximum(freedom, 0))
    return np.squeeze(product * scale)


def _variables_as_rows(x: Any, rowvar: bool) -> Any:
    """Two dimensions, one row per variable."""
    if x.ndim < 2:
        return np.reshape(x, (1, -1))
    return x if rowvar else x.T


def _observation_weights(x: Any, fweights: Any, aweights: Any) -> Any:
    weights = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        w: Any = as_array(given)
        if w.ndim > 1 or w.shape[0] != x.shape[1]:
            raise ShapeError(f"cov: {name} of shape {w.shape} for {x.shape[1]} observations")
        w = w.astype(float)
        weights = w if weights is None else weights * w
    return weights


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    c: Any = np.cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    spread = np.sqrt(np.real(np.diagonal(c)))
    c = c / spread[:, None] / spread[None, :]
    if c.dtype.kind == "c":
        return np.clip(c.real, -1, 1) + np.clip(c.imag, -1, 1) * 1j
    return np.clip(c, -1, 1)
