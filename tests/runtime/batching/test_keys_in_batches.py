"""Computed values as keys in a batch: the error names vmap and a fix that works."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import ConcretizationError

X = np.array([[1.0, 2.0, 1.0], [3.0, 3.0, 3.0]])


def counted(x: Any) -> Any:
    counts: dict[Any, int] = {}
    for v in x:
        counts[v] = counts.get(v, 0) + 1
    return x.sum() + len(counts)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "dict": counted,
    "set": lambda x: x.sum() + len({v for v in x}),  # noqa: C416 (the function hashes traced numbers)
    "hash": lambda x: x.sum() + hash(x[0]) * 0,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_error_names_a_fix(name: str) -> None:
    function = FUNCTIONS[name]
    with pytest.raises(
        ConcretizationError,
        match=r"Under vmap, each example .*np\.stack\(\[f\(row\) for row in x\]\)(.|\n)*at test_keys_in_",
    ):
        tm.vmap(function)(X)
    compiled = tm.compile(function, on_recompile="ignore")
    np.testing.assert_array_equal(
        np.stack([compiled(row) for row in X]), np.stack([function(row) for row in X])
    )
