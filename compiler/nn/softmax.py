"""softmax, its logarithm, and logsumexp, with ``axis`` as in SciPy: one, several, or None for all."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arguments.axes import axes_or_all
from ..arguments.option_checks import flag
from ..numpy_surface.ufuncs.log_sums import log_of_weighted_sum
from ..tracing.traced_array import located
from ..value_ops import inverse_permutation
from .arguments import broadcast, call, floating, in_one_dtype

Axis = int | tuple[int, ...] | None


def softmax(x: Any, axis: Axis = None) -> Any:
    """``exp(x) / sum(exp(x))`` over `axis`; the entries sum to 1. NaN if all are −∞.

    >>> softmax(np.array([0.0, 0.0])).tolist()
    [0.5, 0.5]
    """
    return _along(axis, lambda axis, x: call("softmax", x, axis=axis), floating(x))


def log_softmax(x: Any, axis: Axis = None) -> Any:
    """The logarithm of `softmax`, exact also where that underflows.

    >>> log_softmax(np.array([0.0, -2000.0])).tolist()
    [0.0, -2000.0]
    """
    return _along(axis, lambda axis, x: call("log_softmax", x, axis=axis), floating(x))


def softmax_backward(grad_output: Any, output: Any, axis: Axis = None) -> Any:
    """The gradient for the argument of `softmax`, from the gradient for its result and the result.

    >>> softmax_backward(np.array([1.0, 0.0]), softmax(np.zeros(2))).tolist()
    [0.25, -0.25]
    """
    arrays = in_one_dtype(grad_output, output)
    return _along(axis, lambda axis, *both: call("softmax_backward", *both, axis=axis), *arrays)


def log_softmax_backward(grad_output: Any, output: Any, axis: Axis = None) -> Any:
    """The gradient for the argument of `log_softmax`, from the gradient for its result and the result.

    >>> log_softmax_backward(np.array([1.0, 0.0]), log_softmax(np.zeros(2))).tolist()
    [0.5, -0.5]
    """
    arrays = in_one_dtype(grad_output, output)
    return _along(axis, lambda axis, *both: call("log_softmax_backward", *both, axis=axis), *arrays)


def logsumexp(x: Any, axis: Axis = None, b: Any = None, keepdims: bool = False) -> Any:
    """``log(sum(b * exp(x)))`` over `axis` (an int, a tuple, or None for all).

    The weights `b` broadcast against `x`; entries with weight 0 are ignored, whatever their value. The result is NaN
    where the sum is negative, and −∞ where it is 0 or has no terms.

    >>> float(logsumexp(np.array([1000.0, 1000.0])))
    1000.6931471805599
    """
    keepdims = flag("keepdims", keepdims)
    if b is not None:
        x, b = broadcast("logsumexp", *in_one_dtype(x, b))
        return log_of_weighted_sum(x, b, located(axes_or_all, axis, x.ndim), keepdims)
    x = floating(x)
    axes = located(axes_or_all, axis, x.ndim)
    result = call("logsumexp", x, axes=axes)
    return np.expand_dims(result, axes) if keepdims else result


def _along(axis: Axis, function: Callable[..., Any], *arrays: Any) -> Any:
    """The function along one axis; several axes are merged into the last one."""
    x = arrays[0]
    axes = located(axes_or_all, axis, x.ndim)
    if len(axes) == 1:
        return function(axes[0], *arrays)
    rest = [one for one in range(x.ndim) if one not in axes]
    order = (*rest, *axes)
    flat = [
        np.reshape(
            np.transpose(y, order), (*(y.shape[one] for one in rest), math.prod(y.shape[one] for one in axes))
        )
        for y in arrays
    ]
    result = function(len(rest), *flat)
    return np.transpose(np.reshape(result, tuple(x.shape[one] for one in order)), inverse_permutation(order))
