"""Cases for `programs.networks`."""

import numpy as np

from programs.cases.inputs import normal
from programs.networks import attend, beam_search, generate, hopfield, lstm, normalise, perceptron
from programs.program import Arguments, Program


def cell(steps: int, inputs: int, hidden: int, reset_every: int, seed: int = 0) -> Arguments:
    """A sequence and the weights of an LSTM."""
    weights = 0.5 * normal(inputs + hidden, 4 * hidden, seed=seed)
    return normal(steps, inputs, seed=seed + 1), weights, 0.1 * normal(4 * hidden), reset_every


def heads(steps: int, size: int, count: int, seed: int = 0) -> Arguments:
    """A sequence and the weights of attention."""
    wq, wk, wv = 0.5 * normal(3, size, size, seed=seed)
    return normal(steps, size, seed=seed + 1), wq, wk, wv, count


def transformer(vocabulary: int, size: int, longest: int, seed: int = 0) -> dict[str, np.ndarray]:
    """The weights of a small transformer."""
    shapes = {
        "embedding": (vocabulary, size),
        "positions": (longest, size),
        "wq": (size, size),
        "wk": (size, size),
        "wv": (size, size),
        "w1": (size, 2 * size),
        "w2": (2 * size, size),
    }
    return {name: normal(*shape, seed=seed + k) for k, (name, shape) in enumerate(shapes.items())}


SIGNS = np.sign(normal(2, 12))

PROGRAMS = (
    Program(
        lstm,
        lambda: [cell(6, 2, 3, 0), cell(6, 2, 3, 2, seed=5), cell(11, 3, 4, 4)],
        uses=("class", "if", "and or not", "list", "int argument"),
        in_dims=(0, None, None, None),
        gradient=(0, 1, 2),
    ),
    Program(
        attend,
        lambda: [heads(4, 6, 2), heads(4, 6, 2, seed=9), heads(7, 4, 1)],
        uses=("class", "list", "int argument"),
        in_dims=(0, None, None, None, None),
        gradient=(0, 1, 2, 3),
    ),
    Program(
        generate,
        lambda: [
            (transformer(7, 6, 10), np.array([1, 2]), 9, 6),
            (transformer(7, 6, 10, seed=20), np.array([3, 2]), 9, 0),
            (transformer(11, 4, 12), np.array([5, 1, 4]), 6, 7),
        ],
        uses=("class", "break", "dict", "int argument"),
        in_dims=(None, 0, None, None),
    ),
    Program(
        beam_search,
        lambda: [
            (normal(4, 5), normal(5, 5, seed=1), 3),
            (normal(4, 5, seed=2), np.zeros((5, 5)), 3),
            (normal(6, 3), normal(3, 3), 2),
        ],
        uses=("list", "if", "int argument"),
        in_dims=(0, 0, None),
        gradient=(0, 1),
    ),
    Program(
        normalise,
        lambda: [
            ([normal(8, 3), normal(8, 3, seed=1)], normal(4, 3, seed=2)),
            ([np.ones((8, 3)), normal(8, 3)], normal(4, 3, seed=3)),
            ([normal(5, 2), normal(6, 2), normal(7, 2)], normal(1, 2)),
        ],
        uses=("class", "continue", "if", "list"),
        in_dims=(None, 0),
        gradient=(1,),
    ),
    Program(
        hopfield,
        lambda: [
            (SIGNS, np.where(np.arange(12) == 2, -SIGNS[0], SIGNS[0]), 10),
            (SIGNS, SIGNS[1], 10),
            (np.sign(normal(3, 20)), np.sign(normal(20, seed=3)), 1),
        ],
        uses=("early return", "conditional expression", "if", "int argument"),
        in_dims=(None, 0, None),
    ),
    Program(
        perceptron,
        lambda: [
            (normal(10, 2), np.sign(normal(10, 2) @ np.array([1.0, -2.0])), 50),
            (normal(10, 2, seed=1), np.sign(normal(10, seed=2)), 6),
            (normal(25, 3), np.sign(normal(25, 3)[:, 0]), 50),
        ],
        uses=("while", "and or not", "if", "int argument"),
        in_dims=(0, 0, None),
    ),
)
