"""Averages and spread: means, variances, weighted averages, covariances."""

from typing import Any

import numpy as np

from ..dtypes import FLOAT32, FLOAT64, DType, is_complex, is_inexact, real_dtype
from ..errors import ArgumentTypeError, ArgumentValueError, ShapeError
from ..functions import (
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
from ..ir import Value
from ..symbolic_size import maximum as maximum_size
from ..traced_array import TracedArray, as_value, wrap
from .axes import normalize_axes
from .reductions import (
    NO_VALUE,
    Axes,
    count_along,
    deliver,
    fold_all,
    keeps_axes,
    kept,
    masked,
    root_of_squares,
    some_axes,
)
from .registry import implements
from .reshaping import broadcast_shape
from .ufuncs import apply, as_array

# ---- means and variances -----------------------------------------------------------------------------


def _count(x: Value, where: Any, axes: Axes) -> Value:
    """How many entries each reduced entry stands for, with its axes kept, as f64 (exact)."""
    if where is True or where is NO_VALUE:
        return number(count_along(x.shape, axes), FLOAT64)
    counted = broadcast_to(convert(as_value(where), FLOAT64), x.shape)
    return kept(sum_(counted, axes), x.shape, axes)


def mean_dtypes(given: DType, dtype: Any) -> tuple[DType, DType]:
    """The dtype in which a mean adds up, and that of the mean."""
    if dtype is not None:
        chosen = np.dtype(dtype)
        return chosen, chosen if is_inexact(chosen) else FLOAT64
    if given.kind in "biu":
        return FLOAT64, FLOAT64
    if given.itemsize == 2:
        return FLOAT32, given
    return given, given


def _kept_mean(x: Value, axes: Axes, where: Any, dtype: Any) -> Value:
    """The mean over `axes`, which stay as axes of length 1."""
    wide, result = mean_dtypes(x.dtype, dtype)
    x = convert(x, wide)
    total = kept(fold_all("sum", masked(x, where, 0), axes), x.shape, axes)
    return divide_by_count(
        convert(total, result if total.dtype.kind in "biu" else total.dtype), _count(x, where, axes), result
    )


def divide_by_count(total: Value, count: Value, dtype: DType) -> Value:
    """``total / count`` as `dtype`: one division in the dtype of the total."""
    return convert(divide(total, convert(count, total.dtype)), dtype)


@implements(np.mean)
def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *,
         where: Any = True) -> TracedArray:  # fmt: skip
    x = as_value(a)
    x = _spread_over(x, where)
    axes = some_axes(axis, x.ndim)
    result = _kept_mean(x, axes, where, dtype)
    return deliver(_without(result, axes), out, x.shape, axes, keepdims)


def _spread_over(x: Value, where: Any) -> Value:
    """`x` broadcast with the mask of ``where=``."""
    if where is True or where is NO_VALUE:
        return x
    return broadcast_to(x, broadcast_shape(x.shape, as_value(where).shape))


def _without(x: Value, axes: Axes) -> Value:
    return reshape(x, tuple(dim for axis, dim in enumerate(x.shape) if axis not in axes))


def one_ddof(ddof: Any, correction: Any) -> Any:
    """What is taken off the count, which the Array API calls `correction`; only one of the names may be used."""
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
    """The mean of |x − mean|², dividing by the count less ``ddof``; its square root for `root`.

    Where all entries are equal, the root has derivatives 0, as norms have at 0.
    """
    ddof = one_ddof(ddof, correction)
    x = _spread_over(as_value(a), where)
    axes = some_axes(axis, x.ndim)
    wide = np.dtype(dtype) if dtype is not None else FLOAT64 if x.dtype.kind in "biu" else x.dtype
    x = convert(x, np.dtype(np.result_type(x.dtype, wide)))
    if mean is NO_VALUE:
        total = kept(sum_(masked(convert(x, wide), where, 0), axes), x.shape, axes)
        centre = divide_by_count(total, _count(x, where, axes), wide)
    else:
        centre = as_value(mean)
    apart = apply(np.subtract, wrap(x), wrap(centre)).value
    if is_complex(apart.dtype):
        squares = add(multiply(real(apart), real(apart)), multiply(imag(apart), imag(apart)))
        wide = real_dtype(wide)
    else:
        squares = multiply(apart, apart)
    total = kept(sum_(masked(convert(squares, wide), where, 0), axes), squares.shape, axes)
    freedom = maximum(subtract(_count(x, where, axes), convert(as_value(ddof, FLOAT64), FLOAT64)), 0)
    result = divide_by_count(total, freedom, wide)
    return deliver(_without(root_of_squares(result) if root else result, axes), out, x.shape, axes, keepdims)


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
        return _returned(mean_of_x, count_along(x.shape, some_axes(axis, x.ndim)), returned)
    w = matching_weights(x, as_array(weights), axis)
    dtype = np.result_type(x.dtype, w.dtype, *(["f8"] if x.dtype.kind in "biu" else []))
    total: Any = np.sum(w, axis=axis, dtype=dtype, keepdims=keep)
    weighted: Any = np.sum(np.multiply(x, w, dtype=dtype), axis=axis, keepdims=keep)
    return _returned(weighted / total, total, returned)


def _returned(result: Any, total: Any, returned: bool) -> Any:
    if not returned:
        return result
    return result, np.broadcast_to(as_array(total).astype(result.dtype), result.shape)


def matching_weights(x: TracedArray, weights: TracedArray, axis: Any) -> Any:
    """Weights in the shape of x: as they are, or along one axis, or along several."""
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
        freedom = maximum_size(x.shape[1] - int(ddof), 0)
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
