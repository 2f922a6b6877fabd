"""Functions of other kinds than those in `workloads`, written in the same way for every library."""

from typing import Any


def silu_gate(xp: Any, x: Any, y: Any) -> Any:
    """The gate of a SwiGLU layer."""
    return x / (1.0 + xp.exp(-x)) * y


def haversine(xp: Any, latitude: Any, longitude: Any, other_latitude: Any, other_longitude: Any) -> Any:
    """Distances on the earth in kilometres, between points in radians."""
    a = xp.sin(0.5 * (other_latitude - latitude)) ** 2
    b = xp.sin(0.5 * (other_longitude - longitude)) ** 2
    return 12742.0 * xp.arcsin(xp.sqrt(a + xp.cos(latitude) * xp.cos(other_latitude) * b))


def adam(xp: Any, weights: Any, mean: Any, square: Any, gradient: Any) -> Any:
    """A step of Adam, and its moments."""
    mean = 0.9 * mean + 0.1 * gradient
    square = 0.999 * square + 0.001 * gradient * gradient
    return weights - 1e-3 * mean / (xp.sqrt(square) + 1e-8), mean, square


def huber(xp: Any, x: Any, y: Any) -> Any:
    apart = xp.abs(x - y)
    return xp.mean(xp.where(apart < 1.0, 0.5 * apart * apart, apart - 0.5))


def binary_cross_entropy(xp: Any, logits: Any, targets: Any) -> Any:
    positive = xp.where(logits > 0.0, logits, 0.0)
    return xp.mean(positive - logits * targets + xp.log1p(xp.exp(-xp.abs(logits))))


def mix_bits(xp: Any, x: Any) -> Any:
    """The end of a hash function, on 64 bits."""
    x = (x ^ (x >> 30)) * 0x3F58476D1CE4E5B9
    x = (x ^ (x >> 27)) * 0x14D049BB133111EB
    return x ^ (x >> 31)


def log_sum_exp(xp: Any, x: Any) -> Any:
    largest = xp.amax(x, axis=-1, keepdims=True)
    return xp.log(xp.sum(xp.exp(x - largest), axis=-1)) + largest[:, 0]


def rms_norm(xp: Any, x: Any, scale: Any) -> Any:
    return x / xp.sqrt(xp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * scale


def group_norm(xp: Any, x: Any) -> Any:
    """Of images with 32 groups of channels."""
    groups = x.reshape(x.shape[0], 32, -1)
    mean = xp.mean(groups, axis=-1, keepdims=True)
    variance = xp.mean((groups - mean) ** 2, axis=-1, keepdims=True)
    return ((groups - mean) / xp.sqrt(variance + 1e-5)).reshape(x.shape)


def moving_average(xp: Any, x: Any) -> Any:
    """Over 50 numbers of each row, by differences of cumulative sums."""
    sums = xp.cumsum(x, 1)
    return (sums[:, 50:] - sums[:, :-50]) / 50.0


def cosine_similarity(xp: Any, x: Any, y: Any) -> Any:
    """Of the rows of two matrices."""
    return xp.sum(x * y, axis=-1) / xp.sqrt(xp.sum(x * x, axis=-1) * xp.sum(y * y, axis=-1))


def min_max(xp: Any, x: Any) -> Any:
    """Columns scaled to the range from 0 to 1."""
    least = xp.amin(x, axis=0)
    return (x - least) / (xp.amax(x, axis=0) - least)


def norm(xp: Any, x: Any) -> Any:
    return xp.sqrt(xp.sum(x * x))


def best_class(xp: Any, logits: Any) -> Any:
    return xp.argmax(logits, axis=-1)


def symmetric_part(xp: Any, x: Any) -> Any:
    return 0.5 * (x + x.T)


def distances(xp: Any, x: Any) -> Any:
    """The matrix of distances between all points."""
    return xp.sqrt(xp.sum((x[:, None, :] - x[None, :, :]) ** 2, axis=-1) + 1e-12)


def lennard_jones(xp: Any, x: Any) -> Any:
    """The energy of all pairs, softened."""
    sixth = 1.0 / (xp.sum((x[:, None, :] - x[None, :, :]) ** 2, axis=-1) + 1.0) ** 3
    return xp.sum(sixth * sixth - sixth)


def density(xp: Any, x: Any, points: Any) -> Any:
    """A density estimate at points, by a Gaussian kernel."""
    return xp.mean(xp.exp(-0.5 * (x[None, :] - points[:, None]) ** 2), axis=1)


def logistic_loss(xp: Any, w: Any, x: Any, signs: Any) -> Any:
    return xp.mean(xp.log1p(xp.exp(-signs * xp.matmul(x, w))))


def example_loss(xp: Any, w: Any, x: Any, sign: Any) -> Any:
    """The logistic loss of one example."""
    return xp.log1p(xp.exp(-sign * xp.sum(w * x)))


def products(xp: Any, x: Any, y: Any) -> Any:
    """Of many small matrices."""
    return xp.matmul(x, y)


def dense(xp: Any, x: Any, w: Any, b: Any) -> Any:
    """A layer with a rectifier."""
    sums = xp.matmul(x, w) + b
    return xp.where(sums > 0.0, sums, 0.0)


def quadratic_forms(xp: Any, x: Any, a: Any) -> Any:
    return xp.sum(xp.matmul(x, a) * x, axis=-1)


def correlations(xp: Any, x: Any) -> Any:
    """Between the columns of a matrix."""
    apart = x - xp.mean(x, axis=0)
    scaled = apart / xp.sqrt(xp.mean(apart * apart, axis=0))
    return xp.matmul(scaled.T, scaled) / x.shape[0]


def convolution(xp: Any, x: Any, weights: Any) -> Any:
    """Of every row with 7 weights."""
    width = x.shape[1] - 6
    return sum(weights[k] * x[:, k : k + width] for k in range(7))


def embedding(xp: Any, table: Any, words: Any) -> Any:
    """The mean vector of the words of each text."""
    return xp.mean(table[words], axis=1)


def logistic_map(xp: Any, x: Any) -> Any:
    return 3.2 * x * (1.0 - x)


def julia(xp: Any, z: Any) -> Any:
    """A step towards a Julia set."""
    return xp.where(xp.abs(z) < 2.0, z * z + (-0.8 + 0.156j), z)


def lorenz_step(xp: Any, state: Any) -> Any:
    """A Runge-Kutta step of the Lorenz system, for many states: three rows."""
    k1 = _lorenz(xp, state)
    k2 = _lorenz(xp, state + 0.005 * k1)
    k3 = _lorenz(xp, state + 0.005 * k2)
    k4 = _lorenz(xp, state + 0.01 * k3)
    return state + 0.01 / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


def _lorenz(xp: Any, state: Any) -> Any:
    x, y, z = state[0], state[1], state[2]
    return xp.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])
