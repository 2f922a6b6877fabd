"""Functions of neural networks for NumPy arrays and traced ones alike: activations, convolutions,
normalisation, losses, attention.

NumPy arrays are computed at once and give NumPy arrays. Traced ones are recorded as one call of an op of that
name where the op has rules of its own, which keeps graphs and gradients small. All are stable for large
arguments, keep the dtype of floating arrays, take integers as f64 (which `conv` keeps), and have derivatives of
every order that are right where the formula has a corner.
"""

from .activations import (
    elu,
    gelu,
    hard_sigmoid,
    hard_swish,
    hard_tanh,
    leaky_relu,
    log_sigmoid,
    mish,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    softplus,
)
from .convolution import conv, conv_transpose
from .softmax import log_softmax, log_softmax_backward, logsumexp, softmax, softmax_backward

__all__ = [
    "conv",
    "conv_transpose",
    "elu",
    "gelu",
    "hard_sigmoid",
    "hard_swish",
    "hard_tanh",
    "leaky_relu",
    "log_sigmoid",
    "log_softmax",
    "log_softmax_backward",
    "logsumexp",
    "mish",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softmax_backward",
    "softplus",
]
