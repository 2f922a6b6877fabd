"""C may compute the last bit of a value differently in each loop; what is compared with itself is computed once."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

pytestmark = pytest.mark.usefixtures("c_compiler", "fully_optimised")

ROUNDED: dict[str, Callable[[Any], Any]] = {
    "sin": np.sin,
    "exp": lambda x: np.exp(np.cos(x)) * 3 - x,
    "power": lambda x: np.abs(x) ** 1.7,
    "hypot": lambda x: np.hypot(x, 0.3),
    "tanh": lambda x: np.tanh(x / 3),
}
ASKED: dict[str, Callable[[Any], Any]] = {
    "is_largest": lambda s: s == s.max(),
    "number_of_smallest": lambda s: np.sum(s == s.min()),
    "distance_to_largest": lambda s: np.sqrt(s.max() - s),
    "largest_of_each_row": lambda s: np.sum(s.reshape(2, -1) >= s.reshape(2, -1).max(1, keepdims=True)),
    "largest_of_each_column": lambda s: np.sum(s.reshape(-1, 2) >= s.reshape(-1, 2).max(0)),
    "ranks": lambda s: np.sum(s[:, None] < s, axis=1) + 100 * np.sum(s[:, None] == s, axis=0),
    "at_the_largest": lambda s: s[np.argmax(s)] == s,
    "among_sums": lambda s: (r := np.sum(s.reshape(-1, 2), 1)) == r.max(),
}
SIZES = (2, 14, 100)


def drawn(size: int) -> Any:
    return np.random.default_rng(size).normal(size=size) * 3


@pytest.mark.sampled("power-True-distance_to_largest", slow=6)
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize(
    ("rounded", "is_dynamic"), [("sin", False), ("sin", True), ("power", True), ("hypot", True)]
)
def test_what_is_compared_with_itself_is_equal(rounded: str, asked: str, is_dynamic: bool) -> None:
    def function(x: Any) -> Any:
        return ASKED[asked](ROUNDED[rounded](x))

    compiled = tm.compile(function, backend="c", dynamic=is_dynamic, on_recompile="ignore")
    for size in SIZES:
        found, expected = compiled(drawn(size)), function(drawn(size))
        assert np.array_equal(
            np.asarray(found) > 0, np.asarray(expected) > 0
        )  # no NaN, and no element missed
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.sampled(every=5, slow=5)
@pytest.mark.parametrize("rounded", ROUNDED)
@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_the_derivative_of_a_maximum_is_that_of_the_largest_element(backend: str, rounded: str) -> None:
    def largest(x: Any) -> Any:
        return np.max(ROUNDED[rounded](x))

    def sum_of_largest(x: Any) -> Any:
        s = ROUNDED[rounded](x).reshape(2, -1)
        return np.sum(s.max(1)) + np.sum(s.min(0))

    for function in (largest, sum_of_largest):
        gradient = tm.grad(function)
        compiled = tm.compile(gradient, backend=backend, on_recompile="ignore")
        batched = tm.compile(tm.vmap(gradient), backend=backend, on_recompile="ignore")
        for size in SIZES:
            np.testing.assert_allclose(compiled(drawn(size)), gradient(drawn(size)), rtol=1e-9)
        for size in SIZES[:2]:
            both = np.stack([drawn(size), drawn(size) / 2])
            np.testing.assert_allclose(batched(both), [gradient(x) for x in both], rtol=1e-9)
