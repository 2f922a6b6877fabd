"""Cases for `programs.training`."""

import numpy as np

from programs.cases.inputs import normal
from programs.program import Arguments, Program
from programs.training import (
    early_stopping,
    fit_line,
    q_learning,
    sgd_regression,
    train_mlp,
    warmup_cosine,
)


def line_data(n: int, inputs: int, noise: float, seed: int = 0) -> Arguments:
    """Weights to start from, and data from a line."""
    x = normal(n, inputs, seed=seed)
    y = x @ np.arange(1.0, inputs + 1)[:, None] + 0.5 + noise * normal(n, 1)
    return np.zeros((inputs, 1)), np.zeros(1), x, y


def hidden_layer(inputs: int, hidden: int, outputs: int, seed: int = 0) -> dict[str, np.ndarray]:
    """The parameters of a network with one hidden layer."""
    return {
        "w1": normal(inputs, hidden, seed=seed),
        "b1": np.zeros(hidden),
        "w2": normal(hidden, outputs, seed=seed + 1),
        "b2": np.zeros(outputs),
    }


def two_sets(n: int, d: int, seed: int) -> Arguments:
    """Zero weights, and noisy data to train and to validate on."""
    x, x_val = normal(2, n, d, seed=seed)
    w = normal(d, seed=seed + 1)
    return np.zeros(d), x, x @ w + normal(n), x_val, x_val @ w + normal(n, seed=seed + 2)


PROGRAMS = (
    Program(
        warmup_cosine,
        lambda: [(0, 10, 100), (9, 10, 100), (10, 10, 100), (60, 10, 100), (100, 10, 100)],
        uses=("early return", "int argument"),
        in_dims=(0, None, None),
    ),
    Program(
        fit_line,
        lambda: [
            (*line_data(12, 2, 0.1), 20, 0.05),
            (*line_data(12, 2, 0.0, seed=3), 20, 0.1),
            (*line_data(9, 1, 0.0), 90, 0.1),
        ],
        uses=("class", "break", "list", "array argument written", "int argument"),
        in_dims=(0, 0, 0, 0, None, None),
    ),
    Program(
        train_mlp,
        lambda: [
            (hidden_layer(2, 4, 1), normal(10, 2), normal(10, 1), 12, 3, 1.0),
            (hidden_layer(2, 4, 1, seed=5), normal(10, 2, seed=1), normal(10, 1) * 9, 12, 3, 0.1),
            (hidden_layer(3, 5, 2), normal(7, 3), normal(7, 2), 6, 10, 1e9),
        ],
        uses=("class", "dict", "if", "early return", "int argument"),
        in_dims=(None, 0, 0, None, None, None),
        gradient=(1, 2),
    ),
    Program(
        early_stopping,
        lambda: [(*two_sets(8, 5, 0), 0.1, 4), (*two_sets(8, 5, 7), 0.02, 4), (*two_sets(20, 2, 3), 0.3, 2)],
        uses=("class", "while", "if", "and or not", "int argument"),
        in_dims=(0, 0, 0, 0, 0, None, None),
        gradient=(0, 2),
    ),
    Program(
        sgd_regression,
        lambda: [
            (normal(10, 2), normal(10, seed=1), 4, 3, 0.1, 0),
            (normal(10, 2, seed=2), normal(10), 4, 3, 0.2, 1),
            (normal(7, 3), normal(7), 7, 2, 0.05, 2),
        ],
        uses=("random draws", "inner loop bounds", "int argument"),
        in_dims=(0, 0, None, None, None, None),
        gradient=(0, 1),
    ),
    Program(
        q_learning,
        lambda: [
            (np.array([0.0, 0.0, 0.0, 0.0, 1.0]), 12, 0.7, 0),
            (np.array([5.0, -1.0, -1.0, -1.0, 1.0]), 10, 0.1, 1),
            (np.array([1.0, 0.0, 0.0]), 4, 1.0, 2),
        ],
        uses=("random draws", "break", "conditional expression", "min max", "int argument"),
        in_dims=(0, None, None, None),
    ),
)
