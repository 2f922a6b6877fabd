"""Integers with known bounds: positions and clipped values."""

from ...compiler.builder import bind
from ...compiler.dtypes import is_integer
from ...compiler.intervals import Interval
from ...compiler.ir import Value, same_type
from ...compiler.ops.elementwise.broadcasting import broadcast_shapes
from ...compiler.params import flag_param, ints_param, text_param
from ...compiler.symbolic_size import is_known, is_one, same_shape
from ...compiler.tracing.value_ranges import ValueRanges
from ...compiler.value_ops import broadcast_to, constant, gather, reshape
from .rule import Site, rule


def bounds(site: Site, value: Value) -> Interval | None:
    """The minimum and maximum of the elements of an array of integers; None if nothing is known."""
    if not is_integer(value.dtype) or is_known(value.type.size == 0):
        return None
    ranges = ValueRanges(site.producer.get)
    found = ranges.of(value)
    return found if found is not None and all(map(is_known, ranges.facts)) else None


def is_position(site: Site, value: Value) -> bool:
    """Whether the elements of an array are 0, 1, 2, … in row-major order."""
    while (inner := site.made_by(value, "reshape")) is not None:
        value = inner.inputs[0]
    inner = site.made_by(value, "iota")
    return inner is not None and bounds(site, value) is not None


@rule("x < n → True where x is known to be less", "less", "less_equal", "greater", "greater_equal")
def _known_order(site: Site) -> Value | None:
    first, second = (bounds(site, value) for value in site.inputs)
    if first is None or second is None:
        return None
    is_less = site.op.startswith("less")
    (low, high), (other_low, other_high) = (first, second) if is_less else (second, first)
    is_strict = not site.op.endswith("equal")
    if is_known(high < other_low) or (not is_strict and is_known(high <= other_low)):
        return broadcast_to(constant(True), site.type.shape)
    if is_known(low > other_high) or (is_strict and is_known(low >= other_high)):
        return broadcast_to(constant(False), site.type.shape)
    return None


@rule("clip(x, low, high) → x where x is known to be between", "clip")
def _known_between(site: Site) -> Value | None:
    x, *limits = site.inputs
    if not same_type(x.type, site.type):
        return None
    known, low, high = bounds(site, x), *(bounds(site, limit) for limit in limits)
    if known is None or low is None or high is None:
        return None
    return x if is_known(low[1] <= known[0]) and is_known(known[1] <= high[0]) else None


def _is_as_long(index: Value, x: Value) -> bool:
    return is_known(index.type.size == x.shape[0])


@rule("gather of x in its own order → x", "gather")
def _gather_all(site: Site) -> Value | None:
    (x, *indices), axes = site.inputs, ints_param(site, "axes")
    if axes != (0,) or not is_position(site, indices[0]) or not _is_as_long(indices[0], x):
        return None
    return reshape(x, site.type.shape)


@rule("gather along an axis of one entry → gather along the others", "gather")
def _gather_only(site: Site) -> Value | None:
    """Every index along it is the position of its entry."""
    (x, *indices), axes = site.inputs, ints_param(site, "axes")
    kept = [(index, axis) for index, axis in zip(indices, axes, strict=True) if not is_one(x.shape[axis])]
    if not kept or len(kept) == len(axes):
        return None
    shape = broadcast_shapes("gather", [index.type for index in indices])
    if not same_shape(broadcast_shapes("gather", [index.type for index, _ in kept]), shape):
        return None
    gone = [axis for axis in axes if is_one(x.shape[axis])]
    x = reshape(x, tuple(dim for axis, dim in enumerate(x.shape) if axis not in gone))
    now = tuple(axis - sum(other < axis for other in gone) for _, axis in kept)
    hint = {"unique": True} if flag_param(site, "unique") else {}
    return gather(x, [index for index, _ in kept], now, **hint)


@rule("scatter to all of x in its own order → x combined with the updates", "scatter")
def _scatter_all(site: Site) -> Value | None:
    (x, updates, *indices), axes = site.inputs, ints_param(site, "axes")
    if axes != (0,) or not is_position(site, indices[0]) or not _is_as_long(indices[0], x):
        return None
    updates, mode = reshape(updates, x.shape), text_param(site, "mode")
    return updates if mode == "set" else bind(mode, x, updates)
