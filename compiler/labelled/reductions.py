"""What the reductions of pandas compute, which skip NaN unless they are asked not to."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np


def _sum(x: Any, axis: int | None, skipna: bool, ddof: int) -> Any:
    return np.sum(_without_nan(x, 0, skipna), axis=axis)


def _prod(x: Any, axis: int | None, skipna: bool, ddof: int) -> Any:
    return np.prod(_without_nan(x, 1, skipna), axis=axis)


def _mean(x: Any, axis: int | None, skipna: bool, ddof: int) -> Any:
    count = _count(x, axis, skipna, ddof)
    x = _in_floats(x)
    return _divided(np.sum(_without_nan(x, 0, skipna), axis=axis), count)


def _var(x: Any, axis: int | None, skipna: bool, ddof: int) -> Any:
    x = _in_floats(x)
    mean = _mean(x, axis, skipna, 0)
    distance: Any = x - (mean if axis is None else np.expand_dims(mean, axis))
    if skipna:  # the mean may be NaN where an element is not, beside one that is infinite
        distance = np.where(np.isnan(x), np.asarray(0, x.dtype), distance)
    squares = distance * distance if x.dtype.kind == "f" else distance.real**2 + distance.imag**2
    count = _count(x, axis, skipna, 0)
    return _divided(np.sum(squares, axis=axis), count - ddof)


def _std(x: Any, axis: int | None, skipna: bool, ddof: int) -> Any:
    return np.sqrt(_var(x, axis, skipna, ddof))


def _min(x: Any, axis: int | None, skipna: bool, ddof: int) -> Any:
    return _extreme(np.min, np.inf, x, axis, skipna)


def _max(x: Any, axis: int | None, skipna: bool, ddof: int) -> Any:
    return _extreme(np.max, -np.inf, x, axis, skipna)


def _count(x: Any, axis: int | None, skipna: bool, ddof: int) -> Any:
    is_counted = ~np.isnan(x) if skipna and _has_nan(x) else np.ones_like(x, bool)
    return np.sum(is_counted, axis=axis)


def _any(x: Any, axis: int | None, skipna: bool, ddof: int) -> Any:
    return np.any(_without_nan(x, 0, skipna), axis=axis)


def _all(x: Any, axis: int | None, skipna: bool, ddof: int) -> Any:
    return np.all(x, axis=axis)  # NaN counts as true, as 1 does


def _extreme(function: Any, beyond: float, x: Any, axis: int | None, skipna: bool) -> Any:
    """`function` without NaN; NaN where all are NaN."""
    if not _has_nan(x):
        return function(x, axis=axis)
    found = function(_without_nan(x, beyond, skipna), axis=axis, initial=beyond)
    return np.where(_count(x, axis, skipna, 0) == 0, np.asarray(np.nan, x.dtype), found)[()]


def _divided(total: Any, count: Any) -> Any:
    """Their quotient; NaN if there is nothing to divide by."""
    quotient = total / np.maximum(count, 1).astype(total.dtype)
    return np.where(count > 0, quotient, np.asarray(np.nan, total.dtype))[()]


def _without_nan(x: Any, fill: float, skipna: bool) -> Any:
    return np.where(np.isnan(x), np.asarray(fill, x.dtype), x) if skipna and _has_nan(x) else x


def _has_nan(x: Any) -> bool:
    return bool(x.dtype.kind in "fc")


def _in_floats(x: Any) -> Any:
    return x if _has_nan(x) else x.astype(np.float64)


REDUCTIONS: Final[dict[str, Callable[[Any, int | None, bool, int], Any]]] = {
    "sum": _sum,
    "prod": _prod,
    "mean": _mean,
    "var": _var,
    "std": _std,
    "min": _min,
    "max": _max,
    "count": _count,
    "any": _any,
    "all": _all,
}
"""By the names of the methods: functions of an array, the axis or None for all, whether NaN is skipped, and `ddof`."""


def _cumulative(function: Any, fill: float) -> Callable[[Any, bool], Any]:
    def accumulate(x: Any, skipna: bool) -> Any:
        found = function(_without_nan(x, fill, skipna), axis=0)
        return np.where(np.isnan(x), x, found) if skipna and _has_nan(x) else found

    return accumulate


CUMULATIVE: Final = {"cumsum": _cumulative(np.cumsum, 0), "cumprod": _cumulative(np.cumprod, 1)}
"""By the names of the methods: functions of an array, along its first axis, and whether NaN is skipped and kept."""
