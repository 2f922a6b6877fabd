"""The cost of `compile(check_bounds=True)` for functions that mostly read and write at computed indices."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import numpy as np

from ...runtime.compilation.compile import compile
from .timing import Measurement, ratio_in_turn

SIZE = 200_000
CALLS = 5
BACKENDS: Final = ("c", "numpy")
ABOUT: str = f"Time with check_bounds=True divided by the time without, at about {SIZE} indices"


def embedding(table: Any, index: Any) -> Any:
    return table[index]


def along_axis(x: Any, order: Any) -> Any:
    return np.take_along_axis(x, order, axis=1)


def histogram(counts: Any, index: Any) -> Any:
    counts = counts.copy()
    np.add.at(counts, index, 1.0)
    return counts


def sparse_product(values: Any, columns: Any, x: Any) -> Any:
    return np.sum(values * x[columns], axis=1)


def cases(size: int) -> dict[Callable[..., Any], tuple[Any, ...]]:
    """Each function with its arguments."""
    rng = np.random.default_rng(0)
    rows = max(size // 100, 1)
    return {
        embedding: (rng.normal(size=(5000, 32)), rng.integers(0, 5000, max(size // 10, 1))),
        along_axis: (rng.normal(size=(rows, 100)), rng.integers(0, 100, (rows, 100))),
        histogram: (np.zeros(1000), rng.integers(0, 1000, size)),
        sparse_product: (
            rng.normal(size=(rows, 100)),
            rng.integers(0, 10_000, (rows, 100)),
            rng.normal(size=10_000),
        ),
    }


def measure(rounds: int) -> Iterator[Measurement]:
    """A row per function and backend."""
    for function, args in cases(SIZE).items():
        for backend in BACKENDS:
            checked, plain = (
                partial(compile(function, backend=backend, check_bounds=check), *args)
                for check in (True, False)
            )
            ratio, own = ratio_in_turn(checked, plain, rounds=rounds, calls=CALLS)
            name = f"{function.__name__} ({backend})"
            yield Measurement("bounds", name, ratio, "x", f"a checked call takes {1e6 * own:.0f} µs")
