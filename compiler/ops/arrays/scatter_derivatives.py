"""The derivative rules of scatter: forward for each mode, and the transpose of a write."""

from collections.abc import Sequence
from typing import Any

from ...builder import bind_all
from ...dtypes import BOOL, INT64
from ...errors import UndecidedDimError
from ...ir import ArrayType, Shape, Value
from ...op import Linear
from ...symbolic_size import is_empty, is_known
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
    iota,
    logical_or,
    multiply,
    reshape,
    scatter,
    slice_axis,
    where,
    zeros_like,
)
from ..elementwise.broadcasting import broadcast_shapes
from ..nested_graphs import graph_of
from ..parallel_prefix import prefix_strides
from .index_arrays import are_inside, beside


def scatter_jvp(
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
    borders give the products before and after (method of Hillis and Steele, 1986; step by step if there may be any
    number of updates).
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
    try:
        strides = list(prefix_strides(count))
    except UndecidedDimError:
        before, after = (_products_in_steps(new, key, reverse=reverse) for reverse in (False, True))
    else:
        before, after = (_segment_products(new, key, strides, reverse=reverse) for reverse in (False, True))
    products = multiply(before, after)
    back = scatter(zeros_like(products), products, [order], (0,), "set", unique=True)
    return reshape(back, updates.shape)


def _place_numbers(shape: Shape, indices: Sequence[Value], axes: Shape, places: Shape) -> Value:
    """One integer per position; −1 for those outside."""
    number: Value | None = None
    for index, axis in zip(indices, axes, strict=True):
        index = convert(index, INT64)
        number = index if number is None else add(multiply(number, shape[axis]), index)
    assert number is not None
    inside = are_inside(shape, indices, axes)
    number = broadcast_to(number, places)
    return number if inside is None else where(inside, number, -1)


def _products_in_steps(x: Value, key: Value, *, reverse: bool) -> Value:
    """As `_segment_products`, for any length."""
    row = ArrayType(x.dtype, x.shape[1:])

    def step(last: Value, product: Value, one: Value, entry: Value) -> list[Value]:
        before = where(equal(one, last), product, 1)
        return [one, multiply(before, entry), before]

    number = ArrayType(INT64, ())
    graph = graph_of("products", (number, row, number, row), step, ("last", "product", "key", "entry"))
    start = (constant(-2, INT64), full(row.shape, 1, x.dtype))  # no position has this number
    backwards: dict[str, Any] = {"reverse": True} if reverse else {}
    *_, products = bind_all(
        "scan", *start, key, x, graph=graph, counts=(0, 2), length=x.shape[0], **backwards
    )
    return products


def _segment_products(x: Value, key: Value, strides: Sequence[Any], *, reverse: bool) -> Value:
    """Along axis 0 the product of the entries before each one (after it, if `reverse`) with the same key."""
    length = x.shape[0]

    def shifted_by(values: Value, step: int) -> Value:
        """The entry `step` before, 1 where that has another key."""
        early, late = slice_axis(key, 0, length - step, 0), slice_axis(key, step, length, 0)
        same = beside(equal(early, late), x.ndim)
        ones = full((step, *x.shape[1:]), 1, x.dtype)
        if reverse:
            return concatenate([where(same, slice_axis(values, step, length, 0), 1), ones], 0)
        return concatenate([ones, where(same, slice_axis(values, 0, length - step, 0), 1)], 0)

    scan = shifted_by(x, 1)
    for step in strides:
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


def scatter_transpose(
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
            effective = are_inside(x.shape, indices, axes)
        if effective is not None:
            dupdates = where(beside(effective, dupdates.ndim), dupdates, 0)
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
        return are_inside(shape, indices, axes)
    number = reshape(iota(count, INT64), places)
    table = tuple(shape[axis] for axis in axes)
    if any(length == 0 for length in table):
        return full(places, 0, BOOL)
    along = range(len(axes))
    marks = scatter(full(table, -1, INT64), number, indices, along, "set")
    return equal(gather(marks, indices, along), number)
