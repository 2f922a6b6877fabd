"""Splitting an array into views of its parts."""

import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ...arguments.axes import normalize_axis
from ...errors import ArgumentValueError, ShapeError
from ...symbolic_size import SymbolicSize, min_expr
from ...tracing.array_values import as_size
from ...tracing.registry import implements
from ...tracing.rows import rows_of
from ...tracing.traced_array import TracedArray, wrap
from ..ufuncs.ufunc_calls import as_array
from .reshaping import moveaxis


@implements(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[TracedArray]:
    """Parts whose lengths differ by at most one, or parts between given positions."""
    array = as_array(ary)
    place = normalize_axis(axis, array.ndim)
    length = array.shape[place]
    if np.ndim(indices_or_sections):
        bounds: Sequence[int] = [0, *map(as_size, indices_or_sections), length]
    else:
        bounds = _equal_bounds(length, operator.index(indices_or_sections))
    return _between(array, bounds, place)


def _between(array: TracedArray, bounds: Sequence[int], axis: int) -> list[TracedArray]:
    before = (slice(None),) * axis
    return [array[(*before, slice(start, stop))] for start, stop in pairwise(bounds)]


def _equal_bounds(length: int, sections: int) -> Sequence[int]:
    if sections <= 0:
        raise ArgumentValueError("number sections must be larger than 0.")
    each, longer = divmod(length, sections)
    return [i * each + (min_expr(i, longer)) for i in range(sections + 1)]


@implements(np.split)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[TracedArray]:
    """Like `array_split`, but the number of sections must divide the length."""
    array = as_array(ary)
    if np.ndim(indices_or_sections):
        return array_split(array, indices_or_sections, axis)
    place, sections = normalize_axis(axis, array.ndim), operator.index(indices_or_sections)
    length = array.shape[place]
    if sections == 0:
        raise ZeroDivisionError("integer modulo by zero")
    if length % sections:
        raise ShapeError("array split does not result in an equal division")
    if sections < 0:
        raise ArgumentValueError("number sections must be larger than 0.")
    return _between(array, [i * (length // sections) for i in range(sections + 1)], place)


@implements(np.hsplit)
def hsplit(ary: Any, indices_or_sections: Any) -> list[TracedArray]:
    array = _with_axes(ary, 1, "hsplit")
    return split(array, indices_or_sections, 1 if array.ndim > 1 else 0)


@implements(np.vsplit)
def vsplit(ary: Any, indices_or_sections: Any) -> list[TracedArray]:
    return split(_with_axes(ary, 2, "vsplit"), indices_or_sections, 0)


@implements(np.dsplit)
def dsplit(ary: Any, indices_or_sections: Any) -> list[TracedArray]:
    return split(_with_axes(ary, 3, "dsplit"), indices_or_sections, 2)


def _with_axes(ary: Any, ndim: int, name: str) -> TracedArray:
    array = as_array(ary)
    if array.ndim < ndim:
        raise ShapeError(f"{name} only works on arrays of {ndim} or more dimensions")
    return array


def unstack(x: Any, /, *, axis: int = 0) -> tuple[TracedArray, ...]:
    """The slices along an axis, which is removed."""
    array = moveaxis(_with_axes(x, 1, "unstack"), axis, 0)
    if isinstance(array.shape[0], SymbolicSize):
        return tuple(array)
    if array.ndim > 1:
        return tuple(rows_of(array))
    return tuple(rows_of(wrap(array.value, is_scalar=False), is_scalar=True))  # scalars see no later write


if hasattr(np, "unstack"):  # NumPy 2.1
    implements(np.unstack)(unstack)
