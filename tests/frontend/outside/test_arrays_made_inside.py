"""Arrays that NumPy makes while a function is traced are new in each call, however the function writes to them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import optree
import pytest

import tracemill as tm

TABLE = np.arange(1200.0).reshape(300, 4)


def entries_in_a_while(x: Any) -> Any:
    table, i = TABLE.copy(), 0
    while i < 300 and x[0, 0] < 50:
        table[i] += x[0]
        i += 1
    return table


def entries_in_branches(x: Any) -> Any:
    table = TABLE.copy()
    for i in range(300):
        if x[0, 0] > 0.3:
            table[i] += x[0]
    return table


def entries_until_a_break(x: Any) -> Any:
    table = TABLE.copy()
    for i in range(300):
        if x[0, 0] * i > 100:
            break
        table[i] += x[0]
    return table


def rows(x: Any) -> Any:
    table = TABLE.copy()
    for row in table:
        row += x[0]
    return table


def numbered_rows(x: Any) -> Any:
    table = TABLE.copy()
    for i, row in enumerate(table):
        row += x[0] * i
    return table


def entries_of_a_list(x: Any) -> Any:
    made = [np.arange(4.0), np.ones(4)]
    for i in range(300):
        made[i % 2] += x[0]
    return made


def views(x: Any) -> Any:
    table = TABLE.copy()
    for i in range(1, 300):
        for j in range(4):
            table[i, j] = table[i - 1, j] + x[0, j]
    return table[::2].sum(), table.T


FUNCTIONS = (
    entries_in_a_while,
    entries_in_branches,
    entries_until_a_break,
    rows,
    numbered_rows,
    entries_of_a_list,
    views,
)


@pytest.mark.sampled(every=5, slow=2)
@pytest.mark.parametrize("is_dynamic", [True, False])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_each_call_begins_with_what_numpy_makes(function: Callable[..., Any], is_dynamic: bool) -> None:
    compiled = tm.compile(function, backend="numpy", dynamic=is_dynamic, on_recompile="ignore")
    for seed in range(4):
        x = np.random.default_rng(seed).normal(size=(3 + seed % 2, 4))
        for ours, numpys in zip(*map(optree.tree_leaves, (compiled(x), function(x))), strict=True):
            np.testing.assert_allclose(ours, numpys, rtol=1e-12)
