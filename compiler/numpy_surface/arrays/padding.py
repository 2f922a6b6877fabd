"""`numpy.pad`, axis by axis: the entries before and after the array, in each mode."""

import operator
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from ...dtypes import BOOL, INT64
from ...errors import ArgumentTypeError, ArgumentValueError, ShapeError, UnsupportedFunctionError
from ...ir import Shape, Value
from ...nesting import shown
from ...symbolic_size import SymbolicSize, min_expr
from ...tracing.array_values import as_size, as_value, plain_number, written_value
from ...tracing.registry import implements
from ...tracing.traced_array import TracedArray
from ...tracing.traced_memory import contains_size, contains_traced
from ...value_ops import broadcast_to, concatenate, convert, flip, multiply, slice_axis, subtract
from ..ufuncs.ufunc_calls import as_array
from .constructors import new_array
from .known_positions import take_known
from .ranges import linspace
from .reshaping import squeeze

Pair: TypeAlias = tuple[Any, Any]
"""The value of an option before and after the array along one axis."""
Padding: TypeAlias = Callable[[Value, int, tuple[int, int], Pair], Value]
"""``pad_axis(value, axis, widths, option)``: the value with padding along one axis."""

_OPTION_OF = {
    "constant": ("constant_values", 0),
    "linear_ramp": ("end_values", 0),
    "maximum": ("stat_length", None),
    "mean": ("stat_length", None),
    "median": ("stat_length", None),
    "minimum": ("stat_length", None),
    "reflect": ("reflect_type", "even"),
    "symmetric": ("reflect_type", "even"),
    "edge": ("", None),
    "empty": ("", None),
    "wrap": ("", None),
}


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> TracedArray:
    """The array with a border of the given widths, filled as `mode` says."""
    source = as_array(array)
    if callable(mode):
        raise UnsupportedFunctionError(
            "np.pad with a function as its mode cannot be traced: it writes to each line in turn"
        )
    if mode not in _OPTION_OF:
        raise ArgumentValueError(f"np.pad has no mode {shown(mode)}: {', '.join(_OPTION_OF)}")
    name, default = _OPTION_OF[mode]
    unknown = set(options) - {name}
    if unknown:
        raise ArgumentValueError(f"np.pad takes no {', '.join(sorted(unknown))} with mode {shown(mode)}")
    widths = _widths(pad_width, source.ndim)
    given = options.get(name, default)
    chosen = [(given, given)] * source.ndim if name in ("reflect_type", "") else pairs(given, source.ndim)
    value = source.value
    for axis, (width, option) in enumerate(zip(widths, chosen, strict=True)):
        if not all(type(count) is int and count == 0 for count in width):
            value = _MODES[mode](value, axis, width, option)
    return new_array(value)


def _widths(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    if isinstance(pad_width, Mapping):
        given = {axis % ndim: pairs(width, 1)[0] for axis, width in pad_width.items()}
        pad_width = [given.get(axis, (0, 0)) for axis in range(ndim)]
    if not contains_size(pad_width) and np.asarray(pad_width).dtype.kind not in "iu":
        raise ArgumentTypeError("`pad_width` must be of integral type")
    widths = [(as_size(low), as_size(high)) for low, high in pairs(pad_width, ndim)]
    if any(low < 0 or high < 0 for low, high in widths):
        raise ShapeError("index can't contain negative values")
    return widths


def pairs(given: Any, ndim: int) -> list[Pair]:
    """An option as (before, behind) for each axis: one for all, one pair for all, or a pair for each axis."""
    if contains_traced(given):
        table = np.broadcast_to(as_array(given), (ndim, 2))
        return [(table[axis, 0], table[axis, 1]) for axis in range(ndim)]
    try:
        known = np.array(given, object if contains_size(given) else None)
        if known.size in (1, 2) and known.shape != (
            2,
            1,
        ):  # NumPy numbers, which wrap around when they are stored
            flat = known.ravel()
            return [(flat[0], flat[-1])] * ndim
        known = np.broadcast_to(known, (ndim, 2))
    except ValueError as error:
        raise ShapeError(f"np.pad: {error}") from None
    return [(low, high) for low, high in known.tolist()]


def _line(shape: Shape, axis: int, length: int) -> Shape:
    return (*shape[:axis], length, *shape[axis + 1 :])


def _around(value: Value, axis: int, before: list[Value], behind: list[Value]) -> Value:
    return concatenate([*before, value, *behind], axis)


# ---- borders that do not depend on the array ----------------------------------------------------------


def _constant(value: Value, axis: int, width: tuple[int, int], fill: Pair) -> Value:
    low, high = (
        broadcast_to(convert(_border(x, value), value.dtype), _line(value.shape, axis, count))
        for x, count in zip(fill, width, strict=True)
    )
    return _around(value, axis, [low], [high])


def _border(x: Any, value: Value) -> Value:
    return written_value(plain_number(x, value.dtype), value.dtype)


def _empty(value: Value, axis: int, width: tuple[int, int], option: Pair) -> Value:
    return _constant(value, axis, width, (0, 0))


# ---- borders made of the entries at the edge ----------------------------------------------------------


def _ends(value: Value, axis: int) -> tuple[Value, Value]:
    length = value.shape[axis]
    if not length:
        raise ShapeError(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
    return slice_axis(value, 0, 1, axis), slice_axis(value, length - 1, length, axis)


def _linear_ramp(value: Value, axis: int, width: tuple[int, int], ends: Pair) -> Value:
    """Evenly spaced from the end value up to the edge, which is excluded."""
    ramps = [
        linspace(
            end,
            squeeze(new_array(edge), axis),
            num=count,
            endpoint=False,
            dtype=value.dtype,
            axis=axis,
        )
        for end, edge, count in zip(ends, _ends(value, axis), width, strict=True)
    ]
    return _around(value, axis, [ramps[0].value], [flip(ramps[1].value, (axis,))])


def _statistic(function: Any, value: Value, axis: int, width: tuple[int, int], lengths: Pair) -> Value:
    """A statistic of the first and the last `stat_length` entries."""
    count = value.shape[axis]
    _ends(value, axis)
    borders = []
    for at_end, (length, many) in enumerate(zip(lengths, width, strict=True)):
        used = count if length is None else min_expr(as_size(length), count)
        if used == 0 and function.__name__ in ("max", "amax", "min", "amin"):
            raise ShapeError("stat_length of 0 yields no value for padding")
        part = slice_axis(value, count - used, count, axis) if at_end else slice_axis(value, 0, used, axis)
        border = function(new_array(part), axis=axis, keepdims=True)
        if value.dtype.kind in "iu" and border.dtype.kind == "f":
            border = np.rint(border)
        borders.append(broadcast_to(convert(as_value(border), value.dtype), _line(value.shape, axis, many)))
    return _around(value, axis, [borders[0]], [borders[1]])


# ---- borders that repeat the array --------------------------------------------------------------------


def _by_position(mode: str, value: Value, axis: int, width: tuple[int, int], option: Pair) -> Value:
    """Modes that only copy entries: pad the positions."""
    first, last = _ends(value, axis)
    length, (low, high) = value.shape[axis], width
    if any(isinstance(size, SymbolicSize) for size in (length, low, high)):
        if mode == "edge":
            edges = [
                broadcast_to(edge, _line(value.shape, axis, count))
                for edge, count in ((first, low), (last, high))
            ]
            return _around(value, axis, edges[:1], edges[1:])
        skipped = 1 if mode == "reflect" else 0
        if low <= length - skipped and high <= length - skipped:
            return _with_images(mode, value, axis, width, skipped)
        length, width = operator.index(length), (operator.index(low), operator.index(high))
    return take_known(value, np.pad(np.arange(length), width, mode), axis)  # type: ignore[call-overload]


def _with_images(mode: str, value: Value, axis: int, width: tuple[int, int], skipped: int) -> Value:
    """Borders that are parts of the array: from the other end for "wrap", otherwise mirrored."""
    length, (low, high) = value.shape[axis], width
    if mode == "wrap":
        parts = slice_axis(value, length - low, length, axis), slice_axis(value, 0, high, axis)
    else:
        start, stop = skipped, length - skipped
        parts = (
            flip(slice_axis(value, start, start + low, axis), (axis,)),
            flip(slice_axis(value, stop - high, stop, axis), (axis,)),
        )
    return _around(value, axis, [parts[0]], [parts[1]])


def _mirrored(mode: str, value: Value, axis: int, width: tuple[int, int], option: Pair) -> Value:
    """Even: mirrored at the edge. Odd: also mirrored at the edge's value."""
    if option[0] not in ("even", "odd"):
        raise ArgumentValueError(f"reflect_type must be 'even' or 'odd', not {shown(option[0])}")
    if option[0] == "even" or (mode == "reflect" and value.shape[axis] == 1):
        return _by_position("edge" if value.shape[axis] == 1 else mode, value, axis, width, option)
    _ends(value, axis)
    with_edge = mode == "symmetric"
    period = value.shape[axis] if with_edge else value.shape[axis] - 1
    low, high = width
    while low or high:
        length = value.shape[axis]
        reach = (length if with_edge else length - 1) // period * period
        first, last = min(reach, low), min(reach, high)
        value = _with_odd_images(value, axis, first, last, 0 if with_edge else 1)
        low, high = low - first, high - last
    return value


def _with_odd_images(value: Value, axis: int, low: int, high: int, skipped: int) -> Value:
    """`value` with up to its length of 2·edge − mirror image on both sides; the image omits `skipped` entries."""
    first, last = _ends(value, axis)
    length = value.shape[axis]
    images = (
        (first, np.arange(low - 1 + skipped, skipped - 1, -1)),
        (last, np.arange(length - 1 - skipped, length - 1 - skipped - high, -1)),
    )
    before, behind = (_twice_less(edge, take_known(value, positions, axis)) for edge, positions in images)
    return _around(value, axis, [before], [behind])


def _twice_less(edge: Value, entries: Value) -> Value:
    """2·edge − entries; booleans are treated as integers, because they have no difference."""
    if edge.dtype != BOOL:
        return subtract(multiply(edge, 2), entries)
    return convert(subtract(multiply(convert(edge, INT64), 2), convert(entries, INT64)), BOOL)


_MODES: dict[str, Padding] = {
    "constant": _constant,
    "empty": _empty,
    "edge": partial(_by_position, "edge"),
    "wrap": partial(_by_position, "wrap"),
    "linear_ramp": _linear_ramp,
    "maximum": partial(_statistic, np.amax),
    "minimum": partial(_statistic, np.amin),
    "mean": partial(_statistic, np.mean),
    "median": partial(_statistic, np.median),
    "reflect": partial(_mirrored, "reflect"),
    "symmetric": partial(_mirrored, "symmetric"),
}
