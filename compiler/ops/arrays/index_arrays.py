"""What rules of ops ask of index arrays: their shape, clipped positions, and which of them are inside."""

from collections.abc import Sequence

import numpy as np

from ...dtypes import INT64, is_integer
from ...errors import DTypeError, ShapeError
from ...ir import ArrayType, Constant, Shape, Value
from ...symbolic_size import SymbolicSize, is_known
from ...value_ops import (
    broadcast_to,
    constant,
    convert,
    elementwise,
    greater_equal,
    iota,
    less,
    logical_and,
    reshape,
)
from ..elementwise.broadcasting import broadcast_shapes


def other_axes(ndim: int, axes: Sequence[int]) -> tuple[int, ...]:
    """The axes of an array of `ndim` that are not among `axes`."""
    return tuple(axis for axis in range(ndim) if axis not in axes)


def check_indices(op: str, x: ArrayType, indices: Sequence[ArrayType], axes: Sequence[int]) -> Shape:
    """The shape of the indices broadcast together, then the axes of x that are not indexed."""
    if not indices or len(indices) != len(axes):
        raise ShapeError(f"{op} of {x}: {len(indices)} index arrays for the axes {tuple(axes)}")
    if len(set(axes)) != len(axes) or not all(0 <= axis < x.ndim for axis in axes):
        raise ShapeError(f"{op} of {x}: {tuple(axes)} are not different axes of it")
    for index in indices:
        if not is_integer(index.dtype):
            raise DTypeError(f"{op} of {x}: an index must have an integer dtype, not {index}")
    return (
        *broadcast_shapes(f"{op}, indices", indices),
        *(x.shape[axis] for axis in other_axes(x.ndim, axes)),
    )


def clamped(index: Value, last: int) -> Value:
    """`index` clipped to [0, last]; `index` itself if it is known to be in range."""
    if isinstance(last, SymbolicSize):
        return index if _lies_within(index, last + 1) else elementwise("clip", _wide(index), 0, last)
    if isinstance(index, Constant):
        within = np.minimum(np.maximum(index.array, 0), min(last, np.iinfo(index.dtype).max))
        return constant(within, index.dtype)
    return index if last < 0 else elementwise("clip", index, 0, min(last, np.iinfo(index.dtype).max))


def _lies_within(index: Value, length: int) -> bool:
    """Whether all entries of a constant are known to be in [0, length)."""
    if not isinstance(index, Constant):
        return False
    entries = index.array.reshape(-1)
    return not entries.size or bool(entries.min() >= 0 and is_known(int(entries.max()) < length))


def _wide(index: Value) -> Value:
    """An index in a dtype that can hold every length."""
    return index if index.dtype.itemsize == INT64.itemsize else convert(index, INT64)


def clamped_to(shape: Shape, indices: Sequence[Value], axes: Sequence[int]) -> list[Value]:
    return [clamped(index, shape[axis] - 1) for index, axis in zip(indices, axes, strict=True)]


def are_inside(shape: Shape, indices: Sequence[Value], axes: Sequence[int]) -> Value | None:
    """Which entries of the broadcast indices are inside an array of `shape`; None if all are known to be."""
    checks: list[Value] = []
    for index, axis in zip(indices, axes, strict=True):
        length = shape[axis]
        if _lies_within(index, length):
            continue
        if isinstance(length, SymbolicSize):
            index = _wide(index)
        elif isinstance(index, Constant):
            checks.append(constant((index.array >= 0) & (index.array < length)))
            continue
        if index.dtype.kind == "i":
            checks.append(greater_equal(index, 0))
        if isinstance(length, SymbolicSize) or length <= np.iinfo(index.dtype).max:
            checks.append(less(index, length))
    if not checks:
        return None
    mask = checks[0]
    for check in checks[1:]:
        mask = logical_and(mask, check)
    return broadcast_to(mask, broadcast_shapes("indices", [index.type for index in indices]))


def beside(mask: Value, ndim: int) -> Value:
    """A mask over the index axes, aligned with an array that has further axes after them."""
    return reshape(mask, (*mask.shape, *(1,) * (ndim - mask.ndim)))


def index_ndim(indices: Sequence[Value]) -> int:
    return max(index.ndim for index in indices)


def batch_index(size: int, ndim: int) -> Value:
    """The number of each example, along the first of `ndim` axes."""
    return reshape(iota(size, INT64), (size, *(1,) * (ndim - 1)))
