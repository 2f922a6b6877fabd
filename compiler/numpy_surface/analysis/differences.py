"""Differences, derivatives on a grid, integrals, interpolation."""

from typing import Any, Final

import numpy as np

from ...arguments.axes import normalize_axes, normalize_axis
from ...dtypes import BOOL, is_complex, is_inexact
from ...errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError
from ...symbolic_size import SymbolicSize, is_known
from ...tracing.registry import implements
from ...tracing.traced_memory import is_traced
from ...tracing.value_lengths import depends_on_values
from ..ufuncs.reductions import NO_VALUE
from ..ufuncs.ufunc_calls import as_array
from ..ufuncs.value_checks import refuse_values

_NO_POINTS: Final = "array of sample points is empty"


def _from_to(x: Any, start: int | None, stop: int | None, axis: int) -> Any:
    """``x[start:stop]`` along an axis."""
    return x[(*(slice(None),) * axis, slice(start, stop))]


@implements(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = NO_VALUE, append: Any = NO_VALUE) -> Any:
    """The n-th difference of neighbours; for booleans, whether they differ."""
    if n == 0:
        return a
    if n < 0:
        raise ArgumentValueError(f"order must be non-negative but got {n}")
    x: Any = as_array(a)
    if x.ndim == 0:
        raise ShapeError("diff requires input that is at least one dimensional")
    axis = normalize_axis(axis, x.ndim)
    ends = [_as_row(end, x, axis) for end in (prepend, append)]
    parts = [part for part in (ends[0], x, ends[1]) if part is not None]
    if len(parts) > 1:
        x = np.concatenate(parts, axis)
    subtract = np.not_equal if x.dtype == BOOL else np.subtract
    most = x.shape[axis] + 2  # after this many, there are no neighbours left, and strides stay as they are
    for _ in range(n if isinstance(most, SymbolicSize) else min(n, most)):
        x = subtract(_from_to(x, 1, None, axis), _from_to(x, None, -1, axis))
    return x


def _as_row(end: Any, x: Any, axis: int) -> Any:
    """The values of ``prepend=`` or ``append=``: a number becomes a row."""
    if end is NO_VALUE:
        return None
    row: Any = as_array(end)
    if row.ndim:
        return row
    return np.broadcast_to(row, tuple(1 if i == axis else dim for i, dim in enumerate(x.shape)))


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    x: Any = np.ravel(as_array(ary))
    steps = x[1:] - x[:-1]
    parts = [_fitting_end(to_begin, x, "to_begin"), steps, _fitting_end(to_end, x, "to_end")]
    present = [part for part in parts if part is not None]
    return steps if len(present) == 1 else np.concatenate(present)


def _fitting_end(end: Any, x: Any, name: str) -> Any:
    if end is None:
        return None
    row: Any = as_array(end)
    if not np.can_cast(row.dtype, x.dtype, casting="same_kind"):
        raise DTypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
    return np.ravel(row).astype(x.dtype)


# ---- derivatives and integrals -----------------------------------------------------------------------


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences inside, one-sided ones at the edges, of first or second order."""
    x: Any = as_array(f)
    axes = tuple(range(x.ndim)) if axis is None else normalize_axes(axis, x.ndim)
    if edge_order > 2:
        raise ArgumentValueError("'edge_order' greater than 2 not supported")
    spacings = _spacings(x, varargs, axes)
    if x.dtype == BOOL:
        raise DTypeError(
            "gradient of bools: convert them first, x.astype(float), because bools are not subtracted"
        )
    if not is_inexact(x.dtype):
        x = x.astype(np.float64)
    slopes = [_slope(x, h, one, edge_order) for h, one in zip(spacings, axes, strict=True)]
    return slopes[0] if len(axes) == 1 else tuple(slopes)


def _spacings(x: Any, given: tuple[Any, ...], axes: tuple[int, ...]) -> list[Any]:
    """The distance of neighbours per axis: one number, or an array."""
    if not given:
        return [1.0] * len(axes)
    if len(given) == 1 and np.ndim(given[0]) == 0:
        return list(given) * len(axes)
    if len(given) != len(axes):
        raise ArgumentTypeError("invalid number of arguments")
    return [_spacing(one, x.shape[axis]) for one, axis in zip(given, axes, strict=True)]


def _spacing(given: Any, length: int) -> Any:
    if np.ndim(given) == 0:
        return given
    places: Any = as_array(given)
    if places.ndim != 1:
        raise ArgumentValueError("distances must be either scalars or 1d")
    if places.shape[0] != length:
        raise ShapeError("when 1d, distances must match the length of the corresponding dimension")
    if places.dtype.kind in "iu":
        places = places.astype(np.float64)
    steps: Any = np.diff(places)
    known = steps.concrete()
    return steps[0] if known is not None and known.size and (known == known[0]).all() else steps


def _slope(x: Any, h: Any, axis: int, edge_order: int) -> Any:
    """The derivative along one axis, in the dtype of x."""
    if x.shape[axis] < edge_order + 1:
        raise ShapeError(
            "Shape of array too small to calculate a numerical gradient, "
            "at least (edge_order + 1) elements are required."
        )

    def at(start: int | None, stop: int | None) -> Any:
        return _from_to(x, start, stop, axis)

    uniform = np.ndim(h) == 0
    if uniform:
        inside = (at(2, None) - at(None, -2)) / (2.0 * h)
    else:
        shape = tuple(-1 if i == axis else 1 for i in range(x.ndim))
        left, right = (np.reshape(part, shape) for part in (h[:-1], h[1:]))
        a = -right / (left * (left + right))
        b = (right - left) / (left * right)
        c = left / (right * (left + right))
        inside = a * at(None, -2) + b * at(1, -1) + c * at(2, None)
    if edge_order == 1:
        first, last = (h, h) if uniform else (h[0], h[-1])
        edges = (at(1, 2) - at(0, 1)) / first, (at(-1, None) - at(-2, -1)) / last
    else:
        edges = _second_order_edges(at, h, uniform)
    parts = [
        np.asarray(part) if not hasattr(part, "value") else part for part in (edges[0], inside, edges[1])
    ]
    return np.concatenate([part.astype(x.dtype) for part in parts], axis=axis)


def _second_order_edges(at: Any, h: Any, uniform: bool) -> tuple[Any, Any]:
    """Slopes of the parabolas through the first three and the last three points."""
    if uniform:
        a, b, c = -1.5 / h, 2.0 / h, -0.5 / h
        d, e, f = 0.5 / h, -2.0 / h, 1.5 / h
    else:
        p, q = h[0], h[1]
        a, b, c = -(2.0 * p + q) / (p * (p + q)), (p + q) / (p * q), -p / (q * (p + q))
        p, q = h[-2], h[-1]
        d, e, f = q / (p * (p + q)), -(q + p) / (p * q), (2.0 * q + p) / (q * (p + q))
    first = a * at(0, 1) + b * at(1, 2) + c * at(2, 3)
    last = d * at(-3, -2) + e * at(-2, -1) + f * at(-1, None)
    return first, last


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral by the trapezoidal rule."""
    heights: Any = as_array(y)
    axis = normalize_axis(axis, heights.ndim)
    widths: Any = dx
    if x is not None:
        places: Any = as_array(x)
        if places.ndim == 1:
            widths = np.reshape(np.diff(places), tuple(-1 if i == axis else 1 for i in range(heights.ndim)))
        else:
            widths = np.diff(places, axis=axis)
    return np.sum(
        widths * (_from_to(heights, 1, None, axis) + _from_to(heights, None, -1, axis)) / 2.0, axis=axis
    )


@implements(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Any:
    """Add multiples of the period so that neighbours differ by no more than half of it."""
    x: Any = as_array(p)
    axis = normalize_axis(axis, x.ndim)
    steps: Any = np.diff(x, axis=axis)
    dtype = np.result_type(steps, period)
    if dtype.kind in "iu":
        high, rest = divmod(period, 2)
        ambiguous = rest == 0
    else:
        high, ambiguous = period / 2, True
    wrapped = np.mod(steps + high, period) - high
    if ambiguous:  # a jump of half a period up stays positive
        wrapped = np.where((wrapped == -high) & (steps > 0), wrapped + 2 * high, wrapped)
    limit = period / 2 if discont is None else discont
    correction = np.where(np.abs(steps) < limit, 0, wrapped - steps)
    rest_of_x = (_from_to(x, 1, None, axis) + np.cumsum(correction, axis)).astype(dtype)
    return np.concatenate([_from_to(x, None, 1, axis).astype(dtype), rest_of_x], axis=axis)


# ---- interpolation -----------------------------------------------------------------------------------


def _at_point(at: Any, x0: Any, y0: Any, slope: Any) -> Any:
    """Exactly `y0` at a point, also for -0.0 and infinite slopes. Its derivative is the slope on the right."""
    finite: Any = np.where(np.isfinite(slope), slope, 0)
    is_falling = np.signbit(finite.real)
    return np.where(is_falling, y0 + finite * (at - x0), y0 - finite * (x0 - at))


@implements(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Piecewise linear interpolation through the points (xp, fp); xp must be increasing."""
    at: Any = as_array(x)
    places: Any = as_array(xp)
    if is_complex(at.dtype) or is_complex(places.dtype):
        raise DTypeError("interp: x and xp must be real, complex numbers have no order")
    at, places = at.astype(np.float64), places.astype(np.float64)
    values: Any = as_array(fp)
    values = values.astype(np.complex128 if is_complex(values.dtype) else np.float64)
    if places.ndim != 1 or values.ndim != 1 or places.shape != values.shape:
        raise ShapeError(
            f"interp: xp and fp of shapes {places.shape} and {values.shape} must be 1-d and equally long"
        )
    length: Any = places.shape[0]
    if depends_on_values(length) and not is_known(length >= 1):
        refuse_values(np.equal(length.as_number(), 0), _NO_POINTS)
    elif not length:
        raise ArgumentValueError(_NO_POINTS)
    if period is not None:
        at, places, values = _periodic(at, places, values, period)
        left = right = None
    last: Any = places.shape[0] - 1
    points = places
    if depends_on_values(last) and not is_known(last >= 0):  # an entry to read, should there be none
        last = np.maximum(last.as_number(), 0)
        points, values = (np.concatenate([x, np.zeros(1, x.dtype)]) for x in (places, values))
    low = values[0] if left is None else left
    high = values[last] if right is None else right
    if not is_complex(values.dtype) and any(is_complex(as_array(end).dtype) for end in (low, high)):
        raise DTypeError("interp: left and right must be real where fp is")
    index = np.clip(
        np.searchsorted(places, at, side="right") - 1,
        0,
        np.maximum(last - 1, 0) if is_traced(last) else max(last - 1, 0),
    )
    other = np.minimum(index + 1, last)
    x0, x1, y0, y1 = points[index], points[other], values[index], values[other]
    slope = (y1 - y0) / np.where(x1 == x0, 1, x1 - x0)  # equal for a single point only
    inside = np.where(at == x0, _at_point(at, x0, y0, slope), slope * (at - x0) + y0)
    from_above = slope * (at - x1) + y1
    inside = np.where(np.isnan(inside), np.where(np.isnan(from_above) & (y0 == y1), y0, from_above), inside)
    inside = np.where(at == points[last], values[last], inside)
    result = np.where(at < points[0], low, np.where(at > points[last], high, inside))
    if is_traced(last):
        result = np.where(np.isnan(at) & (last > 0), np.asarray(np.nan, values.dtype), result)
    elif last:
        result = np.where(np.isnan(at), np.asarray(np.nan, values.dtype), result)
    return result[()]


def _periodic(x: Any, places: Any, values: Any, period: Any) -> tuple[Any, Any, Any]:
    """Everything within one period, with one more point at each end."""
    refuse_values(np.equal(period, 0), "period must be a non-zero value")
    period = np.abs(period)
    places = places % period
    order = np.argsort(places)
    places, values = places[order], values[order]
    places = np.concatenate([places[-1:] - period, places, places[:1] + period])
    return x % period, places, np.concatenate([values[-1:], values, values[:1]])
