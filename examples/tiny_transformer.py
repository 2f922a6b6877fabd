"""A transformer of two layers learns a small text letter by letter, and then writes on its own.

Layers are dicts in a list, the update is a loop over arrays, and one compiled function does a whole step of Adam
(D. P. Kingma, J. Ba, 2014): gradients and new weights, written in NumPy (A. Vaswani et al., 2017).
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

import tracemill as tm

TEXT = """\
The miller wakes before the light and walks down to the water.
The water turns the heavy wheel, the wheel turns stone on stone.
The stone grinds slowly all the grain, the grain becomes the flour.
The flour goes into the sack, the sack onto the wagon.
The wagon rolls along the road, the road leads to the baker.
The baker takes the heavy sack and bakes the bread at midnight.
The bread is eaten in the town before the light of morning.
The town sends wagons full of grain along the road to the miller.
And when the winter stops the wheel and water turns to stone,
the miller sits beside the fire and counts the sacks of summer.
And when the water turns again, it turns the wheel of morning,
and slowly all the town awakes before the bread is eaten.
"""
LETTERS = sorted(set(TEXT))
CODES = np.array([LETTERS.index(letter) for letter in TEXT])

WIDTH, HEADS, LAYERS, CONTEXT, BATCH = 64, 4, 2, 48, 16
RATE, DECAY, DECAY_OF_SQUARES = 3e-3, 0.9, 0.99


def initial_weights(rng: np.random.Generator) -> dict[str, Any]:
    def normal(rows: int, columns: int) -> Any:
        return (rng.normal(size=(rows, columns)) / np.sqrt(rows)).astype(np.float32)

    def layer() -> dict[str, Any]:
        return {
            "attend": normal(WIDTH, 3 * WIDTH),
            "join": normal(WIDTH, WIDTH),
            "widen": normal(WIDTH, 4 * WIDTH),
            "narrow": normal(4 * WIDTH, WIDTH),
        }

    return {
        "letters": normal(len(LETTERS), WIDTH),
        "places": normal(CONTEXT, WIDTH),
        "layers": [layer() for _ in range(LAYERS)],
        "last": normal(WIDTH, len(LETTERS)),
    }


def heads(x: Any) -> Any:
    """f32[t, WIDTH] as f32[HEADS, t, WIDTH / HEADS]."""
    return x.reshape(len(x), HEADS, -1).swapaxes(0, 1)


def scores(weights: Any, codes: Any) -> Any:
    """How likely each letter is to follow after each of codes, i64[t]: f32[t, number of letters]."""
    x = weights["letters"][codes] + weights["places"][: len(codes)]
    for layer in weights["layers"]:
        query, key, value = np.split(tm.nn.layer_norm(x, WIDTH) @ layer["attend"], 3, axis=-1)
        found = tm.nn.attention(heads(query), heads(key), heads(value), causal=True)
        x = x + found.swapaxes(0, 1).reshape(x.shape) @ layer["join"]
        x = x + tm.nn.gelu(tm.nn.layer_norm(x, WIDTH) @ layer["widen"]) @ layer["narrow"]
    return tm.nn.layer_norm(x, WIDTH) @ weights["last"]


def loss(weights: Any, pieces: Any) -> Any:
    """The mean surprise by the next letter, in pieces i64[BATCH, CONTEXT + 1]."""
    found = tm.vmap(scores, in_dims=(None, 0))(weights, pieces[:, :-1])
    return tm.nn.cross_entropy(found.reshape(-1, len(LETTERS)), pieces[:, 1:].ravel())


@tm.compile
def step(state: Any, pieces: Any, number: Any) -> tuple[Any, Any]:
    """One step of Adam, of weights with their two means."""
    weights, means, squares = state
    value, gradients = tm.value_and_grad(loss)(weights, pieces)

    def updated(w: Any, m: Any, s: Any, g: Any) -> Any:
        m = DECAY * m + (1 - DECAY) * g
        s = DECAY_OF_SQUARES * s + (1 - DECAY_OF_SQUARES) * g**2
        size = RATE * np.sqrt(1 - DECAY_OF_SQUARES**number) / (1 - DECAY**number)
        return w - size.astype(w.dtype) * m / (np.sqrt(s) + 1e-8), m, s

    return mapped(updated, weights, means, squares, gradients), value


def mapped(function: Any, tree: Any, *rest: Any) -> Any:
    """`function` of the arrays in dicts and lists, and its three results as three of these."""
    if isinstance(tree, dict):
        parts = [mapped(function, tree[key], *(other[key] for other in rest)) for key in tree]
        return tuple(dict(zip(tree, part, strict=True)) for part in zip(*parts, strict=True))
    if isinstance(tree, list):
        parts = [mapped(function, *items) for items in zip(tree, *rest, strict=True)]
        return tuple(list(part) for part in zip(*parts, strict=True))
    return function(tree, *rest)


@tm.compile
def following(weights: Any, codes: Any, place: Any, temperature: Any) -> Any:
    """The chances of each letter behind a place of a text, i64[CONTEXT]."""
    return tm.nn.softmax(scores(weights, codes)[place] / temperature)


def written(weights: Any, rng: np.random.Generator, start: str, length: int) -> str:
    """A text of the network's own."""
    text = start
    while len(text) < length:
        last = [LETTERS.index(letter) for letter in text[-CONTEXT:]]
        codes = np.array(last + [0] * (CONTEXT - len(last)))
        chances = following(weights, codes, len(last) - 1, np.float32(0.5)).astype(np.float64)
        text += LETTERS[rng.choice(len(LETTERS), p=chances / chances.sum())]
    return text


def plot(path: Path, values: list[Any]) -> None:
    """How the surprise falls."""
    import matplotlib.pyplot as plt

    plt.figure(figsize=(5, 3), layout="constrained")
    plt.plot(values)
    plt.axhline(np.log(len(LETTERS)), linestyle=":", label="knowing nothing")
    plt.xlabel("step")
    plt.ylabel("surprise by the next letter")
    plt.legend()
    plt.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--plot", type=Path, help="draw it in a file, such as losses.svg; needs matplotlib")
    options = parser.parse_args()
    steps = options.steps

    rng = np.random.default_rng(0)
    weights = initial_weights(rng)
    zeros = mapped(lambda w: (np.zeros_like(w), np.zeros_like(w), 0), weights)
    state = weights, zeros[0], zeros[1]
    print(f"knowing nothing, a letter surprises by {np.log(len(LETTERS)):.2f}")
    start, value, values = time.perf_counter(), 0.0, []
    for number in range(steps):
        starts = rng.integers(len(CODES) - CONTEXT, size=BATCH)
        state, value = step(state, CODES[starts[:, None] + np.arange(CONTEXT + 1)], float(number + 1))
        values.append(value)
        if number == 0:
            print(f"compiling the step took {time.perf_counter() - start:.1f} s")
            start = time.perf_counter()
        if number % 100 == 99:
            print(f"step {number + 1:4}: surprise {value:.3f}")
    milliseconds = 1e3 * (time.perf_counter() - start) / max(steps - 1, 1)
    print(f"at last a letter surprises by {value:.3f}; a step took {milliseconds:.1f} ms. It writes:\n")
    print(written(state[0], rng, "The ", 240))
    if options.plot:
        plot(options.plot, values)


if __name__ == "__main__":
    main()
