"""`scipy.interpolate` on traced arrays: values are SciPy's, compiled or not, and gradients those of differences."""
# ruff: noqa: PLW0108  (the lambdas make splines while tracing)

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import interpolate as ip

import tracemill as tm
from numpy_surface.test_scipy import slope

RNG = np.random.default_rng(0)
X = np.sort(RNG.uniform(0, 1, 9))
Y = RNG.normal(size=9)
AT = np.array([0.11, 0.52, 0.97, -0.3, 1.4, X[0], X[-1]])
BETWEEN = np.array([0.21, 0.52, 0.77])
GRID = (np.arange(5.0), np.array([0.0, 1.0, 2.5, 3.0]))
IMAGE = RNG.normal(size=(5, 4))
PLACES = np.array([[1.2, 2.3], [3.6, 0.5]])
KNOTS = np.array([0.0, 0, 0, 0, 0.3, 0.7, 1, 1, 1, 1])
C = RNG.normal(size=(6, 2))
SPREAD = np.concatenate([[X[0]] * 4, [0.5], [X[-1]] * 4])

Case = tuple[Callable[[Any], Any], Any]
CASES: dict[str, Case] = {
    "CubicSpline, data": (lambda y: ip.CubicSpline(X, y)(AT), Y),
    "CubicSpline, points": (lambda x: ip.CubicSpline(x, Y)(BETWEEN), X),
    "CubicSpline, places": (lambda at: ip.CubicSpline(X, Y)(at), BETWEEN),
    "PchipInterpolator, data": (lambda y: ip.PchipInterpolator(X, y)(AT), Y),
    "PchipInterpolator, points": (lambda x: ip.PchipInterpolator(x, Y)(BETWEEN), X),
    "PchipInterpolator, places": (lambda at: ip.PchipInterpolator(X, Y)(at), BETWEEN),
    "Akima1DInterpolator, data": (lambda y: ip.Akima1DInterpolator(X, y)(BETWEEN), Y),
    "Akima1DInterpolator, places": (lambda at: ip.Akima1DInterpolator(X, Y)(at), BETWEEN),
    "CubicSpline, natural": (lambda y: ip.CubicSpline(X, y, bc_type="natural")(AT), Y),
    "CubicSpline, clamped": (lambda y: ip.CubicSpline(X, y, bc_type="clamped")(AT), Y),
    "CubicSpline, given ends": (lambda y: ip.CubicSpline(X, y, bc_type=((1, 0.5), (2, -1.0)))(AT), Y),
    "CubicSpline, periodic": (
        lambda y: ip.CubicSpline(X, np.concatenate([y, y[:1]]), bc_type="periodic")(AT),
        Y[:8],
    ),
    "CubicSpline, a slope": (lambda at: ip.CubicSpline(X, Y)(at, 1), BETWEEN),
    "CubicSpline, derivative": (lambda y: ip.CubicSpline(X, y).derivative(2)(AT), Y),
    "CubicSpline, antiderivative": (lambda y: ip.CubicSpline(X, y).antiderivative(2)(AT), Y),
    "CubicSpline, integral": (lambda y: ip.CubicSpline(X, y).integrate(0.9, 0.2), Y),
    "CubicSpline, columns": (lambda y: ip.CubicSpline(X, np.stack([y, y * y], 1), axis=0)(AT), Y),
    "CubicSpline, rows": (lambda y: ip.CubicSpline(X, np.stack([y, y * y]), axis=1)(AT), Y),
    "CubicSpline, not extrapolated": (
        lambda y: np.nan_to_num(ip.CubicSpline(X, y, extrapolate=False)(AT), nan=7.0),
        Y,
    ),
    "CubicHermiteSpline": (lambda y: ip.CubicHermiteSpline(X, y, Y)(AT), Y),
    "PPoly, falling": (
        lambda c: ip.PPoly(c, -np.arange(3.0))(np.array([0.5, -0.5, -1.5, 0, -1, -2])),
        C.T[:, :2],
    ),
    "BPoly": (lambda c: ip.BPoly(c, np.array([0, 0.4, 1]))(AT), C.T[:, :2]),
    "BPoly, a slope": (lambda c: ip.BPoly(c, np.array([0, 0.4, 1]))(AT, 1), C[:4]),
    "BSpline": (lambda c: ip.BSpline(KNOTS, c, 3)(AT), C),
    "BSpline, places": (lambda at: ip.BSpline(KNOTS, C, 3)(at), BETWEEN),
    "BSpline, a slope": (lambda c: ip.BSpline(KNOTS, c, 3)(BETWEEN, 2), C),
    "make_interp_spline": (lambda y: ip.make_interp_spline(X, y)(AT), Y),
    "make_interp_spline, degree 2": (lambda y: ip.make_interp_spline(X, y, 2)(AT), Y),
    "make_interp_spline, natural": (lambda y: ip.make_interp_spline(X, y, bc_type="natural")(AT), Y),
    "make_interp_spline, points": (lambda x: ip.make_interp_spline(x, Y)(BETWEEN), X),
    "make_interp_spline, points, degree 2": (lambda x: ip.make_interp_spline(x, Y, 2)(BETWEEN), X),
    "make_interp_spline, points, clamped": (
        lambda x: ip.make_interp_spline(x, Y, bc_type="clamped")(BETWEEN),
        X,
    ),
    "make_lsq_spline": (lambda y: ip.make_lsq_spline(X, y, SPREAD)(AT), Y),
    "make_smoothing_spline": (lambda y: ip.make_smoothing_spline(X, y, lam=0.01)(AT), Y),
    "splrep": (lambda y: ip.splev(AT, ip.splrep(X, y)), Y),
    "splev, places": (lambda at: ip.splev(at, ip.splrep(X, Y), 1), BETWEEN),
    "splev, cut off": (lambda at: ip.splev(at, ip.splrep(X, Y), ext=3), AT[:5]),
    "interp1d": (lambda y: ip.interp1d(X, y)(BETWEEN), Y),
    "interp1d, cubic": (lambda y: ip.interp1d(X, y, kind="cubic")(BETWEEN), Y),
    "RegularGridInterpolator": (lambda v: ip.RegularGridInterpolator(GRID, v)(PLACES), IMAGE),
    "RegularGridInterpolator, places": (lambda at: ip.RegularGridInterpolator(GRID, IMAGE)(at), PLACES),
    "RegularGridInterpolator, nearest": (
        lambda v: ip.RegularGridInterpolator(GRID, v, method="nearest")(PLACES),
        IMAGE,
    ),
    "interpn": (lambda v: ip.interpn(GRID, v, PLACES), IMAGE),
    "RBFInterpolator, places": (lambda at: ip.RBFInterpolator(X[:, None], Y)(at[:, None]), BETWEEN),
}
TABLE = [pytest.param(*case, id=name) for name, case in CASES.items()]


@pytest.mark.parametrize(("function", "x"), TABLE)
def test_compiled_splines_are_scipys(function: Callable[[Any], Any], x: Any) -> None:
    found, wanted = tm.compile(lambda x: function(x), backend="numpy")(x), function(x)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)
    assert np.asarray(found).dtype == np.asarray(wanted).dtype


@pytest.mark.parametrize(("function", "x"), TABLE)
def test_gradients_of_splines_are_those_of_differences(function: Callable[[Any], Any], x: Any) -> None:
    found = tm.grad(lambda x: np.sum(function(x)))(x)
    np.testing.assert_allclose(found, slope(function, x), rtol=1e-4, atol=1e-5)


def test_a_spline_is_mapped_over_rows_of_data() -> None:
    rows = RNG.normal(size=(3, 9))
    found = tm.compile(tm.vmap(lambda y: ip.CubicSpline(X, y)(AT)), backend="numpy")(rows)
    np.testing.assert_allclose(found, [ip.CubicSpline(X, y)(AT) for y in rows], rtol=1e-10)


def test_what_has_no_traced_version_is_named() -> None:
    with pytest.raises(ValueError, match=r"make_smoothing_spline of traced data needs lam"):
        tm.compile(lambda y: ip.make_smoothing_spline(X, y)(AT))(Y)
    with pytest.raises(ValueError, match=r"splrep of traced data has no s"):
        tm.compile(lambda y: ip.splev(AT, ip.splrep(X, y, s=0.3)))(Y)
    with pytest.raises(ValueError, match=r"make_lsq_spline: t depends on the arguments"):
        tm.compile(lambda t: ip.make_lsq_spline(X, Y, t)(AT))(SPREAD)
