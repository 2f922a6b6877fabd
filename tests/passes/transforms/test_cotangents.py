"""How cotangents add up: the part of an array that was read costs what that part costs."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from samples.differences import pairing, random_like
from tracemill.passes.simplification.remove_dead_code import remove_dead_code
from tracemill.passes.transforms.vjp import vjp

X = np.random.default_rng(0).normal(size=12)


def differences(x: Any) -> Any:
    return x[2:] - 2.0 * x[1:-1] + x[:-2]


def steps(x: Any) -> Any:
    return x[::3] * 2.0 + x[1::3]


def updated(x: Any) -> Any:
    u = x.copy()
    u[1:-1] += 0.5 * u[2:]
    return u


def gathered(x: Any) -> Any:
    places = np.array([3, 3, 0, 11])
    return x[places] * 3.0 + x[places[::-1]]


def window(x: Any) -> Any:
    start = np.argmax(x) % 5  # known only when it runs
    return x[start] * 2.0 + x[start + 1]


BACKWARD: dict[Callable[[Any], Any], Counter[str]] = {
    differences: Counter(pad=1, update_slice=2, slice=2, add=2),
    steps: Counter(pad=1, update_slice=1, slice=1, add=1),
    updated: Counter(update_slice=3, slice=3, add=1),
    gathered: Counter(scatter=2),
}
"""Of the calls that move cotangents: each part but the first is added where it belongs."""


@pytest.mark.parametrize("function", [*BACKWARD, window])
def test_parts_add_up_to_the_transpose(function: Callable[[Any], Any]) -> None:
    (dx,) = random_like([X])
    out, pull = tm.vjp(function, X)
    (ct,) = random_like([out], seed=2)
    pushed = tm.jvp(function, (X,), (dx,))[1]
    np.testing.assert_allclose(pairing([ct], [pushed]), pairing(list(pull(ct)), [dx]), 1e-12)


@pytest.mark.parametrize("function", BACKWARD)
def test_a_part_is_added_where_it_belongs(function: Callable[[Any], Any]) -> None:
    graph = tm.compile(function).lower(X).graph
    backward = remove_dead_code(vjp(graph, wrt=[True] * len(graph.inputs))[1])
    moving = Counter(call.op for call in backward.calls if call.op in BACKWARD[function])
    assert moving == BACKWARD[function]
