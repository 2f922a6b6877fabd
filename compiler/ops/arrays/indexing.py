"""Reading and writing at positions that are only known at run time: gather and scatter.

Indices are expected in [0, length). A read outside takes the nearest entry, and a write outside is dropped.
``unique=True`` is the caller's promise that no two entries of the indices are equal.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...affine import Index, aligned
from ...builder import bind
from ...dtypes import kind
from ...errors import DTypeError, InternalError, OutOfBoundsError, ShapeError
from ...ir import ArrayType, Shape, Value
from ...op import ElementCase, Op, ReadIndex, register
from ...symbolic_size import has_no_entries
from ...value_ops import (
    gather,
    moveaxis,
    scatter,
    zeros_like,
)
from ..batch_axes import Batched, align_ranks, all_leading, in_front, shifted
from ..elementwise.broadcasting import broadcast_shapes
from .index_arrays import batch_index, check_indices, clamped_to, index_ndim
from .scatter_derivatives import scatter_jvp, scatter_transpose

FAMILY = "indexing"
MODES = {"set": "biufc", "add": "biufc", "multiply": "biufc", "minimum": "biuf", "maximum": "biuf"}
"""How a write combines with the old value, and for which kinds of dtypes."""


# ---- gather --------------------------------------------------------------------------------------


def _gather_type(x: ArrayType, *indices: ArrayType, axes: Shape, unique: bool = False) -> ArrayType:
    out = ArrayType(x.dtype, check_indices("gather", x, indices, axes))
    places = broadcast_shapes("gather", indices)
    others = [x.shape[axis] for axis in axes if not any(x.shape[axis] is dim for dim in places)]
    if any(map(has_no_entries, others)) and not any(map(has_no_entries, places)):
        raise OutOfBoundsError(f"gather of {x}: an axis of length 0 has no entry to read")
    return out


def _gather_numpy(x: Any, *indices: Any, axes: Any, unique: Any = False) -> Any:
    places = []
    for index, axis in zip(indices, axes, strict=True):
        last = x.shape[axis] - 1
        if index.dtype == np.uint64:
            index = np.minimum(index, np.uint64(max(last, 0)))
        places.append(np.clip(index.astype(np.intp, copy=False), 0, last))
    if len(axes) == 1 and x.flags.c_contiguous:
        found = np.take(x, places[0], axis=axes[0], mode="clip")
        spanned = [*range(axes[0], axes[0] + places[0].ndim)]
        return np.transpose(found, [*spanned, *(axis for axis in range(found.ndim) if axis not in spanned)])
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    table = np.transpose(x, [*axes, *rest])
    if not table.flags.c_contiguous:
        return table[tuple(places)]
    # Take with one index array is several times faster than indexing with many.
    flat = places[0]
    for place, axis in zip(places[1:], axes[1:], strict=True):
        flat = flat * x.shape[axis] + place
    rows = int(np.prod([x.shape[axis] for axis in axes], dtype=int))
    return np.take(table.reshape([rows, *table.shape[len(axes) :]]), flat, axis=0, mode="clip")


def _gather_transpose(
    cotangents: tuple[Value], inputs: Any, axes: Shape, unique: bool = False
) -> tuple[Value | None, ...]:
    """Add each cotangent to the entry that was read; for an index outside, this is the nearest one."""
    (ct,), (x, *indices) = cotangents, inputs
    places = clamped_to(x.shape, indices, axes)
    return scatter(zeros_like(x), ct, places, axes, "add", unique=unique), *(None for _ in indices)


def _gather_batch(inputs: Sequence[Batched], size: int, axes: Shape, unique: bool = False) -> Any:
    """A batch of x alone stays where it lies among the axes that are not indexed, but in front if it was there."""
    x, *indices = inputs
    if not x.axis or any(index.axis is not None for index in indices):
        return _gather_of_each(inputs, size, axes=axes, unique=unique)
    places, along = [index.value for index in indices], x.physical_axes(axes)
    found = gather(x.value, places, along, unique=unique)
    return Batched(found, index_ndim(places) + x.axis_without(along))


@in_front
def _gather_of_each(
    inputs: tuple[Value, ...], mapped: Sequence[bool], size: int, axes: Shape, unique: bool = False
) -> Value:
    x, *indices = inputs
    if not any(mapped[1:]):
        return moveaxis(gather(x, indices, shifted(axes), unique=unique), index_ndim(indices), 0)
    indices = align_ranks(indices, mapped[1:])
    if not mapped[0]:
        return gather(x, indices, axes)
    return gather(x, [batch_index(size, index_ndim(indices)), *indices], (0, *shifted(axes)), unique=unique)


def _gather_cases(
    index: Index, shapes: Sequence[Shape], read: ReadIndex, axes: Shape, unique: bool = False
) -> list[ElementCase]:
    source, *places = shapes
    count = max(map(len, places))
    along = {
        axis: read(k, aligned(index[:count], shape), source[axis] - 1)
        for k, (shape, axis) in enumerate(zip(places, axes, strict=True), 1)
    }
    rest = iter(index[count:])
    element = tuple(along[axis] if axis in along else next(rest) for axis in range(len(source)))
    return [((), (0, element))]


register(
    Op(
        "gather",
        FAMILY,
        _gather_type,
        _gather_numpy,
        lambda inputs, tangents, outputs, **params: bind("gather", tangents[0], *inputs[1:], **params),
        _gather_transpose,
        _gather_batch,
        spelling=None,
        effect=None,
        doc="The entries of x at integer indices along `axes`; the index axes come first. An index outside "
        "[0, length) reads the nearest entry.",
        moves=1,
        cases=_gather_cases,
    )
)


# ---- scatter -------------------------------------------------------------------------------------


def _scatter_type(
    x: ArrayType, updates: ArrayType, *indices: ArrayType, axes: Shape, mode: str, unique: bool = False
) -> ArrayType:
    if mode not in MODES:
        raise InternalError(f"scatter: mode {mode!r} is none of {', '.join(MODES)}")
    shape = check_indices("scatter", x, indices, axes)
    if kind(x.dtype) not in MODES[mode] or updates.dtype != x.dtype:
        raise DTypeError(f"scatter ({mode}) is not defined for ({x}, {updates})")
    if updates.shape != shape:
        raise ShapeError(
            f"scatter of {x}: the updates are {updates}, the places have the shape {list(shape)}"
        )
    return x


def _scatter_numpy(x: Any, updates: Any, *indices: Any, axes: Any, mode: Any, unique: Any = False) -> Any:
    count = updates.ndim - (x.ndim - len(axes))
    order = [*axes, *(axis for axis in range(x.ndim) if axis not in axes)]
    shape = [x.shape[axis] for axis in order]
    rows = int(np.prod(shape[: len(axes)], dtype=int))
    width = int(np.prod(shape[len(axes) :], dtype=int))
    out = np.array(np.transpose(x, order), order="C")
    table = out.reshape(rows, width)

    flat: Any = np.zeros((), np.intp)
    inside = np.ones((), bool)
    for index, axis in zip(indices, axes, strict=True):
        inside = inside & (index >= 0) & (index < x.shape[axis])
        flat = flat * x.shape[axis] + index.astype(np.intp, copy=False)
    # The last of several writes to one position is the last one in row-major order.
    flat = np.ascontiguousarray(np.broadcast_to(flat, updates.shape[:count])).reshape(-1)
    new = np.ascontiguousarray(updates).reshape(flat.size, width)
    if not inside.all():
        kept = np.broadcast_to(inside, updates.shape[:count]).reshape(-1)
        flat, new = flat[kept], new[kept]

    if mode == "set":
        table[flat] = new
    else:
        # ufunc.at is fast on one axis only.
        combine = {"add": np.add, "multiply": np.multiply, "minimum": np.minimum, "maximum": np.maximum}[mode]
        places = flat if width == 1 else (flat[:, None] * width + np.arange(width)).reshape(-1)
        combine.at(table.reshape(-1), places, new.reshape(-1))
    return np.transpose(out, np.argsort(order))


def _scatter_batch(
    inputs: Sequence[Batched], size: int, *, axes: Shape, mode: str, unique: bool = False
) -> Any:
    """Without indices of each example, the batch axis stays where it lies in x."""
    x, updates, *indices = inputs
    if not x.axis or any(index.axis is not None for index in indices):
        return _scatter_of_each(inputs, size, axes=axes, mode=mode, unique=unique)
    places, along = [index.value for index in indices], x.physical_axes(axes)
    new = updates.on_axis(index_ndim(places) + x.axis_without(along), size)
    return Batched(scatter(x.value, new, places, along, mode, unique=unique), x.axis)


@in_front
def _scatter_of_each(
    inputs: tuple[Value, ...],
    mapped: Sequence[bool],
    size: int,
    *,
    axes: Shape,
    mode: str,
    unique: bool = False,
) -> Value:
    x, updates = all_leading(inputs[:2], mapped[:2], size)
    indices = list(inputs[2:])
    if not any(mapped[2:]):
        updates = moveaxis(updates, 0, index_ndim(indices))
        return scatter(x, updates, indices, shifted(axes), mode, unique=unique)
    indices = align_ranks(indices, mapped[2:])
    numbers = batch_index(size, index_ndim(indices))
    return scatter(x, updates, [numbers, *indices], (0, *shifted(axes)), mode, unique=unique)


register(
    Op(
        "scatter",
        FAMILY,
        _scatter_type,
        _scatter_numpy,
        scatter_jvp,
        scatter_transpose,
        _scatter_batch,
        spelling=None,
        effect=None,
        doc="x with updates set, added, … at integer indices along `axes`; the index axes of the updates "
        "come first. Writes outside are dropped; of several set at one place the last one stays.",
        updates=True,
    )
)
