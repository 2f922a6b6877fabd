"""Medians, quantiles and percentiles: of all entries, of those that are not NaN, and weighted.

Methods as in R. J. Hyndman and Y. Fan, "Sample quantiles in statistical packages" (1996), and NumPy's
discrete ones.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...arguments.axes import axes_or_all
from ...builder import bind_all
from ...dtypes import FLOAT64, INT64, is_inexact
from ...errors import ArgumentTypeError, ArgumentValueError, OutOfBoundsError
from ...ir import Value
from ...nesting import shown
from ...symbolic_size import is_known
from ...tracing.array_values import as_value
from ...tracing.registry import implements
from ...tracing.traced_array import TracedArray, wrap
from ...tracing.traced_memory import contains_traced, is_traced
from ...tracing.value_lengths import depends_on_values, is_nothing
from ...value_ops import concatenate, convert, full, gather, number
from ..arrays.constructors import new_array
from ..ufuncs.reductions import Axes, finished_reduction, in_one_axis, keeps_axes
from ..ufuncs.ufunc_calls import as_array
from ..ufuncs.value_checks import refuse_values
from .averages import matching_weights

# The position of the quantile q among n sorted entries, counted from 0, as a fraction or as an integer.
_PLACES: dict[str, Callable[[Any, Any], Any]] = {
    "inverted_cdf": lambda n, q: _boundary(n * q - 1, lambda gamma, index: gamma == 0),
    "averaged_inverted_cdf": lambda n, q: n * q - 1,
    "closest_observation": lambda n, q: _boundary(
        n * q - 1.5, lambda gamma, index: (gamma == 0) & (np.floor(index) % 2 == 1)
    ),
    "interpolated_inverted_cdf": lambda n, q: _hyndman_fan(n, q, 0, 1),
    "hazen": lambda n, q: _hyndman_fan(n, q, 0.5, 0.5),
    "weibull": lambda n, q: _hyndman_fan(n, q, 0, 0),
    "linear": lambda n, q: (n - 1) * q,
    "median_unbiased": lambda n, q: _hyndman_fan(n, q, 1 / 3.0, 1 / 3.0),
    "normal_unbiased": lambda n, q: _hyndman_fan(n, q, 3 / 8.0, 3 / 8.0),
    "lower": lambda n, q: np.floor((n - 1) * q).astype(np.intp),
    "higher": lambda n, q: np.ceil((n - 1) * q).astype(np.intp),
    "midpoint": lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
    "nearest": lambda n, q: np.rint((n - 1) * q).astype(np.intp),
}
_SHARES: dict[str, Callable[[Any, Any], Any]] = {
    "averaged_inverted_cdf": lambda gamma, index: np.where(gamma == 0, 0.5, 1.0),
    "midpoint": lambda gamma, index: np.where(index % 1 == 0, 0.0, 0.5),
}
"""The weight of the upper neighbour, if it is not the fraction of the position."""

_EXACT_PLACES = frozenset({"inverted_cdf", "closest_observation", "lower", "higher", "nearest", "linear"})
"""Methods that take a single entry if its position is an integer."""


def _hyndman_fan(n: Any, q: Any, alpha: float, beta: float) -> Any:
    return n * q + (alpha + q * (1 - alpha - beta)) - 1


def _boundary(index: Any, stays: Callable[[Any, Any], Any]) -> Any:
    """The entry below the position where `stays` is true, otherwise the one above."""
    below = np.floor(index)
    chosen = np.where(stays(index - below, index), below, below + 1).astype(np.intp)
    return np.maximum(chosen, 0)


# ---- lines: the entries of the last axis -------------------------------------------------------------


def sorted_lines(x: Value) -> Value:
    """The entries of the last axis in ascending order, NaN last."""
    (ordered,) = bind_all("sort", x, axis=x.ndim - 1, num_keys=1, descending=False)
    return ordered


def _entries(ordered: Value, place: Any) -> Any:
    """Entries of the last axis; the axes of `place`, the same for all lines, come first."""
    return wrap(gather(ordered, [as_value(place)], (ordered.ndim - 1,)))


def _entries_of_each(ordered: Value, place: Any) -> Any:
    """Entries of the last axis at positions that differ between lines: the last axes of `place` are the lines."""
    lines = ordered.shape[:-1]
    extra = place.shape[: place.ndim - len(lines)]
    flat = np.moveaxis(np.reshape(place, (math.prod(extra), *lines)), 0, -1)
    lines_of_entries: Any = wrap(ordered)
    taken: Any = np.take_along_axis(lines_of_entries, np.maximum(flat, 0), axis=-1)
    return np.reshape(np.moveaxis(taken, -1, 0), (*extra, *lines))


def _present(x: Value) -> Any:
    """How many entries of each line are not NaN."""
    return np.sum(~np.isnan(wrap(x)), axis=-1)


def _or_nan(result: Any, ordered: Value, length: Any) -> Any:
    """NaN for the lines that contain one."""
    if not is_inexact(ordered.dtype):
        return result
    if depends_on_values(length):
        count: Any = wrap(number(length, INT64))
        last = _entries(ordered, count - 1)
    else:
        last = wrap(ordered)[..., -1]
    return np.where(np.isnan(last), last, result)


def _with_nan_appended(ordered: Value) -> Value:
    """Lines whose length is known only at run time. If it is 0, the first entry is NaN."""
    behind = full((*ordered.shape[:-1], 1), math.nan, ordered.dtype)
    return concatenate([ordered, behind], ordered.ndim - 1)


# ---- quantiles ---------------------------------------------------------------------------------------


def _refuse_no_entries(line: Value, method: str, q: Any, *, is_weighted: bool) -> None:
    """Raise NumPy's error where a quantile has no entries. It looks for NaN in the last entry; in dtypes without NaN,
    it looks for the entries of the quantiles, if there are any."""
    if is_weighted or is_inexact(line.dtype):
        problem = "index -1 is out of bounds for axis 0 with size 0"
    elif is_known(q.size == 0):
        return
    elif method in _EXACT_PLACES - {"linear"}:
        problem = "cannot do a non-empty take from an empty axes."
    else:
        problem = "index 0 is out of bounds for axis 0 with size 0"
    if is_nothing(line.shape[-1], f"IndexError({problem!r})"):
        raise OutOfBoundsError(problem)


def _interpolated(line: Value, q: Any, method: str, weak: bool) -> Any:
    """Quantiles along the last axis, which is removed; the axes of q come first."""
    length = line.shape[-1]
    ordered = sorted_lines(line)
    if depends_on_values(length) and is_inexact(line.dtype):
        ordered = _with_nan_appended(ordered)
    place = as_known_or_traced(_PLACES[method](length, q))
    if _is_integer(method, place):
        return _or_nan(_entries(ordered, place), ordered, length)
    below, above = _neighbours(place, length - 1)
    share = as_known_or_traced(_share(method, place, length - 1))
    if not weak:
        share = np.reshape(share, (*np.shape(share), *(1,) * (line.ndim - 1)))
    return _or_nan(_lerp(_entries(ordered, below), _entries(ordered, above), share, weak), ordered, length)


def _interpolated_present(line: Value, q: Any, method: str, weak: bool) -> Any:
    """Like `_interpolated`, over the entries that are not NaN, whose number differs between lines."""
    ordered = sorted_lines(line)
    if depends_on_values(line.shape[-1]):
        ordered = _with_nan_appended(ordered)
    count = _present(line)
    q = np.reshape(as_array(q), (*np.shape(q), *(1,) * (line.ndim - 1)))
    wide_count = count.astype(q.dtype) if q.dtype.kind == "f" else count
    place = _PLACES[method](wide_count, q)
    if _is_integer(method, place):
        result = _entries_of_each(ordered, place)
    else:
        below, above = _neighbours(place, count - 1)
        values = _entries_of_each(ordered, below), _entries_of_each(ordered, above)
        result = _lerp(*values, _share(method, place, count - 1), weak)
    return np.where(count == 0, np.asarray(np.nan, result.dtype), result)


def as_known_or_traced(x: Any) -> Any:
    if is_traced(x):
        return x
    return wrap(as_value(x)) if contains_traced(x) else np.asarray(x)


def _is_integer(method: str, place: Any) -> bool:
    return place.dtype.kind in "iu" and method in _EXACT_PLACES


def _neighbours(place: Any, top: Any) -> tuple[Any, Any]:
    """The entries below and above a position; outside, both are the last or the first one."""
    below = np.floor(place)

    def clipped(index: Any) -> Any:
        return np.where(place >= top, top, np.where(place < 0, 0, index)).astype(np.intp)

    return clipped(below), clipped(below + 1)


def _share(method: str, place: Any, top: Any) -> Any:
    """How far a position is from the entry below. That of the last entry counts from −1, as in NumPy, which shows in
    signs of zero."""
    below = np.where(place >= top, -1, np.where(place < 0, 0, np.floor(place)))
    share = _SHARES.get(method, lambda gamma, index: gamma)(place - below, place)
    return share.astype(place.dtype)


def _lerp(a: Any, b: Any, share: Any, weak: bool) -> Any:
    """Linear interpolation from the nearer end. A fraction that came from a Python number keeps the dtype of a and
    b."""
    if weak:
        share = share.astype(a.dtype if a.dtype.kind == "f" else np.float64)
    gap = b - a
    return np.where(share >= 0.5, b - gap * (1 - share), a + gap * share)


def _weighted(line: Value, weights: Value, q: Any, ignore_nan: bool) -> Any:
    """The first entry at which the cumulative weight reaches q times the total."""
    x: Any = wrap(line)
    w: Any = wrap(weights)
    if ignore_nan and is_inexact(line.dtype):
        w = np.where(np.isnan(x), 0, w)
    order = np.argsort(x, axis=-1)
    x, w = np.take_along_axis(x, order, -1), np.take_along_axis(w, order, -1)
    cumulated = np.cumsum(w, axis=-1, dtype=np.float64)
    share = cumulated / cumulated[..., -1:]
    q = as_array(q)
    if q.dtype.kind == "f":
        share = share.astype(q.dtype)
    share = np.where(share == 0, -1, share)
    wanted = np.reshape(q, (*q.shape, *(1,) * line.ndim))
    place = np.minimum(np.sum(share < wanted, axis=-1), line.shape[-1] - 1)
    result = _entries_of_each(x.value, place)
    if ignore_nan:
        return (
            np.where(_present(line) == 0, np.asarray(np.nan, x.dtype), result)
            if is_inexact(line.dtype)
            else result
        )
    return _or_nan(result, x.value, line.shape[-1])


def _fractions(q: Any, scale: int) -> Any:
    """The quantiles as fractions."""
    fractions = as_known_or_traced(q)
    if fractions.ndim > 2:
        raise ArgumentValueError("q must be a scalar or 1d")
    name = "Quantiles" if scale == 1 else "Percentiles"
    outside = np.logical_not((fractions >= 0) & (fractions <= scale))
    refuse_values(outside, f"{name} must be in the range [0, {scale}]")
    return fractions if scale == 1 else np.true_divide(fractions, scale)


def _quantile(name: str, scale: int, *, ignore_nan: bool) -> None:
    @implements(getattr(np, name))
    def quantile(
        a: Any,
        q: Any,
        axis: Any = None,
        out: Any = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: Any = False,
        *,
        weights: Any = None,
    ) -> TracedArray:
        x = as_value(a)
        if x.dtype.kind == "c":
            raise ArgumentTypeError("a must be an array of real numbers")
        if method not in _PLACES:
            raise ArgumentValueError(
                f"{shown(method)} is not a valid method. Use one of: {', '.join(_PLACES)}"
            )
        weak = type(q) in (int, float) or (is_traced(q) and q.weak is not None)
        fractions = _fractions(q, scale)
        axes = axes_or_all(axis, x.ndim)
        line = in_one_axis(x, axes)
        if not ignore_nan:
            _refuse_no_entries(line, method, fractions, is_weighted=weights is not None)
        if weights is not None:
            if method != "inverted_cdf":
                raise ArgumentValueError(f"only method 'inverted_cdf' supports weights, not {shown(method)}")
            w: Any = np.broadcast_to(matching_weights(wrap(x), as_array(weights), axis), x.shape)
            result = _weighted(line, in_one_axis(w.value, axes), fractions, ignore_nan)
        elif ignore_nan and not depends_on_values(line.shape[-1]) and not line.shape[-1]:
            dtype = line.dtype if is_inexact(line.dtype) else np.dtype(np.float64)
            result = as_array(np.full((*np.shape(q), *line.shape[:-1]), np.nan, dtype))
        elif ignore_nan and is_inexact(x.dtype):
            result = _interpolated_present(line, fractions, method, weak)
        else:
            result = _interpolated(line, fractions, method, weak)
        if out is not None or not keeps_axes(keepdims):
            delivered = _with_kept_axes(result, fractions.ndim, x, axes, out, keepdims, "same_kind")
        else:
            delivered = finished_reduction(as_value(result), None)
        if out is None and ignore_nan and weights is None and axis is not None:
            delivered = _quantiles_last(delivered, np.ndim(q))
        return _with_new_axes(delivered, x, axes) if out is None and keeps_axes(keepdims) else delivered


def _quantiles_last(result: TracedArray, quantile_axes: int) -> TracedArray:
    """In the memory order of NumPy, which computes all quantiles of a line together and then moves their axes."""
    return new_array(result.value, [*range(quantile_axes, result.ndim), *range(quantile_axes)])


def _with_new_axes(result: Any, x: Value, axes: Axes) -> Any:
    """The reduced axes as new ones, as in NumPy, which gives these strides of 0."""
    return result[(..., *(None if axis in axes else slice(None) for axis in range(x.ndim)))]


def _with_kept_axes(
    result: Any, quantile_axes: int, x: Value, axes: Axes, out: Any, keepdims: Any, casting: str = "unsafe"
) -> TracedArray:
    """Axes of the quantiles first, then the remaining axes of x, or all with length 1."""
    if keeps_axes(keepdims):
        kept = (1 if axis in axes else dim for axis, dim in enumerate(x.shape))
        result = np.reshape(result, (*result.shape[:quantile_axes], *kept))
    return finished_reduction(as_value(result), out, casting=casting)


for _name, _scale in (("quantile", 1), ("percentile", 100)):
    _quantile(_name, _scale, ignore_nan=False)
    _quantile(f"nan{_name}", _scale, ignore_nan=True)


# ---- medians -----------------------------------------------------------------------------------------


@implements(np.median)
def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False
) -> TracedArray:
    """The mean of the middle entry, or of the two middle entries."""
    x = as_value(a)
    axes = axes_or_all(axis, x.ndim)
    line = in_one_axis(x, axes)
    length = line.shape[-1]
    result: Any
    if depends_on_values(length):
        result = _median_of_found(line)
    else:
        ordered = sorted_lines(line)
        middle = wrap(ordered)[..., max((length - 1) // 2, 0) : length // 2 + 1]
        result = np.mean(middle, axis=-1)
        if length:
            result = _or_nan(result, ordered, length)
    return _with_kept_axes(result, 0, x, axes, out, keepdims)


def _median_of_found(line: Value) -> Any:
    """The same where the program finds the length out."""
    length = line.shape[-1]
    ordered = sorted_lines(line if is_inexact(line.dtype) else convert(line, FLOAT64))
    ordered = _with_nan_appended(ordered)
    count: Any = wrap(number(length, INT64))
    lower, upper = _entries(ordered, (count - 1) // 2), _entries(ordered, count // 2)
    result = np.where(count % 2 == 1, lower, np.mean(np.stack([lower, upper]), axis=0))
    result = result + 0  # NumPy's is a mean in both cases, and so not −0
    return _or_nan(result, ordered, length)


@implements(np.nanmedian)
def nanmedian(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False
) -> TracedArray:
    x = as_value(a)
    if not is_inexact(x.dtype):
        return median(a, axis, out, overwrite_input, keepdims)
    axes = axes_or_all(axis, x.ndim)
    line = in_one_axis(x, axes)
    count = _present(line)
    if not line.shape[-1]:
        with np.errstate(invalid="ignore"):
            nothing = wrap(line)[..., :0].sum(-1) / 0
        return _with_kept_axes(nothing, 0, x, axes, out, keepdims)
    ordered = sorted_lines(line)
    if depends_on_values(line.shape[-1]):
        ordered = _with_nan_appended(ordered)
    lower = _entries_of_each(ordered, (count - 1) // 2)
    upper = _entries_of_each(ordered, np.minimum(count // 2, line.shape[-1] - 1))
    both: Any = np.mean(np.stack([lower, upper]), axis=0)
    result = np.where(count % 2 == 1, lower, both) + 0  # not −0, as in `_median_of_found`
    result = np.where(count == 0, np.asarray(np.nan, result.dtype), result)
    return _with_kept_axes(result, 0, x, axes, out, keepdims)
