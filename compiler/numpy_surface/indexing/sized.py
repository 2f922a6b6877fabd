"""NumPy's functions with data-dependent result lengths, with a given length: ``size=``.

Results have the shape ``(size,)``, or ``(size, …)`` where NumPy's have more axes.
If fewer entries than `size` are found, `fill_value` is appended; if more are found, the last ones are dropped. On
NumPy arrays these functions compute at once, and on traced arrays they are recorded.
"""

from collections.abc import Callable
from functools import wraps
from operator import index
from typing import Any, ParamSpec, TypeVar

import numpy as np

from ...dtypes import is_supported
from ...errors import ArgumentTypeError, ArgumentValueError, ConcretizationError, ShapeError
from ...nesting import shown
from ...tracing.traced_memory import is_traced

P = ParamSpec("P")
R = TypeVar("R")

__all__ = [
    "argwhere",
    "compress",
    "extract",
    "flatnonzero",
    "intersect1d",
    "nonzero",
    "setdiff1d",
    "setxor1d",
    "trim_zeros",
    "union1d",
    "unique",
]


def _sized(function: Callable[P, R]) -> Callable[P, R]:
    """Check `size` and `fill_value` before the function runs."""

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        _check_size(function.__name__, kwargs.get("size", 0))
        _check_fill_value(function.__name__, kwargs.get("fill_value"))
        return function(*args, **kwargs)

    return checked


def _check_size(name: str, size: Any) -> None:
    try:
        length = index(size)
    except ConcretizationError:
        raise
    except TypeError:
        raise ArgumentTypeError(
            f"{name}: size must be an int, not {type(size).__name__}: {shown(size)}"
        ) from None
    if length < 0:
        raise ArgumentValueError(f"{name}: size must be at least 0, not {length}")


def _check_fill_value(name: str, fill_value: Any) -> None:
    if fill_value is None or is_traced(fill_value):
        return
    array = np.asarray(fill_value)
    if array.ndim or not is_supported(array.dtype):
        raise ArgumentTypeError(
            f"{name}: fill_value must be one number, not {type(fill_value).__name__}: {shown(fill_value)}"
        )


def _first_places(mask: Any, size: int) -> Any:
    """The positions where a one-dimensional mask is true, in order; its length marks missing ones. i64[size]."""
    length = mask.shape[0]
    rank = np.cumsum(mask, dtype=np.int64) - 1
    slot = np.where(mask, np.minimum(rank, size), size)  # excess entries go to one additional slot
    places = np.full_like(rank, length, shape=(size + 1,))
    if length:
        places[slot] = np.arange(length, like=rank)
    places[size] = length
    return places[:size]


def _packed(values: Any, mask: Any, size: int, fill_value: Any) -> Any:
    """The rows of `values` where the mask is true; padded with the first of them by default, or 0 if there is none."""
    length = mask.shape[0]
    if not length:
        return np.full_like(values, 0 if fill_value is None else fill_value, shape=(size, *values.shape[1:]))
    places = _first_places(mask, size + 1)
    found = np.take(values, np.minimum(places, length - 1), axis=0)
    is_found = np.reshape(places < length, (size + 1, *(1,) * (values.ndim - 1)))
    fill = np.where(is_found[0], found[0], 0) if fill_value is None else fill_value
    return np.where(is_found, found, fill).astype(values.dtype)[:size]


@_sized
def flatnonzero(a: Any, *, size: int, fill_value: Any = 0) -> Any:
    """Positions of the non-zero elements of the flattened array. i64[size].

    >>> flatnonzero(np.array([0.0, 3.0, 0.0, 4.0]), size=3, fill_value=-1)
    array([ 1,  3, -1])
    """
    mask = np.ravel(a) != 0
    places = _first_places(mask, size)
    return np.where(places < mask.shape[0], places, fill_value)


@_sized
def nonzero(a: Any, *, size: int, fill_value: Any = 0) -> tuple[Any, ...]:
    """Positions of the non-zero elements along every axis: one i64[size] per axis.

    >>> nonzero(np.eye(2), size=3, fill_value=9)
    (array([0, 1, 9]), array([0, 1, 9]))
    """
    shape = np.shape(a)
    if not shape:
        raise ShapeError("nonzero: a 0-d array has no positions: use np.atleast_1d")
    mask = np.ravel(a) != 0
    places = _first_places(mask, size)
    is_found = places < mask.shape[0]
    index = np.unravel_index(np.where(is_found, places, 0), shape)
    return tuple(np.where(is_found, one, fill_value) for one in index)


@_sized
def argwhere(a: Any, *, size: int, fill_value: Any = 0) -> Any:
    """Positions of the non-zero elements, one per row. i64[size, ndim].

    >>> argwhere(np.eye(2), size=2)
    array([[0, 0],
           [1, 1]])
    """
    return np.stack(nonzero(a, size=size, fill_value=fill_value), axis=1)


@_sized
def extract(condition: Any, arr: Any, *, size: int, fill_value: Any = 0) -> Any:
    """The elements of the flattened array where the condition is true: ``arr[condition]`` with a fixed length.

    >>> extract(np.array([True, False, True]), np.array([5.0, 6.0, 7.0]), size=4)
    array([5., 7., 0., 0.])
    """
    return _packed(np.ravel(arr), np.ravel(condition) != 0, size, fill_value)


@_sized
def compress(condition: Any, a: Any, axis: int = 0, *, size: int, fill_value: Any = 0) -> Any:
    """The slices along an axis where a one-dimensional condition is true. Like `a`, but `size` long along the axis.

    >>> compress(np.array([False, True]), np.array([[1, 2], [3, 4]]), size=1)
    array([[3, 4]])
    """
    rows = np.moveaxis(a, axis, 0)
    return np.moveaxis(
        _packed(rows[: np.shape(condition)[0]], np.ravel(condition) != 0, size, fill_value), 0, axis
    )


@_sized
def trim_zeros(filt: Any, trim: str = "fb", *, size: int, fill_value: Any = 0) -> Any:
    """A vector without its leading and trailing zeros.

    >>> trim_zeros(np.array([0, 0, 5, 0, 6, 0]), size=4)
    array([5, 0, 6, 0])
    """
    vector = np.ravel(filt)
    seen = np.cumsum(vector != 0)
    kept = seen >= 0
    if "f" in trim.lower():
        kept = kept & (seen > 0)
    if "b" in trim.lower():
        kept = kept & ((seen < seen[-1:]) | (vector != 0))
    return _packed(vector, kept, size, fill_value)


# ---- sets --------------------------------------------------------------------------------------------


def _sorted(ar: Any) -> tuple[Any, Any, Any]:
    """The sorted elements, where each differs from the one before, and where each came from."""
    flat = np.ravel(ar)
    order = np.argsort(flat, stable=True)
    values = flat[order]
    differs = values[1:] != values[:-1]
    if values.dtype.kind in "fc":
        differs = differs & ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
    return values, np.concatenate([np.ones_like(values[:1], dtype=bool), differs]), order


@_sized
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    *,
    size: int,
    fill_value: Any = None,
) -> Any:
    """The distinct elements in order, padded with the smallest by default.

    The extra results are like NumPy's: i64[size] positions of the first occurrences, positions in the result with the
    shape of `ar`, and i64[size] counts, which are 0 for padding.

    >>> unique(np.array([3, 1, 3, 2]), size=4, return_counts=True)
    (array([1, 2, 3, 1]), array([1, 1, 2, 0]))
    """
    values, is_first, order = _sorted(ar)
    length = values.shape[0]
    results = [_packed(values, is_first, size, fill_value)]
    places = _first_places(is_first, size + 1)
    if return_index:
        results.append(_packed(order, is_first, size, None))
    if return_inverse:
        rank = np.cumsum(is_first) - 1
        inverse = np.zeros_like(rank)
        inverse[order] = np.minimum(rank, size - 1)
        results.append(np.reshape(inverse, np.shape(ar)))
    if return_counts:
        results.append(np.where(places[:-1] < length, places[1:] - places[:-1], 0))
    return results[0] if len(results) == 1 else tuple(results)


@_sized
def union1d(ar1: Any, ar2: Any, *, size: int, fill_value: Any = None) -> Any:
    """The elements of either array, in order.

    >>> union1d(np.array([2, 1]), np.array([2, 3]), size=3)
    array([1, 2, 3])
    """
    return unique(np.concatenate([np.ravel(ar1), np.ravel(ar2)]), size=size, fill_value=fill_value)


@_sized
def intersect1d(ar1: Any, ar2: Any, *, size: int, fill_value: Any = None) -> Any:
    """The elements of both arrays, in order.

    >>> intersect1d(np.array([2, 1]), np.array([2, 3]), size=2, fill_value=-1)
    array([ 2, -1])
    """
    values, is_first, _ = _sorted(np.concatenate([np.ravel(ar1), np.ravel(ar2)]))
    return _packed(values, is_first & np.isin(values, ar1) & np.isin(values, ar2), size, fill_value)


@_sized
def setdiff1d(ar1: Any, ar2: Any, *, size: int, fill_value: Any = None) -> Any:
    """The elements of `ar1` that are not in `ar2`, in order.

    >>> setdiff1d(np.array([2, 1]), np.array([2, 3]), size=2, fill_value=-1)
    array([ 1, -1])
    """
    values, is_first, _ = _sorted(ar1)
    return _packed(values, is_first & ~np.isin(values, ar2), size, fill_value)


@_sized
def setxor1d(ar1: Any, ar2: Any, *, size: int, fill_value: Any = None) -> Any:
    """The elements of exactly one of the two arrays, in order.

    >>> setxor1d(np.array([2, 1]), np.array([2, 3]), size=2)
    array([1, 3])
    """
    values, is_first, _ = _sorted(np.concatenate([np.ravel(ar1), np.ravel(ar2)]))
    return _packed(values, is_first & (np.isin(values, ar1) != np.isin(values, ar2)), size, fill_value)
