"""Functions of neural networks for NumPy arrays and traced arrays: activations, convolutions, normalisation, losses,
attention.

NumPy arrays are computed at once and give NumPy arrays. For traced arrays, a function is recorded as one call of an
op with the same name if the op has its own rules, which keeps graphs and gradients small. All functions are stable
for large arguments, keep the dtype of floating-point arrays, treat integers as f64 (except `conv`, which keeps them),
and have derivatives of every order that are right where the formula has a kink.

Activations work entry by entry: the result has the shape of `x`. Losses broadcast `x` and `target`, as ``x - target``
does, and return one number: the mean, or with ``reduction="sum"`` the sum; ``reduction="none"`` returns an array of
separate losses. The functions ``…_backward`` take and return arrays of the shapes of the functions they belong to.
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
from .attention import attention
from .convolution import conv, conv_transpose
from .losses import (
    binary_cross_entropy_with_logits,
    cross_entropy,
    huber_loss,
    l1_loss,
    mse_loss,
    nll_loss,
    nll_loss_backward,
)
from .normalization import (
    batch_norm,
    batch_norm_backward,
    group_norm,
    instance_norm,
    layer_norm,
    layer_norm_backward,
    rms_norm,
)
from .softmax import log_softmax, log_softmax_backward, logsumexp, softmax, softmax_backward

__all__ = [
    "attention",
    "batch_norm",
    "batch_norm_backward",
    "binary_cross_entropy_with_logits",
    "conv",
    "conv_transpose",
    "cross_entropy",
    "elu",
    "gelu",
    "group_norm",
    "hard_sigmoid",
    "hard_swish",
    "hard_tanh",
    "huber_loss",
    "instance_norm",
    "l1_loss",
    "layer_norm",
    "layer_norm_backward",
    "leaky_relu",
    "log_sigmoid",
    "log_softmax",
    "log_softmax_backward",
    "logsumexp",
    "mish",
    "mse_loss",
    "nll_loss",
    "nll_loss_backward",
    "relu",
    "relu6",
    "rms_norm",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softmax_backward",
    "softplus",
]
