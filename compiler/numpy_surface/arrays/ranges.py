"""Numerical ranges and grids, also with traced end points: linspace, logspace, meshgrid, indices, mgrid, r_."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...arguments.axes import normalize_axis
from ...dtypes import FLOAT64, INT64, DType
from ...errors import ArgumentTypeError, ArgumentValueError, ShapeError
from ...ir import Shape, Value
from ...symbolic_size import SymbolicSize, is_known, is_symbolic_shape
from ...tracing.array_values import as_size, as_value, weak_or_dtype
from ...tracing.registry import INDEXABLES, constructs, enter, implements
from ...tracing.trace import require_trace
from ...tracing.traced_array import TracedArray, wrap
from ...tracing.traced_memory import contains_traced
from ...tracing.value_lengths import depends_on_values
from ...value_ops import broadcast_to, concatenate, constant, convert, iota, maximum, number
from ...value_ops import reshape as reshape_value
from ..ufuncs.ufunc_calls import as_array
from ..ufuncs.value_checks import refuse_values
from .constructors import arange, as_dtype, as_shape, constants_of, constructs_constants, copied, new_array
from .reshaping import broadcast_arrays, broadcast_shape, moveaxis
from .reshaping import reshape as reshape_array

constructs_constants("linspace", "logspace", "geomspace", "meshgrid")


@implements(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """Evenly spaced numbers: ``start + i·step``, and exactly `stop` at the end."""
    count = as_size(num)
    if count < 0:
        raise ShapeError(f"Number of samples, {count}, must be non-negative.")
    ends = [as_value(x) for x in (start, stop)]
    common = np.result_type(*map(weak_or_dtype, (start, stop), ends), 0.0)
    first, last = _as_arrays((start, stop), ends, common)
    delta = last - first
    steps = count - 1 if endpoint else count
    is_open = depends_on_values(count) and not is_known(count >= 2)  # so that one program serves all lengths
    step: Any
    if is_open:
        gaps = maximum(number(steps, INT64), 1)
        factor = delta / wrap(convert(gaps, common))
        step = np.where(np.greater(wrap(number(steps, INT64)), 0), factor, common.type(np.nan))
    else:
        gaps = None
        step = delta / steps if steps > 0 else np.nan
        factor = step if steps > 0 else delta
    numbers = reshape_value(convert(iota(count, INT64), common), (count, *(1,) * delta.ndim))
    points: Any = new_array(numbers)
    points = points * factor
    points += first  # in place, as in NumPy: the result has the memory order of the steps
    if endpoint and gaps is not None:
        is_last = np.equal(wrap(reshape_value(iota(count, INT64), numbers.shape)), wrap(gaps))
        points = np.where(is_last, last, points)
    elif endpoint and count > 1:
        points[-1, ...] = last
    if _is_whole(start) and _is_whole(stop) and common == FLOAT64 and is_known(start <= stop):
        require_trace().ends[points.value] = start, stop
    wanted = as_dtype(dtype, common)
    if wanted.kind in "iu":
        points = np.floor(points)
    result = moveaxis(points, 0, normalize_axis(axis, points.ndim)).astype(wanted, copy=False)
    return (result, step) if retstep else result


def _is_whole(x: Any) -> bool:
    """Whether an end is an int or a size."""
    return isinstance(x, SymbolicSize) or type(x) is int


def _as_arrays(given: Sequence[Any], values: Sequence[Value], dtype: DType) -> list[Any]:
    """Arguments as arrays of a dtype, in the same memory order."""
    return [copied(convert(value, dtype), x, "K") for x, value in zip(given, values, strict=True)]


@implements(np.logspace)
def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> TracedArray:
    """Numbers whose logarithms are evenly spaced: ``base ** linspace(start, stop)``."""
    if np.ndim(base):
        ndim = len(broadcast_shape(*map(np.shape, (start, stop, base))))
        start, stop, base = (
            x
            if np.ndim(x) == ndim
            else reshape_array(as_array(x), (*(1,) * (ndim - np.ndim(x)), *np.shape(x)))
            for x in (start, stop, base)
        )
        base = np.expand_dims(base, axis)
    powers: Any = np.power(base, linspace(start, stop, num, endpoint, axis=axis))
    return powers if dtype is None else powers.astype(as_dtype(dtype))  # type: ignore[no-any-return]


@implements(np.geomspace)
def geomspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> TracedArray:
    """Numbers with a constant ratio. The signs, or complex directions, of the ends are taken out first."""
    ends = [as_value(x) for x in (start, stop)]
    common = np.result_type(*map(weak_or_dtype, (start, stop), ends), 0.0, as_dtype(dtype))
    for end in ends:
        refuse_values(np.equal(wrap(end), 0), "Geometric sequence cannot include zero")
    first, last = _as_arrays((start, stop), ends, common)
    direction = np.sign(first)
    first, last = first / direction, last / direction
    count = as_size(num)
    points: Any = logspace(np.log10(first), np.log10(last), count, endpoint, base=10.0, dtype=common)
    if count > 0:
        points[0] = first
        if count > 1 and endpoint:
            points[-1] = last
    points *= direction
    result = moveaxis(points, 0, normalize_axis(axis, points.ndim))
    return result.astype(as_dtype(dtype, common), copy=False)  # type: ignore[no-any-return]


@implements(np.meshgrid)
def meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[TracedArray, ...]:
    """Coordinate matrices from coordinate vectors."""
    if indexing not in ("xy", "ij"):
        raise ArgumentValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    count = len(xi)
    order = [1, 0, *range(2, count)] if indexing == "xy" and count > 1 else list(range(count))
    grids = []
    for place, x in zip(order, map(as_array, xi), strict=True):
        grids.append(reshape_array(x, tuple(-1 if i == place else 1 for i in range(count))))
    whole = grids if sparse else broadcast_arrays(*grids)
    return tuple(new_array(grid.value) if copy else grid for grid in whole)


# ---- grids of positions -------------------------------------------------------------------------------


def _along(length: int, axis: int, ndim: int) -> Value:
    """The positions along one axis, aligned with it."""
    return reshape_value(iota(length, INT64), tuple(length if i == axis else 1 for i in range(ndim)))


def positions(shape: Shape, dtype: Any) -> list[Value]:
    """For each axis, the positions along it, not broadcast."""
    return [convert(_along(length, axis, len(shape)), dtype) for axis, length in enumerate(shape)]


@constructs("indices")
def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """The positions along every axis as one array, or as a tuple of broadcastable ones."""
    shape = as_shape(dimensions)
    grids = positions(shape, as_dtype(dtype))
    if sparse:
        return tuple(new_array(grid).through() for grid in grids)
    if not grids:
        return new_array(constant(np.empty(0), as_dtype(dtype)))
    return new_array(
        concatenate([broadcast_to(reshape_value(g, (1, *g.shape)), (1, *shape)) for g in grids], 0)
    )


@constructs("fromfunction")
@implements(np.fromfunction)
def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, like: Any = None, **kwargs: Any
) -> Any:
    """``function(i, j, …)`` of the positions along every axis."""
    return function(*indices(shape, dtype), **kwargs)


class Grid:
    """``np.mgrid`` and ``np.ogrid`` in a traced function: constants, unless an end is traced or a symbolic size."""

    def __init__(self, original: Any) -> None:
        self._original = original

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        if not any(isinstance(part, slice) and _is_computed(part) for part in parts):
            return constants_of(self._original[key])
        lines = [_grid_line(part) for part in parts]
        if not isinstance(key, tuple):
            return lines[0]
        common = np.result_type(*[line.dtype for line in lines])
        grids = meshgrid(
            *[line.astype(common) for line in lines], indexing="ij", sparse=self._original is _OPEN
        )
        return grids if self._original is _OPEN else np.stack(grids)


def _is_computed(part: slice) -> bool:
    """Whether an end of a slice is traced, or a symbolic size."""
    ends = (part.start, part.stop, part.step)
    return is_symbolic_shape(ends) or contains_traced(ends)


def _grid_line(part: slice) -> Any:
    """``start:stop:step`` along an axis of a grid; a complex step is the number of points."""
    if not isinstance(part.step, complex):
        return _points(part)
    count, start = int(abs(part.step)), 0 if part.start is None else part.start
    step = (part.stop - start) / (count - 1) if count > 1 else 1.0
    numbers: Any = new_array(convert(iota(count, INT64), FLOAT64))
    return numbers * step + start


def _points(part: slice) -> Any:
    """``start:stop:step`` as an array; a complex step is the number of points."""
    start = 0 if part.start is None else part.start
    if isinstance(part.step, complex):
        return linspace(start, part.stop, int(abs(part.step)))
    return arange(start, part.stop, 1 if part.step is None else part.step)


class Rows:
    """``np.r_`` and ``np.c_``: slices, numbers and arrays, traced or not, joined along an axis."""

    def __init__(self, axis: int, ndim: int, at: int) -> None:
        self._settings = (axis, ndim, at)

    def __getitem__(self, key: Any) -> TracedArray:
        items = list(key) if isinstance(key, tuple) else [key]
        axis, ndim, at = self._settings
        if items and isinstance(items[0], str):
            axis, ndim, at = self._directive(items.pop(0))
        parts = [_row_part(item) for item in items]
        common = np.result_type(*[given for given, _ in parts])
        rows: list[Any] = [_row_shape(array, ndim, at) for _, array in parts]
        return np.concatenate(rows, axis, dtype=common, casting="unsafe")  # type: ignore[return-value]

    def _directive(self, text: str) -> tuple[int, int, int]:
        """``"axis"``, ``"axis,ndim"`` or ``"axis,ndim,at"``, where new axes are placed so that old ones start at
        `at`."""
        try:
            numbers = [int(part) for part in text.split(",")]
        except ValueError:
            raise ArgumentTypeError(f"np.r_[{text!r}, …] makes a np.matrix, which cannot be traced") from None
        axis, ndim, at = self._settings
        return (*numbers, *(axis, ndim, at)[len(numbers) :])[:3]  # type: ignore[return-value]


def _row_part(item: Any) -> tuple[Any, TracedArray]:
    """The dtype for promotion, and the array."""
    if isinstance(item, slice):
        array = _points(item) if _is_computed(item) else constants_of(np.r_[item])
        return array.dtype, array
    array = as_array(item)
    return weak_or_dtype(item, array.value), array


def _row_shape(array: TracedArray, ndim: int, at: int) -> TracedArray:
    """With at least `ndim` axes; the old ones start at axis `at` (negative: counted so that −1 puts them last)."""
    new = ndim - array.ndim
    if new <= 0:
        return array
    if array.ndim == 0:
        return reshape_array(array, (1,) * ndim)
    start = at if at >= 0 else new + at + 1
    return reshape_array(array, (*(1,) * start, *array.shape, *(1,) * (new - start)))


_OPEN = np.ogrid
enter(INDEXABLES, "mgrid", Grid(np.mgrid))
enter(INDEXABLES, "ogrid", Grid(_OPEN))
enter(INDEXABLES, "r_", Rows(0, 1, -1))
enter(INDEXABLES, "c_", Rows(-1, 2, 0))
