"""The functions that the suite times, written once for every library whose arrays work like NumPy's.

``xp`` is ``numpy``, ``jax.numpy`` or ``torch``. Each function is ordinary NumPy code, and nothing is tuned for any of
them.
"""

from typing import Any


def gelu(xp: Any, x: Any) -> Any:
    return 0.5 * x * (1.0 + xp.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def black_scholes(xp: Any, spot: Any, strike: Any, years: Any) -> Any:
    """The price of a European call at 2 % interest and a volatility of 30 %."""
    rate, volatility = 0.02, 0.3
    deviation = volatility * xp.sqrt(years)
    d1 = (xp.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / deviation
    d2 = d1 - deviation
    return spot * _normal_cdf(xp, d1) - strike * xp.exp(-rate * years) * _normal_cdf(xp, d2)


def _normal_cdf(xp: Any, x: Any) -> Any:
    return 0.5 * (1.0 + _erf(xp, x * 0.7071067811865476))


def _erf(xp: Any, x: Any) -> Any:
    """The one function here that is not in all three namespaces."""
    if xp.__name__ == "torch":
        return xp.erf(x)
    if xp.__name__ == "jax.numpy":
        from jax.scipy.special import erf
    else:
        from scipy.special import erf
    return erf(x)


def layer_norm(xp: Any, x: Any, scale: Any, shift: Any) -> Any:
    mean = xp.mean(x, axis=-1, keepdims=True)
    variance = xp.mean((x - mean) ** 2, axis=-1, keepdims=True)
    return (x - mean) / xp.sqrt(variance + 1e-5) * scale + shift


def softmax(xp: Any, x: Any) -> Any:
    exponentials = xp.exp(x - xp.amax(x, axis=-1, keepdims=True))
    return exponentials / xp.sum(exponentials, axis=-1, keepdims=True)


def column_statistics(xp: Any, x: Any, scale: Any, shift: Any) -> Any:
    """Batch normalisation in training."""
    mean = xp.mean(x, axis=0)
    variance = xp.mean((x - mean) ** 2, axis=0)
    return (x - mean) / xp.sqrt(variance + 1e-5) * scale + shift


def cross_entropy(xp: Any, logits: Any, rows: Any, labels: Any) -> Any:
    """Of a log-softmax, averaged over examples; ``rows`` counts them."""
    shifted = logits - xp.amax(logits, axis=-1, keepdims=True)
    log_probabilities = shifted - xp.log(xp.sum(xp.exp(shifted), axis=-1, keepdims=True))
    return -xp.mean(log_probabilities[rows, labels])


def n_body(xp: Any, positions: Any, masses: Any) -> Any:
    """The accelerations by gravity, softened."""
    x, y, z = positions[:, 0], positions[:, 1], positions[:, 2]
    dx = x[None, :] - x[:, None]
    dy = y[None, :] - y[:, None]
    dz = z[None, :] - z[:, None]
    squares = dx * dx + dy * dy + dz * dz + 0.01
    pull = masses / (squares * xp.sqrt(squares))
    return xp.stack([xp.sum(dx * pull, axis=1), xp.sum(dy * pull, axis=1), xp.sum(dz * pull, axis=1)], axis=1)


def kernel_sums(xp: Any, x: Any, y: Any) -> Any:
    """Sums of an exponential kernel: every point of one set with every point of another."""
    squares = xp.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=-1)
    return xp.sum(xp.exp(-xp.sqrt(squares)), axis=1)


def nearest(xp: Any, x: Any, y: Any) -> Any:
    """The distance of each point to the nearest of another set."""
    squares = xp.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=-1)
    return xp.sqrt(xp.amin(squares, axis=1))


def attention(xp: Any, queries: Any, keys: Any, values: Any) -> Any:
    scores = xp.matmul(queries, xp.swapaxes(keys, -1, -2)) * queries.shape[-1] ** -0.5
    return xp.matmul(softmax(xp, scores), values)


def mlp_loss(xp: Any, w1: Any, b1: Any, w2: Any, b2: Any, x: Any, targets: Any) -> Any:
    """Cross entropy of a network with one hidden layer."""
    logits = xp.matmul(xp.tanh(xp.matmul(x, w1) + b1), w2) + b2
    shifted = logits - xp.amax(logits, axis=-1, keepdims=True)
    normaliser = xp.log(xp.sum(xp.exp(shifted), axis=-1, keepdims=True))
    return -xp.mean(xp.sum(targets * (shifted - normaliser), axis=-1))


def layer_loss(xp: Any, w: Any, b: Any, x: Any, y: Any) -> Any:
    """The squared error of one layer for one example."""
    return xp.sum((xp.tanh(xp.matmul(w, x) + b) - y) ** 2)


def rosenbrock(xp: Any, x: Any) -> Any:
    return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def heat_step(xp: Any, u: Any) -> Any:
    """A step of diffusion on a torus, by five points."""
    neighbours = xp.roll(u, 1, 0) + xp.roll(u, -1, 0) + xp.roll(u, 1, 1) + xp.roll(u, -1, 1)
    return u + 0.1 * (neighbours - 4.0 * u)


def add_one(xp: Any, a: Any) -> Any:
    return a + a


def add_two(xp: Any, a: Any, b: Any) -> Any:
    return a + b


def add_four(xp: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    return (a + b) + (c + d)
