"""Every op that feeds another gives through C what both mean: what is fused, and what is not."""

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from c.through_c import assert_means_the_same_through_c
from graphs.pair_graphs import pairs
from numpy_surface.differential import assert_same
from samples.table import SAMPLES
from tracemill.compiler.op import lookup

pytestmark = pytest.mark.usefixtures("c_compiler", "lightly_optimised")

PRODUCERS = "arithmetic conversion creation cumulative dynamic_slicing indexing layout reduction sort".split()
CONSUMERS = "contraction cumulative dynamic_slicing indexing layout reduction sort".split()
TOGETHER = 60


def check(seed: int, count: int) -> None:
    producers, consumers = (
        [sample for sample in SAMPLES if lookup(sample.op).family in families]
        for families in (PRODUCERS, CONSUMERS)
    )
    runs = list(islice(pairs(producers, consumers, seed), count))
    assert len(runs) >= TOGETHER
    for start in range(0, len(runs), TOGETHER):
        assert_means_the_same_through_c(runs[start : start + TOGETHER], ulps=1e5)


@pytest.mark.slow
def test_pairs_of_ops_give_through_c_what_they_mean(more: int) -> None:
    check(1, 2 * TOGETHER * more)


DTYPES = ("int32", "bool", "uint8", "int64", "float32", "float16", "float64", "complex64", "complex128")
MOVES: dict[str, Callable[[Any, Any], Any]] = {
    "an index in brackets": lambda x, i: x[[4, 0, 2, 1, 0]],
    "an index of the caller": lambda x, i: x[i],
    "take": lambda x, i: np.take(x, i, mode="wrap"),
    "rows": lambda x, i: np.stack([x, x[::-1]])[np.array([1, 0])].ravel(),
    "a slice from an index": lambda x, i: np.stack([x, x[::-1], x])[i[0]],
    "positions": lambda x, i: (np.arange(7) % 3).astype(x.dtype)[i],
    "roll": lambda x, i: np.roll(x[i], 2),
}


@pytest.mark.sampled(slow=9)
@pytest.mark.parametrize("dtype", DTYPES)
def test_searches_among_entries_at_other_places_find_what_numpy_finds(dtype: str) -> None:
    x = np.array([3, 1, 4, 1, 5, 9, 2]).astype(dtype)
    index = np.array([1, 6, 5, 3, 5, 2, 0])

    def searched(x: Any, i: Any) -> list[Any]:
        found: list[Any] = []
        for move in MOVES.values():
            y = move(x, i)
            found += [np.argmax(y), np.argmin(y), np.nanargmax(y), np.nanargmin(y), np.max(y)]
            found.append(np.take_along_axis(y, np.argsort(y, kind="stable"), 0))
        return found

    assert_same(searched(x, index), tm.compile(searched, backend="c")(x, index))


@pytest.mark.sampled(every=5, slow=3)
@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_numbers_that_are_narrowed_and_widened_again_are_rounded(count: int) -> None:
    x = 1 / np.arange(3.0, 3.0 + count)
    z = x + 1j / np.arange(7.0, 7.0 + count)

    def rounded(x: Any, z: Any) -> Any:
        pairs = np.stack([x, x * 3, x * 5], axis=-1)
        narrow = [y.astype(np.float32).astype(np.float64) for y in (x, pairs)]
        return (
            *narrow,
            z.astype(np.complex64).astype(np.complex128),
            np.append(x, z.astype("c8").astype("c16")),
        )

    assert_same(rounded(x, z), tm.compile(rounded, backend="c")(x, z))
