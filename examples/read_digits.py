"""A network learns to read handwritten digits, and is exported to a file that needs neither this code nor the weights.

``python serve_digits.py digits.tmill`` answers from that file.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import tracemill as tm
from tracemill.tools.demo.digits import load_digits

BATCH, RATE, MOMENTUM = 64, np.float32(0.1), np.float32(0.9)


def initial_weights(rng: np.random.Generator) -> dict[str, Any]:
    def normal(rows: int, columns: int) -> Any:
        return (rng.normal(size=(rows, columns)) / np.sqrt(rows)).astype(np.float32)

    return {
        "w1": normal(64, 64),
        "b1": np.zeros(64, np.float32),
        "w2": normal(64, 10),
        "b2": np.zeros(10, np.float32),
    }


def scores(weights: Any, image: Any) -> Any:
    """How much an image, f32[64], or a batch of them, looks like each digit: f32[10]."""
    return np.tanh(image @ weights["w1"] + weights["b1"]) @ weights["w2"] + weights["b2"]


def loss(weights: Any, images: Any, labels: Any) -> Any:
    """The mean cross-entropy of a batch."""
    found = scores(weights, images)
    right = np.take_along_axis(found, labels[:, None], axis=1)[:, 0]
    return np.mean(np.logaddexp.reduce(found, axis=1) - right)


def trained(images: Any, labels: Any, epochs: int) -> Any:
    """Weights found by stochastic gradient descent with momentum."""
    step = tm.compile(tm.value_and_grad(loss))
    rng = np.random.default_rng(0)
    weights = initial_weights(rng)
    velocity = {name: np.zeros_like(array) for name, array in weights.items()}
    for epoch in range(epochs):
        order = rng.permutation(len(images))
        values: list[float] = []
        for start in range(0, len(images) - BATCH + 1, BATCH):
            rows = order[start : start + BATCH]
            value, gradients = step(weights, images[rows], labels[rows])
            values.append(float(value))
            for name in weights:
                velocity[name] = MOMENTUM * velocity[name] - RATE * gradients[name]
                weights[name] += velocity[name]
        if epoch % 10 == 9 or epoch == epochs - 1:
            print(f"epoch {epoch + 1:3}: mean loss {np.mean(values):.4f}")
    return weights


def plot(path: Path, images: Any, labels: Any, found: Any) -> None:
    """Images with the digits that were read, first some that were read right, then some that were not."""
    import matplotlib.pyplot as plt

    right = found == labels
    chosen = [*np.flatnonzero(right)[:12], *np.flatnonzero(~right)[:4]]
    _, axes = plt.subplots(2, 8, figsize=(6, 2), layout="constrained")
    for ax, index in zip(axes.flat, chosen, strict=False):
        ax.imshow(images[index].reshape(8, 8), cmap="Blues")
        ax.set(xticks=[], yticks=[])
        title = f"{found[index]}" if right[index] else f"{found[index]}, not {labels[index]}"
        ax.set_title(title, **({} if right[index] else {"color": "tab:red"}))
    plt.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--output", type=Path, help="a new file, such as digits.tmill")
    parser.add_argument("--plot", type=Path, help="draw it in a file, such as digits.svg; needs matplotlib")
    options = parser.parse_args()

    digits = load_digits()
    weights = trained(digits.images[digits.train], digits.labels[digits.train], options.epochs)

    def read_digit(image: Any) -> dict[str, Any]:
        """The digit that an image of 8 x 8 points from 0 to 1 shows, and how likely each digit is."""
        found = scores(weights, image)
        return {"digit": np.argmax(found), "chances": tm.nn.softmax(found)}

    artifact = tm.export(read_digit, "image: f32[64]")
    with tempfile.TemporaryDirectory() as folder:
        path = artifact.save(options.output or Path(folder, "digits.tmill"))
        print(f"{path.name}: {path.stat().st_size / 1000:.1f} kB for weights of", end=" ")
        print(f"{sum(array.nbytes for array in weights.values()) / 1000:.1f} kB")
        loaded = tm.load(path)
    read_all = tm.compile(tm.vmap(loaded))  # what was exported for one image reads all of them at once
    found = read_all(digits.images[digits.test])["digit"]
    print(f"{100 * np.mean(found == digits.labels[digits.test]):.1f} % of the test images are read right")
    if options.plot:
        plot(options.plot, digits.images[digits.test], digits.labels[digits.test], found)


if __name__ == "__main__":
    main()
