"""Strides in elements: of new arrays, and of reshapes without a copy."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from ..dtypes import Array
from ..ir import Shape
from ..symbolic_size import SymbolicSize, guarded_is_equal, guarded_is_one, is_known, typical

Strides: TypeAlias = tuple[int, ...] | None
"""Distances between neighbours along each axis, in elements; None for an axis without a regular distance."""

Order: TypeAlias = tuple[int, ...]
"""The axes of an array, from the largest stride to the smallest."""


def element_strides(array: Array) -> tuple[int, ...]:
    """NumPy's strides in elements."""
    return tuple(stride // array.itemsize for stride in array.strides)


def contiguous_strides(shape: Shape) -> tuple[int, ...]:
    """The strides of a new row-major array, as in NumPy: all 0 if there are no elements."""
    return (0,) * len(shape) if _is_empty(shape) else filled_strides(shape)


def filled_strides(shape: Shape) -> tuple[int, ...]:
    """The strides of a row-major view in another shape. Lengths of 0 count as 1."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        dim = shape[axis + 1]
        strides[axis] = strides[axis + 1] * (1 if type(dim) is int and dim == 0 else dim)
    return tuple(strides)


def _is_empty(shape: Shape) -> bool:
    """Whether an axis is known to have the length 0."""
    return any(type(dim) is int and dim == 0 for dim in shape)


def dense_strides(shape: Shape, order: Order) -> tuple[int, ...]:
    """The strides of a new array whose axes have this order in memory."""
    strides = [0] * len(shape)
    in_memory = contiguous_strides(tuple(shape[axis] for axis in order))
    for axis, stride in zip(order, in_memory, strict=True):
        strides[axis] = stride
    return tuple(strides)


def reshaped_strides(
    shape: Shape, strides: Sequence[int], new: Shape, order: Literal["C", "F"] = "C"
) -> Strides:
    """The strides of a reshape without a copy, with the last or the first axis fastest; None if NumPy must copy.

    Axes of the old and the new shape are matched in groups of equal size; within a group the old axes
    must follow each other in memory. Old axes of length 1 do not count. If this is not a view for all named sizes,
    guards say which of them are 1, or equal, in the current call.
    """
    if any(is_known(dim == 0) for dim in new):
        return filled_strides(new)
    old = [(dim, stride) for dim, stride in zip(shape, strides, strict=True) if not is_known(dim == 1)]
    found = _regrouped(old, new, order)
    if found is None:
        old = [(dim, stride) for dim, stride in old if not guarded_is_one(dim)]
        found = _regrouped(old, new, order, are_equal=guarded_is_equal)
    return found


def _regrouped(
    old: Sequence[tuple[int, int]],
    new: Shape,
    order: Literal["C", "F"],
    are_equal: Callable[[Any, Any], bool] = lambda one, other: is_known(one == other),
) -> Strides:
    """The strides of a reshape of axes that are given as pairs of length and stride."""
    result: list[int] = []
    at = 0
    group_new: list[int] = []
    pending = list(new)
    while at < len(old) or pending:
        group_old = [old[at]] if at < len(old) else []
        at += len(group_old)
        group_new = [pending.pop(0)] if pending else []
        size_old = group_old[0][0] if group_old else 1
        size_new = group_new[0] if group_new else 1
        while not are_equal(size_old, size_new) and (at < len(old) or pending):
            if not pending or (at < len(old) and typical(size_old) < typical(size_new)):
                group_old.append(old[at])
                size_old *= old[at][0]
                at += 1
            else:
                size_new *= pending[0]
                group_new.append(pending.pop(0))
        if order == "F":
            group_old.reverse()
        if not all(continues_axis(outer[1], inner[1] * inner[0]) for outer, inner in pairwise(group_old)):
            return None
        if group_old:
            fastest = group_old[-1][1]
        elif order == "F" and result:
            fastest = result[-1] * new[len(result) - 1]
        else:
            fastest = result[-1] if result else 1
        if order == "C" or not group_old:
            steps = contiguous_strides(tuple(group_new))
        else:
            steps = contiguous_strides(tuple(reversed(group_new)))[::-1]
        result += [fastest * step for step in steps]
    return tuple(result)


def continues_axis(stride: int, extent: int) -> bool:
    """Whether an axis continues where the next one ends. With a gap of known width, that may need a guard.

    So it does for neighbours whose distance is 1 only at some sizes, as along the columns of a part with one row.
    """
    if isinstance(extent, SymbolicSize) != isinstance(stride, SymbolicSize):
        return bool(extent == stride)
    return is_known(stride == extent)
