"""Functions of arrays of any size, and the signatures for which they were compiled."""

from typing import Any

import numpy as np


def layer(x: Any, w: Any) -> Any:
    return np.tanh(x @ w) + 1


W = np.linspace(-1, 1, 12).reshape(4, 3)


def rows(count: int) -> Any:
    return np.linspace(0, 1, 4 * count).reshape(count, 4)


def shown(f: Any) -> list[str]:
    return [str(signature) for signature in f.signatures()]


def clipped(x: Any) -> Any:
    if x.shape[0] > 8:
        return x.sum() - 8
    return x.sum() * 2
