"""Sums over pairs of points, whose coordinates lie in the columns of an array: loops read copies of the columns."""

from typing import Any

import numpy as np
import pytest

import tracemill as tm


def pulls(points: Any, masses: Any) -> Any:
    x, y = points[:, 0], points[:, 2]
    dx, dy = x[None, :] - x[:, None], y[None, :] - y[:, None]
    weight = masses / np.sqrt(dx * dx + dy * dy + 1)
    return np.stack([np.sum(dx * weight, axis=1), np.max(dy * weight, axis=1)])


def bodies(count: int, dtype: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(count)
    return rng.normal(size=(count, 3)).astype(dtype), rng.uniform(1, 2, count).astype(dtype)


def tolerance(dtype: str) -> float:
    return 2e-4 if dtype == "f4" else 1e-11


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_they_are_numpys_for_any_number_of_points(dtype: str) -> None:
    fixed = tm.compile(pulls, backend="c")
    named = tm.compile(pulls, backend="c", dynamic=True)
    for count in (1, 2, 16, 17, 131, 300):
        points, masses = bodies(count, dtype)
        wanted = pulls(points, masses)
        for program in (fixed, named):
            np.testing.assert_allclose(program(points, masses), wanted, tolerance(dtype), tolerance(dtype))


def test_views_are_read_at_their_own_distances() -> None:
    points, masses = bodies(90, "f8")
    program = tm.compile(pulls, backend="c")
    for view in (points[::-1], np.asfortranarray(points), np.repeat(points, 2, axis=1)[:, ::2]):
        np.testing.assert_allclose(program(view, masses[::-1]), pulls(view, masses[::-1]), 1e-11, 1e-11)


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, -0.0])
def test_special_values_reach_the_results_that_numpy_has_them_in(special: float) -> None:
    points, masses = bodies(70, "f8")
    points[3, 0] = points[40, 2] = special
    with np.errstate(invalid="ignore"):
        wanted = pulls(points, masses)
    np.testing.assert_allclose(tm.compile(pulls, backend="c")(points, masses), wanted, 1e-11, 1e-11)


def test_gradients_and_batches_are_those_without_c() -> None:
    def energy(points: Any, masses: Any) -> Any:
        return np.sum(pulls(points, masses) ** 2)

    stacks = np.stack([bodies(40, "f8")[0] + shift for shift in (0.0, 1.0, -0.5)])
    masses = bodies(40, "f8")[1]
    slope = tm.compile(tm.vmap(tm.grad(energy), in_dims=(0, None)), backend="c")(stacks, masses)
    wanted = tm.compile(tm.vmap(tm.grad(energy), in_dims=(0, None)), backend="numpy")(stacks, masses)
    np.testing.assert_allclose(slope, wanted, 1e-9, 1e-9)


def test_results_have_the_same_bits_on_any_number_of_threads() -> None:
    points, masses = bodies(900, "f8")
    program = tm.compile(pulls, backend="c")
    before = tm.get_num_threads()
    results = []
    for count in (1, 2, 3, 8):
        tm.set_num_threads(count)
        results.append(program(points, masses).tobytes())
    tm.set_num_threads(before)
    assert len(set(results)) == 1


def test_the_text_of_c_has_copies_of_columns_only_where_they_are_read_again() -> None:
    again = tm.compile(pulls, backend="c").lower(*bodies(100, "f8"))
    once = tm.compile(lambda x: np.sum(x[:, 1] * x[:, 2]), backend="c").lower(bodies(100, "f8")[0])
    assert "points_copy[" in "".join(kernel.source for kernel in again.kernels)
    assert "_copy" not in "".join(kernel.source for kernel in once.kernels)
