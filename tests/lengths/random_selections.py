"""Random functions of masks and slices with computed ends, which end in a number."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

SIZE = 7

Vector = Callable[[Any, Any, Any], Any]
"""``vector(x, y, k)``: an array of one axis, for two arrays f64[7] and an integer."""

SELECTIONS: dict[str, Vector] = {
    "x[x > 0]": lambda x, y, k: x[x > 0],
    "x[y > 0.5]": lambda x, y, k: x[y > 0.5],
    "y[(x > 0) & (y < 1)]": lambda x, y, k: y[(x > 0) & (y < 1)],
    "x[:k]": lambda x, y, k: x[:k],
    "y[:k]": lambda x, y, k: y[:k],
    "x[k:]": lambda x, y, k: x[k:],
    "y[k::2]": lambda x, y, k: y[k::2],
    "x[k::-1]": lambda x, y, k: x[k::-1],
    "x[-k:]": lambda x, y, k: x[-k:],
    "y[argmin(x) : k]": lambda x, y, k: y[np.argmin(x) : k],
    "x[argmax(x) : argmax(y)]": lambda x, y, k: x[np.argmax(x) : np.argmax(y)],
    "x[flatnonzero(y < 0)]": lambda x, y, k: x[np.flatnonzero(y < 0)],
    "compress(y > x, x)": lambda x, y, k: np.compress(y > x, x),
    "unique(round(x))": lambda x, y, k: np.unique(np.round(x)) + y[0],
    "arange(min(k, 5))": lambda x, y, k: np.arange(np.minimum(np.abs(k), 5)) * x[1],
    "full(count(x > 0), y)": lambda x, y, k: np.ones(np.count_nonzero(x > 0)) * y[2],
    "repeat(x, y > 0)": lambda x, y, k: np.repeat(x, (y > 0) + 1),
    "delete(x, argmax)": lambda x, y, k: np.delete(x, y > 1),
}

CHANGES: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "bounded": lambda s, x, y, k: s / (1 + s**2),
    "square": lambda s, x, y, k: s**2,
    "times x[0]": lambda s, x, y, k: s * x[0],
    "over": lambda s, x, y, k: y[1] / (0.1 + np.abs(s)),
    "root": lambda s, x, y, k: np.sqrt(np.abs(s) + 0.1),
    "sort": lambda s, x, y, k: np.sort(s),
    "descending": lambda s, x, y, k: np.sort(s)[::-1],
    "cumsum": lambda s, x, y, k: np.cumsum(s),
    "cumprod": lambda s, x, y, k: np.cumprod(1 / (0.5 + s**2)),
    "reversed": lambda s, x, y, k: s[::-1],
    "without first": lambda s, x, y, k: s[1:],
    "without last": lambda s, x, y, k: s[:-1],
    "every other": lambda s, x, y, k: s[::2],
    "again": lambda s, x, y, k: s[s > 0.2],
    "head": lambda s, x, y, k: s[: np.abs(k)],
    "differences": lambda s, x, y, k: np.diff(s),
    "between": lambda s, x, y, k: np.where(s > 0, s, -0.5 * s),
    "centred": lambda s, x, y, k: s - s.sum() / 7,
    "joined": lambda s, x, y, k: np.concatenate([s, x]),
    "joined behind": lambda s, x, y, k: np.concatenate([y[:2], s]),
    "twice": lambda s, x, y, k: np.concatenate([s, s]),
    "outer": lambda s, x, y, k: np.outer(s, x[:2]).ravel(),
    "outer of both": lambda s, x, y, k: np.outer(y[y > 0], s).ravel(),
    "outer sum": lambda s, x, y, k: (s[:, None] + x[None, :3]).sum(1),
    "product": lambda s, x, y, k: np.outer(s, x) @ y,
    "placed": lambda s, x, y, k: np.append(s, 0.5),
}

REDUCTIONS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "sum": lambda s, x, y, k: s.sum(),
    "prod": lambda s, x, y, k: np.prod(s),
    "max": lambda s, x, y, k: s.max(initial=-3.0),
    "min": lambda s, x, y, k: np.min(np.append(s, x[3])),
    "mean": lambda s, x, y, k: np.append(s, y[1]).mean(),
    "std": lambda s, x, y, k: np.append(s, y[1:3]).std(),
    "norm": lambda s, x, y, k: np.sqrt(np.sum(s**2) + 1),
    "dot": lambda s, x, y, k: np.dot(s, s[::-1]),
    "size": lambda s, x, y, k: s.size * x[4],
    "first": lambda s, x, y, k: np.append(s, x)[0],
    "last": lambda s, x, y, k: np.append(x, s)[-1],
    "argmax": lambda s, x, y, k: x[np.argmax(np.append(s, 0.1)) % SIZE],
    "median": lambda s, x, y, k: np.median(np.append(s, x[5])),
    "any": lambda s, x, y, k: x[5] * np.any(s > 1),
    "weighted": lambda s, x, y, k: np.sum(s * np.arange(1.0, s.size + 1)),
    "written": lambda s, x, y, k: written(s, x),
}


def written(s: Any, x: Any) -> Any:
    """The first entries of an array, set and then added to at places that are computed."""
    found = x * 0.5
    places = np.arange(s.size) % SIZE
    np.add.at(found, places, s)
    found[x > 0] *= 2
    return np.sum(found * x)


@dataclass(frozen=True)
class Selected:
    """A number computed of a selection, or the product of two."""

    names: Sequence[Sequence[str]]

    def __call__(self, x: Any, y: Any, k: Any) -> Any:
        total = 1.0
        for selection, *changes, reduction in self.names:
            s = SELECTIONS[selection](x, y, k)
            for change in changes:
                s = CHANGES[change](s, x, y, k)
            total = total * REDUCTIONS[reduction](s, x, y, k)
        return total


def random_function(seed: int) -> Selected:
    """The same for the same seed."""
    random = Random(seed)

    def one() -> tuple[str, ...]:
        changes = random.choices(list(CHANGES), k=random.randrange(4))
        return random.choice(list(SELECTIONS)), *changes, random.choice(list(REDUCTIONS))

    return Selected([one() for _ in range(1 if random.random() < 0.7 else 2)])


def random_batch(seed: int, size: int = 5) -> tuple[Any, ...]:
    """Examples for it: one without anything positive, and integers on both sides of what an axis allows."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, size, SIZE))
    x[0] = -np.abs(x[0])
    return x, y, rng.integers(-9, 10, size)
