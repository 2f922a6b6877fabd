"""Reading and writing at positions that are only known at run time: gather and scatter.

Indices are expected in [0, length). A read outside takes the nearest entry, and a write outside is dropped.
``unique=True`` is the caller's promise that no two entries of the indices are equal.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...affine import Index, aligned
from ...builder import bind, bind_all
from ...dtypes import BOOL, INT64, is_integer, kind
from ...errors import DTypeError, InternalError, OutOfBoundsError, ShapeError
from ...ir import ArrayType, Constant, Shape, Value
from ...op import ElementCase, Linear, Op, ReadIndex, register
from ...symbolic_size import SymbolicSize, has_no_entries, is_empty, is_known
from ...value_ops import (
    add,
    broadcast_to,
    concatenate,
    constant,
    convert,
    divide,
    elementwise,
    equal,
    full,
    full_like,
    gather,
    greater_equal,
    iota,
    less,
    logical_and,
    logical_or,
    moveaxis,
    multiply,
    reshape,
    scatter,
    slice_axis,
    where,
    zeros_like,
)
from ..batch_axes import Batched, align_ranks, all_leading, in_front, shifted
from ..elementwise.broadcasting import broadcast_shapes
from ..parallel_prefix import prefix_strides

FAMILY = "indexing"
MODES = {"set": "biufc", "add": "biufc", "multiply": "biufc", "minimum": "biuf", "maximum": "biuf"}
"""How a write combines with the old value, and for which kinds of dtypes."""


# ---- what all rules ask of indices --------------------------------------------------------------


def other_axes(ndim: int, axes: Sequence[int]) -> tuple[int, ...]:
    """The axes of an array of `ndim` that are not among `axes`."""
    return tuple(axis for axis in range(ndim) if axis not in axes)


def _check_indices(op: str, x: ArrayType, indices: Sequence[ArrayType], axes: Sequence[int]) -> Shape:
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


def _clamped_to(shape: Shape, indices: Sequence[Value], axes: Sequence[int]) -> list[Value]:
    return [clamped(index, shape[axis] - 1) for index, axis in zip(indices, axes, strict=True)]


def _inside(shape: Shape, indices: Sequence[Value], axes: Sequence[int]) -> Value | None:
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


def _beside(mask: Value, ndim: int) -> Value:
    """A mask over the index axes, aligned with an array that has further axes after them."""
    return reshape(mask, (*mask.shape, *(1,) * (ndim - mask.ndim)))


def _index_ndim(indices: Sequence[Value]) -> int:
    return max(index.ndim for index in indices)


def batch_index(size: int, ndim: int) -> Value:
    """The number of each example, along the first of `ndim` axes."""
    return reshape(iota(size, INT64), (size, *(1,) * (ndim - 1)))


# ---- gather --------------------------------------------------------------------------------------


def _gather_type(x: ArrayType, *indices: ArrayType, axes: Shape, unique: bool = False) -> ArrayType:
    out = ArrayType(x.dtype, _check_indices("gather", x, indices, axes))
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
    places = _clamped_to(x.shape, indices, axes)
    return scatter(zeros_like(x), ct, places, axes, "add", unique=unique), *(None for _ in indices)


def _gather_batch(inputs: Sequence[Batched], size: int, axes: Shape, unique: bool = False) -> Any:
    """A batch of x alone stays where it lies among the axes that are not indexed, but in front if it was there."""
    x, *indices = inputs
    if not x.axis or any(index.axis is not None for index in indices):
        return _gather_of_each(inputs, size, axes=axes, unique=unique)
    places, along = [index.value for index in indices], x.physical_axes(axes)
    found = gather(x.value, places, along, unique=unique)
    return Batched(found, _index_ndim(places) + x.axis_without(along))


@in_front
def _gather_of_each(
    inputs: tuple[Value, ...], mapped: Sequence[bool], size: int, axes: Shape, unique: bool = False
) -> Value:
    x, *indices = inputs
    if not any(mapped[1:]):
        return moveaxis(gather(x, indices, shifted(axes), unique=unique), _index_ndim(indices), 0)
    indices = align_ranks(indices, mapped[1:])
    if not mapped[0]:
        return gather(x, indices, axes)
    return gather(x, [batch_index(size, _index_ndim(indices)), *indices], (0, *shifted(axes)), unique=unique)


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
    shape = _check_indices("scatter", x, indices, axes)
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


def _scatter_jvp(
    inputs: tuple[Value, ...],
    tangents: tuple[Value | None, ...],
    outputs: Any,
    *,
    axes: Shape,
    mode: str,
    unique: bool = False,
) -> Value:
    x, updates, *indices = inputs
    dx, dupdates, *_ = tangents
    if mode == "multiply":
        return _product_jvp(x, updates, indices, dx=dx, dupdates=dupdates, axes=axes, unique=unique)
    if mode in ("minimum", "maximum"):
        return _extremum_jvp(
            x, updates, indices, dx=dx, dupdates=dupdates, out=outputs[0], axes=axes, unique=unique
        )
    dx = zeros_like(x) if dx is None else dx
    dupdates = zeros_like(updates) if dupdates is None else dupdates
    return scatter(dx, dupdates, indices, axes, mode, unique=unique)


def _product_jvp(
    x: Value,
    updates: Value,
    indices: list[Value],
    *,
    dx: Value | None,
    dupdates: Value | None,
    axes: Shape,
    unique: bool,
) -> Value:
    """x ∏ u: exact also for several updates of one position and for zeros, as it never divides."""
    terms: list[Value] = []
    if dx is not None:
        terms.append(
            multiply(dx, scatter(full_like(x, 1), updates, indices, axes, "multiply", unique=unique))
        )
    if dupdates is not None:
        if not unique:
            dupdates = multiply(dupdates, _product_of_others(x.shape, updates, indices, axes))
        terms.append(multiply(x, scatter(zeros_like(x), dupdates, indices, axes, "add", unique=unique)))
    return terms[0] if len(terms) == 1 else add(*terms)


def _product_of_others(shape: Shape, updates: Value, indices: list[Value], axes: Shape) -> Value:
    """For each update the product of all others at its position.

    Sorted by position, the updates of one position are adjacent; exclusive scans from both sides that stop at the
    borders give the products before and after (method of Hillis and Steele, 1986).
    """
    places = broadcast_shapes("scatter", [index.type for index in indices])
    count = ArrayType(INT64, places).size
    if is_known(count <= 1):
        return full_like(updates, 1)
    number = _place_numbers(shape, indices, axes, places)
    key, order = bind_all(
        "sort", reshape(number, (count,)), iota(count, INT64), axis=0, num_keys=1, descending=False
    )
    new = gather(reshape(updates, (count, *updates.shape[len(places) :])), [order], (0,), unique=True)
    products = multiply(_segment_products(new, key, reverse=False), _segment_products(new, key, reverse=True))
    back = scatter(zeros_like(products), products, [order], (0,), "set", unique=True)
    return reshape(back, updates.shape)


def _place_numbers(shape: Shape, indices: Sequence[Value], axes: Shape, places: Shape) -> Value:
    """One integer per position; −1 for those outside."""
    number: Value | None = None
    for index, axis in zip(indices, axes, strict=True):
        index = convert(index, INT64)
        number = index if number is None else add(multiply(number, shape[axis]), index)
    assert number is not None
    inside = _inside(shape, indices, axes)
    number = broadcast_to(number, places)
    return number if inside is None else where(inside, number, -1)


def _segment_products(x: Value, key: Value, *, reverse: bool) -> Value:
    """Along axis 0 the product of the entries before each one (after it, if `reverse`) with the same key."""
    length = x.shape[0]

    def shifted_by(values: Value, step: int) -> Value:
        """The entry `step` before, 1 where that has another key."""
        early, late = slice_axis(key, 0, length - step, 0), slice_axis(key, step, length, 0)
        same = _beside(equal(early, late), x.ndim)
        ones = full((step, *x.shape[1:]), 1, x.dtype)
        if reverse:
            return concatenate([where(same, slice_axis(values, step, length, 0), 1), ones], 0)
        return concatenate([ones, where(same, slice_axis(values, 0, length - step, 0), 1)], 0)

    scan = shifted_by(x, 1)
    for step in prefix_strides(length):
        scan = multiply(scan, shifted_by(scan, step))
    return scan


def _extremum_jvp(
    x: Value,
    updates: Value,
    indices: list[Value],
    *,
    dx: Value | None,
    dupdates: Value | None,
    out: Value,
    axes: Shape,
    unique: bool,
) -> Value:
    """The mean of the tangents of the entry and of the updates that attain the extremum; NaN attains it."""

    if is_empty(x.shape):
        return zeros_like(x)

    def attains(value: Value, extremum: Value) -> Value:
        return convert(logical_or(equal(value, extremum), elementwise("isnan", value)), x.dtype)

    def added(to: Value, new: Value) -> Value:
        return scatter(to, new, indices, axes, "add", unique=unique)

    hit, new_hit = attains(x, out), attains(updates, gather(out, indices, axes))
    total = zeros_like(x) if dx is None else multiply(dx, hit)
    if dupdates is not None:
        total = added(total, multiply(dupdates, new_hit))
    return divide(total, added(hit, new_hit))


def _scatter_transpose(
    cotangents: tuple[Value], inputs: Any, axes: Shape, mode: str, unique: bool = False
) -> tuple[Value | None, ...]:
    (ct,), (x, updates, *indices) = cotangents, inputs
    dx: Value | None = None
    dupdates: Value | None = None
    if isinstance(updates, Linear):
        dupdates = zeros_like(updates) if is_empty(ct.shape) else gather(ct, indices, axes, unique=unique)
        if mode == "set" and not unique:
            effective = _winners(x.shape, indices, axes)
        else:
            effective = _inside(x.shape, indices, axes)
        if effective is not None:
            dupdates = where(_beside(effective, dupdates.ndim), dupdates, 0)
    if isinstance(x, Linear):  # last, so that it can overwrite ct in place
        erased = mode == "set"
        dx = scatter(ct, zeros_like(updates), indices, axes, "set", unique=unique) if erased else ct
    return dx, dupdates, *(None for _ in indices)


def _winners(shape: Shape, indices: Sequence[Value], axes: Shape) -> Value | None:
    """Which entries of the indices have their update in the result: inside, and the last at their position.

    Each entry writes its number; it is the last one if its number is read back.
    """
    places = broadcast_shapes("scatter", [index.type for index in indices])
    count = ArrayType(INT64, places).size
    if is_known(count <= 1):
        return _inside(shape, indices, axes)
    number = reshape(iota(count, INT64), places)
    table = tuple(shape[axis] for axis in axes)
    if any(length == 0 for length in table):
        return full(places, 0, BOOL)
    along = range(len(axes))
    marks = scatter(full(table, -1, INT64), number, indices, along, "set")
    return equal(gather(marks, indices, along), number)


def _scatter_batch(
    inputs: Sequence[Batched], size: int, *, axes: Shape, mode: str, unique: bool = False
) -> Any:
    """Without indices of each example, the batch axis stays where it lies in x."""
    x, updates, *indices = inputs
    if not x.axis or any(index.axis is not None for index in indices):
        return _scatter_of_each(inputs, size, axes=axes, mode=mode, unique=unique)
    places, along = [index.value for index in indices], x.physical_axes(axes)
    new = updates.on_axis(_index_ndim(places) + x.axis_without(along), size)
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
        updates = moveaxis(updates, 0, _index_ndim(indices))
        return scatter(x, updates, indices, shifted(axes), mode, unique=unique)
    indices = align_ranks(indices, mapped[2:])
    numbers = batch_index(size, _index_ndim(indices))
    return scatter(x, updates, [numbers, *indices], (0, *shifted(axes)), mode, unique=unique)


register(
    Op(
        "scatter",
        FAMILY,
        _scatter_type,
        _scatter_numpy,
        _scatter_jvp,
        _scatter_transpose,
        _scatter_batch,
        spelling=None,
        effect=None,
        doc="x with updates set, added, … at integer indices along `axes`; the index axes of the updates "
        "come first. Writes outside are dropped; of several set at one place the last one stays.",
        updates=True,
    )
)
