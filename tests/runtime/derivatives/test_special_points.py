"""Derivatives at kinks, ties, zeros and infinite slopes: one choice each, the same in every mode."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

NAN, INF = np.nan, np.inf


def relu(x: Any) -> Any:
    return np.where(x > 0, x, 0)


def one_minus_relu(x: Any) -> Any:
    return 1 - np.where(x > 0, x, 0.0)


POINTS: dict[str, tuple[Callable[..., Any], Any, Any]] = {
    "max of three equal": (np.max, [1.0, 2.0, 2.0, 2.0], [0, 1 / 3, 1 / 3, 1 / 3]),
    "min of two equal": (np.min, [2.0, 2.0, 3.0], [0.5, 0.5, 0]),
    "max of one": (np.max, [2.0], [1]),
    "max along an axis with a tie in one row": (
        lambda x: np.max(x, axis=1).sum(),
        [[1.0, 1.0], [1.0, 2.0]],
        [[0.5, 0.5], [0, 1]],
    ),
    "the largest as a method": (lambda x: x.max(), [1.0, 1.0], [0.5, 0.5]),
    "the range of equal numbers": (np.ptp, [1.0, 1.0], [0, 0]),
    "maximum with itself": (lambda x: np.maximum(x, x), 1.0, 1),
    "maximum with an equal constant": (lambda x: np.maximum(x, 1.0), 1.0, 0.5),
    "minimum with an equal constant": (lambda x: np.minimum(x, 1.0), 1.0, 0.5),
    "fmax with an equal constant": (lambda x: np.fmax(x, 1.0), 1.0, 0.5),
    "fmax with nan": (lambda x: np.fmax(x, NAN), 1.0, 1),
    "abs at 0": (np.abs, 0.0, 0),
    "abs at -0": (np.abs, -0.0, 0),
    "complex abs at 0": (np.abs, 0j, 0),
    "fabs at 0": (np.fabs, 0.0, 0),
    "relu at 0": (relu, 0.0, 0),
    "1 - relu at 0": (one_minus_relu, 0.0, 0),
    "norm at 0": (np.linalg.norm, [0.0, 0.0, 0.0], [0, 0, 0]),
    "complex norm at 0": (np.linalg.norm, [0j, 0j], [0, 0]),
    "norms of rows, one of which is 0": (
        lambda x: np.linalg.norm(x, axis=1).sum(),
        [[0.0, 0.0], [3.0, 4.0]],
        [[0, 0], [0.6, 0.8]],
    ),
    "matrix norm at 0": (lambda x: np.linalg.norm(x, "fro"), [[0.0, 0.0]], [[0, 0]]),
    "norm": (np.linalg.norm, [3.0, 4.0], [0.6, 0.8]),
    "sum of sizes at 0": (lambda x: np.linalg.norm(x, 1), [0.0, -2.0], [0, -1]),
    "clip at its lower end": (lambda x: np.clip(x, 0, 1), 0.0, 1),
    "clip at its upper end": (lambda x: np.clip(x, 0, 1), 1.0, 1),
    "clip inside": (lambda x: np.clip(x, 0, 1), 0.5, 1),
    "clip below": (lambda x: np.clip(x, 0, 1), -0.5, 0),
    "clip above": (lambda x: np.clip(x, 0, 1), 1.5, 0),
    "clip from one side at its end": (lambda x: np.clip(x, 0, None), 0.0, 1),
    "sqrt at 0": (np.sqrt, 0.0, INF),
    "x**0 at 0": (lambda x: x**0, 0.0, 0),
    "x**0.0 at 0": (lambda x: x**0.0, 0.0, 0),
    "np.power(x, 0) at 0": (lambda x: np.power(x, 0), 0.0, 0),
    "x**y at 0 for y = 0": (lambda x: x ** np.array([0.0, 1.0, 2.0]) @ np.ones(3), 0.0, 1),
    "x**1 at 0": (lambda x: x**1, 0.0, 1),
    "x**2 at 0": (lambda x: x**2, 0.0, 0),
    "0**y": (lambda y: np.power(0.0, y), 2.0, 0),
    "square at 0": (np.square, 0.0, 0),
    "sign at 0": (np.sign, 0.0, 0),
    "floor at 1": (np.floor, 1.0, 0),
    "prod": (np.prod, [2.0, 3.0, 4.0], [12, 8, 6]),
    "prod with a zero": (np.prod, [2.0, 0.0, 4.0], [0, 8, 0]),
    "prod with two zeros": (np.prod, [2.0, 0.0, 0.0], [0, 0, 0]),
    "prod along an axis": (lambda x: np.prod(x, axis=0).sum(), [[0.0, 2.0], [3.0, 0.0]], [[3, 0], [0, 2]]),
    "prod of nothing": (np.prod, [], []),
    "cumprod with a zero": (lambda x: np.cumprod(x).sum(), [2.0, 0.0, 4.0], [1, 10, 0]),
    "cumprod with two zeros": (lambda x: np.cumprod(x).sum(), [2.0, 0.0, 0.0], [1, 2, 0]),
    "cumprod with a zero in front": (lambda x: np.cumprod(x).sum(), [0.0, 3.0, 4.0], [16, 0, 0]),
    "where keeps a finite branch": (lambda x: np.where(x > 0, x**2, -x), 0.0, -1),
}


def equal(got: Any, expected: Any) -> None:
    """Equal up to the rounding of one division."""
    np.testing.assert_allclose(got, np.asarray(expected), rtol=4e-16)


@pytest.mark.parametrize(("f", "at", "expected"), POINTS.values(), ids=POINTS)
def test_reverse_mode_takes_the_promised_derivative(f: Any, at: Any, expected: Any) -> None:
    x = np.asarray(at)[()]
    got = tm.grad(f)(x)
    assert np.shape(got) == np.shape(x)
    equal(got, expected)


@pytest.mark.parametrize(("f", "at", "expected"), POINTS.values(), ids=POINTS)
def test_forward_mode_takes_the_same_derivative(f: Any, at: Any, expected: Any) -> None:
    x = np.asarray(at)[()]
    if np.iscomplexobj(x):
        got = [
            tm.jvp(f, (x,), (unit,))[1]
            for unit in np.eye(np.size(x), dtype=complex).reshape(-1, *np.shape(x))
        ]
        equal(got, np.ravel(expected))
        return
    equal(tm.jacfwd(f)(x), expected)


@pytest.mark.parametrize(("f", "at", "expected"), POINTS.values(), ids=POINTS)
def test_the_derivative_of_each_example_is_the_same(f: Any, at: Any, expected: Any) -> None:
    x = np.asarray(at)[()]
    got = tm.vmap(tm.grad(f))(np.stack([x, x]))
    equal(got, [expected, expected])


ROWS: dict[str, tuple[Callable[..., Any], Any, Any]] = {
    "max with ties": (np.max, [2.0, 2.0, 2.0], [1 / 3, 1 / 3, 1 / 3]),
    "maximum(x, y), tie": (lambda x: np.maximum(x[0], x[1]), [1.0, 1.0], [0.5, 0.5]),
    "abs'(0)": (np.abs, 0.0, 0),
    "relu'(0)": (tm.nn.relu, 0.0, 0),
    "norm'(0 vector)": (np.linalg.norm, [0.0, 0.0], [0, 0]),
    "clip(x, 0, 1)'(0)": (lambda x: np.clip(x, 0, 1), 0.0, 1),
    "sqrt'(0)": (np.sqrt, 0.0, INF),
    "x**0 at 0": (lambda x: x**0, 0.0, 0),
    "prod with a zero": (np.prod, [2.0, 0.0, 4.0], [0, 8, 0]),
    "prod with zeros": (np.prod, [2.0, 0.0, 0.0], [0, 0, 0]),
    "cumprod with zeros": (lambda x: np.sum(np.cumprod(x)), [2.0, 0.0, 0.0], [1, 2, 0]),
}
"""The table of derivatives at special points in the contract of the transforms, row by row but for `safe_where`."""


@pytest.mark.slow
@pytest.mark.parametrize("wrap", [lambda f: f, tm.compile], ids=["interpreted", "compiled"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("f", "at", "expected"), ROWS.values(), ids=ROWS)
def test_each_row_of_the_table_of_special_points(
    f: Any, at: Any, expected: Any, dtype: Any, wrap: Callable[..., Any]
) -> None:
    x = np.asarray(at, dtype)
    for got in (wrap(tm.grad(f))(x), wrap(tm.jacfwd(f))(x), wrap(tm.jacrev(f))(x)):
        assert got.dtype == dtype
        np.testing.assert_allclose(got, np.asarray(expected), rtol=4e-16 if dtype == np.float64 else 1e-7)


def test_maximum_and_minimum_share_a_tie_equally() -> None:
    for f in (np.maximum, np.minimum, np.fmax, np.fmin):
        assert tm.grad(f, (0, 1))(1.0, 1.0) == (0.5, 0.5)
        assert tm.grad(f, (0, 1))(1.0, 2.0) in ((0.0, 1.0), (1.0, 0.0))


def test_products_with_zeros_have_exact_second_derivatives() -> None:
    x = np.array([0.0, 0.0, 3.0])
    np.testing.assert_array_equal(tm.hessian(np.prod)(x), [[0, 3, 0], [3, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(
        tm.hessian(lambda x: np.sum(np.cumprod(x)))(x), [[0, 4, 0], [4, 0, 0], [0, 0, 0]]
    )


def test_second_derivatives_of_powers_at_0() -> None:
    def square(x: Any) -> Any:
        return x**2

    assert tm.grad(tm.grad(square))(0.0) == 2.0
    assert tm.grad(tm.grad(tm.grad(square)))(0.0) == 0.0
    assert tm.grad(tm.grad(lambda x: x**0))(0.0) == 0.0


def test_norms_have_the_values_of_numpy_at_0_and_elsewhere() -> None:
    for x in (
        np.zeros(3),
        np.array([3.0, -4.0]),
        np.array([1e-200, 0.0]),
        np.array([np.inf, 1.0]),
        np.array([np.nan, 0.0]),
    ):
        np.testing.assert_array_equal(tm.vjp(np.linalg.norm, x)[0], np.linalg.norm(x))
