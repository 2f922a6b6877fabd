"""Uses of NumPy's mathematics, statistics, products, sorting and logic, by the function's name.

Each use is a function of ``x``, which it gets in every dtype of the kinds named beside it.
"""
# pyright: reportCallIssue=false, reportArgumentType=false, reportDeprecated=false
# ruff: noqa: PLW0108  (the lambdas are there for their parameter)

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from samples.grouping import Case
from samples.numpy_functions import without_warning
from tracemill.compiler.dtypes import Array

Use: TypeAlias = Callable[[Any], Any]

_rng = np.random.default_rng(7)
_GRID = _rng.normal(size=(3, 4)) * 2
_GRID[1, 2] = _GRID[0, 2]  # a tie along axis 0
_WHOLE = np.array([[3, -1, 2, 0], [1, 5, -1, 2], [-4, 0, 7, 2]])
_NAN = _GRID.copy()
_NAN[0, 1] = _NAN[:, 3] = np.nan
_SPECIAL = np.array([[1.0, np.inf, -np.inf, np.nan], [0.0, -0.0, 2.5, -3.5], [0.5, 1e300, 1e-300, -1.5]])

X: dict[str, Array] = {
    "f64": _GRID,
    "f32": _GRID.astype(np.float32),
    "f16": _GRID.astype(np.float16),
    "i64": _WHOLE,
    "i8": _WHOLE.astype(np.int8),
    "u8": (_WHOLE % 8).astype(np.uint8),
    "bool": _WHOLE > 1,
    "c128": _GRID + 1j * _GRID[::-1],
    "nan": _NAN,
    "nan32": _NAN.astype(np.float32),
    "special": _SPECIAL,
}
"""What a use gets for x."""

OF_KIND = {
    "f": ("f64", "f32", "f16"),
    "i": ("i64", "i8"),
    "u": ("u8",),
    "b": ("bool",),
    "c": ("c128",),
    "n": ("nan", "nan32"),
    "s": ("special",),
}
TOLERANCE = {"f16": 2e-3, "f32": 3e-6, "nan32": 3e-6}
"""Relative, and absolute; 1e-12 for the others."""

_matrices: list[Any] = [_rng.normal(size=shape) for shape in ((3, 4), (4, 5), (2, 3, 4), (3, 3))]
A, B, C, S = _matrices
V: Any = _rng.normal(size=4)
W = np.array([0.5, 2.0, 1.0, 0.25])
M = _WHOLE > 0
PLACES = np.array([0.0, 1.0, 3.0, 7.0])


class Uses(NamedTuple):
    """The kinds of x, and what is done with it."""

    kinds: str
    uses: tuple[Use, ...]


Table: TypeAlias = dict[str, Uses]


def uses(kinds: str, *functions: Use) -> Uses:
    return Uses(kinds, functions)


def _over_axes(function: Callable[..., Any]) -> tuple[Use, ...]:
    """A reduction over all axes, one, several, none, and with these kept."""
    return (
        lambda x: function(x),
        lambda x: function(x, axis=0),
        lambda x: function(x, axis=-1, keepdims=True),
        lambda x: function(x[None], axis=(0, 2)),
        lambda x: function(x, axis=(1, 0), keepdims=True),
        lambda x: function(x[0, 0]),
    )


REDUCTIONS: Table = {
    "sum": uses(
        "fiubcn",
        *_over_axes(np.sum),
        lambda x: np.sum(x, axis=()),
        lambda x: x.sum(1, np.complex128),
        lambda x: np.sum(x, axis=0, initial=3),
        lambda x: np.sum(x, axis=1, where=M),
        lambda x: np.sum(x, axis=0, out=np.zeros(4, np.complex128)),
        lambda x: np.sum(x[:0], axis=0),
        lambda x: np.sum(x.real, axis=0, out=np.zeros(4, np.int32)),
    ),
    "prod": uses(
        "fiubc",
        *_over_axes(np.prod),
        lambda x: np.prod(x, axis=0, initial=2),
        lambda x: np.prod(x, axis=1, where=M),
        lambda x: np.prod(x[:0], axis=0),
    ),
    "max": uses(
        "fiubcns",
        *_over_axes(np.max),
        lambda x: np.max(x, initial=2, axis=0, where=M),
        lambda x: np.max(x[:0], initial=2, axis=0),
        lambda x: x.max(1),
    ),
    "min": uses(
        "fiubcns", *_over_axes(np.min), lambda x: np.min(x, initial=0, axis=0, where=M), lambda x: x.min(1)
    ),
    "amax": uses("f", lambda x: np.amax(x, 0)),
    "amin": uses("f", lambda x: np.amin(x, 0)),
    "any": uses("fiubcns", *_over_axes(np.any), lambda x: np.any(x, axis=0, where=M), lambda x: x.any(0)),
    "all": uses("fiubcns", *_over_axes(np.all), lambda x: np.all(x, axis=0, where=M), lambda x: x.all(0)),
    "count_nonzero": uses("fiubcn", *_over_axes(np.count_nonzero)),
    "ptp": uses("fiucn", *_over_axes(np.ptp)),
    "argmax": uses(
        "fiubcns",
        lambda x: np.argmax(x),
        lambda x: np.argmax(x, 0),
        lambda x: np.argmax(x, axis=-1, keepdims=True),
        lambda x: x.argmax(0),
        lambda x: np.argmax(x, 0, np.zeros(4, np.int64)),
    ),
    "argmin": uses(
        "fiubcns", lambda x: np.argmin(x), lambda x: np.argmin(x, 0), lambda x: np.argmin(x, keepdims=True)
    ),
    "cumsum": uses(
        "fiubcn",
        lambda x: np.cumsum(x),
        lambda x: np.cumsum(x, 1),
        lambda x: x.cumsum(0, np.complex128),
        lambda x: np.cumsum(x, axis=0, out=np.zeros((3, 4), np.complex128)),
    ),
    "cumprod": uses("fiubcn", lambda x: np.cumprod(x), lambda x: np.cumprod(x, -1)),
    "cumulative_sum": uses(
        "fiuc",
        lambda x: np.cumulative_sum(x, axis=0),
        lambda x: np.cumulative_sum(x[0], include_initial=True),
        lambda x: np.cumulative_sum(x, axis=1, include_initial=True, dtype=complex),
    ),
    "cumulative_prod": uses("fiuc", lambda x: np.cumulative_prod(x, axis=1, include_initial=True)),
    "trace": uses(
        "fiubc", lambda x: np.trace(x), lambda x: np.trace(x, 1), lambda x: x.trace(-1, dtype=complex)
    ),
}

WITHOUT_NAN: Table = {
    **{
        f"nan{name}": uses("fiubcn", *_over_axes(getattr(np, f"nan{name}"))[:5])
        for name in ("sum", "prod", "max", "min", "mean")
    },
    "nanmedian": uses("fiun", *_over_axes(np.nanmedian)[:5]),
    "nancumsum": uses("fiubcn", lambda x: np.nancumsum(x), lambda x: np.nancumsum(x, axis=1)),
    "nancumprod": uses("fiubcn", lambda x: np.nancumprod(x), lambda x: np.nancumprod(x, axis=1)),
    "nanargmax": uses("fiubcn", lambda x: np.nanargmax(x), lambda x: np.nanargmax(x[:, :3], axis=0)),
    "nanargmin": uses("fiubcn", lambda x: np.nanargmin(x), lambda x: np.nanargmin(x, axis=1, keepdims=True)),
}


def _spread(function: Callable[..., Any]) -> tuple[Use, ...]:
    """A variance or standard deviation with its own options."""
    return (
        *_over_axes(function),
        lambda x: function(x, axis=1, ddof=1),
        lambda x: function(x, axis=0, correction=1),
        lambda x: function(x, axis=1, where=M),
        lambda x: function(x, axis=0, mean=np.mean(x, axis=0, keepdims=True)),
    )


WITHOUT_NAN["nanvar"] = uses("fiubcn", *_spread(np.nanvar)[:9])
WITHOUT_NAN["nanstd"] = uses("fiubcn", *_spread(np.nanstd)[:9])
WITHOUT_NAN["nanmax"] = uses("fiubcn", *WITHOUT_NAN["nanmax"].uses, lambda x: np.nanmax(x, axis=0, initial=1))

METHODS_OF_QUANTILES = (
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull",
    "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest",
)  # fmt: skip


def _quantiles(function: Callable[..., Any], scale: float) -> tuple[Use, ...]:
    return (
        lambda x: function(x, 0.3 * scale),
        lambda x: function(x, [0.1 * scale, 0.55 * scale], axis=0),
        lambda x: function(x, 1, axis=(0, 1), keepdims=True),
        lambda x: function(x, np.float32(0.25), axis=1),
        lambda x: function(x, np.array([[0.2, 0.4], [0.6, 0.0]]), axis=0),
        *[
            lambda x, m=m: function(x, [0, 0.4 * scale, 0.5 * scale], axis=1, method=m)
            for m in METHODS_OF_QUANTILES
        ],
        *[lambda x, m=m: function(x, 0.7, axis=1, method=m) for m in METHODS_OF_QUANTILES],
    )


STATISTICS: Table = {
    "mean": uses(
        "fiubcn",
        *_over_axes(np.mean),
        lambda x: np.mean(x, axis=1, where=M),
        lambda x: np.mean(x, axis=0, dtype=np.complex128),
        lambda x: x.mean(0),
    ),
    "var": uses("fiubcn", *_spread(np.var)),
    "std": uses("fiubcn", *_spread(np.std)),
    "average": uses(
        "fiubc",
        lambda x: np.average(x),
        lambda x: np.average(x, axis=1, weights=W, returned=True),
        lambda x: np.average(x, axis=(1, 0), weights=A.T**2, keepdims=True),
        lambda x: np.average(x, weights=A**2),
        lambda x: np.average(x, axis=0, returned=True),
    ),
    "median": uses("fiubns", *_over_axes(np.median)),
    "quantile": uses(
        "fiun",
        *_quantiles(np.quantile, 1.0),
        lambda x: np.quantile(x, [0.2, 0.7], axis=1, weights=W, method="inverted_cdf"),
        lambda x: np.quantile(x, 0.2, weights=A**2, method="inverted_cdf", keepdims=True),
    ),
    "percentile": uses("fiun", *_quantiles(np.percentile, 100.0)[:4]),
    "nanquantile": uses("fiun", *_quantiles(np.nanquantile, 1.0)),
    "nanpercentile": uses("fiun", *_quantiles(np.nanpercentile, 100.0)[:4]),
    "cov": uses(
        "ibc",
        lambda x: np.cov(x),
        lambda x: np.cov(x, rowvar=False, bias=True),
        lambda x: np.cov(x[0], x[1]),
        lambda x: np.cov(x[0]),
        lambda x: np.cov(x, aweights=W, fweights=np.array([1, 2, 1, 3])),
        lambda x: np.cov(x, ddof=0, fweights=np.array([1, 2, 1, 3])),
    ),
    "corrcoef": uses(
        "ic", lambda x: np.corrcoef(x), lambda x: np.corrcoef(x[:, 0], x[:, 1]), lambda x: np.corrcoef(x[0])
    ),
}

_EDGES = np.array([-3.0, -1.0, 0.0, 0.5, 3.0])
"""Copied where used: NumPy's result holds the edges themselves, and some tests write to results."""
HISTOGRAMS: Table = {
    "histogram": uses(
        "fiub",
        lambda x: np.histogram(x, 5),
        lambda x: np.histogram(x, [0, 1, 2, 4]),
        lambda x: np.histogram(x, _EDGES.copy(), density=True),
        lambda x: np.histogram(x, 4, weights=A),
        lambda x: np.histogram(x, 4, range=(-1, 2), weights=_WHOLE),
        lambda x: np.histogram(x, 5, range=(0, 0)),
    ),
    "histogram_bin_edges": uses("fiu", lambda x: np.histogram_bin_edges(x, 3)),
    "histogram2d": uses(
        "iu",
        lambda x: np.histogram2d(x[0], V, 4),
        lambda x: np.histogram2d(x[0], V, [3, [0, 1, 2]], density=True),
        lambda x: np.histogram2d(x[0], V, [-2.0, 0, 1, 2], weights=W),
    ),
    "histogramdd": uses(
        "iu",
        lambda x: np.histogramdd(x, 2),
        lambda x: np.histogramdd(x.T, (2, 3, 4), range=[(-1, 1)] * 3),
        lambda x: np.histogramdd((x[0], V), bins=3, density=True),
    ),
    "digitize": uses(
        "fiub",
        lambda x: np.digitize(x, [0, 1, 2, 5]),
        lambda x: np.digitize(x, [5.0, 2, 1], right=True),
        lambda x: np.digitize(_GRID, np.sort(x[0])),
        lambda x: np.digitize(_GRID, np.sort(x[0])[::-1] * 1.0, right=True),
    ),
    "bincount": uses("u", lambda x: np.bincount(np.asarray([3, 1, 1]), minlength=5) + x[0, 0] * 0),
}

MATHEMATICS: Table = {
    "round": uses("fiucs", *[lambda x, d=d: np.round(x, d) for d in (0, 2, -1)], lambda x: x.round(1)),
    "around": uses("f", lambda x: np.around(x, 1)),
    "fix": uses("fiubs", lambda x: without_warning(lambda: np.fix(x))),
    "clip": uses(
        "fics",
        lambda x: np.clip(x, -1, 1),
        lambda x: np.clip(x, None, 1),
        lambda x: np.clip(x, 0, None),
        lambda x: np.clip(x, min=-1),
        lambda x: np.clip(x, max=1),
        lambda x: np.clip(x),
        lambda x: x.clip(-1, 1),
        lambda x: np.clip(x, A, 1.5),
        lambda x: np.clip(x, 2, 1),
    ),
    "nan_to_num": uses(
        "fiubcns",
        lambda x: np.nan_to_num(x),
        lambda x: np.nan_to_num(x, nan=5),
        lambda x: np.nan_to_num(x, posinf=3, neginf=-1),
        lambda x: (np.nan_to_num(x, copy=False), x),
    ),
    "real": uses("fic", lambda x: np.real(x)),
    "imag": uses("fic", lambda x: np.imag(x)),
    "angle": uses("fics", lambda x: np.angle(x), lambda x: np.angle(x, deg=True)),
    "real_if_close": uses("fi", lambda x: np.real_if_close(x)),
    "sinc": uses("fiubcns", lambda x: np.sinc(x)),
    "i0": uses("fiubn", lambda x: np.i0(x)),
    "diff": uses(
        "fiubcs",
        *[lambda x, n=n: np.diff(x, n) for n in (0, 1, 2, 3)],
        lambda x: np.diff(x, axis=0, prepend=0, append=x[:1]),
    ),
    "ediff1d": uses("fi", lambda x: np.ediff1d(x), lambda x: np.ediff1d(x, to_end=[1, 2], to_begin=0)),
    "gradient": uses(
        "fics",
        lambda x: np.gradient(x),
        lambda x: np.gradient(x[0], 2.0),
        lambda x: np.gradient(x, 0.5, 2, edge_order=2),
        lambda x: np.gradient(x, axis=1),
        lambda x: np.gradient(x, PLACES, axis=1),
        lambda x: np.gradient(x, PLACES, axis=-1, edge_order=2),
        lambda x: np.gradient(x[0], np.arange(4)),
        lambda x: np.gradient(x, np.cumsum(x[0] * x[0] + 1), axis=1, edge_order=2),
    ),
    "trapezoid": uses(
        "fiucn",
        lambda x: np.trapezoid(x),
        lambda x: np.trapezoid(x, PLACES),
        lambda x: np.trapezoid(x, dx=0.5, axis=0),
        lambda x: np.trapezoid(x, np.cumsum(A, 0), axis=0),
    ),
    "unwrap": uses(
        "fin",
        lambda x: np.unwrap(x),
        lambda x: np.unwrap(x, period=4),
        lambda x: np.unwrap(x, discont=1, axis=0),
    ),
    "interp": uses(
        "fiubs",
        lambda x: np.interp(x, PLACES, V),
        lambda x: np.interp(x, PLACES, x[0]),
        lambda x: np.interp(x, [0, 1, 2], [1j, 2, 3]),
        lambda x: np.interp(x, [0, 1, 2], [1, 2, 3], left=-1, right=9),
        lambda x: np.interp(x, [0, 1, 2], [1, 2, 3], period=3),
        lambda x: np.interp(x, [1], [2]),
        lambda x: np.interp(0.5, [0, 1, 2], x.ravel()[:3]) if x.size > 2 else x,
    ),
    "convolve": uses(
        "fiubc",
        *[lambda x, m=m: np.convolve(x[0], V[:3], m) for m in ("full", "same", "valid")],
        *[lambda x, m=m: np.convolve(x[0, :2], x[1], m) for m in ("full", "same", "valid")],
    ),
    "correlate": uses(
        "fiubc",
        *[lambda x, m=m: np.correlate(x[0], V[:2] * 1j, m) for m in ("full", "same", "valid")],
        *[lambda x, m=m: np.correlate(x[0, :2], x[1], m) for m in ("full", "same", "valid")],
    ),
    "packbits": uses(
        "iub",
        *[lambda x, a=a: np.packbits(x, axis=a, bitorder="little") for a in (None, 0, 1)],
        lambda x: np.packbits(x),
    ),
    "unpackbits": uses(
        "u",
        *[lambda x, a=a: np.unpackbits(x, axis=a) for a in (None, 0, 1)],
        *[lambda x, n=n: np.unpackbits(x, axis=1, count=n, bitorder="little") for n in (5, -3, 40)],
    ),
    "apply_along_axis": uses(
        "fi",
        lambda x: np.apply_along_axis(lambda v: v.max() - v.min(), 1, x),
        lambda x: np.apply_along_axis(lambda v: np.outer(v, v), 0, x),
        lambda x: np.apply_along_axis(np.sort, -1, x),
    ),
    "apply_over_axes": uses("fi", lambda x: np.apply_over_axes(np.sum, x[None], [0, 2])),
    "piecewise": uses(
        "fi",
        lambda x: np.piecewise(x, [x < 0, x >= 1], [-1, lambda v: v * v]),
        lambda x: np.piecewise(x, [x < 0, x >= 1], [-1, lambda v: v + v, 7]),
        lambda x: np.piecewise(x[0], x[0] < 0, [1, 2]),
        lambda x: np.piecewise(x, [x < 2, x < 1], [1, 2]),
    ),
}

POLYNOMIALS: Table = {
    "polyval": uses(
        "fiuc",
        lambda x: np.polyval(x[0], V),
        lambda x: np.polyval([1, 2, 3], x),
        lambda x: np.polyval(np.poly1d([1, 2, 3]), x),
    ),
    "polyadd": uses("fiuc", lambda x: np.polyadd(x[0], [1, 2])),
    "polysub": uses("fiuc", lambda x: np.polysub([1.0, 2], x[0])),
    "polymul": uses("fiuc", lambda x: np.polymul(x[1], [0.0, 1.0, 2])),
    "polydiv": uses("f", lambda x: np.polydiv(x[1], V[:2])[0], lambda x: np.polydiv(x[1, :2], V)[0]),
    "polyder": uses("fiuc", lambda x: np.polyder(x[0]), lambda x: np.polyder(x[0], 2)),
    "polyint": uses(
        "fiuc",
        lambda x: np.polyint(x[0]),
        lambda x: np.polyint(x[0], 2, [1, 2]),
        lambda x: np.polyint(x[0], 2, 3),
    ),
    "poly": uses("fi", lambda x: np.poly(x[0])),
}

LOGIC: Table = {
    "isclose": uses(
        "fiubcns",
        lambda x: np.isclose(x, x),
        lambda x: np.isclose(x, 1, equal_nan=True),
        lambda x: np.isclose(2.5, x),
        lambda x: np.isclose(x, A, rtol=np.full(4, 0.5), atol=1),
        lambda x: np.isclose(x, x, equal_nan=True),
    ),
    "allclose": uses(
        "fiubcn", lambda x: x[0] * np.allclose(x, x), lambda x: x[0] * np.allclose(x, A, equal_nan=True)
    ),
    "isreal": uses("fic", lambda x: np.isreal(x)),
    "iscomplex": uses("fic", lambda x: np.iscomplex(x)),
    "iscomplexobj": uses("fc", lambda x: np.iscomplexobj(x)),
    "isrealobj": uses("fc", lambda x: np.isrealobj(x)),
    "isposinf": uses("fiubs", lambda x: np.isposinf(x)),
    "isneginf": uses("fiubs", lambda x: np.isneginf(x), lambda x: np.isneginf(x, np.zeros((3, 4), bool))),
    "array_equal": uses(
        "fiubcn",
        lambda x: x[0] * np.array_equal(x, x[1:]),
        lambda x: x[0] * np.array_equal(x, x + x * 0),
        lambda x: x[0] * np.array_equal(x, x, equal_nan=True),
    ),
    "array_equiv": uses("fi", lambda x: x[0] * np.array_equiv(x, x[:, 1:])),
}

SORTING: Table = {
    "sort": uses(
        "fiubcns",
        lambda x: np.sort(x),
        lambda x: np.sort(x, axis=0),
        lambda x: np.sort(x, axis=None, kind="stable"),
    ),
    "argsort": uses(
        "fiubcns",
        lambda x: np.argsort(x, kind="stable"),
        lambda x: np.argsort(x, axis=0, stable=True),
        lambda x: x.argsort(axis=None, kind="stable"),
    ),
    "lexsort": uses(
        "fiubcn", lambda x: np.lexsort((x, _WHOLE)), lambda x: np.lexsort(x), lambda x: np.lexsort(x, axis=0)
    ),
    "partition": uses(
        "fiubcn", lambda x: np.partition(x, 2)[:, 2], lambda x: np.partition(x, (1, 5), axis=None)[[1, 5]]
    ),
    "argpartition": uses("fiu", lambda x: np.take_along_axis(x, np.argpartition(x, 1, axis=0), 0)[1]),
    "sort_complex": uses("fiubc", lambda x: np.sort_complex(x)),
    "searchsorted": uses(
        "fiubcns",
        *[lambda x, s=s: np.searchsorted(np.sort(x[0]), x, s) for s in ("left", "right")],
        *[lambda x, s=s: np.searchsorted(np.sort(A[0]), x, side=s) for s in ("left", "right")],
        lambda x: np.searchsorted(x[0], [[1, 2], [3, 0]], sorter=np.argsort(x[0])),
        lambda x: np.sort(x[0]).searchsorted(2, "right"),
        lambda x: np.searchsorted(x[0, :0], 3),
    ),
    "isin": uses(
        "fiubn",
        lambda x: np.isin(x, [1, 2, 0.5]),
        lambda x: np.isin(x, x[0, :2], invert=True),
        lambda x: np.isin(x, []),
    ),
}

PRODUCTS: Table = {
    "dot": uses(
        "fiubc",
        lambda x: np.dot(x, B),
        lambda x: np.dot(x, V),
        lambda x: np.dot(x[0], V),
        lambda x: np.dot(C, x.T),
        lambda x: np.dot(x, 2.0),
        lambda x: x.dot(x.T),
        lambda x: np.dot(x, B, out=np.zeros((3, 5))) if x.dtype == np.float64 else x,
    ),
    "vdot": uses("fiubc", lambda x: np.vdot(x, A), lambda x: np.vdot(x, x)),
    "inner": uses("fiubc", lambda x: np.inner(x, A), lambda x: np.inner(x, 2), lambda x: np.inner(x, V)),
    "outer": uses("fiubc", lambda x: np.outer(x, V), lambda x: np.linalg.outer(x[0], V)),
    "tensordot": uses(
        "fiubc",
        lambda x: np.tensordot(x, B, 1),
        lambda x: np.tensordot(C, x, ((1, 2), (0, 1))),
        lambda x: np.tensordot(C, x, [[-1], [1]]),  # type: ignore[call-overload]
        lambda x: np.tensordot(x, x, 0),
        lambda x: np.linalg.tensordot(C, x, axes=2),
    ),
    "kron": uses("fiubc", lambda x: np.kron(x, S), lambda x: np.kron(x[0], C), lambda x: np.kron(x, 2)),
    "cross": uses(
        "fiuc",
        lambda x: np.cross(x[:, :3], S),
        lambda x: np.cross(x[:, :3], S, axis=0),
        lambda x: np.cross(x[:, :3], S, axisa=0, axisc=0),
        lambda x: np.linalg.cross(x[:, :3], S, axis=0),
    ),
    "matmul": uses("fi", lambda x: np.linalg.matmul(x, B)),
    "vecdot": uses("fic", lambda x: np.linalg.vecdot(x, A), lambda x: np.linalg.vecdot(x, A, axis=0)),  # type: ignore[call-overload]
    "multi_dot": uses(
        "fic",
        lambda x: np.linalg.multi_dot([x, B, B.T, x.T]),
        lambda x: np.linalg.multi_dot([V, x.T, A, V]),
        lambda x: np.linalg.multi_dot([x, B]),
        lambda x: np.linalg.multi_dot([x[None], B]),
    ),
    "matrix_power": uses("fic", *[lambda x, n=n: np.linalg.matrix_power(x[:, :3], n) for n in (0, 1, 2, 5)]),
    "norm": uses(
        "fic",
        *[lambda x, o=o: np.linalg.norm(x, o) for o in (None, "fro", 1, -1, np.inf, -np.inf)],
        *[
            lambda x, o=o: np.linalg.norm(x * C, o, axis=(2, 0), keepdims=True)
            for o in (None, "fro", 1, -1, np.inf)
        ],
        *[lambda x, o=o: np.linalg.norm(x, o, axis=1) for o in (None, 0, 1, 2, 3, 2.5, -1, np.inf, -np.inf)],
        lambda x: np.linalg.norm(x * C, keepdims=True),  # type: ignore[call-overload]
    ),
    "vector_norm": uses(
        "fic",
        lambda x: np.linalg.vector_norm(x, ord=3, axis=0, keepdims=True),
        lambda x: np.linalg.vector_norm(x),
    ),
    "matrix_norm": uses(
        "fic", lambda x: np.linalg.matrix_norm(x * C), lambda x: np.linalg.matrix_norm(x, ord=1)
    ),
    "diagonal": uses("f", lambda x: np.linalg.diagonal(x, offset=1)),
    "matrix_transpose": uses("f", lambda x: np.linalg.matrix_transpose(x)),
    "einsum": uses(
        "fiubc",
        *[
            lambda x, s=s: np.einsum(s, x)
            for s in ("ij", "ji", "ij->", "ij->j", "ij->ji", "i...->...", "...")
        ],
        *[
            lambda x, s=s: np.einsum(s, x, B)
            for s in ("ij,jk", "ij,jk->ki", "ij,jk->", "ij,jk->j", "ij,kl->ijkl", "ij,jk->ijk", "ij, j...")
        ],
        *[
            lambda x, s=s: np.einsum(s, x, A)
            for s in ("ij,ij", "ij,ij->ij", "ij,kj->ik", "...ij,...ij->...i", "ij,ij->ji")
        ],
        *[
            lambda x, s=s: np.einsum(s, C, x)
            for s in ("bij,ij->b", "bij,ij->bji", "bij,kj->bik", "...ij,kj->...ik")
        ],
        *[lambda x, o=o: np.einsum("ij,jk,kl->il", x, B, B.T, optimize=o) for o in (False, True, "optimal")],
        lambda x: np.einsum("ii->i", x[:, :3]),
        lambda x: np.einsum("ii", x[:, :3]),
        lambda x: np.einsum("ii,ij->j", x[:, :3], S),
        lambda x: np.einsum("iij->ij", np.broadcast_to(x[:, None, :], (3, 3, 4))),
        lambda x: np.einsum("iijj->ij", x[:2, :2, None, None] * S),
        lambda x: np.einsum(x, [0, 1], B, [1, 2]),
        lambda x: np.einsum(x, [Ellipsis, 1], B, [1, 2], [2, Ellipsis]),
        lambda x: np.einsum("ij,ij->ij", x[:1], A),
        lambda x: np.einsum("ij,jk", x[:, :1], B),
        lambda x: np.einsum("ij,jk", x, B, dtype=complex),
        lambda x: np.einsum("i,i,i->i", x[0], V, V),
        lambda x: np.einsum("ij,jk", x, B, out=np.zeros((3, 5), complex)),
    ),
}


def _along_an_axis(function: Callable[..., Any]) -> tuple[Use, ...]:
    """A transform along one axis: cut, filled up, of even and odd length, scaled in every way."""
    return (
        lambda x: function(x),
        lambda x: function(x, axis=0),
        lambda x: function(x, 3),
        lambda x: function(x, n=7, axis=-2),
        lambda x: function(x, 6, 0, "ortho"),
        lambda x: function(x, norm="forward"),
        lambda x: function(x[None, :2], n=1, axis=1, norm="backward"),
        lambda x: function(x[:0]),
    )


def _over_axes_at_once(function: Callable[..., Any]) -> tuple[Use, ...]:
    """A transform over several axes, the last of which may be the shortened one."""
    return (
        lambda x: function(x),
        lambda x: function(x, axes=(1, 0), norm="ortho"),
        lambda x: function(x, s=(2, 7), axes=(0, 1)),
        lambda x: function(x, s=(5, -1), axes=(-2, -1), norm="forward"),
        lambda x: function(x[None] + x[:2, None], axes=(0, 2)),
        lambda x: function(x, axes=[1]),
        lambda x: function(x, s=(3, 5), axes=(1, 1)),
    )


def _shifts(function: Callable[..., Any]) -> tuple[Use, ...]:
    return (
        lambda x: function(x),
        lambda x: function(x, 0),
        lambda x: function(x[:, :3], axes=(1, -2)),
        lambda x: function(x, axes=[1]),
    )


FOURIER: Table = {
    **{
        name: uses("fiubc", *_along_an_axis(getattr(np.fft, name)))
        for name in ("fft", "ifft", "irfft", "hfft")
    },
    **{name: uses("fiub", *_along_an_axis(getattr(np.fft, name))) for name in ("rfft", "ihfft")},
    **{
        name: uses("fic", *_over_axes_at_once(getattr(np.fft, name)))
        for name in ("fft2", "ifft2", "fftn", "ifftn", "irfft2", "irfftn")
    },
    **{name: uses("fi", *_over_axes_at_once(getattr(np.fft, name))) for name in ("rfft2", "rfftn")},
    **{name: uses("fibc", *_shifts(getattr(np.fft, name))) for name in ("fftshift", "ifftshift")},
    "fftfreq": uses(
        "fic",
        lambda x: np.fft.fftfreq(8) * x[0, 0],
        lambda x: np.fft.fftfreq(5, 0.25) + x[0, 0],
        lambda x: np.fft.fftfreq(x.shape[1], d=x[0, 1]),
    ),
    "rfftfreq": uses("fic", lambda x: np.fft.rfftfreq(8) * x[0, 0], lambda x: np.fft.rfftfreq(5, d=x[0, 1])),
}

CHAPTERS: dict[str, Table] = {
    "reductions": REDUCTIONS,
    "without_nan": WITHOUT_NAN,
    "statistics": STATISTICS,
    "histograms": HISTOGRAMS,
    "mathematics": MATHEMATICS,
    "polynomials": POLYNOMIALS,
    "logic": LOGIC,
    "sorting": SORTING,
    "products": PRODUCTS,
    "fft": FOURIER,
}


def _cases(table: Table) -> Iterator[Case]:
    for name, (kinds, functions) in table.items():
        dtypes = [dtype for kind in kinds for dtype in OF_KIND[kind]]
        for number, use in enumerate(functions):
            for dtype in dtypes:
                yield Case(name, f"{name}-{number}-{dtype}", (use, dtype))


def use_of(case: Case) -> str:
    """The name of the use, which is the same for all dtypes."""
    return case.name.rpartition("-")[0]


def cases(*chapters: str) -> list[Case]:
    """Each use of the chapters with each dtype of its kinds, by the function."""
    return [case for chapter in chapters for case in _cases(CHAPTERS[chapter])]
