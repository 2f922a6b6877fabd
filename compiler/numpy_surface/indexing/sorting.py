"""Sorting and searching."""

from typing import Any

import numpy as np

from ...arguments.axes import normalize_axis
from ...builder import bind_all
from ...dtypes import BOOL, INT64, is_complex, is_inexact
from ...errors import (
    ArgumentTypeError,
    ArgumentValueError,
    DTypeError,
    ShapeError,
    UndecidedDimError,
)
from ...ir import Value
from ...nesting import shown
from ...symbolic_size import is_known, is_symbolic_shape, max_expr, typical
from ...tracing.array_values import as_value
from ...tracing.registry import implements
from ...tracing.traced_array import TracedArray, wrap
from ...tracing.traced_memory import is_traced
from ...tracing.value_lengths import depends_on_values
from ...value_ops import (
    add,
    concatenate,
    convert,
    elementwise,
    full,
    gather,
    imag,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    number,
    real,
    reshape,
    where,
)
from ...value_ops import argsort as argsort_of
from ..linalg.products import in_common_dtype
from ..ufuncs.ufunc_calls import as_array
from ..ufuncs.value_checks import refuse_values

_OUTSIDE = "kth(={}) out of bounds ({})"
LONGEST_LENGTH = 48
"""Bits of the largest size."""


def _line_and_axis(a: Any, axis: Any, order: Any) -> tuple[Value, int]:
    if order is not None:
        raise ArgumentValueError("cannot specify order= for an array that has no fields")
    x = as_value(a)
    if axis is None:
        return reshape(x, (x.type.size,)), 0
    return x, normalize_axis(axis, x.ndim)


def _check_kind(kind: Any, stable: Any) -> None:
    """NumPy only looks at the first letter; here every kind is stable."""
    if kind is None:
        return
    if stable is not None:
        raise ArgumentValueError("kind= and stable= cannot be given both")
    if not isinstance(kind, str):
        raise ArgumentTypeError(f"sort kind must be a str, not {type(kind).__name__}")
    if kind[:1].lower() not in ("q", "h", "m", "s"):
        raise ArgumentValueError(f"sort kind must be one of 'quick', 'heap', or 'stable' (got {shown(kind)})")


@implements(np.sort)
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> TracedArray:
    """In ascending order, NaN last. Every kind is stable."""
    _check_kind(kind, stable)
    x, along = _line_and_axis(a, axis, order)
    (ordered,) = bind_all("sort", x, axis=along, num_keys=1, descending=False)
    return wrap(ordered)


@implements(np.argsort)
def argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> TracedArray:
    """The positions of the sorted entries in the array. Every kind is stable. A number is treated as a vector, as in
    NumPy."""
    _check_kind(kind, stable)
    x, along = _line_and_axis(np.atleast_1d(as_array(a)), axis, order)
    return wrap(argsort_of([x], along))


@implements(np.lexsort)
def lexsort(keys: Any, axis: int = -1) -> TracedArray:
    """The order by the last key, then by the one before it, and so on."""
    values = [as_value(key) for key in reversed(keys)]
    if not values:
        raise ArgumentTypeError("lexsort needs at least one key")
    shape = values[0].shape
    if any(value.shape != shape for value in values):
        raise ShapeError("lexsort: all keys need to be the same shape")
    if not shape:
        return wrap(full((), 0, INT64))
    return wrap(argsort_of(values, normalize_axis(axis, len(shape))))


def _check_places(kth: Any, x: Value, axis: int, kind: Any) -> None:
    if kind != "introselect":
        raise ArgumentValueError(f"select kind must be 'introselect' (got {shown(kind)})")
    places = as_array(kth)
    known = places.concrete() if is_traced(places) else places
    if places.dtype == BOOL:
        raise ArgumentValueError("kth must be integers, not booleans")
    if places.dtype.kind not in "iu":
        raise ArgumentTypeError(f"kth must be integers, not {places.dtype}")
    if places.ndim > 1:
        raise ShapeError(f"kth must be an int or a sequence of ints, not an array of shape {places.shape}")
    if is_known(x.type.size == 0):  # where NumPy accepts any position
        return
    length = x.shape[axis]
    if known is None or depends_on_values(length):
        _check_computed_places(places, length)
        return
    for k in np.ravel(known).tolist():
        if not -length <= k < length:
            raise ArgumentValueError(_OUTSIDE.format(k + length if k < 0 else k, length))


def _check_computed_places(kth: Any, length: Any) -> None:
    """Have the program raise NumPy's error for positions outside the axis."""
    places = np.ravel(kth)
    end = number(length, INT64)
    counted = np.where(places < 0, places + wrap(end), places)
    outside = (counted < 0) | (counted >= wrap(end))
    if not is_known(length >= 1):  # of nothing, NumPy accepts any position
        outside &= np.greater(wrap(end), 0)
    if is_known(places.size == 0):
        return
    first = counted[np.argmax(outside)]
    refuse_values(
        np.any(outside), _OUTSIDE, shown_values=(first, length if type(length) is int else wrap(end))
    )


@implements(np.partition)
def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> TracedArray:
    """The sorted array, which is partitioned at every position."""
    x, along = _line_and_axis(a, axis, order)
    _check_places(kth, x, along, kind)
    return sort(wrap(x), along)


@implements(np.argpartition)
def argpartition(
    a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None
) -> TracedArray:
    x, along = _line_and_axis(np.atleast_1d(as_array(a)), axis, order)
    _check_places(kth, x, along, kind)
    return argsort(wrap(x), along)


@implements(np.sort_complex)
def sort_complex(a: Any) -> TracedArray:
    ordered: TracedArray = sort(a)
    if is_complex(ordered.dtype):
        return ordered
    small = ordered.dtype.kind in "iu" and ordered.dtype.itemsize <= 2
    return wrap(convert(ordered.value, np.dtype(np.complex64 if small else np.complex128)))


# ---- searching ---------------------------------------------------------------------------------------


def _comes_before(x: Value, y: Value, *, or_equal: bool) -> Value:
    """Whether x sorts before y: NaN comes last, and equals itself."""
    if is_complex(x.dtype):
        return _complex_comes_before(x, y, or_equal=or_equal)
    before = less_equal(x, y) if or_equal else less(x, y)
    if not is_inexact(x.dtype):
        return before
    x_nan, y_nan = elementwise("isnan", x), elementwise("isnan", y)
    last = y_nan if or_equal else logical_and(y_nan, logical_not(x_nan))
    return logical_or(before, last)


def _complex_comes_before(x: Value, y: Value, *, or_equal: bool) -> Value:
    """By the position of NaN (none, imaginary part, real part, both), then by real, then by imaginary part."""
    pairs = [(_nan_places(x), _nan_places(y)), (real(x), real(y)), (imag(x), imag(y))]
    before = full((), or_equal, BOOL)
    for ours, theirs in reversed(pairs):
        same = logical_not(
            logical_or(
                _comes_before(ours, theirs, or_equal=False),
                _comes_before(theirs, ours, or_equal=False),
            )
        )
        before = where(same, before, _comes_before(ours, theirs, or_equal=False))
    return before


def _nan_places(x: Value) -> Value:
    """0, 1, 2 or 3: bit 0 for a NaN in the imaginary part, bit 1 for one in the real part."""
    bits = [convert(elementwise("isnan", part), INT64) for part in (imag(x), real(x))]
    return add(bits[0], add(bits[1], bits[1]))


def _bits(count: Any) -> int:
    """The number of bits of a length; for a symbolic one an upper bound in whole bytes, so that few programs serve
    all lengths."""
    if not is_symbolic_shape((count,)):
        return int(count.bit_length())
    least = -(-typical(count).bit_length() // 8) * 8
    known = (bits for bits in range(least, LONGEST_LENGTH, 8) if is_known(count < 1 << bits))
    found = next(known, None)
    if found is not None:
        return found
    try:
        return least if count < 1 << least else LONGEST_LENGTH
    except UndecidedDimError:
        return LONGEST_LENGTH


def places_in(ordered: Value, wanted: Value, side: str) -> Value:
    """The number of entries of the sorted vector before each wanted one: bisection in log n steps."""
    count = ordered.shape[0]
    last = count - 1
    if depends_on_values(count) and not is_known(count >= 1):  # an entry to read, should there be none
        ordered, last = concatenate([ordered, full((1,), 0, ordered.dtype)], 0), max_expr(last, 0)
    found = full(wanted.shape, 0, INT64)
    step = 1 << max(_bits(count) - 1, 0)
    while step and not is_known(count == 0):
        tried = add(found, step)
        entry = gather(ordered, [elementwise("clip", add(tried, -1), 0, last)], (0,))
        moves = _comes_before(entry, wanted, or_equal=side == "right")
        moves = logical_and(moves, less_equal(tried, count))
        found = where(moves, tried, found)
        step >>= 1
    return found


@implements(np.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> TracedArray:
    if side not in ("left", "right"):
        raise ArgumentValueError(f"side must be 'left' or 'right' (got {shown(side)})")
    ordered, wanted = in_common_dtype(a, v)
    if ordered.ndim != 1:
        raise ShapeError("object too deep for desired array: the sorted array must be one-dimensional")
    if sorter is not None:
        order = as_value(sorter)
        if order.dtype.kind not in "iu":
            raise ArgumentTypeError(f"sorter must only contain integers, not {order.dtype}")
        if order.ndim != 1 or order.shape != ordered.shape:
            raise ShapeError(f"sorter.size must equal a.size: {order.type} for {ordered.type}")
        ordered = gather(ordered, [convert(order, INT64)], (0,))
    return wrap(places_in(ordered, wanted, side))


@implements(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """The bin of each entry; bins increase or decrease."""
    edges: Any = as_array(bins)
    if is_complex(as_array(x).dtype) or is_complex(edges.dtype):
        raise DTypeError("digitize: x and bins must be real, complex numbers have no order")
    if edges.ndim != 1:
        raise ShapeError("object of too small depth for desired array: bins must be one-dimensional")
    known = edges.concrete()
    side: Any = "left" if right else "right"
    if known is not None:
        steps = np.diff(known)
        if not (np.all(steps >= 0) or np.all(steps <= 0)):
            raise ArgumentValueError("bins must be monotonically increasing or decreasing")
        if len(known) < 2 or known[0] <= known[-1]:
            return np.searchsorted(edges, x, side=side)
        return len(known) - np.searchsorted(edges[::-1], x, side=side)
    mixed = np.any(edges[:-1] > edges[1:]) & np.any(edges[:-1] < edges[1:])
    refuse_values(mixed, "bins must be monotonically increasing or decreasing")
    rising = np.searchsorted(edges, x, side=side)
    falling = edges.shape[0] - np.searchsorted(edges[::-1], x, side=side)
    return np.where(edges[0] <= edges[-1], rising, falling)[()]
