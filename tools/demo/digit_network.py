"""The demo's network in plain NumPy: its loss, which Tracemill differentiates, and its gradients by hand."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]
Parameters: TypeAlias = dict[str, Floats]

PIXELS, HIDDEN, DIGITS = 64, 128, 10


def initial_parameters(seed: int) -> Parameters:
    """Weights whose size preserves the variance of signals (X. Glorot, Y. Bengio, AISTATS 2010), and biases of 0."""
    random = np.random.default_rng(seed)

    def weights(inputs: int, outputs: int) -> Floats:
        limit = np.sqrt(6 / (inputs + outputs))
        return random.uniform(-limit, limit, (inputs, outputs)).astype(np.float32)

    return {
        "w1": weights(PIXELS, HIDDEN),
        "b1": np.zeros(HIDDEN, np.float32),
        "w2": weights(HIDDEN, DIGITS),
        "b2": np.zeros(DIGITS, np.float32),
    }


def scores(parameters: Parameters, images: Any) -> Any:
    """How much each image, f32[..., 64], looks like each digit: f32[..., 10]."""
    hidden = np.tanh(images @ parameters["w1"] + parameters["b1"])
    return hidden @ parameters["w2"] + parameters["b2"]


def loss(parameters: Parameters, images: Any, targets: Any) -> Any:
    """The mean cross-entropy. `targets`, f32[..., 10], is 1 at the digit of an image and 0 elsewhere."""
    found = scores(parameters, images)
    shifted = found - np.max(found, axis=-1, keepdims=True)
    log_chances = shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))
    return -np.mean(np.sum(targets * log_chances, axis=-1))


def loss_and_gradients_by_hand(
    parameters: Parameters, images: Floats, targets: Floats
) -> tuple[np.float32, Parameters]:
    """The loss of a batch and its gradients, as one would write them without Tracemill."""
    hidden = np.tanh(images @ parameters["w1"] + parameters["b1"])
    found = hidden @ parameters["w2"] + parameters["b2"]
    shifted = found - np.max(found, axis=-1, keepdims=True)
    exponentials = np.exp(shifted)
    sums = np.sum(exponentials, axis=-1, keepdims=True)
    value = -np.mean(np.sum(targets * (shifted - np.log(sums)), axis=-1))

    by_scores = (exponentials / sums - targets) / np.float32(len(images))
    by_hidden = (by_scores @ parameters["w2"].T) * (1 - hidden * hidden)
    return value, {
        "w1": images.T @ by_hidden,
        "b1": np.sum(by_hidden, axis=0),
        "w2": hidden.T @ by_scores,
        "b2": np.sum(by_scores, axis=0),
    }


def targets_of(labels: NDArray[np.int64]) -> Floats:
    """f32[n, 10]: a 1 in each row, at the column of its label."""
    return np.eye(DIGITS, dtype=np.float32)[labels]
