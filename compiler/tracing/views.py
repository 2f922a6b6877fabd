"""Views as functions of their array: how to read one, how to write through it, and its layout."""

from dataclasses import dataclass
from typing import Final, Literal, Protocol

import numpy as np

from ..builder import bind
from ..dtypes import INT64, DType
from ..errors import ReadOnlyError
from ..ir import Shape, Value
from ..memory_layout.layout import Layout
from ..memory_layout.strides import Strides, filled_strides, reshaped_strides
from ..symbolic_size import is_known, is_one, is_symbolic_shape, same_shape
from ..value_ops import (
    add,
    broadcast_to,
    concatenate,
    constant,
    flip,
    gather,
    imag,
    inverse_permutation,
    iota,
    make_complex,
    moveaxis,
    multiply,
    real,
    reshape,
    scatter,
    slice_,
    slice_axis,
    transpose,
)
from .trace import Storage, require_trace

_READ_ONLY = (
    "this array is read-only (np.diagonal, windows, x.flags.writeable = False): copy it before writing to it"
)

WRITTEN_OUT: Final = 1 << 16
"""With up to this many entries, the positions of windows are a constant; with more, they are computed."""


class View(Protocol):
    """One step from an array to a view of it."""

    def read(self, of: Value) -> Value:
        """The value of the view, given that of the array."""
        ...

    def write(self, of: Value, new: Value) -> Value:
        """The value of the array after `new` was written to the view."""
        ...

    def layout(self, of: Layout) -> Layout:
        """The layout of the view, given that of the array."""
        ...


@dataclass(frozen=True, slots=True)
class Slice:
    """``x[start:stop:step]`` along every axis, with positive steps."""

    start: Shape
    stop: Shape
    step: Shape

    def read(self, of: Value) -> Value:
        return slice_(of, self.start, self.stop, self.step)

    def write(self, of: Value, new: Value) -> Value:
        if same_shape(new.shape, of.shape):
            return new
        return bind("update_slice", of, new, start=self.start, stop=self.stop, step=self.step)

    def layout(self, of: Layout) -> Layout:
        ends = zip(self.start, self.stop, self.step, strict=True)
        shape = tuple((stop - start + step - 1) // step for start, stop, step in ends)
        strides = of.strides and tuple(a * b for a, b in zip(of.strides, self.step, strict=True))
        return Layout(shape, strides, of.questions, axes=of.known_axes)


@dataclass(frozen=True, slots=True)
class ComputedSlice:
    """``x[start::step]`` along one axis, from a computed start, which gives a computed length."""

    axis: int
    start: Storage
    length: int
    step: int

    def _places(self) -> Value:
        start = require_trace().shadow(self.start).value
        return add(multiply(iota(self.length, INT64), self.step), start)

    def read(self, of: Value) -> Value:
        return moveaxis(gather(of, [self._places()], (self.axis,), unique=True), 0, self.axis)

    def write(self, of: Value, new: Value) -> Value:
        return scatter(of, moveaxis(new, self.axis, 0), [self._places()], (self.axis,), "set", unique=True)

    def layout(self, of: Layout) -> Layout:
        shape = (*of.shape[: self.axis], self.length, *of.shape[self.axis + 1 :])
        strides = of.strides and tuple(
            stride * self.step if axis == self.axis else stride for axis, stride in enumerate(of.strides)
        )
        return Layout(shape, strides, of.questions, axes=of.known_axes if self.step > 0 else None)


@dataclass(frozen=True, slots=True)
class Flip:
    """The array, reversed along some axes."""

    axes: tuple[int, ...]

    def read(self, of: Value) -> Value:
        return flip(of, self.axes)

    def write(self, of: Value, new: Value) -> Value:
        return flip(new, self.axes)

    def layout(self, of: Layout) -> Layout:
        turned = {axis for axis in self.axes if not is_known(of.shape[axis] == 0)}
        strides = of.strides and tuple(-s if i in turned else s for i, s in enumerate(of.strides))
        return Layout(of.shape, strides, of.questions, axes=of.known_axes)


@dataclass(frozen=True, slots=True)
class Transpose:
    """The axes in another order."""

    axes: tuple[int, ...]

    def read(self, of: Value) -> Value:
        return transpose(of, self.axes)

    def write(self, of: Value, new: Value) -> Value:
        return transpose(new, inverse_permutation(self.axes))

    def layout(self, of: Layout) -> Layout:
        shape = tuple(of.shape[axis] for axis in self.axes)
        order = of.known_axes and tuple(self.axes.index(axis) for axis in of.known_axes)
        return Layout(shape, of.strides and tuple(of.strides[i] for i in self.axes), of.questions, axes=order)


@dataclass(frozen=True, slots=True)
class Reshape:
    """The elements in another shape, if NumPy needs no copy for it."""

    shape: Shape
    order: Literal["C", "F"] = "C"
    """Whether the last or the first axis varies fastest."""
    is_completed: bool = False
    """Whether a length was given as -1. NumPy then computes new strides even if the shape is the same."""

    def read(self, of: Value) -> Value:
        if self.order == "C":
            return reshape(of, self.shape)
        return _backwards(reshape(_backwards(of), self.shape[::-1]))

    def write(self, of: Value, new: Value) -> Value:
        if self.order == "C":
            return reshape(new, of.shape)
        return _backwards(reshape(_backwards(new), of.shape[::-1]))

    def layout(self, of: Layout) -> Layout:
        strides = of.strides
        if strides is None or (same_shape(of.shape, self.shape) and not self.is_completed):
            return _seen(of, self.shape, strides)
        if not of.fills_memory(self.order):
            return _seen(of, self.shape, reshaped_strides(of.shape, strides, self.shape, self.order))
        if self.order == "C":
            return _seen(of, self.shape, filled_strides(self.shape))
        return _seen(of, self.shape, filled_strides(self.shape[::-1])[::-1])


def _backwards(x: Value) -> Value:
    """The axes in the opposite order."""
    return transpose(x, tuple(reversed(range(x.ndim))))


@dataclass(frozen=True, slots=True)
class SelectAxes:
    """The array without some axes of length 1, and with new ones, which have no stride."""

    shape: Shape
    sources: tuple[int | None, ...]
    """For each axis, the axis of the array; None if it is new."""

    def read(self, of: Value) -> Value:
        return reshape(of, self.shape)

    def write(self, of: Value, new: Value) -> Value:
        return reshape(new, of.shape)

    def layout(self, of: Layout) -> Layout:
        strides = of.strides
        if strides is None:
            return _seen(of, self.shape, None)
        return _seen(of, self.shape, tuple(0 if axis is None else strides[axis] for axis in self.sources))


@dataclass(frozen=True, slots=True)
class NewAxes:
    """The array with new axes in front, with the strides of ``np.array(x, ndmin=…)``."""

    count: int
    is_column_major: bool

    def read(self, of: Value) -> Value:
        return reshape(of, (*(1,) * self.count, *of.shape))

    def write(self, of: Value, new: Value) -> Value:
        return reshape(new, of.shape)

    def layout(self, of: Layout) -> Layout:
        shape, strides = (*(1,) * self.count, *of.shape), of.strides
        if strides is None:
            return _seen(of, shape, None)
        step = 1 if self.is_column_major or not strides else strides[0] * of.shape[0]
        return _seen(of, shape, (*(step,) * self.count, *strides))


@dataclass(frozen=True, slots=True)
class Broadcast:
    """A view that repeats the array. It is read-only."""

    shape: Shape
    flagged_writeable: bool = False
    """Whether ``x.flags.writeable`` is True, as in NumPy for results of ``np.broadcast_arrays``."""

    def read(self, of: Value) -> Value:
        return broadcast_to(of, self.shape)

    def write(self, of: Value, new: Value) -> Value:
        raise ReadOnlyError("a broadcast array is read-only: copy it before writing to it")

    def layout(self, of: Layout) -> Layout:
        if of.strides is None:
            return _seen(of, self.shape, None)
        lead = (0,) * (len(self.shape) - len(of.shape))
        kept = zip(self.shape[len(lead) :], of.shape, of.strides, strict=True)
        strides = (
            *lead,
            *(0 if is_one(new) or not same_shape((new,), (dim,)) else s for new, dim, s in kept),
        )
        return _seen(of, self.shape, strides)


@dataclass(frozen=True, slots=True)
class ReadOnly:
    """The array itself, read-only through this view."""

    def read(self, of: Value) -> Value:
        return of

    def write(self, of: Value, new: Value) -> Value:
        raise ReadOnlyError(_READ_ONLY)

    def layout(self, of: Layout) -> Layout:
        return of


@dataclass(frozen=True, slots=True)
class Joined:
    """Several steps as one view. NumPy knows its strides, although the steps between have none."""

    steps: tuple[View, ...]
    shape: Shape

    def read(self, of: Value) -> Value:
        for step in self.steps:
            of = step.read(of)
        return of

    def write(self, of: Value, new: Value) -> Value:
        bases = [of]
        for step in self.steps[:-1]:
            bases.append(step.read(bases[-1]))
        for step, base in zip(reversed(self.steps), reversed(bases), strict=True):
            new = step.write(base, new)
        return new


@dataclass(frozen=True, slots=True)
class Strided(Joined):
    """A view such as a diagonal: each axis of the result advances along one or several axes of the array at once."""

    along: tuple[tuple[int, ...], ...]

    def layout(self, of: Layout) -> Layout:
        strides = of.strides
        return _seen(
            of, self.shape, strides and tuple(sum(strides[axis] for axis in axes) for axes in self.along)
        )


@dataclass(frozen=True, slots=True)
class Placed(Joined):
    """A view that NumPy has made, with known strides."""

    strides: tuple[int, ...]

    def layout(self, of: Layout) -> Layout:
        return _seen(of, self.shape, self.strides)


@dataclass(frozen=True, slots=True)
class Windows:
    """Every window of `length` neighbours along an axis: their positions there, their entries in a new last axis."""

    axis: int
    length: int

    def read(self, of: Value) -> Value:
        count = of.shape[self.axis] - self.length + 1
        windows = gather(
            of, [_starts_and_entries(count, self.length)], (self.axis,)
        )  # positions and entries first, then the other axes
        front = range(2, 2 + self.axis)
        return transpose(windows, [*front, 0, *range(2 + self.axis, windows.ndim), 1])

    def write(self, of: Value, new: Value) -> Value:
        raise ReadOnlyError(_READ_ONLY)

    def layout(self, of: Layout) -> Layout:
        shape = list(of.shape)
        shape[self.axis] += 1 - self.length
        return _seen(of, (*shape, self.length), of.strides and (*of.strides, of.strides[self.axis]))


def _starts_and_entries(count: int, length: int) -> Value:
    """The positions of the entries of each window: i64[count, length]."""
    if not is_symbolic_shape((count, length)) and count * length <= WRITTEN_OUT:
        return constant(np.arange(count)[:, None] + np.arange(length))
    return add(reshape(iota(count, INT64), (count, 1)), iota(length, INT64))


@dataclass(frozen=True, slots=True)
class Bits:
    """``x.view(dtype)`` for a dtype of the same size."""

    dtype: DType

    def read(self, of: Value) -> Value:
        return _with_bits_of(of, self.dtype)

    def write(self, of: Value, new: Value) -> Value:
        return _with_bits_of(new, of.dtype)

    def layout(self, of: Layout) -> Layout:
        return of


def _with_bits_of(x: Value, dtype: DType) -> Value:
    """A value viewed as another dtype. A view of floats as integers and back keeps its derivative."""
    if x.dtype == dtype:
        return x
    call = require_trace().producer(x)
    if call is not None and call.op == "bitcast" and call.inputs[0].dtype == dtype:
        return call.inputs[0]
    return bind("bitcast", x, dtype=dtype)


@dataclass(frozen=True, slots=True)
class RealPart:
    """``x.real`` of a complex array."""

    def read(self, of: Value) -> Value:
        return real(of)

    def write(self, of: Value, new: Value) -> Value:
        return make_complex(new, imag(of))

    def layout(self, of: Layout) -> Layout:
        return _of_every_second_number(of)


@dataclass(frozen=True, slots=True)
class ImaginaryPart:
    """``x.imag`` of a complex array."""

    def read(self, of: Value) -> Value:
        return imag(of)

    def write(self, of: Value, new: Value) -> Value:
        return make_complex(real(of), new)

    def layout(self, of: Layout) -> Layout:
        return _of_every_second_number(of)


def _of_every_second_number(of: Layout) -> Layout:
    """The layout of the real or the imaginary parts of a complex array."""
    return _seen(of, of.shape, of.strides and tuple(2 * s for s in of.strides))


@dataclass(frozen=True, slots=True)
class Parts:
    """``z.view(np.float64)``: real and imaginary parts next to each other along the last axis."""

    def read(self, of: Value) -> Value:
        pairs = [reshape(part, (*of.shape, 1)) for part in (real(of), imag(of))]
        return reshape(concatenate(pairs, of.ndim), (*of.shape[:-1], 2 * of.shape[-1]))

    def write(self, of: Value, new: Value) -> Value:
        return Pairs().read(new)

    def layout(self, of: Layout) -> Layout:
        shape = (*of.shape[:-1], 2 * of.shape[-1])
        return _seen(of, shape, of.strides and (*(2 * stride for stride in of.strides[:-1]), 1))


@dataclass(frozen=True, slots=True)
class Pairs:
    """``x.view(np.complex128)``: each number along the last axis and the next as one complex number."""

    def read(self, of: Value) -> Value:
        shape = (*of.shape[:-1], of.shape[-1] // 2)
        pairs = reshape(of, (*shape, 2))
        return make_complex(*[reshape(slice_axis(pairs, i, i + 1, of.ndim), shape) for i in (0, 1)])

    def write(self, of: Value, new: Value) -> Value:
        return Parts().read(new)

    def layout(self, of: Layout) -> Layout:
        shape = (*of.shape[:-1], of.shape[-1] // 2)
        return _seen(of, shape, of.strides and (*(stride // 2 for stride in of.strides[:-1]), 1))


def is_flagged_read_only(view: View) -> bool:
    """Whether ``x.flags.writeable`` is False."""
    if isinstance(view, Joined):
        return any(map(is_flagged_read_only, view.steps))
    return isinstance(view, (ReadOnly, Windows)) or (
        isinstance(view, Broadcast) and not view.flagged_writeable
    )


def _seen(of: Layout, shape: Shape, strides: Strides) -> Layout:
    """The layout of a view of an array."""
    return Layout(shape, strides, of.questions)
