"""Derivatives up to the third order at points where a function is smooth and its formula is special."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from mpmath import mp
from scipy import special

import tracemill as tm
from support.smooth_points import POINTS, Point

DIRECTIONS = np.array([[0.7, -1.1, 0.4], [-0.3, 0.8, 1.3], [1.2, 0.5, -0.9]])
"""One direction per order; in general position, so that every partial derivative has a part in the result."""


@cache
def expected(point: Point, order: int) -> float:
    """The derivative of that order along the first directions, by mpmath."""
    n = len(point.at)
    directions = [[mp.mpf(x) for x in row[:n]] for row in DIRECTIONS[:order].tolist()]

    def along(*steps: Any) -> Any:
        moved = [
            sum((s * u[i] for s, u in zip(steps, directions, strict=True)), mp.mpf(point.at[i]))
            for i in range(n)
        ]
        return point.expected(*moved)

    with mp.workdps(40):
        return float(mp.diff(along, (0,) * order, (1,) * order))


def derivative(function: Callable[..., Any], modes: str) -> Callable[..., Any]:
    """The derivative of order ``len(modes)`` along the first directions, taken from inside out: f by jvp, r by grad."""
    for mode, row in zip(modes, DIRECTIONS, strict=False):
        function = _pushed(function, row) if mode == "f" else _pulled(function, row)
    return function


def _pushed(function: Callable[..., Any], row: Any) -> Callable[..., Any]:
    return lambda *x: tm.jvp(function, x, tuple(map(float, row[: len(x)])))[1]


def _pulled(function: Callable[..., Any], row: Any) -> Callable[..., Any]:
    def pulled(*x: Any) -> Any:
        slopes = tm.grad(function, tuple(range(len(x))))(*x)
        return sum(float(u) * slope for u, slope in zip(row, slopes, strict=False))

    return pulled


def wrong(point: Point, modes: str, wrap: Callable[..., Any] = lambda f: f) -> str | None:
    """What is wrong about the derivative in these modes, if anything."""
    target = expected(point, len(modes))
    got = float(wrap(derivative(point.function, modes))(*point.at))
    scale = max(1.0, *(abs(expected(point, k)) for k in range(1, len(modes) + 1)))
    if abs(got - target) <= point.tolerance * scale:
        return None
    return f"{point} by {modes}: {got!r}, not {target!r}"


NAMES = tuple(dict.fromkeys(point.name for point in POINTS))


def check(name: str, nestings: Sequence[str], wrap: Callable[..., Any] = lambda f: f) -> None:
    points = [point for point in POINTS if point.name == name]
    found = [text for point in points for modes in nestings if (text := wrong(point, modes, wrap))]
    assert not found, "\n".join(found)


@pytest.mark.sampled("cov-('fr',)", "average-('fr',)", every=7, slow=12)
@pytest.mark.parametrize("nestings", [("fr",), pytest.param(("r", "rrf"), marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_derivatives_are_right_where_the_formula_is_special(name: str, nestings: Sequence[str]) -> None:
    check(name, nestings)


@pytest.mark.sampled(slow=40)
@pytest.mark.parametrize("name", NAMES)
def test_all_nestings_of_modes_give_the_same_derivatives(name: str) -> None:
    check(name, [modes for order in (1, 2, 3) for modes in map("".join, product("fr", repeat=order))])


@pytest.mark.sampled(slow=20)
@pytest.mark.parametrize("name", NAMES)
def test_compiled_functions_have_the_same_derivatives(name: str) -> None:
    check(name, ("r", "rf", "frr"), tm.compile)


@pytest.mark.sampled(slow=50)
@pytest.mark.usefixtures("c_compiler", "lightly_optimised")
@pytest.mark.parametrize("name", NAMES)
def test_functions_compiled_to_c_have_the_same_derivatives(name: str) -> None:
    check(name, ("fr", "rrf"), lambda f: tm.compile(f, backend="c"))


def test_the_hessian_of_a_logistic_regression_at_0_is_that_of_its_formula() -> None:
    x, y = np.array([[1.0, 2.0], [0.5, -1.0], [-1.0, 3.0]]), np.array([1.0, -1.0, 1.0])
    hessian = tm.hessian(lambda w: np.sum(np.logaddexp(0, -y * (x @ w))))(np.zeros(2))
    np.testing.assert_allclose(hessian, x.T @ x / 4, rtol=1e-15)


@pytest.mark.parametrize("log_of_sum", [np.logaddexp, np.logaddexp2])
@pytest.mark.parametrize("at", list(product((-np.inf, 0.0, np.inf), repeat=2)))
def test_derivatives_of_a_log_of_a_sum_have_no_nan_at_infinities(
    log_of_sum: Any, at: tuple[float, float]
) -> None:
    x, y = at
    first = tm.grad(log_of_sum, (0, 1))(x, y)
    assert first == ((0.5, 0.5) if x == y else (float(x > y), float(y > x)))
    hessian = tm.hessian(lambda v: log_of_sum(v[0], v[1]))(np.array(at))
    assert np.isfinite(hessian).all()


@pytest.mark.parametrize(("f", "g"), [(special.j0, special.j1), (np.i0, special.i1)])
def test_derivatives_of_bessel_functions_keep_their_digits_near_0(f: Any, g: Any) -> None:
    slope = tm.grad(f)(1e-8)
    assert abs(slope) == pytest.approx(g(1e-8), rel=1e-14)
    fourth = tm.grad(tm.grad(tm.grad(tm.grad(f))))
    assert fourth(1e-8) == pytest.approx(3 / 8, rel=1e-13)
    assert fourth(0.0) == pytest.approx(3 / 8, rel=1e-13)


EXTREMES: dict[str, tuple[Callable[..., Any], float, float]] = {
    "arctan2 of tiny numbers": (lambda x: np.arctan2(x, 1e-200), 1e-200, 5e199),
    "arctan2 of huge numbers": (lambda x: np.arctan2(1e200, x), 1e200, -5e-201),
    "angle of a huge number": (lambda x: np.angle(1e200 + 1j * x), 1e200, 5e-201),
    "arcsinh of a huge number": (np.arcsinh, -1e200, 1e-200),
    "arcsin near 1": (np.arcsin, 1 - 2.0**-40, 2.0**20 / math.sqrt(2 - 2.0**-40)),
    "arccos near -1": (np.arccos, 2.0**-40 - 1, -(2.0**20) / math.sqrt(2 - 2.0**-40)),
    "arctanh near 1": (np.arctanh, 1 - 2.0**-40, 2.0**40 / (2 - 2.0**-40)),
    "expm1 of a very negative number": (np.expm1, -50.0, math.exp(-50.0)),
    "logarithm of 1 - e^x": (lambda x: np.log(-np.expm1(x)), -60.0, -math.exp(-60.0)),
    "pseudo_huber of a huge number": (lambda r: special.pseudo_huber(1.0, r), 1e200, 1.0),
}


@pytest.mark.parametrize(("f", "at", "expected"), EXTREMES.values(), ids=EXTREMES)
def test_slopes_keep_their_digits_at_the_ends_of_the_range(f: Any, at: float, expected: float) -> None:
    assert tm.grad(f)(at) == pytest.approx(expected, rel=1e-14)
    assert tm.jvp(f, (at,), (1.0,))[1] == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("wrap", [lambda f: f, tm.compile], ids=["interpreted", "compiled"])
def test_the_gradient_of_a_length_of_many_lengths_takes_no_longer_for_each(wrap: Any) -> None:
    x = np.random.default_rng(0).normal(size=1 << 18)
    found = wrap(tm.grad(np.hypot.reduce))(x)
    np.testing.assert_allclose(found, x / np.linalg.norm(x), rtol=1e-12)
