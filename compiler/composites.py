"""Functions made of functions, for NumPy arrays and traced ones alike: softmax, logsumexp, activations.

They are stable for large arguments, and their derivatives are right where the formula has a corner.
"""

from typing import Any

import numpy as np

from .apply import apply_op, as_numbers

__all__ = [
    "gelu",
    "log_sigmoid",
    "log_softmax",
    "logsumexp",
    "relu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
]

ROOT_HALF = 0.7071067811865476
ROOT_TWO_OVER_PI = 0.7978845608028654


def logsumexp(x: Any, axis: Any = None, b: Any = None, keepdims: bool = False) -> Any:
    """``log(sum(b * exp(x)))`` over `axis` (an int, a tuple, or None for all).

    >>> import numpy as np
    >>> float(logsumexp(np.array([1000.0, 1000.0])))
    1000.6931471805599
    """
    x = _floating(x)
    top = _finite_maximum(x, axis)
    terms = np.exp(x - top)
    total = np.sum(terms if b is None else terms * b, axis=axis, keepdims=True)
    result = np.log(total) + top
    return result if keepdims else np.squeeze(result, axis=axis)


def softmax(x: Any, axis: Any = None) -> Any:
    """``exp(x) / sum(exp(x))`` over `axis`; the entries sum to 1.

    >>> softmax(np.array([0.0, 0.0])).tolist()
    [0.5, 0.5]
    """
    x = _floating(x)
    terms = np.exp(x - _finite_maximum(x, axis))
    return terms / np.sum(terms, axis=axis, keepdims=True)


def log_softmax(x: Any, axis: Any = None) -> Any:
    """The logarithm of `softmax`, exact also where that underflows.

    >>> log_softmax(np.array([0.0, -2000.0])).tolist()
    [0.0, -2000.0]
    """
    x = _floating(x)
    shifted = x - _finite_maximum(x, axis)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def _finite_maximum(x: Any, axis: Any) -> Any:
    """The largest entry, or 0 if that is infinite, so that subtracting it never gives NaN."""
    top = np.max(x, axis=axis, keepdims=True)
    return np.where(np.isfinite(top), top, np.zeros_like(top))


def relu(x: Any) -> Any:
    """``max(x, 0)``, with derivative 0 at 0.

    >>> relu(np.array([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    x = as_numbers(x)
    return np.where(x <= 0, np.zeros_like(x), x)


def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))``, without overflow.

    >>> sigmoid(np.array([-1000.0, 0.0])).tolist()
    [0.0, 0.5]
    """
    x = _floating(x)
    e = np.exp(np.where(x < 0, x, -x))
    return np.where(x < 0, e, np.ones_like(e)) / (1 + e)


def log_sigmoid(x: Any) -> Any:
    """``log(sigmoid(x))``, exact also where the sigmoid underflows.

    >>> log_sigmoid(np.array([-1000.0])).tolist()
    [-1000.0]
    """
    return -softplus(-_floating(x))


def softplus(x: Any) -> Any:
    """``log(1 + exp(x))``.

    >>> softplus(np.array([-1000.0, 1000.0])).tolist()
    [0.0, 1000.0]
    """
    x = _floating(x)
    return np.logaddexp(x, np.zeros_like(x))


def silu(x: Any) -> Any:
    """``x * sigmoid(x)``, also known as swish.

    >>> silu(np.array([0.0, 1000.0])).tolist()
    [0.0, 1000.0]
    """
    x = as_numbers(x)
    return x * sigmoid(x)


def gelu(x: Any, approximate: bool = False) -> Any:
    """``x * Φ(x)`` with the normal distribution function Φ, or its approximation by tanh.

    D. Hendrycks and K. Gimpel, "Gaussian error linear units" (2016).

    >>> gelu(np.array([0.0, 1000.0])).tolist()
    [0.0, 1000.0]
    """
    x = _floating(x)
    if approximate:
        return 0.5 * x * (1 + np.tanh(ROOT_TWO_OVER_PI * (x + 0.044715 * x**3)))
    return 0.5 * x * _erfc(-ROOT_HALF * x)


def _floating(x: Any) -> Any:
    """The array, integers and booleans as f64."""
    array = as_numbers(x)
    return array.astype(float) if array.dtype.kind in "biu" else array


def _erfc(x: Any) -> Any:
    """The complementary error function, by its op: NumPy has none."""
    return apply_op("erfc", x)[0]
