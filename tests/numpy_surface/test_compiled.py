"""Every use of the table again, through the transforms: compiled, and mapped over a batch."""

from typing import Any

import numpy as np
import optree
import pytest

import tracemill as tm
from numpy_surface.differential import assert_same, run_numpy, run_traced
from samples.grouping import in_groups, quick_first
from samples.numpy_functions import CHAPTERS, Use, arguments_of, uses_of
from tracemill.compiler.dtypes import Array

USES = uses_of(*CHAPTERS)


@pytest.mark.slow
@in_groups(quick_first(USES, slow=3))
def test_a_compiled_use_gives_what_numpy_gives(use: Use) -> None:
    """To the bit, which C does not promise."""
    ours, theirs = arguments_of(use), arguments_of(use)
    expected = run_numpy(use, *theirs)
    assert_same(expected, tm.compile(use, backend="numpy")(*ours))
    assert_same(theirs, ours)


def two_of(x: Any) -> Array:
    """A batch of two: the array, and twice its floating numbers."""
    return np.stack([x, x * 2 if np.asarray(x).dtype.kind in "fc" else x])


@pytest.mark.sampled(
    "take_along_axis", "put_along_axis", "where", "compress", "argwhere", "ix_", every=8, slow=2
)
@in_groups(USES)
def test_a_use_mapped_over_a_batch_gives_what_a_loop_gives(use: Use) -> None:
    batches = [two_of(x) for x in arguments_of(use)]

    def leaves(*args: Any) -> list[Any]:
        result: Any = use(*args)
        return list(optree.tree_leaves(result))

    rows = [run_numpy(leaves, *[batch[i].copy() for batch in batches]) for i in range(2)]
    mapped = tm.vmap(leaves)(*batches)
    assert_same([np.stack(pair) for pair in zip(*rows, strict=True)], mapped, rtol=1e-12)


LIMITS = [
    (0.0, 1.0),
    (-0.0, 1.0),
    (-1.0, 0.0),
    (-1.0, -0.0),
    (2.0, 1.0),
    (0.0, None),
    (None, 0.0),
    (np.nan, 1.0),
]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("backend", ["interpreted", "numpy", "c"])
def test_clipping_to_numbers_keeps_the_zeros_that_numpy_keeps(
    backend: str, dtype: Any, request: pytest.FixtureRequest
) -> None:
    """Where −0 meets a bound of 0, it stays, but with one bound it becomes that: NumPy takes the maximum then."""
    x = np.resize(np.array([-0.0, 0.0, -np.inf, np.nan, 0.5, 3.0, -3.0], dtype), 50)

    def clipped(x: Any) -> list[Any]:
        return [np.clip(x, low, high) for low, high in LIMITS]

    if backend == "interpreted":
        found = run_traced(clipped, x)
    else:
        if backend == "c":
            request.getfixturevalue("c_toolchain")
        found = tm.compile(clipped, backend=backend)(x)
    assert_same(run_numpy(clipped, x), found)


@pytest.mark.parametrize("dynamic", [False, True])
def test_large_arrays_are_clipped_to_arrays(dynamic: bool) -> None:
    """In blocks of elements, which stay in the processor's cache."""
    x = np.resize(np.array([-0.0, 0.0, np.nan, 0.5, 3.0, -3.0, 1.0]), (200, 100))
    low, high = np.resize([0.0, -0.0, -1.0], 100), np.resize([2.0, -0.0], 100)
    found = tm.compile(np.clip, backend="numpy", dynamic=dynamic)(x, low, high)
    assert_same(run_numpy(np.clip, x, low, high), found)
