"""Derivatives where a formula has a case of its own, although the function is smooth there."""

from typing import Any

import numpy as np
import pytest

import tracemill as tm

PLACES, LINE = np.array([0.0, 1.0, 2.0, 4.0]), np.array([1.0, 3.0, 5.0, 9.0])


@pytest.mark.parametrize("backend", [None, "numpy", "c"])
def test_interpolation_has_the_slope_of_a_line_at_its_points(backend: str | None) -> None:
    def at(x: Any, places: Any, values: Any) -> Any:
        return np.sum(np.interp(x, places, values))

    gradient: Any = tm.grad(at, argnums=(0, 1, 2))
    gradient = gradient if backend is None else tm.compile(gradient, backend=backend)
    by_x, by_places, by_values = gradient(np.array([0.5, 1.0, 1.0, 2.0]), PLACES, LINE)
    np.testing.assert_array_equal(by_x, [2.0, 2.0, 2.0, 2.0])
    np.testing.assert_array_equal(by_places, [-1.0, -5.0, -2.0, 0.0])
    np.testing.assert_array_equal(by_values, [0.5, 2.5, 1.0, 0.0])


@pytest.mark.parametrize(
    "values",
    [
        [-0.0, 1.0, -0.0, -1.0],
        [-0.0, -1.0, 1.0, -0.0],
        [-0.0, -0.0, 0.0, -0.0],
        [0.0, np.inf, np.inf, 1.0],
        [np.nan, 1.0, -np.inf, 2.0],
    ],
)
def test_interpolation_gives_the_values_at_its_points(values: list[float]) -> None:
    x = np.array([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0])
    found = tm.compile(lambda x: np.interp(x, PLACES, values))(x)
    expected = np.interp(x, PLACES, values)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def test_phases_half_a_period_apart_move_with_their_argument() -> None:
    phases = np.array([0.0, np.pi, 2.0, 2.0 - np.pi])
    assert tm.compile(np.unwrap)(phases).tolist() == np.unwrap(phases).tolist()
    np.testing.assert_array_equal(tm.grad(lambda x: np.unwrap(x)[1])(phases), [0.0, 1.0, 0.0, 0.0])
