"""Counting entries: histograms in one or more dimensions, and counts of small integers."""

from typing import Any

import numpy as np

from ...dtypes import FLOAT64, INT64
from ...errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ConcretizationError,
    ShapeError,
)
from ...ir import Value
from ...nesting import shown
from ...symbolic_size import is_known
from ...tracing.array_values import as_value
from ...tracing.registry import implements
from ...tracing.traced_array import wrap
from ...tracing.traced_memory import is_traced
from ...tracing.value_lengths import depends_on_values, length_of
from ...value_ops import (
    convert,
    full,
    iota,
    less,
    logical_and,
    maximum,
    nonzero_mask,
    reshape,
    scatter,
    where,
)
from ..ufuncs.ufunc_calls import as_array
from ..ufuncs.value_checks import refuse_values
from .bin_widths import number_of_bins


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """How often each of 0, 1, … occurs. Where the largest is computed, the program finds out the length."""
    values: Any = as_array(x)
    if values.ndim != 1:
        raise ShapeError(f"bincount needs a vector, not {values.type}")
    if values.dtype.kind not in "iub":
        raise ArgumentTypeError(f"bincount needs integers, not {values.type}")
    refuse_values(np.less(minlength, 0), "'minlength' must not be negative")
    known = values.concrete()
    if known is None and not is_known(values.shape[0] == 0):
        return _bincount_as_computed(convert(values.value, INT64), weights, minlength)
    if known is not None and known.size and known.min() < 0:
        raise ArgumentValueError("'list' argument must have no negative elements")
    most = int(known.max()) + 1 if known is not None and known.size else 0
    return bincount_of_length(values, weights, max(most, int(minlength)))


def _bincount_as_computed(places: Value, weights: Any, minlength: Any) -> Any:
    refuse_values(wrap(less(places, 0)), "'list' argument must have no negative elements")
    places = maximum(places, 0)
    longest: Any = np.max(wrap(places), initial=-1) + 1
    length = length_of(maximum(longest.value, as_value(minlength)), may_be_negative=False)
    return bincount_of_length(wrap(places), weights, length)


def bincount_of_length(x: Any, weights: Any, length: int) -> Any:
    """Like `numpy.bincount`, for 0, …, length − 1; other entries are not counted."""
    values = as_value(x)
    if weights is None:
        return wrap(sums_at(values, None, full(values.shape, 1, INT64), length))
    added = as_value(weights)
    if added.shape != values.shape:
        raise ShapeError(f"bincount: weights of shape {added.shape} for {values.shape[0]} entries")
    return wrap(sums_at(values, None, convert(added, FLOAT64), length))


def sums_at(places: Value, present: Value | None, added: Value, length: int) -> Value:
    """The sums of the values added at each position; absent entries are not counted."""
    if present is not None:
        added = where(present, added, 0)
    start = full((length,), 0, added.dtype)
    if _is_none(places.type.size) or _is_none(length):
        return start
    return scatter(start, added, [convert(places, INT64)], (0,), "add")


def _is_none(size: Any) -> bool:
    """Whether a size is 0. One that the program finds out need not be: it counts nothing, then."""
    return is_known(size == 0) if depends_on_values(size) else not size


# ---- bins --------------------------------------------------------------------------------------------


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    return _edges(as_array(a), bins, range)


def _edges(x: Any, bins: Any, limits: Any, *, like_range: bool = False) -> Any:
    """The edges: given, or equally spaced from the smallest to the largest entry or within a range.

    Edges within a range have the dtype of x and the range, or that of the range alone (`like_range`).
    """
    if isinstance(bins, str):
        known = x.concrete()
        if known is None:
            return _edges_as_computed(np.ravel(x), bins, limits)
        return as_array(np.histogram_bin_edges(known, bins, limits))
    if np.ndim(bins) == 1:
        edges: Any = as_array(bins)
        refuse_values(edges[:-1] > edges[1:], "`bins` must increase monotonically, when an array")
        return edges
    if np.ndim(bins):
        raise ArgumentValueError("`bins` must be 1d, when an array")
    if isinstance(bins, float):
        raise ArgumentTypeError("`bins` must be an integer, a string, or an array")
    count = int(bins)
    if count < 1:
        raise ArgumentValueError("`bins` must be positive, when an integer")
    low, high = _outer_edges(x, limits)
    dtype = np.result_type(low, high, *([] if like_range and limits is not None else [x.dtype]))
    edges = np.linspace(low, high, count + 1, dtype=dtype if dtype.kind in "fc" else np.dtype(float))
    message = f"Too many bins for data range. Cannot create {count} finite-sized bins."
    refuse_values(edges[:-1] >= edges[1:], message)
    return edges


def _edges_as_computed(x: Any, bins: str, limits: Any) -> Any:
    """Edges of as many bins as the entries decide: the program finds out the length."""
    if limits is not None:
        raise ConcretizationError(
            f"bins={shown(bins)} with a range estimates the number of bins from the entries within it: select them "
            "before, x = x[(x >= low) & (x <= high)], or give a number of bins"
        )
    x = x.astype(np.uint8) if x.dtype.kind == "b" else x
    low, high = _outer_edges(x, None)
    if is_known(x.size == 0):
        return np.linspace(low, high, 2)
    count = number_of_bins(x, bins, low, high)
    dtype = np.result_type(low, high, x.dtype)
    steps: Any = wrap(iota(length_of((count + 1).value, may_be_negative=False), INT64))
    inner = steps * ((high - low) / count) + low
    edges = np.where(steps == count, high, inner)
    refuse_values(edges[:-1] >= edges[1:], "Too many bins for data range. Cannot create finite-sized bins.")
    return edges.astype(dtype if dtype.kind in "fc" else np.dtype(float))


def _outer_edges(x: Any, limits: Any) -> tuple[Any, Any]:
    if limits is not None:
        low, high = limits
        refuse_values(np.greater(low, high), "max must be larger than min in range parameter.")
        _refuse_infinite("supplied", low, high)
        if not (is_traced(low) or is_traced(high)):
            return (low - 0.5, high + 0.5) if low == high else (low, high)
    elif not x.size:
        return 0, 1
    else:
        x = x.astype(np.uint8) if x.dtype.kind == "b" else x
        low, high = np.min(x), np.max(x)
        _refuse_infinite("autodetected", low, high)
    return np.where(low == high, low - 0.5, low), np.where(low == high, high + 0.5, high)


def _refuse_infinite(which: str, low: Any, high: Any) -> None:
    infinite = np.logical_not(np.isfinite(low) & np.isfinite(high))
    if np.iscomplexobj(low):  # which cannot be told from inside a program
        refuse_values(infinite, f"{which} range is not finite")
    else:
        refuse_values(infinite, f"{which} range of [{{}}, {{}}] is not finite", shown_values=(low, high))


def _places(x: Any, edges: Any) -> tuple[Value, Value]:
    """The bin of each entry, with the last bin closed on the right, and whether the entry is in one."""
    count = edges.shape[0] - 1
    place: Any = np.searchsorted(edges, x, side="right") - 1
    place = np.where(x == edges[-1], count - 1, place)
    return place.value, logical_and((x >= edges[0]).value, (x <= edges[-1]).value)


def _weights_and_counts(x: Any, weights: Any) -> Value:
    """The contribution of each entry: 1, or its weight in the dtype in which NumPy sums it."""
    if weights is None:
        return full((x.size,), 1, INT64)
    w: Any = as_array(weights)
    if w.shape != x.shape:
        raise ShapeError("weights should have the same shape as a.")
    value = np.ravel(w).value  # type: ignore[attr-defined]
    return value if w.dtype.kind != "b" else convert(nonzero_mask(value), INT64)


@implements(np.histogram)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    x: Any = as_array(a)
    added = _weights_and_counts(x, weights)
    flat: Any = np.ravel(x.astype(np.uint8) if x.dtype.kind == "b" else x)
    edges = _edges(x, bins, range)
    place, present = _places(flat, edges)
    counts: Any = wrap(sums_at(place, present, added, edges.shape[0] - 1))
    if density:
        widths = np.diff(edges).astype(float)
        counts = counts / widths / np.sum(counts)
    return counts, edges


@implements(np.histogramdd)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    x: Any = as_array(sample) if is_traced(sample) or isinstance(sample, np.ndarray) else None
    points: Any = np.stack([as_array(column) for column in sample], axis=-1) if x is None else x
    points = points[:, None] if points.ndim == 1 else points
    dimensions = points.shape[1]
    each_bins = list(bins) if np.iterable(bins) and not isinstance(bins, str) else [bins] * dimensions
    each_range = [None] * dimensions if range is None else list(range)
    if len(each_bins) != dimensions or len(each_range) != dimensions:
        raise ArgumentValueError("The dimension of bins must be equal to the dimension of the sample x.")
    edges, place, present = [], None, None
    for i, (one_bins, one_range) in enumerate(zip(each_bins, each_range, strict=True)):
        column = points[:, i]
        edges.append(_edges(column, one_bins, one_range, like_range=True))
        here, inside = _places(column, edges[-1])
        length = edges[-1].shape[0] - 1
        place = here if place is None else (wrap(place) * length + wrap(here)).value
        present = inside if present is None else logical_and(present, inside)
    shape = tuple(edge.shape[0] - 1 for edge in edges)
    assert place is not None
    added = convert(_weights_and_counts(points[:, 0], weights), FLOAT64)
    counts: Any = wrap(reshape(sums_at(place, present, added, int(np.prod(shape))), shape))
    if density:
        counts = _density(counts, edges)
    return counts, tuple(edges)


def _density(counts: Any, edges: list[Any]) -> Any:
    total = np.sum(counts)
    for i, edge in enumerate(edges):
        counts = counts / np.reshape(np.diff(edge), tuple(-1 if j == i else 1 for j in range(len(edges))))
    return counts / total


@implements(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    first, second = as_array(x), as_array(y)
    if first.shape != second.shape:
        raise ShapeError("x and y must have the same length.")
    if isinstance(bins, (list, tuple)) or np.ndim(bins):
        bins = list(bins)
        bins = bins * 2 if len(bins) == 1 else bins if len(bins) == 2 else [bins, bins]
    counts, edges = np.histogramdd([first, second], bins, range, density, weights)
    return counts, edges[0], edges[1]
