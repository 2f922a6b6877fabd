"""Views and in-place updates as SSA: arrays that share a `Storage`, whose current value a write replaces."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import TYPE_CHECKING, Protocol

from .dtypes import DType
from .errors import ReadOnlyError
from .functions import (
    broadcast_to,
    flip,
    imag,
    inverse_permutation,
    make_complex,
    real,
    reshape,
    slice_,
    transpose,
)
from .ir import Shape, Value
from .symbolic_size import is_known, same_shape, typical
from .trace import bind

if TYPE_CHECKING:
    from .tracing import Trace

Strides = tuple[int, ...] | None
"""Distances between neighbours along each axis, counted in elements; None where a view is never written through."""


_numbers = count()


def next_number() -> int:
    """A number between those of the memory that is there and of that to come."""
    return next(_numbers)


class Storage:
    """The memory that an array and its views share. A write makes a new value and a new version."""

    __slots__ = ("in_step", "number", "trace", "value", "version")

    def __init__(self, trace: "Trace", value: Value) -> None:
        self.number = next_number()
        """Larger than that of all memory that was there before."""
        self.trace = trace
        self.value = value
        self.version = 0
        self.in_step = False
        """The counter of a random generator: no value to rely on, and all examples of a batch update it together."""

    def write(self, value: Value) -> None:
        self.value = value
        self.version += 1


class View(Protocol):
    """One step from an array to a view of it."""

    def read(self, of: Value) -> Value:
        """The view's value, given the array's."""
        ...

    def write(self, of: Value, new: Value) -> Value:
        """The array's value after `new` was written to the view."""
        ...

    def strides(self, shape: Shape, strides: Strides) -> Strides:
        """The strides of the view, given shape and strides of the array."""
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

    def strides(self, shape: Shape, strides: Strides) -> Strides:
        return strides and tuple(a * b for a, b in zip(strides, self.step, strict=True))


@dataclass(frozen=True, slots=True)
class Flip:
    """The array backwards along some axes."""

    axes: tuple[int, ...]

    def read(self, of: Value) -> Value:
        return flip(of, self.axes)

    def write(self, of: Value, new: Value) -> Value:
        return flip(new, self.axes)

    def strides(self, shape: Shape, strides: Strides) -> Strides:
        return strides and tuple(-s if axis in self.axes else s for axis, s in enumerate(strides))


@dataclass(frozen=True, slots=True)
class Transpose:
    """The axes in another order."""

    axes: tuple[int, ...]

    def read(self, of: Value) -> Value:
        return transpose(of, self.axes)

    def write(self, of: Value, new: Value) -> Value:
        return transpose(new, inverse_permutation(self.axes))

    def strides(self, shape: Shape, strides: Strides) -> Strides:
        return strides and tuple(strides[axis] for axis in self.axes)


@dataclass(frozen=True, slots=True)
class Reshape:
    """The elements in another shape; only where NumPy can do so without a copy."""

    shape: Shape

    def read(self, of: Value) -> Value:
        return reshape(of, self.shape)

    def write(self, of: Value, new: Value) -> Value:
        return reshape(new, of.shape)

    def strides(self, shape: Shape, strides: Strides) -> Strides:
        return None if strides is None else reshaped_strides(shape, strides, self.shape)


@dataclass(frozen=True, slots=True)
class Broadcast:
    """A read-only view that repeats the array."""

    shape: Shape

    def read(self, of: Value) -> Value:
        return broadcast_to(of, self.shape)

    def write(self, of: Value, new: Value) -> Value:
        raise ReadOnlyError("a broadcast array is read-only: copy it before writing to it")

    def strides(self, shape: Shape, strides: Strides) -> Strides:
        if strides is None:
            return None
        lead = (0,) * (len(self.shape) - len(shape))
        return (*lead, *(0 if is_known(dim == 1) else s for dim, s in zip(shape, strides, strict=True)))


@dataclass(frozen=True, slots=True)
class ReadOnly:
    """The array itself, which may not be written to through this view."""

    def read(self, of: Value) -> Value:
        return of

    def write(self, of: Value, new: Value) -> Value:
        raise ReadOnlyError(
            "this view (np.diagonal, sliding_window_view) is read-only: copy it before writing to it"
        )

    def strides(self, shape: Shape, strides: Strides) -> Strides:
        return strides


@dataclass(frozen=True, slots=True)
class Bits:
    """``x.view(dtype)`` for a dtype of the same size."""

    dtype: DType

    def read(self, of: Value) -> Value:
        return of if of.dtype == self.dtype else bind("bitcast", of, dtype=self.dtype)

    def write(self, of: Value, new: Value) -> Value:
        return new if of.dtype == self.dtype else bind("bitcast", new, dtype=of.dtype)

    def strides(self, shape: Shape, strides: Strides) -> Strides:
        return strides


@dataclass(frozen=True, slots=True)
class RealPart:
    """``x.real`` of a complex array."""

    def read(self, of: Value) -> Value:
        return real(of)

    def write(self, of: Value, new: Value) -> Value:
        return make_complex(new, imag(of))

    def strides(self, shape: Shape, strides: Strides) -> Strides:
        return strides and tuple(2 * s for s in strides)


@dataclass(frozen=True, slots=True)
class ImaginaryPart:
    """``x.imag`` of a complex array."""

    def read(self, of: Value) -> Value:
        return imag(of)

    def write(self, of: Value, new: Value) -> Value:
        return make_complex(real(of), new)

    def strides(self, shape: Shape, strides: Strides) -> Strides:
        return strides and tuple(2 * s for s in strides)


def contiguous_strides(shape: Shape) -> tuple[int, ...]:
    """The strides of a new row-major array. Those of one without elements, some of which are 0, do not matter."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return tuple(strides)


def reshaped_strides(shape: Shape, strides: Sequence[int], new: Shape) -> Strides:
    """The strides of a reshape without a copy, or None if NumPy must copy.

    Axes of the old and the new shape are matched in groups of equal size; within a group the old axes
    must follow each other in memory.
    """
    if any(is_known(dim == 0) for dim in new):
        return contiguous_strides(new)
    old = [(dim, stride) for dim, stride in zip(shape, strides, strict=True) if not is_known(dim == 1)]
    result: list[int] = []
    at = 0
    group_new: list[int] = []
    pending = list(new)
    while at < len(old) or pending:
        group_old = [old[at]] if at < len(old) else []
        at += len(group_old)
        group_new = [pending.pop(0)] if pending else []
        size_old = group_old[0][0] if group_old else 1
        size_new = group_new[0] if group_new else 1
        while not is_known(size_old == size_new) and (at < len(old) or pending):
            if not pending or (at < len(old) and typical(size_old) < typical(size_new)):
                group_old.append(old[at])
                size_old *= old[at][0]
                at += 1
            else:
                size_new *= pending[0]
                group_new.append(pending.pop(0))
        if not all(is_known(outer[1] == inner[1] * inner[0]) for outer, inner in pairwise(group_old)):
            return None
        last = group_old[-1][1] if group_old else 1
        result += [last * s for s in contiguous_strides(tuple(group_new))]
    return tuple(result)
