"""Programs whose gradients are computed as they run. Each takes the NumPy to use: the plain one, or autograd's."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy


@dataclass(frozen=True, slots=True)
class Program:
    """A function of one array, or of a tuple of arrays, that returns one number."""

    name: str
    made: Callable[[Any], Callable[[Any], Any]]
    """The function, given NumPy."""
    argument: Any


def rosenbrock(np: Any) -> Any:
    def loss(x: Any) -> Any:
        return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    return loss


def network(np: Any) -> Any:
    inputs, labels = _normal(64, 32), numpy.eye(10)[numpy.arange(64) % 10]

    def loss(weights: Any) -> Any:
        w1, b1, w2, b2, w3, b3 = weights
        x = np.tanh(np.dot(inputs, w1) + b1)
        x = np.tanh(np.dot(x, w2) + b2)
        x = np.dot(x, w3) + b3
        x = x - np.max(x, axis=1, keepdims=True)
        return -np.mean(np.sum(labels * (x - np.log(np.sum(np.exp(x), axis=1, keepdims=True))), axis=1))

    return loss


def logistic(np: Any) -> Any:
    inputs = _normal(500, 20)
    labels = numpy.sign(inputs[:, 0])

    def loss(w: Any) -> Any:
        return np.mean(np.log(1.0 + np.exp(-labels * np.dot(inputs, w)))) + 0.01 * np.dot(w, w)

    return loss


def gaussian_process(np: Any) -> Any:
    x, y = numpy.linspace(0.0, 1.0, 50), numpy.sin(numpy.linspace(0.0, 6.0, 50))
    squares = (x[:, None] - x) ** 2

    def loss(p: Any) -> Any:
        scale, length, noise = np.exp(p[0]), np.exp(p[1]), np.exp(p[2])
        k = scale * np.exp(-0.5 * squares / length) + noise * numpy.eye(50)
        lower = np.linalg.cholesky(k)
        z = np.linalg.solve(lower, y)
        return 0.5 * np.dot(z, z) + np.sum(np.log(np.diag(lower)))

    return loss


def runge_kutta(np: Any) -> Any:
    matrix, h = 0.1 * _normal(4, 4), 0.05

    def rate(y: Any) -> Any:
        return np.dot(matrix, y) - y**3

    def loss(y: Any) -> Any:
        for _ in range(200):
            k1 = rate(y)
            k2 = rate(y + 0.5 * h * k1)
            k3 = rate(y + 0.5 * h * k2)
            k4 = rate(y + h * k3)
            y = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        return np.sum(y**2)

    return loss


def kalman(np: Any) -> Any:
    move, noise = numpy.array([[1.0, 0.1], [0.0, 1.0]]), numpy.eye(2)
    seen = numpy.cumsum(_normal(200, 2), axis=0)

    def loss(p: Any) -> Any:
        state, spread, total = numpy.zeros(2), numpy.eye(2), 0.0
        process, measured = np.exp(p[0]) * noise, np.exp(p[1]) * noise
        for t in range(200):
            state = np.dot(move, state)
            spread = np.dot(np.dot(move, spread), move.T) + process
            inverse = np.linalg.inv(spread + measured)
            error = seen[t] - state
            gain = np.dot(spread, inverse)
            state = state + np.dot(gain, error)
            spread = spread - np.dot(gain, spread)
            total = total + np.dot(error, np.dot(inverse, error))
        return total

    return loss


def lstm(np: Any) -> Any:
    inputs = _normal(50, 8, 16)

    def sigmoid(x: Any) -> Any:
        return 0.5 * (np.tanh(0.5 * x) + 1.0)

    def loss(weights: Any) -> Any:
        w, u, b = weights
        h = c = numpy.zeros((8, 32))
        for t in range(50):
            gates = np.dot(inputs[t], w) + np.dot(h, u) + b
            i, f, o = sigmoid(gates[:, :32]), sigmoid(gates[:, 32:64]), sigmoid(gates[:, 64:96])
            c = f * c + i * np.tanh(gates[:, 96:])
            h = o * np.tanh(c)
        return np.sum(h**2)

    return loss


def convolutions(np: Any) -> Any:
    images = _normal(8, 16, 16, 1)

    def layer(x: Any, w: Any) -> Any:
        height, width = x.shape[1] - 2, x.shape[2] - 2
        y = 0.0
        for i in range(3):
            for j in range(3):
                y = y + np.dot(x[:, i : i + height, j : j + width], w[i, j])
        return np.maximum(y, 0.0)

    def loss(weights: Any) -> Any:
        first, second = weights
        return np.mean(layer(layer(images, first), second) ** 2)

    return loss


def chain(np: Any) -> Any:
    def loss(x: Any) -> Any:
        for _ in range(500):
            x = np.sin(x) * 1.01
        return np.sum(x)

    return loss


def sorting(np: Any) -> Any:
    def loss(x: Any) -> Any:
        return np.sum(np.cumsum(np.sort(x) ** 2) * np.cumsum(np.exp(-x)))

    return loss


def complex_numbers(np: Any) -> Any:
    def loss(x: Any) -> Any:
        z = np.exp(1j * x) + x**2
        w = z * np.conj(z) + np.sin(z) / (2.0 + np.abs(z))
        return np.sum(np.real(w) ** 2 + np.abs(w - 1.0))

    return loss


def _normal(*shape: int) -> Any:
    return numpy.random.default_rng(len(shape)).normal(size=shape)


_NETWORK: Final = tuple(
    0.1 * _normal(*shape) for shape in ((32, 64), (64,), (64, 32), (32,), (32, 10), (10,))
)
PROGRAMS: Final = (
    Program("rosenbrock, 50 numbers", rosenbrock, numpy.linspace(-1.0, 1.0, 50)),
    Program("rosenbrock, 5,000 numbers", rosenbrock, numpy.linspace(-1.0, 1.0, 5000)),
    Program("network of three layers", network, _NETWORK),
    Program("logistic regression", logistic, 0.1 * _normal(20)),
    Program("gaussian process", gaussian_process, numpy.array([0.1, -2.0, -1.0])),
    Program("runge-kutta, 200 steps", runge_kutta, _normal(4)),
    Program("kalman filter, 200 steps", kalman, numpy.array([-1.0, 0.5])),
    Program("lstm, 50 steps", lstm, (0.1 * _normal(16, 128), 0.1 * _normal(32, 128), 0.1 * _normal(128))),
    Program("two convolutions", convolutions, (_normal(3, 3, 1, 4), _normal(3, 3, 4, 8))),
    Program("1,000 calls on 50 numbers", chain, numpy.linspace(0.1, 1.0, 50)),
    Program("1,000 calls on 100,000 numbers", chain, numpy.linspace(0.1, 1.0, 100_000)),
    Program("sort and cumsum", sorting, _normal(1000)),
    Program("complex numbers", complex_numbers, _normal(200)),
)
CURVED: Final = tuple(
    program
    for program in PROGRAMS
    if program.name in ("rosenbrock, 50 numbers", "network of three layers", "gaussian process")
)
"""Programs whose Hessian is multiplied with a vector."""
