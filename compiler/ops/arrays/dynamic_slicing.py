"""Reading and writing a part of an array whose start is only known at run time.

A part that would reach beyond an end is moved so that it fits.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...affine import Affine, Index
from ...builder import bind
from ...dtypes import INT64, is_integer
from ...errors import DTypeError, ShapeError
from ...ir import ArrayType, Shape, Value
from ...op import Aliasing, ElementCase, Linear, Op, ReadIndex, register
from ...symbolic_size import is_known
from ...value_ops import (
    add,
    constant,
    convert,
    gather,
    inverse_permutation,
    iota,
    reshape,
    scatter,
    transpose,
    zeros_like,
)
from ..batch_axes import Batched, all_leading, in_front, leading, on_one_axis, shifted
from .index_arrays import batch_index, clamped, other_axes
from .layout import in_window

FAMILY = "dynamic_slicing"


def _check_window(op: str, x: ArrayType, starts: Sequence[ArrayType], sizes: Shape) -> None:
    if len(starts) != x.ndim or len(sizes) != x.ndim:
        raise ShapeError(f"{op} of {x}: it needs one start and one size per axis")
    for start in starts:
        if start.ndim or not is_integer(start.dtype):
            raise DTypeError(f"{op} of {x}: a start must be one integer, not {start}")
    if not all(0 <= size <= dim for size, dim in zip(sizes, x.shape, strict=True)):
        raise ShapeError(f"{op} of {x}: a part of shape {list(sizes)} does not fit into it")


def _dynamic_slice_type(x: ArrayType, *starts: ArrayType, sizes: Shape) -> ArrayType:
    _check_window("dynamic_slice", x, starts, sizes)
    return ArrayType(x.dtype, sizes)


def _dynamic_slice_numpy(x: Any, *starts: Any, sizes: Any) -> Any:
    window = []
    for start, size, dim in zip(starts, sizes, x.shape, strict=True):
        first = min(max(int(start), 0), dim - size)
        window.append(slice(first, first + size))
    return x[tuple(window)]


def _dynamic_slice_transpose(cotangents: tuple[Value], inputs: Any, sizes: Shape) -> tuple[Value | None, ...]:
    x, *starts = inputs
    return bind("dynamic_update_slice", zeros_like(x), cotangents[0], *starts), *(None for _ in starts)


def _mapped_window(
    shape: Shape, starts: Sequence[Value], mapped: Sequence[bool], size: int, sizes: Shape
) -> tuple[list[Value], list[int]]:
    """The window of each example as indices, with the batch axis first, and the axes that they index.

    Axes that the window fills are not indexed. No indices mean that all windows start at the same place.
    """
    partial = [axis for axis, dim in enumerate(shape) if not is_known(sizes[axis] == dim)]
    if not any(mapped[axis] for axis in partial):
        return [], []
    indices: list[Value] = []
    for place, axis in enumerate(partial):
        first = convert(clamped(starts[axis], shape[axis] - sizes[axis]), INT64)
        steps = reshape(iota(sizes[axis], INT64), (sizes[axis], *(1,) * (len(partial) - 1 - place)))
        indices.append(add(reshape(first, (size, *(1,) * len(partial))) if mapped[axis] else first, steps))
    return indices, partial


def _same_starts(shape: Shape, starts: Sequence[Value], sizes: Shape) -> list[Value]:
    """Starts for all examples at once; 0 where the window fills its axis."""
    zero = constant(0, INT64)
    return [
        zero if is_known(dim == size) else start
        for start, dim, size in zip(starts, shape, sizes, strict=True)
    ]


def _dynamic_slice_batch(inputs: Sequence[Batched], size: int, sizes: Shape) -> Any:
    """A batch of x alone stays where it lies."""
    x, *starts = inputs
    if x.axis is None or any(start.axis is not None for start in starts):
        return _dynamic_slice_of_each(inputs, size, sizes=sizes)
    first = _same_starts(x.logical_shape, [start.value for start in starts], sizes)
    places = x.physical_entries(first, constant(0, INT64))
    return Batched(bind("dynamic_slice", x.value, *places, sizes=x.physical_entries(sizes, size)), x.axis)


@in_front
def _dynamic_slice_of_each(
    inputs: tuple[Value, ...], mapped: Sequence[bool], size: int, sizes: Shape
) -> Value:
    """Each example starts at its own place."""
    x, *starts = inputs
    shape = x.shape[1:] if mapped[0] else x.shape
    indices, axes = _mapped_window(shape, starts, mapped[1:], size, sizes)
    if not indices:
        starts = _same_starts(shape, starts, sizes)
        if mapped[0]:
            return bind("dynamic_slice", x, constant(0, INT64), *starts, sizes=(size, *sizes))
        return leading(bind("dynamic_slice", x, *starts, sizes=sizes), False, size)
    if mapped[0]:
        numbers = batch_index(size, 1 + len(axes))
        found = gather(x, [numbers, *indices], (0, *shifted(axes)), unique=True)
    else:
        found = gather(x, indices, axes)
    order = [0, *shifted(axes), *shifted(other_axes(len(shape), axes))]
    return transpose(found, inverse_permutation(order))


def _starts(shapes: Sequence[Shape], read: ReadIndex, first: int, sizes: Shape) -> list[Affine]:
    """Where a window of the first input begins, which is moved so that it fits. `first` is the input with the start
    along the first axis."""
    lasts = [dim - size for dim, size in zip(shapes[0], sizes, strict=True)]
    return [read(k, (), last) for k, last in enumerate(lasts, first)]


def _dynamic_slice_cases(
    index: Index, shapes: Sequence[Shape], read: ReadIndex, sizes: Shape
) -> list[ElementCase]:
    starts = _starts(shapes, read, 1, sizes)
    return [((), (0, tuple(place + start for place, start in zip(index, starts, strict=True))))]


register(
    Op(
        "dynamic_slice",
        FAMILY,
        _dynamic_slice_type,
        _dynamic_slice_numpy,
        lambda inputs, tangents, outputs, sizes: bind("dynamic_slice", tangents[0], *inputs[1:], sizes=sizes),
        _dynamic_slice_transpose,
        _dynamic_slice_batch,
        spelling=None,
        effect=None,
        doc="The part of x of shape `sizes` that begins at `starts`, one per axis, moved so that it fits.",
        aliasing=Aliasing.PART,
        moves=1,
        cases=_dynamic_slice_cases,
        shape_param="sizes",
    )
)


def _dynamic_update_type(x: ArrayType, y: ArrayType, *starts: ArrayType) -> ArrayType:
    if y.dtype != x.dtype:
        raise DTypeError(f"dynamic_update_slice is not defined for ({x}, {y})")
    if y.ndim != x.ndim:
        raise ShapeError(f"dynamic_update_slice of {x}: the update {y} has {y.ndim} axes")
    _check_window("dynamic_update_slice", x, starts, y.shape)
    return x


def _dynamic_update_numpy(x: Any, y: Any, *starts: Any) -> Any:
    out = np.array(x)
    window = []
    for start, size, dim in zip(starts, y.shape, x.shape, strict=True):
        first = min(max(int(start), 0), dim - size)
        window.append(slice(first, first + size))
    out[tuple(window)] = y
    return out


def _dynamic_update_jvp(inputs: tuple[Value, ...], tangents: tuple[Value | None, ...], outputs: Any) -> Value:
    dx, dy = (zeros_like(x) if t is None else t for x, t in zip(inputs[:2], tangents[:2], strict=True))
    return bind("dynamic_update_slice", dx, dy, *inputs[2:])


def _dynamic_update_transpose(cotangents: tuple[Value], inputs: Any) -> tuple[Value | None, ...]:
    (ct,), (x, y, *starts) = cotangents, inputs
    dx = bind("dynamic_update_slice", ct, zeros_like(y), *starts) if isinstance(x, Linear) else None
    dy = bind("dynamic_slice", ct, *starts, sizes=y.shape) if isinstance(y, Linear) else None
    return dx, dy, *(None for _ in starts)


def _dynamic_update_batch(inputs: Sequence[Batched], size: int) -> Any:
    """If all examples write at one place, the batch axis stays where it lies."""
    if any(start.axis is not None for start in inputs[2:]):
        return _dynamic_update_of_each(inputs, size)
    x, y = on_one_axis(inputs[:2], size)
    first = _same_starts(x.logical_shape, [start.value for start in inputs[2:]], y.logical_shape)
    places = x.physical_entries(first, constant(0, INT64))
    return Batched(bind("dynamic_update_slice", x.value, y.value, *places), x.axis)


@in_front
def _dynamic_update_of_each(inputs: tuple[Value, ...], mapped: Sequence[bool], size: int) -> Value:
    """Each example writes at its own place."""
    x, y = all_leading(inputs[:2], mapped[:2], size)
    starts = inputs[2:]
    shape, sizes = x.shape[1:], y.shape[1:]
    indices, axes = _mapped_window(shape, starts, mapped[2:], size, sizes)
    if not indices:
        return bind("dynamic_update_slice", x, y, constant(0, INT64), *_same_starts(shape, starts, sizes))
    updates = transpose(y, [0, *shifted(axes), *shifted(other_axes(len(shape), axes))])
    numbers = batch_index(size, 1 + len(axes))
    return scatter(x, updates, [numbers, *indices], (0, *shifted(axes)), "set", unique=True)


def _dynamic_update_cases(index: Index, shapes: Sequence[Shape], read: ReadIndex) -> list[ElementCase]:
    starts = _starts(shapes, read, 2, shapes[1])
    return [in_window(1, index, starts, shapes[1], (1,) * len(index)), ((), (0, index))]


register(
    Op(
        "dynamic_update_slice",
        FAMILY,
        _dynamic_update_type,
        _dynamic_update_numpy,
        _dynamic_update_jvp,
        _dynamic_update_transpose,
        _dynamic_update_batch,
        spelling=None,
        effect=None,
        doc="x with the part that begins at `starts` replaced by y; the part is moved so that it fits.",
        moves=2,
        cases=_dynamic_update_cases,
        updates=True,
    )
)
