"""The ops as functions on values. Derivative, transpose and batch rules use them.

They name ops by string, so one family of ops can use another without importing it. A Python number beside a value
becomes a constant of the value's dtype. A symbolic size becomes its number in the call.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from .builder import bind, bind_all
from .dtypes import BOOL, INT64, DType
from .ir import Constant, Shape, Value
from .symbolic_size import SymbolicSize, is_known, max_expr, same_shape

Operand: TypeAlias = Value | complex


def constant(array: Any, dtype: DType | None = None) -> Constant:
    """A constant value holding a copy of `array`."""
    return Constant(np.asarray(array, dtype))


def number(x: Any, dtype: DType) -> Value:
    """A Python number, or a symbolic size, as a value."""
    if isinstance(x, SymbolicSize):
        return convert(bind("size", of=x), dtype)  # type: ignore[arg-type]
    return constant(x, dtype)


def at_least_one(count: int, dtype: DType) -> Value:
    """A count as a divisor; 1 if it is 0."""
    if not isinstance(count, SymbolicSize):
        return constant(max(count, 1), dtype)
    found = number(count, dtype)
    return found if is_known(count >= 1) else maximum(found, 1)


def full_like(value: Any, fill: complex) -> Value:
    """An array filled with one number, with the shape and dtype of `value`."""
    return full(value.shape, fill, value.dtype)


def full(shape: Shape, fill: complex, dtype: DType) -> Value:
    scalar = number(fill, dtype)
    return broadcast_to(scalar, shape) if shape else scalar


def zeros_like(value: Any) -> Value:
    return full_like(value, 0)


def iota(length: int, dtype: DType) -> Value:
    """``arange(length)``."""
    return bind("iota", length=length, dtype=dtype)


def _both(x: Operand, y: Operand) -> tuple[Value, Value]:
    if isinstance(x, Value):
        return x, y if isinstance(y, Value) else number(y, x.dtype)
    assert isinstance(y, Value), "one operand must be a value"
    return number(x, y.dtype), y


def elementwise(op: str, *operands: Operand) -> Value:
    """Any elementwise op by name; numbers take the dtype of the first value."""
    like = next(x for x in operands if isinstance(x, Value))
    return bind(op, *[x if isinstance(x, Value) else number(x, like.dtype) for x in operands])


def add(x: Operand, y: Operand) -> Value:
    return bind("add", *_both(x, y))


def subtract(x: Operand, y: Operand) -> Value:
    return bind("subtract", *_both(x, y))


def multiply(x: Operand, y: Operand) -> Value:
    return bind("multiply", *_both(x, y))


def divide(x: Operand, y: Operand) -> Value:
    return bind("divide", *_both(x, y))


def power(x: Operand, y: Operand) -> Value:
    return bind("power", *_both(x, y))


def negative(x: Value) -> Value:
    return bind("negative", x)


def reciprocal(x: Value) -> Value:
    return bind("reciprocal", x)


def square(x: Value) -> Value:
    return bind("square", x)


def sqrt(x: Value) -> Value:
    return bind("sqrt", x)


def exp(x: Value) -> Value:
    return bind("exp", x)


def log(x: Value) -> Value:
    return bind("log", x)


def sin(x: Value) -> Value:
    return bind("sin", x)


def cos(x: Value) -> Value:
    return bind("cos", x)


def sinh(x: Value) -> Value:
    return bind("sinh", x)


def cosh(x: Value) -> Value:
    return bind("cosh", x)


def sign(x: Value) -> Value:
    return bind("sign", x)


def absolute(x: Value) -> Value:
    return bind("absolute", x)


def floor(x: Value) -> Value:
    return bind("floor", x)


def trunc(x: Value) -> Value:
    return bind("trunc", x)


def maximum(x: Operand, y: Operand) -> Value:
    return bind("maximum", *_both(x, y))


def minimum(x: Operand, y: Operand) -> Value:
    return bind("minimum", *_both(x, y))


def real(x: Value) -> Value:
    return bind("real", x)


def imag(x: Value) -> Value:
    return bind("imag", x)


def conjugate(x: Value) -> Value:
    """The complex conjugate; a real value is returned as it is."""
    return bind("conjugate", x) if x.dtype.kind == "c" else x


def make_complex(re: Value, im: Value) -> Value:
    return bind("complex", re, im)


def equal(x: Operand, y: Operand) -> Value:
    return bind("equal", *_both(x, y))


def less(x: Operand, y: Operand) -> Value:
    return bind("less", *_both(x, y))


def less_equal(x: Operand, y: Operand) -> Value:
    return bind("less_equal", *_both(x, y))


def greater(x: Operand, y: Operand) -> Value:
    return bind("greater", *_both(x, y))


def greater_equal(x: Operand, y: Operand) -> Value:
    return bind("greater_equal", *_both(x, y))


def logical_and(x: Value, y: Value) -> Value:
    return bind("logical_and", x, y)


def logical_or(x: Value, y: Value) -> Value:
    return bind("logical_or", x, y)


def logical_not(x: Value) -> Value:
    return bind("logical_not", x)


def where(condition: Value, x: Operand, y: Operand) -> Value:
    """``x`` where the condition holds, else ``y``. One of the two must be a value."""
    return bind("where", condition, *_both(x, y))


def convert(x: Value, dtype: DType) -> Value:
    """`x` as `dtype`; itself if it has that dtype."""
    return x if x.dtype == dtype else bind("convert", x, dtype=dtype)


def nonzero_mask(x: Value) -> Value:
    """``x != 0`` as bool."""
    return x if x.dtype == BOOL else bind("not_equal", x, constant(0, x.dtype))


def broadcast_to(x: Value, shape: Shape) -> Value:
    """`x` repeated along new leading axes and axes of length 1, like `numpy.broadcast_to`."""
    return x if same_shape(x.shape, shape) else bind("broadcast_to", x, shape=tuple(shape))


def reshape(x: Value, shape: Shape) -> Value:
    return x if same_shape(x.shape, shape) else bind("reshape", x, shape=tuple(shape))


def transpose(x: Value, axes: Sequence[int]) -> Value:
    """`x` with its axes in the order `axes`."""
    return x if tuple(axes) == tuple(range(x.ndim)) else bind("transpose", x, axes=tuple(axes))


def inverse_permutation(axes: Sequence[int]) -> tuple[int, ...]:
    """The inverse of the permutation `axes`."""
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


def moveaxis(x: Value, source: int, destination: int) -> Value:
    axes = [axis for axis in range(x.ndim) if axis != source % x.ndim]
    axes.insert(destination % x.ndim, source % x.ndim)
    return transpose(x, axes)


def expand_dims(x: Value, axis: int) -> Value:
    """A new axis of length 1 at `axis` of the result."""
    axis %= x.ndim + 1
    return reshape(x, (*x.shape[:axis], 1, *x.shape[axis:]))


def slice_(x: Value, start: Sequence[int], stop: Sequence[int], step: Sequence[int] | None = None) -> Value:
    """``x[start[0]:stop[0]:step[0], …]`` with 0 ≤ start ≤ stop ≤ length and positive steps."""
    step = step or (1,) * x.ndim
    if same_shape(stop, x.shape) and same_shape(start, (0,) * x.ndim) and same_shape(step, (1,) * x.ndim):
        return x
    return bind("slice", x, start=tuple(start), stop=tuple(stop), step=tuple(step))


def slice_axis(x: Value, start: int, stop: int, axis: int, step: int = 1) -> Value:
    """``x[start:stop:step]`` along one axis."""
    starts, stops, steps = [0] * x.ndim, list(x.shape), [1] * x.ndim
    starts[axis], stops[axis], steps[axis] = start, stop, step
    return slice_(x, starts, stops, steps)


def flip(x: Value, axes: Sequence[int]) -> Value:
    return bind("flip", x, axes=tuple(axes)) if axes else x


def concatenate(values: Sequence[Value], axis: int) -> Value:
    return values[0] if len(values) == 1 else bind("concatenate", *values, axis=axis)


def spread(length: int, gap: int) -> int:
    """The number of entries after adding this many between neighbours."""
    return length if is_known(gap == 0) else max_expr(length + (length - 1) * gap, 0)


def pad(
    x: Value, low: Sequence[int], high: Sequence[int], fill: complex = 0, interior: Sequence[int] = ()
) -> Value:
    """`x` with `low` and `high` entries of `fill` around each axis, and `interior` entries between neighbours."""
    interior = tuple(interior) or (0,) * x.ndim
    return bind("pad", x, constant(fill, x.dtype), low=tuple(low), high=tuple(high), interior=interior)


def sum_(x: Value, axes: Sequence[int]) -> Value:
    """The sum over `axes`, which are removed."""
    return bind("sum", x, axes=tuple(axes)) if axes else x


def dot(
    x: Value,
    y: Value,
    contract: tuple[Sequence[int], Sequence[int]],
    batch: tuple[Sequence[int], Sequence[int]] = ((), ()),
) -> Value:
    """The sum of products over the `contract` axes, with `batch` axes paired.

    The result's axes: the batch axes, then the other axes of `x`, then those of `y`.
    """
    axes = {"contract_x": contract[0], "contract_y": contract[1]}
    if batch[0]:
        axes |= {"batch_x": batch[0], "batch_y": batch[1]}
    return bind("dot", x, y, **{name: tuple(axis) for name, axis in axes.items()})


def unbroadcast(x: Value, shape: Shape) -> Value:
    """Sum `x` down to `shape`: the transpose of broadcasting `shape` to ``x.shape``."""
    if same_shape(x.shape, shape):
        return x
    lead = x.ndim - len(shape)
    pairs = enumerate(zip(shape, x.shape[lead:], strict=True), lead)
    stretched = [axis for axis, (dim, long) in pairs if not is_known(dim == long) and dim == 1]
    return reshape(sum_(x, (*range(lead), *stretched)), shape)


def gather(x: Value, indices: Sequence[Value], axes: Sequence[int], *, unique: bool = False) -> Value:
    """The entries of `x` at `indices` along `axes`: the index axes, then the other axes of `x`."""
    hint = {"unique": True} if unique else {}
    return bind("gather", x, *indices, axes=tuple(axes), **hint)


def scatter(
    x: Value,
    updates: Value,
    indices: Sequence[Value],
    axes: Sequence[int],
    mode: str,
    *,
    unique: bool = False,
) -> Value:
    """`x` with `updates` written at these places by `mode`: set, add, multiply, minimum or maximum."""
    hint = {"unique": True} if unique else {}
    return bind("scatter", x, updates, *indices, axes=tuple(axes), mode=mode, **hint)


def take_along_axis(x: Value, index: Value, axis: int, *, unique: bool = False) -> Value:
    """The entries along `axis` at `index`, which has as many axes as `x`."""
    indices = [
        index if a == axis else reshape(iota(dim, INT64), (dim, *(1,) * (x.ndim - 1 - a)))
        for a, dim in enumerate(x.shape)
    ]
    return gather(x, indices, range(x.ndim), unique=unique)


def positions(shape: Shape, axis: int) -> Value:
    """For each entry of an array of this shape, its index along an axis: i64."""
    numbers = reshape(iota(shape[axis], INT64), (shape[axis], *(1,) * (len(shape) - 1 - axis)))
    return broadcast_to(numbers, shape)


def argsort(keys: Sequence[Value], axis: int, *, descending: bool = False) -> Value:
    """The order along `axis` that sorts by the first key, then by the second, …: i64."""
    operands = (*keys, positions(keys[0].shape, axis))
    return bind_all("sort", *operands, axis=axis, num_keys=len(keys), descending=descending)[-1]
