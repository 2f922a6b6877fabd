"""Elements that are moved twice, back, or not at all."""

import math
from collections.abc import Sequence
from typing import Any

from ...compiler.builder import bind
from ...compiler.ir import Constant, Extent, Shape, Value, same_params
from ...compiler.params import int_param, ints_param
from ...compiler.symbolic_size import is_known, is_one, same_shape
from ...compiler.value_ops import broadcast_to, flip, reshape, slice_, transpose
from .constants import uniform
from .rule import Site, rule


@rule("reshape to its own shape → x", "reshape", "broadcast_to")
def _same_shape(site: Site) -> Value | None:
    return site.inputs[0] if same_shape(ints_param(site, "shape"), site.inputs[0].shape) else None


@rule("reshape of reshape → reshape", "reshape", "broadcast_to")
def _shape_of_shape(site: Site) -> Value | None:
    inner = site.made_by(site.inputs[0], site.op)
    return None if inner is None else bind(site.op, inner.inputs[0], shape=ints_param(site, "shape"))


@rule("broadcast that repeats nothing → reshape", "broadcast_to")
def _repeats_nothing(site: Site) -> Value | None:
    (x,), shape = site.inputs, ints_param(site, "shape")
    return reshape(x, shape) if is_known(x.type.size == math.prod(shape)) else None


@rule("repeated number, moved → repeated number", "reshape", "transpose", "slice", "flip")
def _moved_number(site: Site) -> Value | None:
    inner = site.made_by(site.inputs[0], "broadcast_to")
    if inner is None or inner.inputs[0].ndim:
        return None
    return broadcast_to(inner.inputs[0], site.type.shape)


@rule("transpose that moves nothing → x", "transpose")
def _moves_nothing(site: Site) -> Value | None:
    axes = ints_param(site, "axes")
    return site.inputs[0] if axes == tuple(range(len(axes))) else None


@rule("transpose of transpose → transpose", "transpose")
def _transpose_twice(site: Site) -> Value | None:
    inner = site.made_by(site.inputs[0], "transpose")
    if inner is None:
        return None
    first = ints_param(inner, "axes")
    return transpose(inner.inputs[0], [first[axis] for axis in ints_param(site, "axes")])


@rule("transpose of axes of length 1 → reshape", "transpose")
def _moves_only_ones(site: Site) -> Value | None:
    shape = site.inputs[0].shape
    long = [axis for axis in ints_param(site, "axes") if not is_one(shape[axis])]
    return reshape(site.inputs[0], site.type.shape) if long == sorted(long) else None


@rule("transpose of new axes of length 1 → reshape of transpose", "transpose")
def _moves_new_ones(site: Site) -> Value | None:
    """So that the call that computes the operand can compute it transposed."""
    inner = site.made_by(site.inputs[0], "reshape")
    if inner is None:
        return None
    (x,), shape = inner.inputs, site.inputs[0].shape
    long = [axis for axis in ints_param(site, "axes") if not is_one(shape[axis])]
    order = sorted(long)
    if len(order) == len(shape) or not same_shape(x.shape, tuple(shape[axis] for axis in order)):
        return None
    return reshape(transpose(x, [order.index(axis) for axis in long]), site.type.shape)


@rule("flip of flip → flip", "flip")
def _flip_twice(site: Site) -> Value | None:
    (x,), axes = site.inputs, ints_param(site, "axes")
    if all(is_one(x.shape[axis]) for axis in axes):
        return x
    inner = site.made_by(x, "flip")
    if inner is None:
        return None
    first = ints_param(inner, "axes")
    return flip(inner.inputs[0], sorted({*axes} ^ {*first}))


@rule("slice of all → x", "slice")
@rule("pad with nothing → x", "pad")
def _whole(site: Site) -> Value | None:
    return site.inputs[0] if same_shape(site.type.shape, site.inputs[0].shape) else None


@rule("slice of slice → slice", "slice")
def _slice_of_slice(site: Site) -> Value | None:
    inner = site.made_by(site.inputs[0], "slice")
    if inner is None or not all(is_known(dim >= 1) for dim in site.type.shape):
        return None
    start = [
        a + b * s
        for a, b, s in zip(
            ints_param(inner, "start"), ints_param(site, "start"), ints_param(inner, "step"), strict=True
        )
    ]
    step = [s * t for s, t in zip(ints_param(inner, "step"), ints_param(site, "step"), strict=True)]
    return slice_(inner.inputs[0], start, _stops(start, site.type.shape, step), step)


def _stops(start: Any, shape: Shape, step: Any) -> list[int]:
    """Where slices of this length end, just after their last element."""
    return [a + (n - 1) * s + 1 for a, n, s in zip(start, shape, step, strict=True)]


@rule("slice of concatenate → slice of a part", "slice")
def _slice_of_concatenate(site: Site) -> Value | None:
    inner = site.made_by(site.inputs[0], "concatenate")
    if inner is None:
        return None
    axis = int_param(inner, "axis")
    start, stop = list(ints_param(site, "start")), list(ints_param(site, "stop"))
    begin = 0
    for part in inner.inputs:
        end = begin + part.shape[axis]
        is_within = is_known(begin <= start[axis]) and is_known(stop[axis] <= end)
        if is_within and is_known(start[axis] < stop[axis]):
            start[axis] -= begin
            stop[axis] -= begin
            return slice_(part, start, stop, ints_param(site, "step"))
        begin = end
    return None


@rule("slice of pad → slice", "slice")
def _slice_of_pad(site: Site) -> Value | None:
    """If the slice is inside the padded array."""
    inner = site.made_by(site.inputs[0], "pad")
    if inner is None or _has_gaps(ints_param(inner, "interior")):
        return None
    x, low = inner.inputs[0], ints_param(inner, "low")
    start = [a - b for a, b in zip(ints_param(site, "start"), low, strict=True)]
    stop = [a - b for a, b in zip(ints_param(site, "stop"), low, strict=True)]
    if not all(
        is_known(a >= 0) and is_known(b <= dim) for a, b, dim in zip(start, stop, x.shape, strict=True)
    ):
        return None
    return slice_(x, start, stop, ints_param(site, "step"))


def _has_gaps(interior: Sequence[Extent]) -> bool:
    """Whether a pad may put values between the entries."""
    return not all(is_known(gap == 0) for gap in interior)


@rule("slice at a known place → slice", "dynamic_slice")
def _known_slice(site: Site) -> Value | None:
    x, *starts = site.inputs
    start = _known_window(x.shape, starts, ints_param(site, "sizes"))
    if start is None:
        return None
    return slice_(x, start, [a + n for a, n in zip(start, ints_param(site, "sizes"), strict=True)])


@rule("update at a known place → update", "dynamic_update_slice")
def _known_update(site: Site) -> Value | None:
    x, y, *starts = site.inputs
    start = _known_window(x.shape, starts, y.shape)
    if start is None:
        return None
    stop = tuple(a + n for a, n in zip(start, y.shape, strict=True))
    return bind("update_slice", x, y, start=start, stop=stop, step=(1,) * x.ndim)


def _known_window(shape: Shape, starts: Sequence[Value], sizes: Shape) -> Shape | None:
    """Where the window begins after it is moved so that it fits, if all relevant starts are constants."""
    window: list[Extent] = []
    for dim, start, size in zip(shape, starts, sizes, strict=True):
        if is_known(size == dim):
            window.append(0)
        elif isinstance(start, Constant):
            wanted = max(int(start.array), 0)
            if is_known(wanted <= dim - size):
                window.append(wanted)
            elif is_known(wanted >= dim - size):
                window.append(dim - size)
            else:
                return None
        else:
            return None
    return tuple(window)


@rule("slice of update → the update", "slice")
def _slice_of_update(site: Site) -> Value | None:
    inner = site.made_by(site.inputs[0], "update_slice")
    return inner.inputs[1] if inner is not None and same_params(inner.params, site.params) else None


@rule("update of all → the update", "update_slice")
def _update_all(site: Site) -> Value | None:
    x, y = site.inputs
    return y if same_shape(x.shape, y.shape) else None


@rule("update over an update → the last", "update_slice")
def _update_twice(site: Site) -> Value | None:
    inner = site.made_by(site.inputs[0], "update_slice")
    if inner is None or not same_params(inner.params, site.params):
        return None
    return bind("update_slice", inner.inputs[0], site.inputs[1], **site.params)


@rule("update with what is there → x", "update_slice")
def _update_with_itself(site: Site) -> Value | None:
    x, part = site.inputs
    inner = site.made_by(part, "slice")
    is_same = inner is not None and inner.inputs[0] is x and same_params(inner.params, site.params)
    return x if is_same else None


@rule("pad of pad → pad", "pad")
def _pad_of_pad(site: Site) -> Value | None:
    """With the same number, and no gaps."""
    x, fill = site.inputs
    inner = site.made_by(x, "pad")
    if inner is None or _has_gaps((*ints_param(site, "interior"), *ints_param(inner, "interior"))):
        return None
    first, second = uniform(inner.inputs[1]), uniform(fill)
    if first is None or second is None or first.tobytes() != second.tobytes():
        return None
    low = [a + b for a, b in zip(ints_param(site, "low"), ints_param(inner, "low"), strict=True)]
    high = [a + b for a, b in zip(ints_param(site, "high"), ints_param(inner, "high"), strict=True)]
    return bind("pad", inner.inputs[0], fill, low=tuple(low), high=tuple(high), interior=(0,) * x.ndim)


@rule("concatenate without empty parts", "concatenate")
def _concatenate_nonempty(site: Site) -> Value | None:
    axis = int_param(site, "axis")
    parts = [part for part in site.inputs if not is_known(part.shape[axis] == 0)]
    if len(parts) == len(site.inputs) > 1:
        return None
    return bind("concatenate", *parts, axis=axis) if len(parts) > 1 else (parts or site.inputs)[0]
