"""``scipy.special.logsumexp`` on traced arrays, with derivatives that are right for equal entries and large ones.

SciPy takes the largest entries out of the sum and counts them. A count has no derivative, so SciPy's formula has
wrong second derivatives for equal entries.
"""

import math
from typing import Any

import numpy as np

from ...arguments.axes import axes_or_all
from ...builder import bind
from ...dtypes import is_inexact
from ...tracing.array_values import as_value
from ...tracing.registry import stands_in_for
from ...tracing.traced_array import wrap
from .eager_ops import as_numbers

_LARGEST_EXPONENT = {"float16": 10.0, "float64": 700.0, "complex128": 700.0}
"""By dtype: e to this power is finite. 80 for the others, which have the exponents of f32."""


@stands_in_for("special.logsumexp")
def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """``log(sum(b * exp(a)))`` over `axis`; with `return_sign` the logarithm of its absolute value, and its sign."""
    x = np.atleast_1d(_floating(as_numbers(a)))
    if b is None and not return_sign and x.dtype.kind == "f":
        axes = axes_or_all(axis, x.ndim)
        result = wrap(bind("logsumexp", as_value(x), axes=axes))
        return np.expand_dims(result, axes) if keepdims else result[()]
    weights = as_numbers(1.0 if b is None else b)
    is_number = b is None or isinstance(b, (bool, int, float, complex))
    dtype = np.result_type(x.dtype, weights.item() if is_number else weights.dtype)
    x, weights = x.astype(dtype), weights.astype(dtype)
    axes = axes_or_all(axis, max(x.ndim, weights.ndim))
    if not return_sign:
        return log_of_weighted_sum(x, weights, axes, keepdims)
    scale, most, rest = _scaled_parts(x, weights, axes)
    sign = np.sign(most + rest)
    turned = np.conjugate(sign)
    size = np.real(_log_of_parts(most * turned, rest * turned)) + scale
    is_finite = np.isfinite(size)
    total = _sum_where_infinite(is_finite, x, weights, axes)
    sign = np.where(is_finite, sign, _direction(total))
    results = np.where(is_finite, size, _quiet_log(np.abs(total))), sign
    return results if keepdims else tuple(np.squeeze(one, axis=axes)[()] for one in results)


def log_of_weighted_sum(x: Any, weights: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """``log(sum(weights * exp(x)))`` of arrays of one floating-point dtype. NaN where a real sum is negative."""
    scale, most, rest = _scaled_parts(x, weights, axes)
    result = _log_of_parts(most, rest) + scale
    is_finite = np.isfinite(result)
    result = np.where(is_finite, result, _quiet_log(_sum_where_infinite(is_finite, x, weights, axes)))
    return result if keepdims else np.squeeze(result, axis=axes)[()]


def _scaled_parts(x: Any, weights: Any, axes: tuple[int, ...]) -> tuple[Any, Any, Any]:
    """The largest exponent with a weight, 0 if it is infinite; the sum of its terms and that of the other terms, both
    divided by e to that power."""
    scale = np.max(np.where(weights == 0, -math.inf, np.real(x)), axis=axes, keepdims=True, initial=-math.inf)
    scale = np.where(np.isfinite(scale), scale, np.zeros_like(scale))
    # A term of weight 0 keeps its exponential, which is the derivative by its weight, if it is finite.
    none = np.full_like(x, -math.inf)
    exponent = np.where((weights == 0) & ~np.isfinite(x), none, x) - scale
    bound = _LARGEST_EXPONENT.get(x.dtype.name, 80.0)
    exponent = np.where((weights == 0) & (np.real(exponent) > bound), bound, exponent)
    terms = weights * np.exp(exponent)
    is_largest = np.real(x) == scale
    most = np.sum(np.where(is_largest, terms, 0), axis=axes, keepdims=True)
    rest = np.sum(np.where(is_largest, 0, terms), axis=axes, keepdims=True)
    return scale, most, rest


def _sum_where_infinite(is_finite: Any, x: Any, weights: Any, axes: tuple[int, ...]) -> Any:
    """``sum(weights * exp(x))``, which determines SciPy's special values; 1 where the result is finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        terms = np.where(is_finite, 1, weights) * np.exp(np.where(is_finite, 0, x))
        return np.where(is_finite, 1, np.sum(terms, axis=axes, keepdims=True))


def _quiet_log(x: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(x)


def _direction(x: Any) -> Any:
    """``x / abs(x)``, or 0 where `x` is 0. Unlike `numpy.sign`, NaN for infinite complex numbers, as in SciPy."""
    if x.dtype.kind != "c":
        return np.sign(x)
    size = np.abs(x)
    return x / np.where(size == 0, 1, size)


def _log_of_parts(most: Any, rest: Any) -> Any:
    """``log(most + rest)``, which stays accurate if `most` is 1 and `rest` is much smaller."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if most.dtype.kind == "c":
            return np.log(most + rest)
        is_most = 2 * np.abs(rest) < most
        apart = np.log1p(np.where(is_most, rest, 0) / np.where(is_most, most, 1))
        return apart + np.log(np.where(is_most, most, most + rest))


def _floating(x: Any) -> Any:
    return x if is_inexact(x.dtype) else x.astype(np.float64)


@stands_in_for("special.softmax")
def softmax(x: Any, axis: Any = None) -> Any:
    """``exp(x) / sum(exp(x))`` over `axis`, by default over all axes."""
    x = _floating(as_numbers(x))
    largest = np.max(x, axis=axis, keepdims=True)
    powers = np.exp(x - largest)
    return powers / np.sum(powers, axis=axis, keepdims=True)


@stands_in_for("special.log_softmax")
def log_softmax(x: Any, axis: Any = None) -> Any:
    """``x - log(sum(exp(x)))`` over `axis`, by default over all axes."""
    x = _floating(as_numbers(x))
    return x - logsumexp(x, axis=axis, keepdims=True)
