"""Programs of random steps on arrays that are long enough for vectors, chunks and tiles: C computes what NumPy does.

Rows of two to four entries are among them: there a compiler's vectors hold several rows at once.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tracemill as tm

Array = np.ndarray[Any, Any]
Step = Callable[[Array, Array, int], Array]

SHAPES = [
    (5000, 2),
    (5000, 3),
    (3001, 4),
    (300, 700),
    (70, 90, 11),
    (4, 9000),
    (1, 40000),
    (40000, 1),
    (2000, 17),
    (7, 5),
]


def shifted(x: Array, axis: int) -> Array:
    """The entries along an axis one place further, and a zero in front."""
    widths = [(1, 0) if number == axis else (0, 0) for number in range(x.ndim)]
    inside = tuple(slice(0, -1) if number == axis else slice(None) for number in range(x.ndim))
    return np.pad(x[inside], widths)


def swapped(x: Array, axis: int) -> Array:
    """The second half along an axis, then the tangent of the first."""
    half = x.shape[axis] // 2
    first, second = (
        tuple(part if number == axis else slice(None) for number in range(x.ndim))
        for part in (slice(0, half), slice(half, None))
    )
    return np.concatenate([x[second], np.tanh(x[first])], axis=axis)


def every_other(x: Array, y: Array, axis: int) -> Array:
    x = x.copy()
    x[..., ::2] = 0.5 * y[..., ::2]
    return x


STEPS: dict[str, Step] = {
    "chosen": lambda x, y, axis: np.where(y > 0.3, x, y),
    "positive": lambda x, y, axis: np.where(x > 0.1, x, 0),
    "clipped": lambda x, y, axis: np.clip(x, -0.7, 0.4),
    "bounded": lambda x, y, axis: np.exp(-np.abs(x)),
    "squared": lambda x, y, axis: x * x + y,
    "divided": lambda x, y, axis: x / (np.abs(y) + 1),
    "centred": lambda x, y, axis: x - np.mean(x, axis=axis, keepdims=True),
    "scaled": lambda x, y, axis: x / np.sqrt(1 + np.sum(x * x, axis=axis, keepdims=True)),
    "below the largest": lambda x, y, axis: x - np.max(x, axis=axis, keepdims=True),
    "turned": lambda x, y, axis: (np.tanh(x.T) + y.T).T,
    "reversed": lambda x, y, axis: 0.5 * np.flip(x, axis) + x,
    "in order": lambda x, y, axis: np.sort(x, axis=axis) - y,
    "running": lambda x, y, axis: 0.01 * np.cumsum(x, axis=axis),
    "shifted": lambda x, y, axis: shifted(x, axis) + x,
    "swapped": lambda x, y, axis: swapped(x, axis),
    "every other": every_other,
}


@st.composite
def programs(draw: st.DrawFn) -> tuple[tuple[int, ...], list[tuple[str, int]], bool, tuple[int, ...]]:
    """A shape, steps with the axis of each, whether the result is summed along the last axis, what is donated."""
    shape = draw(st.sampled_from(SHAPES))
    step = st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, len(shape) - 1))
    donated = draw(st.sampled_from([(), (0,), (1,), (0, 1)]))
    return shape, draw(st.lists(step, min_size=2, max_size=7)), draw(st.booleans()), donated


def function(steps: Sequence[tuple[str, int]], *, summed: bool) -> Callable[[Array, Array], Array]:
    def run(x: Array, y: Array) -> Array:
        for name, axis in steps:
            x = STEPS[name](x, y, axis)
        return np.sum(x, axis=-1) if summed else x

    return run


@pytest.mark.parametrize(
    "dtype",
    [
        pytest.param(np.float64, marks=pytest.mark.slow),
        pytest.param(np.float32, marks=pytest.mark.exhaustive),
    ],
)
@settings(
    max_examples=settings().max_examples // 2, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(program=programs(), seed=st.integers(0, 1000))
def test_steps_on_large_arrays_give_what_numpy_gives(
    c_compiler: str,
    program: tuple[tuple[int, ...], list[tuple[str, int]], bool, tuple[int, ...]],
    seed: int,
    dtype: type,
) -> None:
    shape, steps, summed, donated = program
    rng = np.random.default_rng(seed)
    x: Array = rng.normal(size=shape).astype(dtype)
    y: Array = rng.normal(size=shape).astype(dtype)
    run = function(steps, summed=summed)
    expected = run(x, y)
    compiled: Any = tm.compile(run, donate_argnums=donated, backend="c")
    given = x.copy(), y.copy()
    found = compiled(*given)
    for place in {0, 1}.difference(donated):
        np.testing.assert_array_equal(given[place], (x, y)[place])
    tolerance = 1e-9 if dtype is np.float64 else 2e-3
    np.testing.assert_allclose(
        found, expected, tolerance, tolerance * max(1, np.max(np.abs(expected), initial=0))
    )
