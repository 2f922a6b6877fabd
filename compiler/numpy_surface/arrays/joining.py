"""Joining arrays along existing or new axes."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...arguments.axes import normalize_axis
from ...dtypes import DType
from ...errors import ArgumentTypeError, DTypeError, ShapeError
from ...ir import Shape, Value
from ...nesting import shown
from ...tracing.array_values import as_value, weak_or_dtype
from ...tracing.registry import implements
from ...tracing.rows import last_rows, stack_of
from ...tracing.traced_array import TracedArray, array_on, wrap
from ...value_ops import concatenate as concatenate_values
from ...value_ops import convert, transpose
from ...value_ops import expand_dims as expand_value
from ...value_ops import reshape as reshape_value
from ..ufuncs.ufunc_calls import as_array, write_out
from .constructors import as_dtype, copied, new_array
from .reshaping import ravel, reshape

_in_numpys_order: Callable[..., TracedArray] = np.concatenate
"""Like `concatenate`, with NumPy's memory order of the result. Functions with their own rule call this one."""


def joined(parts: Sequence[Value], axis: int, out: Any, dtype: Any, casting: str) -> TracedArray:
    """The parts one after another, in their common dtype or in the requested one."""
    if out is not None and dtype is not None:
        raise ArgumentTypeError("concatenate takes out or dtype, not both")
    common = as_dtype(dtype, np.result_type(*[part.dtype for part in parts]))
    return _joined_as(parts, axis, out, common, casting)


def _joined_as(parts: Sequence[Value], axis: int, out: Any, dtype: DType, casting: str) -> TracedArray:
    for part in parts:
        if out is None and not np.can_cast(part.dtype, dtype, casting):  # type: ignore[arg-type]
            raise DTypeError(f"cannot cast {part.dtype} to {dtype} with casting rule {shown(casting)}")
        if _beside(part, axis) != _beside(parts[0], axis):
            shapes = ", ".join(str(p.shape) for p in parts)
            raise ShapeError(
                f"arrays of shapes {shapes} cannot be joined along axis {axis}: they differ in another"
            )
    result = new_array(concatenate_values([convert(part, dtype) for part in parts], axis))
    return result if out is None else write_out(out, result, casting=casting)


def _beside(value: Value, axis: int) -> Shape:
    return (*value.shape[:axis], *value.shape[axis + 1 :], value.ndim)


def _values(arrays: Any) -> list[Value]:
    values = [as_value(array) for array in arrays]
    if not values:
        raise ShapeError("there are no arrays to join")
    return values


def _whole(arrays: Any, *axes: int) -> TracedArray | None:
    """The array of all parts, if they are its rows and have that many axes: with many parts, this is much faster."""
    rows = stack_of(arrays) if isinstance(arrays, (list, tuple)) and arrays else None
    return array_on(*rows) if rows is not None and rows[1].ndim - 1 in axes else None


@implements(np.concatenate)
def concatenate(
    arrays: Any, /, axis: int | None = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> TracedArray:
    if axis == 0 and (whole := _whole(arrays, 1)) is not None:
        return joined([reshape_value(whole.value, (whole.size,))], 0, out, dtype, casting)
    items = list(arrays)
    values = _values(items)
    if axis is None:
        common = np.result_type(
            *[weak_or_dtype(item, value) for item, value in zip(items, values, strict=True)]
        )
        flat = [reshape_value(value, (value.type.size,)) for value in values]
        return _joined_as(flat, 0, out, as_dtype(dtype, common), casting)
    if any(value.ndim == 0 for value in values):
        raise ShapeError("arrays without axes cannot be concatenated: use np.stack")
    return joined(values, normalize_axis(axis, values[0].ndim), out, dtype, casting)


@implements(np.stack)
def stack(
    arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> TracedArray:
    if axis == 0 and isinstance(arrays, (list, tuple)) and last_rows(arrays) > 1:
        return joined([as_value(arrays)], 0, out, dtype, casting)
    values = _values(arrays)
    if any(value.shape != values[0].shape for value in values):
        raise ShapeError(f"stack needs arrays of one shape, not {', '.join(str(v.shape) for v in values)}")
    place = normalize_axis(axis, values[0].ndim + 1)
    return joined([expand_value(value, place) for value in values], place, out, dtype, casting)


@implements(*(getattr(np, name) for name in ("vstack", "row_stack") if hasattr(np, name)))
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> TracedArray:
    """Rows on top of each other."""
    if (whole := _whole(tup, 1)) is not None:
        return _in_numpys_order([whole], 0, dtype=dtype, casting=casting)
    return _in_numpys_order([np.atleast_2d(as_array(x)) for x in tup], 0, dtype=dtype, casting=casting)


@implements(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> TracedArray:
    """Columns next to each other; one-dimensional arrays end to end."""
    if (whole := _whole(tup, 0, 1)) is not None:
        return joined([reshape_value(whole.value, (whole.size,))], 0, None, dtype, casting)
    parts = [np.atleast_1d(as_array(x)) for x in tup]
    return _in_numpys_order(parts, 0 if parts and parts[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@implements(np.dstack)
def dstack(tup: Any) -> TracedArray:
    """Matrices along a third axis."""
    return _in_numpys_order([np.atleast_3d(as_array(x)) for x in tup], 2)


@implements(np.column_stack)
def column_stack(tup: Any) -> TracedArray:
    """One-dimensional arrays as columns, matrices as they are."""
    if (whole := _whole(tup, 1)) is not None:
        return new_array(transpose(whole.value, (1, 0)))
    parts = map(as_array, tup)
    return _in_numpys_order([part if part.ndim >= 2 else np.atleast_2d(part).T for part in parts], 1)


@implements(np.block)
def block(arrays: Any) -> TracedArray:
    """A matrix of blocks: the innermost lists are joined along the last axis, the next ones along the axis before."""
    depth = _block_depth(arrays)
    leaves = list(_block_leaves(arrays))
    ndim = max(depth, *(leaf.ndim for leaf in leaves))
    dtype = np.result_type(*[leaf.dtype for leaf in leaves])
    whole = _joined_blocks(arrays, depth, ndim)
    order = _order_of_blocks(leaves, depth, whole.size)
    joined = convert(whole.value, dtype)
    return (
        wrap(joined, is_scalar=False, layout=whole.layout) if order == "K" else copied(joined, whole, order)
    )


def _order_of_blocks(leaves: Sequence[TracedArray], depth: int, size: int) -> str:
    """NumPy copies an array that is not in a list into C order. It joins small arrays step by step, and writes large
    ones into an array in the order that they have in common."""
    if depth == 0:
        return "C"
    if all(leaf.layout.is_row_major for leaf in leaves):
        return "K"
    if depth * size <= 2 * 512 * 512:
        return "K"
    in_columns = all(leaf.layout.is_contiguous("F") for leaf in leaves)
    return "F" if in_columns and not all(leaf.layout.is_contiguous("C") for leaf in leaves) else "C"


def _block_depth(arrays: Any) -> int:
    """The nesting depth of the lists; an error unless all leaves have the same depth."""
    if isinstance(arrays, tuple):
        raise ArgumentTypeError("np.block takes nested lists, not tuples")
    if not isinstance(arrays, list):
        return 0
    depths = {_block_depth(part) for part in arrays}
    if len(depths) != 1:
        raise ShapeError("the lists of np.block must not be empty and must all be equally deep")
    return depths.pop() + 1


def _block_leaves(arrays: Any) -> Iterator[TracedArray]:
    if isinstance(arrays, list):
        for part in arrays:
            yield from _block_leaves(part)
    else:
        yield as_array(arrays)


def _joined_blocks(arrays: Any, depth: int, ndim: int) -> TracedArray:
    if depth:
        return _in_numpys_order([_joined_blocks(part, depth - 1, ndim) for part in arrays], ndim - depth)
    array = as_array(arrays)
    return reshape(array, (*(1,) * (ndim - array.ndim), *array.shape))


@implements(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> TracedArray:
    """Always a copy; without an axis, both are flattened."""
    array, more = as_array(arr), as_array(values)
    if axis is None:
        array, more, axis = ravel(array), ravel(more), 0
    return _in_numpys_order((array, more), axis)
