"""Convolution and correlation of sequences."""

import operator
from typing import Any

import numpy as np

from ...dtypes import INT64
from ...errors import ArgumentValueError, ShapeError
from ...ir import Value
from ...nesting import shown
from ...symbolic_size import SymbolicSize, is_known, max_expr, min_expr
from ...tracing.registry import implements
from ...tracing.traced_array import TracedArray, wrap
from ...tracing.value_lengths import depends_on_values, is_nothing
from ...tracing.views import WRITTEN_OUT
from ...value_ops import (
    add,
    concatenate,
    conjugate,
    constant,
    flip,
    full,
    gather,
    iota,
    multiply,
    number,
    reshape,
    where,
)
from ..linalg.products import in_common_dtype, sum_of_products
from ..ufuncs.reductions import fold_all

_MODES = {"valid": "valid", "same": "same", "full": "full", 0: "valid", 1: "same", 2: "full"}


def _mode(given: Any) -> str:
    if given not in _MODES:
        raise ArgumentValueError(f"mode must be one of 'valid', 'same', or 'full' (got {shown(given)})")
    return _MODES[given]


def _correlated(x: Value, y: Value, mode: Any) -> Value:
    """Sums of x[k + i] · y[i], for y no longer than x: one product of windows of x with y."""
    n, m = x.shape[0], y.shape[0]
    ends = {"valid": (0, 0), "same": (m // 2, m - m // 2 - 1), "full": (m - 1, m - 1)}
    before, after = ends[_mode(mode)]
    if isinstance(m, SymbolicSize):
        return _correlated_with_any_length(x, y, before, after)
    if isinstance(n, SymbolicSize):
        return _correlated_of_any_length(x, y, before, after)
    if n * m > WRITTEN_OUT:
        return _correlated_with_any_length(x, y, before, after)
    starts = np.arange(-before, n + after - m + 1)
    inside = (starts >= 0) & (starts <= n - m)
    parts = [
        _partial_windows(x, y, starts[starts < 0]),
        sum_of_products(_windows(x, starts[inside], m), y, ((1,), (0,))),
        _partial_windows(x, y, starts[(starts > n - m) & (starts >= 0)]),
    ]
    return concatenate([part for part in parts if part.shape[0]] or parts[:1], 0)


def _correlated_of_any_length(x: Value, y: Value, before: int, after: int) -> Value:
    """Like `_correlated` for an x of symbolic length: windows beyond an end are computed separately."""
    n, m = x.shape[0], operator.index(y.shape[0])
    inside = n - m + 1
    every = add(reshape(iota(inside, INT64), (inside, 1)), iota(m, INT64))
    parts = [sum_of_products(gather(x, [every], (0,)), y, ((1,), (0,)))]
    if before:
        places = np.arange(-before, 0)[:, None] + np.arange(m)
        windows = gather(x, [constant(np.maximum(places, 0))], (0,))
        parts.insert(0, _partial_sums(windows, places >= 0, y))
    if after:
        places = np.arange(1, after + 1)[:, None] + np.arange(m) - m  # counted from the end
        windows = gather(x, [add(constant(np.minimum(places, -1)), n)], (0,))
        parts.append(_partial_sums(windows, places < 0, y))
    return concatenate(parts, 0)


def _correlated_with_any_length(x: Value, y: Value, before: Any, after: Any) -> Value:
    """Like `_correlated` for a y of symbolic length, or if windows have so many entries that positions are computed."""
    n, m = x.shape[0], y.shape[0]
    inside = gather(x, [_places(0, n - m + 1, m).value], (0,))
    parts = [sum_of_products(inside, y, ((1,), (0,)))]
    if not is_known(before == 0):
        parts.insert(0, _at_an_end(x, y, _places(-before, before, m)))
    if not is_known(after == 0):
        parts.append(_at_an_end(x, y, _places(n - m + 1, after, m)))
    return concatenate(parts, 0)


def _places(start: Any, count: Any, width: Any) -> Any:
    """Windows of consecutive positions, a row for each start from the first on."""
    rows: Any = wrap(reshape(iota(count, INT64), (count, 1)))
    return rows + start + wrap(iota(width, INT64))


def _at_an_end(x: Value, y: Value, places: Any) -> Value:
    n = x.shape[0]
    nearest: Any = np.clip(places, 0, n - 1)
    windows = gather(x, [nearest.value], (0,))
    present = (places >= 0) & (places < n)
    return fold_all("sum", where(present.value, multiply(windows, y), 0), (1,))


def _windows(x: Value, starts: Any, width: int) -> Value:
    """The entries from each start on, one row per start; beyond the ends, the entries at the ends."""
    return gather(x, [constant(np.clip(starts[:, None] + np.arange(width), 0, x.shape[0] - 1))], (0,))


def _partial_windows(x: Value, y: Value, starts: Any) -> Value:
    """Windows that reach beyond an end of x. Entries beyond are omitted instead of being zero: 0 · inf would be NaN."""
    width = operator.index(y.shape[0])
    places = starts[:, None] + np.arange(width)
    present = (places >= 0) & (places < x.shape[0])
    return _partial_sums(_windows(x, starts, width), present, y)


def _partial_sums(windows: Value, present: Any, y: Value) -> Value:
    return fold_all("sum", where(constant(present), multiply(windows, y), 0), (1,))


def _two_sequences(name: str, a: Any, v: Any) -> list[Value]:
    x, y = (reshape(value, (1,)) if value.ndim == 0 else value for value in in_common_dtype(a, v))
    if x.ndim != 1 or y.ndim != 1:
        raise ShapeError(f"{name} of {x.type} and {y.type}: both must be one-dimensional")
    names = ("a", "v") if name == "convolve" else ("first array argument", "second array argument")
    for value, which in zip((x, y), names, strict=True):
        problem = f"{which} cannot be empty"
        if is_nothing(value.shape[0], f"ValueError({problem!r})"):
            raise ArgumentValueError(problem)
    return [x, y]


def _convolved(x: Value, y: Value, mode: Any) -> TracedArray:
    """Like `convolve`, where it depends on values which of the two is longer."""
    if depends_on_values(y.shape[0]) and not depends_on_values(x.shape[0]):
        x, y = y, x
    n, m = x.shape[0], y.shape[0]
    count = {
        "full": max_expr(n + m, 1) - 1,
        "same": max_expr(n, m),
        "valid": max_expr(n, m) - min_expr(n, m) + 1,
    }
    sizes: list[Any] = [wrap(number(length, INT64)) for length in (n, m)]
    short = np.minimum(sizes[0], sizes[1])
    start = {"full": 0, "same": (short - 1) // 2, "valid": short - 1}
    places = _places(start[_mode(mode)] + 1 - m, count[_mode(mode)], m)
    present = (places >= 0) & (places < n)
    entries = concatenate([x, full((1,), 0, x.dtype)], 0)  # an entry to read, should there be none
    nearest = np.clip(places, 0, n)
    products = multiply(gather(entries, [nearest.value], (0,)), flip(y, (0,)))
    return wrap(fold_all("sum", where(present.value, products, 0), (1,)))


@implements(np.convolve)
@np.errstate(all="ignore")  # NumPy ignores errors here
def convolve(a: Any, v: Any, mode: Any = "full") -> TracedArray:
    x, y = _two_sequences("convolve", a, v)
    if depends_on_values(x.shape[0]) or depends_on_values(y.shape[0]):
        return _convolved(x, y, mode)
    if y.shape[0] > x.shape[0]:
        x, y = y, x
    return wrap(_correlated(x, flip(y, (0,)), mode))


@implements(np.correlate)
@np.errstate(all="ignore")
def correlate(a: Any, v: Any, mode: Any = "valid") -> TracedArray:
    x, y = _two_sequences("correlate", a, v)
    y = conjugate(y)
    if y.shape[0] <= x.shape[0]:
        return wrap(_correlated(x, y, mode))
    return wrap(flip(_correlated(y, x, mode), (0,)))
