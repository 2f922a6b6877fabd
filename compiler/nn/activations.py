"""Elementwise activations. Results have the shape and the floating-point dtype of the argument."""

from typing import Any

import numpy as np

from ..arguments.option_checks import flag, number
from .arguments import call, floating, in_one_dtype

# G. Klambauer et al., "Self-normalizing neural networks" (2017).
SELU_ALPHA = 1.6732632423543772
SELU_SCALE = 1.0507009873554805


def relu(x: Any) -> Any:
    """``max(x, 0)``, with derivative 0 at 0.

    >>> relu(np.array([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    return call("relu", floating(x))


def relu6(x: Any) -> Any:
    """``min(max(x, 0), 6)``.

    >>> relu6(np.array([-1.0, 2.0, 7.0])).tolist()
    [0.0, 2.0, 6.0]
    """
    return np.clip(floating(x), 0, 6)


def leaky_relu(x: Any, negative_slope: float = 0.01) -> Any:
    """``x`` above 0, ``negative_slope * x`` below.

    >>> leaky_relu(np.array([-1.0, 2.0])).tolist()
    [-0.01, 2.0]
    """
    x, slope = in_one_dtype(x, negative_slope)
    return np.where(x > 0, x, x * slope)[()]


def elu(x: Any, alpha: float = 1.0) -> Any:
    """``x`` above 0, ``alpha * (exp(x) - 1)`` below.

    D. Clevert et al., "Fast and accurate deep network learning by exponential linear units" (2015).

    >>> elu(np.array([-1000.0, 2.0])).tolist()
    [-1.0, 2.0]
    """
    return call("elu", floating(x), alpha=number("alpha", alpha))


def selu(x: Any) -> Any:
    """`elu`, scaled so that mean 0 and variance 1 are kept from layer to layer.

    >>> selu(np.array([0.0, 1.0])).tolist()
    [0.0, 1.0507009873554805]
    """
    return elu(x, SELU_ALPHA) * SELU_SCALE


def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))``, without overflow.

    >>> sigmoid(np.array([-1000.0, 0.0])).tolist()
    [0.0, 0.5]
    """
    return call("sigmoid", floating(x))


def log_sigmoid(x: Any) -> Any:
    """``log(sigmoid(x))``, exact also where the sigmoid underflows.

    >>> log_sigmoid(np.array([-1000.0])).tolist()
    [-1000.0]
    """
    return call("log_sigmoid", floating(x))


def softplus(x: Any, beta: float = 1.0) -> Any:
    """``log(1 + exp(beta * x)) / beta``, which needs no threshold: it neither overflows nor loses digits.

    >>> softplus(np.array([-1000.0, 1000.0])).tolist()
    [0.0, 1000.0]
    """
    return call("softplus", floating(x), beta=number("beta", beta))


def silu(x: Any) -> Any:
    """``x * sigmoid(x)``, also known as swish.

    >>> silu(np.array([0.0, 1000.0])).tolist()
    [0.0, 1000.0]
    """
    return call("silu", floating(x))


def mish(x: Any) -> Any:
    """``x * tanh(softplus(x))``.

    D. Misra, "Mish: a self regularized non-monotonic activation function" (2019).

    >>> mish(np.array([0.0, 1000.0])).tolist()
    [0.0, 1000.0]
    """
    x = floating(x)
    return x * np.tanh(softplus(x))


def gelu(x: Any, approximate: bool = False) -> Any:
    """``x * Φ(x)`` with the normal distribution function Φ, or its approximation by tanh.

    D. Hendrycks and K. Gimpel, "Gaussian error linear units" (2016).

    >>> gelu(np.array([0.0, 1000.0])).tolist()
    [0.0, 1000.0]
    """
    return call("gelu", floating(x), approximate=flag("approximate", approximate))


def hard_tanh(x: Any, low: float = -1.0, high: float = 1.0) -> Any:
    """`x` clipped to the range from `low` to `high`.

    >>> hard_tanh(np.array([-3.0, 0.5])).tolist()
    [-1.0, 0.5]
    """
    return np.clip(*in_one_dtype(x, low, high))


def hard_sigmoid(x: Any) -> Any:
    """The straight line from 0 at −3 to 1 at 3, constant outside.

    >>> hard_sigmoid(np.array([-4.0, 0.0, 3.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    return np.clip(floating(x) + 3, 0, 6) / 6


def hard_swish(x: Any) -> Any:
    """``x * hard_sigmoid(x)``.

    >>> hard_swish(np.array([-4.0, 0.0, 3.0])).tolist()
    [-0.0, 0.0, 3.0]
    """
    x = floating(x)
    return x * hard_sigmoid(x)
