"""Splines of `scipy.interpolate` on traced arrays: what SciPy's classes call in C, and the splines through data.

A piecewise polynomial is gathered at the interval of each point. The coefficients of a B-spline depend linearly on the
data, so that they are a matrix times them, which SciPy computes while tracing; its points and knots are constants.
"""

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...errors import ArgumentValueError
from ...frontend.conversion import converted_library
from ...ir import Constant
from ...tracing.registry import stands_in_for
from ...tracing.traced_memory import contains_traced, is_traced


def _array(x: Any) -> Any:
    return x if is_traced(x) else np.asarray(x)


def _intervals(breaks: Any, points: Any) -> Any:
    """The interval of each point; the first or the last one beyond the ends. Breaks rise, or fall."""
    last = breaks.shape[0] - 2

    def rising() -> Any:
        return np.clip(np.searchsorted(breaks, points, side="right") - 1, 0, last)

    def falling() -> Any:
        return last - np.clip(np.searchsorted(breaks[::-1], points, side="left") - 1, 0, last)

    if is_traced(breaks):
        return np.where(breaks[-1] >= breaks[0], rising(), falling())
    return rising() if breaks[-1] >= breaks[0] else falling()


def _inside(breaks: Any, points: Any) -> Any:
    low, high = np.minimum(breaks[0], breaks[-1]), np.maximum(breaks[0], breaks[-1])
    return (low <= points) & (points <= high)


def _only_inside(found: Any, breaks: Any, points: Any, extrapolate: bool) -> Any:
    """NaN outside of the breaks, and at a NaN."""
    kept = ~np.isnan(points) if extrapolate else _inside(breaks, points)
    return np.where(kept[..., None], found, np.nan)


def _horner(coefficients: Any, step: Any, order: int = 0) -> Any:
    """The derivative of a given order of polynomials whose highest coefficients come first."""
    degree = coefficients.shape[0] - 1
    total = np.zeros_like(coefficients[0])
    for place in range(degree + 1 - order):
        total = total * step + coefficients[place] * math.perm(degree - place, order)
    return total


@stands_in_for("interpolate._ppoly.evaluate")
def evaluate(c: Any, x: Any, xp: Any, dx: int, extrapolate: bool, out: Any) -> None:
    at = _intervals(x, xp)
    found = _horner(c[:, at], (xp - x[at])[:, None], dx)
    out[...] = _only_inside(found, x, xp, extrapolate)


@stands_in_for("interpolate._ppoly.evaluate_bernstein")
def evaluate_bernstein(c: Any, x: Any, xp: Any, nu: int, extrapolate: bool, out: Any) -> None:
    """A derivative is one of the differences of the coefficients."""
    at = _intervals(x, xp)
    width = (x[at + 1] - x[at])[:, None]
    step = (xp - x[at])[:, None] / width
    kept = c[:, at]
    for _ in range(min(nu, c.shape[0])):
        kept = (kept.shape[0] - 1) * (kept[1:] - kept[:-1]) / width
    degree = kept.shape[0] - 1
    total = np.zeros_like(c[0, at])
    for place in range(degree + 1):
        total = total + math.comb(degree, place) * step**place * (1 - step) ** (degree - place) * kept[place]
    out[...] = _only_inside(total, x, xp, extrapolate)


@stands_in_for("interpolate._ppoly.fix_continuity")
def fix_continuity(c: Any, x: Any, order: int) -> None:
    """Each derivative up to `order`, the highest first, begins in an interval with what it ends with in the one
    before."""
    last = c.shape[0] - 1
    widths = (x[1:] - x[:-1])[:-1, None]
    for derivative in range(order, -1, -1):
        place = last - derivative
        factor = math.factorial(derivative)
        first = c[place, :1]
        ends = _horner(c[:, :-1], widths, derivative) - factor * c[place, :-1]
        c[place, 1:] = first + np.cumsum(ends, axis=0) / factor


@stands_in_for("interpolate._ppoly.integrate")
def integrate(c: Any, x: Any, a: Any, b: Any, extrapolate: bool, out: Any) -> None:
    exponents = np.arange(c.shape[0], 0, -1)[:, None, None]
    whole = np.concatenate([c / exponents, np.zeros_like(c[:1])])
    ends = _horner(whole, (x[1:] - x[:-1])[:, None])
    before = np.concatenate([np.zeros_like(ends[:1]), np.cumsum(ends, axis=0)[:-1]])
    points = np.stack([a, b])
    at = _intervals(x, points)
    values = _horner(whole[:, at], (points - x[at])[:, None]) + before[at]
    values = _only_inside(values, x, points, extrapolate)
    out[...] = values[1] - values[0]


@stands_in_for("interpolate._dierckx.evaluate_spline")
def evaluate_spline(t: Any, c: Any, k: int, xp: Any, nu: int, extrapolate: bool) -> Any:
    """De Boor's algorithm: k rounds of weighted means of the coefficients that count at a point."""
    count = t.shape[0] - k - 1
    at = np.clip(np.searchsorted(t, xp, side="right") - 1, k, count - 1)
    kept = [c[at - k + place] for place in range(k + 1)]
    degree = k
    for _ in range(min(nu, k)):
        gaps = [(t[at + 1 + place] - t[at + 1 + place - degree])[:, None] for place in range(degree)]
        kept = [degree * (kept[place + 1] - kept[place]) / gaps[place] for place in range(degree)]
        degree -= 1
    for level in range(1, degree + 1):
        for place in range(degree, level - 1, -1):
            low, high = t[at - degree + place], t[at + 1 + place - level]
            share = ((xp - low) / (high - low))[:, None]
            kept[place] = (1 - share) * kept[place - 1] + share * kept[place]
    found = kept[degree] if nu <= k else np.zeros_like(kept[0])
    return _only_inside(found, t[k : count + 1], xp, extrapolate)


# ---- splines through data ----------------------------------------------------------------------------


def _constant(name: str, parameter: str, given: Any) -> Any:
    """What depends on no argument, as NumPy's array; None stays."""
    if is_traced(given) and isinstance(given.value, Constant):
        return given.value.array
    if contains_traced(given):
        raise ArgumentValueError(
            f"scipy.interpolate.{name}: {parameter} depends on the arguments of your function, but only y may. Use "
            "CubicSpline, whose points may, too"
        )
    return given


def _of_data(y: Any, axis: int, fit: Callable[[Any], Any]) -> Any:
    """The spline whose coefficients are those of `fit` for unit vectors, times the data."""
    y = np.moveaxis(_array(y), axis, 0)
    unit = fit(np.eye(y.shape[0]))
    c = np.tensordot(unit.c, y.astype(np.result_type(y.dtype, np.float64)), axes=1)
    return _spline(unit.t, c, unit.k, axis % y.ndim)


_ENDS: Final = {"natural": 2, "clamped": 1}
"""The derivative that is 0 at both ends, by the name of the condition."""


def _through_traced_points(x: Any, y: Any, k: int, ends: str | None, axis: int) -> Any:
    """The spline through points that depend on the arguments: the values of its basis are a matrix."""
    x = x.astype(np.float64)
    y = np.moveaxis(_array(y), axis, 0)
    size = x.shape[0]
    if ends is None:
        inner = x if k % 2 else (x[1:] + x[:-1]) / 2
        first, count, more = (k + 1) // 2 if k % 2 else k // 2, size - k - 1, k + 1
        inner = inner[first : first + count]
    else:
        inner, more = x, k
    t = np.concatenate([np.repeat(x[:1], more), inner, np.repeat(x[-1:], more)])
    basis = np.eye(t.shape[0] - k - 1)
    rows = evaluate_spline(t, basis, k, x, 0, extrapolate=True)
    right = y.reshape(size, -1).astype(np.result_type(y.dtype, np.float64))
    if ends is not None:
        slopes = evaluate_spline(t, basis, k, x[:: size - 1], _ENDS[ends], extrapolate=True)
        zero = np.zeros_like(right[:1])
        rows, right = np.concatenate([slopes[:1], rows, slopes[1:]]), np.concatenate([zero, right, zero])
    c = np.linalg.solve(rows, right).reshape(-1, *y.shape[1:])
    return _spline(t, c, k, axis % y.ndim)


def _spline(t: Any, c: Any, k: int, axis: int) -> Any:
    from scipy.interpolate import BSpline

    return converted_library(BSpline.construct_fast.__func__)(BSpline, t, c, k, axis=axis)


@stands_in_for("interpolate.make_interp_spline")
def make_interp_spline(
    x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0, check_finite: bool = True
) -> Any:
    from scipy import interpolate

    if contains_traced(x) and t is None and (bc_type is None or (k == 3 and bc_type in _ENDS)):
        return _through_traced_points(x, y, k, bc_type, axis)
    x, t = (_constant("make_interp_spline", *one) for one in (("x", x), ("t", t)))
    if not (bc_type is None or isinstance(bc_type, str)):
        raise ArgumentValueError(
            "scipy.interpolate.make_interp_spline of traced data takes bc_type as a text: leave it out, or use "
            "CubicSpline"
        )
    if bc_type == "periodic":  # the data have to be periodic, which unit vectors are not
        raise ArgumentValueError("scipy.interpolate.make_interp_spline of traced data: use CubicSpline")
    return _of_data(y, axis, lambda data: interpolate.make_interp_spline(x, data, k, t, bc_type))


@stands_in_for("interpolate.make_lsq_spline")
def make_lsq_spline(
    x: Any, y: Any, t: Any, k: int = 3, w: Any = None, axis: int = 0, *, method: str = "qr"
) -> Any:
    from scipy import interpolate

    x, t, w = (_constant("make_lsq_spline", *one) for one in (("x", x), ("t", t), ("w", w)))
    return _of_data(y, axis, lambda data: interpolate.make_lsq_spline(x, data, t, k, w, method=method))


@stands_in_for("interpolate.make_smoothing_spline")
def make_smoothing_spline(x: Any, y: Any, w: Any = None, lam: Any = None, *, axis: int = 0) -> Any:
    from scipy import interpolate

    x, w, lam = (_constant("make_smoothing_spline", *one) for one in (("x", x), ("w", w), ("lam", lam)))
    if lam is None:
        raise ArgumentValueError(
            "scipy.interpolate.make_smoothing_spline of traced data needs lam: SciPy would search for the best"
        )
    return _of_data(y, axis, lambda data: interpolate.make_smoothing_spline(x, data, w, lam))


@stands_in_for("interpolate.splrep")
def splrep(x: Any, y: Any, *, k: int = 3, s: Any = None) -> tuple[Any, Any, int]:
    """The spline through all points, as for ``s=0``. SciPy appends k + 1 zeros to its coefficients."""
    if s:
        raise ArgumentValueError(
            "scipy.interpolate.splrep of traced data has no s: use make_smoothing_spline"
        )
    found = make_interp_spline(x, y, k)
    return found.t, np.concatenate([found.c, np.zeros(k + 1)]), k


@stands_in_for("interpolate.splev")
def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    if not isinstance(tck, tuple | list) or ext not in (0, 1, 3):
        raise ArgumentValueError(
            "scipy.interpolate.splev of traced arrays takes a tuple (t, c, k), and ext 0, 1 or 3: call a BSpline"
        )
    t, c, k = tck
    x = _array(x).astype(np.float64)
    points = x.ravel()
    first, last = t[k], t[t.shape[0] - k - 1]
    if ext == 3:
        points = np.clip(points, first, last)
    found = evaluate_spline(t, c[: t.shape[0] - k - 1, None], k, points, der, extrapolate=True)[:, 0]
    if ext == 1:
        found = np.where((points < first) | (points > last), 0.0, found)
    return found.reshape(x.shape)


# ---- grids -------------------------------------------------------------------------------------------------


@stands_in_for("interpolate._interpnd._ndim_coords_from_arrays")
def _ndim_coords_from_arrays(points: Any, ndim: int | None = None) -> Any:
    if isinstance(points, tuple) and len(points) == 1:
        points = points[0]
    if isinstance(points, tuple):
        return np.stack(np.broadcast_arrays(*map(_array, points)), axis=-1)
    points = _array(points)
    return points.reshape(-1, 1 if ndim is None else ndim) if points.ndim == 1 else points


@stands_in_for("interpolate._rgi_cython.find_indices")
def find_indices(grid: Any, xi: Any) -> tuple[Any, Any]:
    """The cell of each point, and how far it is in it from 0 to 1."""
    cells: list[Any] = []
    shares: list[Any] = []
    for breaks, points in zip(grid, xi, strict=True):
        if breaks.shape[0] == 1:
            cells.append(np.zeros(points.shape, np.intp))
            shares.append(np.zeros_like(points))
            continue
        at = _intervals(breaks, points)
        cells.append(at)
        shares.append((points - breaks[at]) / (breaks[at + 1] - breaks[at]))
    return np.stack(cells), np.stack(shares)


@stands_in_for("interpolate._rgi_cython.evaluate_linear_2d")
def evaluate_linear_2d(values: Any, indices: Any, norm_distances: Any, grid: Any, out: Any) -> Any:
    i, j = indices
    up, right = norm_distances
    k, m = (np.minimum(at + 1, size - 1) for at, size in zip((i, j), values.shape, strict=True))
    low = values[i, j] * (1 - right) + values[i, m] * right
    return low * (1 - up) + (values[k, j] * (1 - right) + values[k, m] * right) * up


# ---- radial basis functions ----------------------------------------------------------------------------------

_KERNELS: Final[dict[str, Callable[[Any], Any]]] = {
    "linear": lambda square: -_root(square),
    "thin_plate_spline": lambda square: 0.5 * square * np.log(np.where(square == 0, 1.0, square)),
    "cubic": lambda square: square * _root(square),
    "quintic": lambda square: -square * square * _root(square),
    "multiquadric": lambda square: -np.sqrt(square + 1),
    "inverse_multiquadric": lambda square: 1 / np.sqrt(square + 1),
    "inverse_quadratic": lambda square: 1 / (square + 1),
    "gaussian": lambda square: np.exp(-square),
}
"""By the square of the distance, so that derivatives are finite where two points are the same."""


def _root(square: Any) -> Any:
    return np.where(square == 0, 0.0, np.sqrt(np.where(square == 0, 1.0, square)))


@stands_in_for("interpolate._rbfinterp_pythran._build_evaluation_coefficients")
def _build_evaluation_coefficients(
    x: Any, y: Any, kernel: str, epsilon: Any, powers: Any, shift: Any, scale: Any
) -> Any:
    gaps = epsilon * (x[:, None] - y[None])
    monomials = np.prod(((x - shift) / scale)[:, None] ** powers, axis=-1)
    return np.concatenate([_KERNELS[kernel](np.sum(gaps * gaps, axis=-1)), monomials], axis=1)
