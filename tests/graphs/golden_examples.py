"""Small functions; tests/golden keeps every stage of their compilation."""

from typing import Any

import numpy as np

import tracemill as tm


def mlp_loss(w: Any, b: Any, x: Any, y: Any) -> Any:
    h = np.tanh(x @ w + b)
    return np.mean((h - y) ** 2)


mlp_gradient = tm.grad(mlp_loss, argnums=(0, 1))
per_sample_gradients = tm.vmap(tm.grad(mlp_loss), in_dims=(None, None, 0, 0))


def softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layer_norm(x: Any, gain: Any) -> Any:
    centred = x - x.mean(axis=-1, keepdims=True)
    return gain * centred / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + 1e-5)


def heat_step(u: Any, k: float) -> Any:
    new = u.copy()
    new[1:-1, 1:-1] += k * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return new


def mean_of_words(table: Any, words: Any) -> Any:
    return table[words].mean(axis=0)


def moving_sum(x: Any) -> Any:
    total = np.cumsum(x)
    return total[8:] - total[:-8]


def phase(z: Any, angle: Any) -> Any:
    turned = z * np.exp(1j * angle)
    return turned.real, np.conj(turned)


def distances(x: Any, y: Any) -> Any:
    return np.sqrt(((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=-1))


def rosenbrock(x: Any, y: Any) -> Any:
    return (1 - x) ** 2 + 100 * (y - x**2) ** 2


def alternating(x: Any) -> Any:
    x[::2] *= -1
    y = x.reshape(-1, 2)[:, ::-1]
    y[0] = 0
    return x.sum(), y
