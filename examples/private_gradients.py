"""Each image's own gradient: how noisy a batch is, and how to learn without any image counting for much.

`vmap(grad(loss))` gives the gradient of every example. Two uses of it: the gradient noise scale, which says how large a
batch is worth while (S. McCandlish et al., 2018), and clipping for differential privacy (M. Abadi et al., 2016).
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

import tracemill as tm
from tracemill.tools.demo.digits import load_digits

CLIP, NOISE, RATE = np.float32(1.0), np.float32(1.0), np.float32(1.0)


def loss(w: Any, image: Any, label: Any) -> Any:
    """The cross-entropy of one image, f32[64], for weights f32[64, 10]."""
    scores = image @ w
    return np.logaddexp.reduce(scores) - scores[label]


each_gradient = tm.vmap(tm.grad(loss), in_dims=(None, 0, 0))


@tm.compile
def noise_scale(w: Any, images: Any, labels: Any) -> Any:
    """The variance of the gradients over the square of their mean: batches beyond this size teach little more."""
    gradients = each_gradient(w, images, labels)
    mean = np.mean(gradients, axis=0)
    variance = np.sum((gradients - mean) ** 2) / (len(images) - 1)
    return variance / (np.sum(mean**2) - variance / len(images))


@tm.compile
def clipped_sum(w: Any, images: Any, labels: Any) -> Any:
    """The sum of all gradients, none of them longer than `CLIP`, and how many were."""
    gradients = each_gradient(w, images, labels)
    length = np.sqrt(np.sum(gradients**2, axis=(1, 2)))
    factor = np.minimum(1, CLIP / length)
    return np.einsum("b,bij->ij", factor, gradients), np.mean(length > CLIP)


def one_by_one(w: Any, images: Any, labels: Any) -> Any:
    """The same sum, by a loop over the images and derivatives by hand."""
    total = np.zeros_like(w)
    for image, label in zip(images, labels, strict=True):
        scores = image @ w
        chances = np.exp(scores - np.logaddexp.reduce(scores))
        chances[label] -= 1
        gradient = np.outer(image, chances)
        total += gradient * np.minimum(1, CLIP / np.linalg.norm(gradient))
    return total


@tm.compile
def lengths(w: Any, images: Any, labels: Any) -> Any:
    """How long each gradient is."""
    return np.sqrt(np.sum(each_gradient(w, images, labels) ** 2, axis=(1, 2)))


def plot(path: Path, before: Any, after: Any) -> None:
    """How many gradients are how long, before and after training."""
    import matplotlib.pyplot as plt

    plt.figure(figsize=(5, 3), layout="constrained")
    bins = np.linspace(0, max(before.max(), after.max()), 40)
    plt.hist(before, bins, alpha=0.6, label="before training")
    plt.hist(after, bins, alpha=0.6, label="after")
    plt.axvline(float(CLIP), linestyle=":", label="clipped from here on")
    plt.xlabel("length of an image's gradient")
    plt.ylabel("images")
    plt.legend()
    plt.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--plot", type=Path, help="draw it in a file, such as lengths.svg; needs matplotlib")
    options = parser.parse_args()

    digits = load_digits()
    images, labels = digits.images[digits.train], digits.labels[digits.train]
    rng = np.random.default_rng(0)
    w = np.zeros((64, 10), np.float32)
    print(f"gradient noise scale before: {noise_scale(w, images, labels):.1f} images")

    share = 0.0
    for _ in range(options.steps):
        rows = rng.choice(len(images), options.batch, replace=False)
        total, share = clipped_sum(w, images[rows], labels[rows])
        noise = rng.normal(size=w.shape).astype(np.float32) * NOISE * CLIP
        w -= RATE * (total + noise) / np.float32(options.batch)
    right = np.mean(np.argmax(digits.images[digits.test] @ w, axis=1) == digits.labels[digits.test])
    print(f"gradient noise scale after:  {noise_scale(w, images, labels):.1f} images")
    print(
        f"{100 * right:.1f} % of the test images are read right; {100 * share:.0f} % of the last batch was clipped"
    )

    start = time.perf_counter()
    total, _ = clipped_sum(w, images, labels)
    generated = time.perf_counter()  # with compiling, for a batch of another size
    total, _ = clipped_sum(w, images, labels)
    again = time.perf_counter()
    by_hand = one_by_one(w, images, labels)
    end = time.perf_counter()
    print(f"clipped sum of {len(images)} images: {1e3 * (again - generated):.2f} ms", end=" ")
    print(
        f"(the first time {1e3 * (generated - start):.0f} ms), one by one by hand {1e3 * (end - again):.0f} ms"
    )
    error = np.max(np.abs(total - by_hand)) / np.max(np.abs(by_hand))
    print(f"both agree to {error:.0e}")
    if options.plot:
        plot(options.plot, lengths(np.zeros_like(w), images, labels), lengths(w, images, labels))


if __name__ == "__main__":
    main()
