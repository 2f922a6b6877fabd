"""Moving elements without computing: shapes, axes, slices, padding, joining."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...affine import Affine, Index, aligned, flattened, unflattened
from ...builder import bind
from ...errors import DTypeError, ShapeError
from ...ir import ArrayType, Shape, Value
from ...op import (
    EVERY_INPUT,
    Aliasing,
    BatchRule,
    Between,
    Condition,
    ElementCase,
    IndexMap,
    JvpRule,
    Linear,
    Meaning,
    Multiple,
    Op,
    ReadIndex,
    TransposeRule,
    TypeRule,
    register,
)
from ...symbolic_size import broadcasts, is_known, max_expr, min_expr
from ...value_ops import (
    broadcast_to,
    flip,
    inverse_permutation,
    pad,
    reshape,
    slice_,
    slice_axis,
    spread,
    sum_,
    transpose,
    unbroadcast,
    zeros_like,
)
from ..batch_axes import Batched, all_leading, batch_along_axis, in_front, on_one_axis

FAMILY = "layout"


def _jvp(name: str) -> JvpRule:
    """Moving elements is linear: the tangents move in the same way."""
    return lambda inputs, tangents, outputs, **params: bind(name, tangents[0], **params)


def _move(
    name: str,
    type: TypeRule,
    numpy: Meaning,
    transpose: TransposeRule,
    batch: BatchRule,
    doc: str,
    aliasing: Aliasing,
    index_map: IndexMap,
    *,
    keeps_order: bool = False,
    shape_param: str | None = None,
) -> None:
    register(
        Op(
            name, FAMILY, type, numpy, _jvp(name), transpose, batch, spelling=None, effect=None, doc=doc,
            aliasing=aliasing, moves=1, index_map=index_map, keeps_order=keeps_order, shape_param=shape_param,
        )
    )  # fmt: skip


def in_window(
    k: int, index: Index, starts: Sequence[Affine | int], sizes: Sequence[int], steps: Sequence[int]
) -> ElementCase:
    """The element of input k, whose elements are at every `step`-th position of a window of the result."""
    conditions: list[Condition] = []
    within: list[Affine] = []
    for place, start, size, step in zip(index, starts, sizes, steps, strict=True):
        along = place - start if isinstance(start, Affine) else place + -start
        conditions += [Between(along, 0, size), *([Multiple(along, step)] if step > 1 else [])]
        within.append(along // step)
    return conditions, (k, tuple(within))


# ---- broadcast_to ----------------------------------------------------------------------------------


def _broadcast_type(x: ArrayType, shape: Shape) -> ArrayType:
    lead = len(shape) - x.ndim
    if lead < 0 or any(not broadcasts(a, b) for a, b in zip(x.shape, shape[lead:], strict=True)):
        raise ShapeError(f"broadcast_to: {x} does not broadcast to {list(shape)}")
    return ArrayType(x.dtype, shape)


def _broadcast_batch(inputs: Sequence[Batched], size: int, shape: Shape) -> Batched:
    """A batch axis in front stays there; otherwise new axes come before it."""
    (x,) = inputs
    new = len(shape) - x.logical_ndim
    if x.axis:
        axis, value = x.axis + new, x.value
    else:
        axis, value = 0, reshape(x.value, (size, *(1,) * new, *x.logical_shape))
    return Batched(broadcast_to(value, (*shape[:axis], size, *shape[axis:])), axis)


_move(
    "broadcast_to",
    _broadcast_type,
    lambda x, shape: np.broadcast_to(x, shape),
    lambda cotangents, inputs, shape: unbroadcast(cotangents[0], inputs[0].shape),
    _broadcast_batch,
    "The array repeated along new leading axes and axes of length 1.",
    Aliasing.PART,
    lambda index, source, result, shape: aligned(index, source),
    shape_param="shape",
)


# ---- reshape ---------------------------------------------------------------------------------------


def _reshape_type(x: ArrayType, shape: Shape) -> ArrayType:
    if any(dim < 0 for dim in shape):
        raise ShapeError(f"reshape of {x}: the lengths {list(shape)} must not be negative")
    if math.prod(shape) != x.size:
        raise ShapeError(f"reshape: {x} has {x.size} elements, {list(shape)} has {math.prod(shape)}")
    return ArrayType(x.dtype, shape)


def _reshape_batch(inputs: Sequence[Batched], size: int, shape: Shape) -> Batched:
    """The batch axis stays if as many entries come before it in both shapes."""
    (x,) = inputs
    before = math.prod(x.logical_shape[: x.axis])
    stays = (axis for axis in range(len(shape) + 1) if is_known(math.prod(shape[:axis]) == before))
    axis = next(stays, None)
    if axis is None:
        axis, value = 0, x.to_physical()
    else:
        value = x.value
    return Batched(reshape(value, (*shape[:axis], size, *shape[axis:])), axis)


_move(
    "reshape",
    _reshape_type,
    lambda x, shape: np.reshape(x, shape),
    lambda cotangents, inputs, shape: reshape(cotangents[0], inputs[0].shape),
    _reshape_batch,
    "The same elements in row-major order, in another shape.",
    Aliasing.SAME,
    lambda index, source, result, shape: unflattened(flattened(index, result), source),
    keeps_order=True,
    shape_param="shape",
)


# ---- transpose -------------------------------------------------------------------------------------


def _transpose_type(x: ArrayType, axes: tuple[int, ...]) -> ArrayType:
    if sorted(axes) != list(range(x.ndim)):
        raise ShapeError(f"transpose of {x}: {axes} is not a permutation of its axes")
    return ArrayType(x.dtype, tuple(x.shape[axis] for axis in axes))


def _transpose_batch(inputs: Sequence[Batched], size: int, axes: tuple[int, ...]) -> Batched:
    """As axes move anyway, the batch axis moves to the front, where most rules and callers want it."""
    (x,) = inputs
    assert x.axis is not None
    return Batched(transpose(x.value, (x.axis, *x.physical_axes(axes))), 0)


_move(
    "transpose",
    _transpose_type,
    lambda x, axes: np.transpose(x, axes),
    lambda cotangents, inputs, axes: transpose(cotangents[0], inverse_permutation(axes)),
    _transpose_batch,
    "The axes in another order.",
    Aliasing.WHOLE,
    lambda index, source, result, axes: tuple(index[place] for place in inverse_permutation(axes)),
)


# ---- slice and its inverse -------------------------------------------------------------------------


def _slice_type(x: ArrayType, start: Shape, stop: Shape, step: Shape) -> ArrayType:
    if not len(start) == len(stop) == len(step) == x.ndim:
        raise ShapeError(f"slice of {x}: start, stop and step need one entry per axis")
    for dim, first, last, stride in zip(x.shape, start, stop, step, strict=True):
        if not (0 <= first <= last <= dim and stride >= 1):
            raise ShapeError(f"slice of {x}: {first}:{last}:{stride} is not within an axis of length {dim}")
    return ArrayType(x.dtype, tuple((b - a + s - 1) // s for a, b, s in zip(start, stop, step, strict=True)))


def _slice_numpy(x: Any, start: Any, stop: Any, step: Any) -> Any:
    return x[tuple(slice(a, b, s) for a, b, s in zip(start, stop, step))]


def _slice_transpose(cotangents: Any, inputs: Any, start: Shape, stop: Shape, step: Shape) -> Value:
    """Surround the cotangent with zeros."""
    (ct,), (x,) = cotangents, inputs
    if any(is_known(n == 0) for n in ct.shape):
        return zeros_like(x)
    spans = [spread(n, s - 1) for n, s in zip(ct.shape, step, strict=True)]
    high = tuple(dim - a - span for dim, a, span in zip(x.shape, start, spans, strict=True))
    return pad(ct, start, high, interior=[s - 1 for s in step])


def _slice_batch(inputs: Sequence[Batched], size: int, start: Shape, stop: Shape, step: Shape) -> Batched:
    (x,) = inputs
    entries = x.physical_entries
    return Batched(slice_(x.value, entries(start, 0), entries(stop, size), entries(step, 1)), x.axis)


def _slice_index(index: Index, source: Shape, result: Shape, start: Shape, stop: Shape, step: Shape) -> Index:
    return tuple(place * by + first for place, first, by in zip(index, start, step, strict=True))


_move(
    "slice", _slice_type, _slice_numpy, _slice_transpose, _slice_batch, "x[start:stop:step] along every axis.",
    Aliasing.PART, _slice_index, keeps_order=True, shape_param="stop",
)  # fmt: skip


def _update_type(x: ArrayType, y: ArrayType, start: Shape, stop: Shape, step: Shape) -> ArrayType:
    part = _slice_type(x, start, stop, step)
    if part.dtype != y.dtype or part.shape != y.shape:
        raise ShapeError(f"update_slice of {x}: the part is {part}, the update {y}")
    return x


def _update_numpy(x: Any, y: Any, start: Any, stop: Any, step: Any) -> Any:
    out = np.array(x)
    out[tuple(slice(a, b, s) for a, b, s in zip(start, stop, step))] = y
    return out


def _update_jvp(inputs: Any, tangents: Any, outputs: Any, **params: Any) -> Value:
    dx, dy = (zeros_like(x) if t is None else t for x, t in zip(inputs, tangents, strict=True))
    return bind("update_slice", dx, dy, **params)


def _update_transpose(cotangents: Any, inputs: Any, **params: Any) -> tuple[Value | None, ...]:
    (ct,), (x, y) = cotangents, inputs
    dx = bind("update_slice", ct, zeros_like(y), **params) if isinstance(x, Linear) else None
    dy = slice_(ct, params["start"], params["stop"], params["step"]) if isinstance(y, Linear) else None
    return dx, dy


def _update_batch(inputs: Sequence[Batched], size: int, start: Shape, stop: Shape, step: Shape) -> Batched:
    x, y = on_one_axis(inputs, size)
    places = {
        "start": x.physical_entries(start, 0),
        "stop": x.physical_entries(stop, size),
        "step": x.physical_entries(step, 1),
    }
    return Batched(bind("update_slice", x.value, y.value, **places), x.axis)


def _update_cases(
    index: Index, shapes: Sequence[Shape], read: ReadIndex, start: Shape, stop: Shape, step: Shape
) -> list[ElementCase]:
    sizes = [last - first for first, last in zip(start, stop, strict=True)]
    return [in_window(1, index, start, sizes, step), ((), (0, index))]


register(
    Op(
        "update_slice", FAMILY, _update_type, _update_numpy, _update_jvp, _update_transpose, _update_batch,
        spelling=None, effect=None, doc="A copy of x with x[start:stop:step] = y along every axis.", moves=2,
        cases=_update_cases, updates=True, shape_param="stop",
    )
)  # fmt: skip


# ---- flip ------------------------------------------------------------------------------------------


def _flip_type(x: ArrayType, axes: tuple[int, ...]) -> ArrayType:
    if len(set(axes)) != len(axes) or not all(0 <= axis < x.ndim for axis in axes):
        raise ShapeError(f"flip of {x}: {axes} are not different axes of it")
    return x


def _flip_index(index: Index, source: Shape, result: Shape, axes: tuple[int, ...]) -> Index:
    places = enumerate(zip(index, source, strict=True))
    return tuple(place * -1 + (dim - 1) if axis in axes else place for axis, (place, dim) in places)


def _flip_batch(inputs: Sequence[Batched], size: int, axes: tuple[int, ...]) -> Batched:
    (x,) = inputs
    return Batched(flip(x.value, x.physical_axes(axes)), x.axis)


_move(
    "flip",
    _flip_type,
    lambda x, axes: np.flip(x, axes),
    lambda cotangents, inputs, axes: flip(cotangents[0], axes),
    _flip_batch,
    "The elements in reverse order along the axes.",
    Aliasing.WHOLE,
    _flip_index,
)


# ---- pad -------------------------------------------------------------------------------------------


def _pad_type(x: ArrayType, fill: ArrayType, low: Shape, high: Shape, interior: Shape) -> ArrayType:
    if fill.dtype != x.dtype:
        raise DTypeError(f"pad of {x}: the fill value is {fill}, of another dtype")
    if fill.ndim:
        raise ShapeError(f"pad of {x}: the fill value is {fill}, not one number")
    if not len(low) == len(high) == len(interior) == x.ndim or any(n < 0 for n in (*low, *high, *interior)):
        raise ShapeError(
            f"pad of {x}: low={low}, high={high}, interior={interior} need one entry ≥ 0 per axis"
        )
    inner = (spread(dim, gap) for dim, gap in zip(x.shape, interior, strict=True))
    return ArrayType(x.dtype, tuple(a + n + b for a, n, b in zip(low, inner, high, strict=True)))


def _pad_numpy(x: Any, fill: Any, low: Any, high: Any, interior: Any) -> Any:
    inner = [n + max(n - 1, 0) * gap for n, gap in zip(x.shape, interior)]
    out = np.full([a + n + b for a, n, b in zip(low, inner, high)], fill, x.dtype)
    out[tuple(slice(a, a + n, gap + 1) for a, n, gap in zip(low, inner, interior))] = x
    return out


def _pad_jvp(inputs: Any, tangents: Any, outputs: Any, **params: Any) -> Value:
    dx, dfill = (zeros_like(x) if t is None else t for x, t in zip(inputs, tangents, strict=True))
    return bind("pad", dx, dfill, **params)


def _pad_transpose(cotangents: Any, inputs: Any, low: Shape, high: Shape, interior: Shape) -> Any:
    (ct,), (x, fill) = cotangents, inputs
    stop = [dim - b for dim, b in zip(ct.shape, high, strict=True)]
    inside = slice_(ct, low, stop, [gap + 1 for gap in interior])
    if not isinstance(fill, Linear):
        return inside, None
    border = bind(
        "update_slice",
        ct,
        zeros_like(inside),
        start=low,
        stop=tuple(stop),
        step=tuple(g + 1 for g in interior),
    )
    return (inside if isinstance(x, Linear) else None), sum_(border, range(ct.ndim))


def _pad_batch(inputs: Sequence[Batched], size: int, low: Shape, high: Shape, interior: Shape) -> Any:
    x, fill = inputs
    if fill.axis is not None:
        return _padded_with_each(inputs, size, low=low, high=high, interior=interior)
    entries = x.physical_entries
    around = {"low": entries(low, 0), "high": entries(high, 0), "interior": entries(interior, 0)}
    return Batched(bind("pad", x.value, fill.value, **around), x.axis)


@in_front
def _padded_with_each(
    inputs: tuple[Value, ...], mapped: Sequence[bool], size: int, low: Shape, high: Shape, interior: Shape
) -> Value:
    """Each example has its own fill value."""
    x, fill = all_leading(inputs, mapped, size)
    inner = [spread(n, gap) for n, gap in zip(x.shape[1:], interior, strict=True)]
    shape = [size, *(a + n + b for a, n, b in zip(low, inner, high, strict=True))]
    background = broadcast_to(reshape(fill, (size, *(1,) * len(low))), tuple(shape))
    stop = (size, *(a + n for a, n in zip(low, inner, strict=True)))
    return bind(
        "update_slice", background, x, start=(0, *low), stop=stop, step=(1, *(gap + 1 for gap in interior))
    )


def _pad_cases(
    index: Index, shapes: Sequence[Shape], read: ReadIndex, low: Shape, high: Shape, interior: Shape
) -> list[ElementCase]:
    inner = [n + max_expr(n - 1, 0) * gap for n, gap in zip(shapes[0], interior, strict=True)]
    return [in_window(0, index, low, inner, [gap + 1 for gap in interior]), ((), (1, ()))]


register(
    Op(
        "pad", FAMILY, _pad_type, _pad_numpy, _pad_jvp, _pad_transpose, _pad_batch, spelling=None, effect=None,
        doc="x with entries of `fill` around each axis (low, high) and between its entries (interior).", moves=2,
        cases=_pad_cases,
    )
)  # fmt: skip


# ---- concatenate -----------------------------------------------------------------------------------


def _concatenate_type(*parts: ArrayType, axis: int) -> ArrayType:
    if not parts:
        raise ShapeError("concatenate needs at least one array")
    first = parts[0]
    if not 0 <= axis < first.ndim:
        raise ShapeError(f"concatenate: axis {axis} is out of range for {first}")
    for part in parts:
        rest = (
            (*part.shape[:axis], first.shape[axis], *part.shape[axis + 1 :])
            if part.ndim == first.ndim
            else ()
        )
        if part.dtype != first.dtype:
            raise DTypeError(f"concatenate of {', '.join(map(str, parts))}: their dtypes differ")
        if rest != first.shape:
            raise ShapeError(
                f"concatenate of {', '.join(map(str, parts))}: they differ in other axes than {axis}"
            )
    total = sum(part.shape[axis] for part in parts)
    return ArrayType(first.dtype, (*first.shape[:axis], total, *first.shape[axis + 1 :]))


def _concatenate_jvp(inputs: Any, tangents: Any, outputs: Any, axis: int) -> Value:
    parts = [zeros_like(x) if t is None else t for x, t in zip(inputs, tangents, strict=True)]
    return bind("concatenate", *parts, axis=axis)


def _concatenate_transpose(cotangents: Any, inputs: Any, axis: int) -> tuple[Value | None, ...]:
    (ct,) = cotangents
    parts: list[Value | None] = []
    start = 0
    for x in inputs:
        stop = start + x.shape[axis]
        parts.append(slice_axis(ct, start, stop, axis) if isinstance(x, Linear) else None)
        start = stop
    return tuple(parts)


def _concatenate_cases(
    index: Index, shapes: Sequence[Shape], read: ReadIndex, axis: int
) -> list[ElementCase]:
    cases: list[ElementCase] = []
    place = index[axis]
    for k, shape in enumerate(shapes):
        element = k, (*index[:axis], place, *index[axis + 1 :])
        if k == len(shapes) - 1:
            return [*cases, ((), element)]
        cases.append(((Between(place, min_expr(place.low, 0), shape[axis]),), element))
        place = place - shape[axis]
    raise AssertionError("at least one part")


register(
    Op(
        "concatenate",
        FAMILY,
        _concatenate_type,
        lambda *parts, axis: np.concatenate(parts, axis),
        _concatenate_jvp,
        _concatenate_transpose,
        batch_along_axis("concatenate"),
        spelling=None,
        effect=None,
        doc="The arrays one after another along an axis.",
        moves=EVERY_INPUT,
        cases=_concatenate_cases,
    )
)
