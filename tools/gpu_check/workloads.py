"""The functions that are compared on GPUs, in ordinary NumPy code.

``xp`` is ``numpy``, ``jax.numpy`` or ``torch``. Peers call their own function if they have one. Sums of bf16 are f32
here, as they are there, and the results are bf16 again.
"""

from typing import Any

import numpy as np

from ...compiler.nn.activations import gelu
from ...compiler.nn.attention import attention as nn_attention
from ..bench.suite import workloads

black_scholes = workloads.black_scholes


def layer_norm(xp: Any, x: Any, scale: Any, shift: Any) -> Any:
    return workloads.layer_norm(xp, _wide(x), _wide(scale), _wide(shift)).astype(x.dtype)


def softmax(xp: Any, x: Any) -> Any:
    return workloads.softmax(xp, _wide(x)).astype(x.dtype)


def _wide(x: Any) -> Any:
    return x if x.dtype.itemsize >= 4 else x.astype(np.float32)


def chain(xp: Any, x: Any, y: Any) -> Any:
    """Ten operations on each pair of numbers, two of them transcendental."""
    z = xp.tanh(x * y + 0.5)
    return xp.sqrt(z * z + 1.0) * xp.exp(-x * x) - 0.25 * y


def gelu_mlp(xp: Any, x: Any, w1: Any, w2: Any) -> Any:
    """Two layers with GELU between them. NumPy's products of bf16 are f32."""
    hidden = gelu(x @ w1).astype(x.dtype)
    return (hidden @ w2).astype(x.dtype)


def matmul_gelu(xp: Any, x: Any, w: Any, bias: Any) -> Any:
    return gelu(x @ w + bias).astype(x.dtype)


def matmul(xp: Any, x: Any, y: Any) -> Any:
    return (x @ y).astype(x.dtype)


def attention(xp: Any, queries: Any, keys: Any, values: Any) -> Any:
    return nn_attention(queries, keys, values)


def network_loss(xp: Any, w1: Any, w2: Any, x: Any, target: Any) -> Any:
    """The squared error of a network with one hidden layer, for one example."""
    return xp.sum((xp.matmul(xp.tanh(xp.matmul(x, w1)), w2) - target) ** 2)


def running_sum(xp: Any, x: Any) -> Any:
    return xp.cumsum(x, axis=-1)


def scatter_add(xp: Any, places: Any, values: Any) -> Any:
    """Numbers added to bins, about 64 to each."""
    bins = np.zeros(values.shape[0] // 64, values.dtype)
    np.add.at(bins, places, values)
    return bins


def sum_of_rows(xp: Any, x: Any) -> Any:
    return xp.sum(x, axis=1)


def sum_of_columns(xp: Any, x: Any) -> Any:
    return xp.sum(x, axis=0)


def add_transposed(xp: Any, x: Any, y: Any) -> Any:
    return x.T + y


def pulls(xp: Any, targets: Any, positions: Any, masses: Any) -> Any:
    """The accelerations of targets by gravity of bodies, softened."""
    dx = positions[None, :, 0] - targets[:, None, 0]
    dy = positions[None, :, 1] - targets[:, None, 1]
    dz = positions[None, :, 2] - targets[:, None, 2]
    squares = dx * dx + dy * dy + dz * dz + 0.01
    pull = masses / (squares * xp.sqrt(squares))
    return xp.stack([xp.sum(dx * pull, axis=1), xp.sum(dy * pull, axis=1), xp.sum(dz * pull, axis=1)], axis=1)


def layers(xp: Any, x: Any, w: Any) -> Any:
    """Fifty layers so small that launches dominate the time."""
    for _ in range(50):
        x = xp.tanh(xp.matmul(x, w))
    return x
