"""Every use of the table again, through the transforms: compiled, and mapped over a batch."""

from typing import Any

import numpy as np
import optree
import pytest

import tracemill as tm
from numpy_surface.differential import assert_same, run_numpy
from samples.numpy_functions import CHAPTERS, Use, arguments_of, uses_of
from tracemill.compiler.dtypes import Array

USES = uses_of(*CHAPTERS)


@pytest.mark.parametrize("use", USES)
def test_a_compiled_use_gives_what_numpy_gives(use: Use) -> None:
    """To the bit, which C does not promise."""
    ours, theirs = arguments_of(use), arguments_of(use)
    expected = run_numpy(use, *theirs)
    assert_same(expected, tm.compile(use, backend="numpy")(*ours))
    assert_same(theirs, ours)


def two_of(x: Any) -> Array:
    """A batch of two: the array, and twice its floating numbers."""
    return np.stack([x, x * 2 if np.asarray(x).dtype.kind in "fc" else x])


@pytest.mark.parametrize("use", USES)
def test_a_use_mapped_over_a_batch_gives_what_a_loop_gives(use: Use) -> None:
    batches = [two_of(x) for x in arguments_of(use)]

    def leaves(*args: Any) -> list[Any]:
        result: Any = use(*args)
        return list(optree.tree_leaves(result))

    rows = [run_numpy(leaves, *[batch[i].copy() for batch in batches]) for i in range(2)]
    mapped = tm.vmap(leaves)(*batches)
    assert_same([np.stack(pair) for pair in zip(*rows, strict=True)], mapped, rtol=1e-12)
