"""One program of C serves arrays of many sizes: loops, products, orders, and loops of steps."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from graphs.row_programs import softmax


def network(x: Any) -> Any:
    weights = np.linspace(-1, 1, 21).reshape(7, 3)
    return np.tanh(x @ weights) @ weights.T + x.mean(axis=0)


def recurrence(x: Any) -> Any:
    def step(h: Any, y: Any) -> Any:
        h = np.tanh(np.cumsum(h) / 8 + y)
        return h, h.sum()

    return tm.scan(step, x[0], x)


def ordered(x: Any) -> Any:
    return np.sort(x, axis=0), np.argsort(x, axis=0), np.cumsum(x, axis=0)


def arrays_in(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


@pytest.mark.slow
@pytest.mark.usefixtures("c_toolchain")
@pytest.mark.parametrize("function", [softmax, network, recurrence, ordered])
def test_one_program_serves_all_numbers_of_rows(function: Callable[..., Any]) -> None:
    compiled = tm.compile(function, backend="c")
    rng = np.random.default_rng(0)
    for rows in (3, 8, 2, 31, 64, 1000, 5):
        x = rng.normal(size=(rows, 7))
        expected, found = function(x), compiled(x)
        for ours, theirs in zip(*map(arrays_in, (found, expected)), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-15, strict=True)
    assert len(compiled.signatures()) == 2  # the first call's, and all others'
