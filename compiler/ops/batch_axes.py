"""The vocabulary of batch rules: logical and physical axes.

*Logical* is the array as the mapped function sees it. *Physical* has the batch axis too, where it lies. A rule sees one
batch at a time: each of several nested batches is a walk over the graph. The axes of inner batches are logical axes of
the outer one like any others, so one walk for all would move no fewer axes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

from ..builder import as_tuple, bind, bind_all
from ..ir import Shape, Value
from ..op import BatchRule
from ..symbolic_size import is_one
from ..value_ops import broadcast_to, expand_dims, moveaxis, reshape

Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True)
class Batched:
    """A physical value, and where its batch axis lies; None if the value is the same for all examples."""

    value: Value
    axis: int | None

    @property
    def logical_ndim(self) -> int:
        return self.value.ndim - (self.axis is not None)

    @property
    def logical_shape(self) -> Shape:
        return tuple(dim for axis, dim in enumerate(self.value.shape) if axis != self.axis)

    def physical_axis(self, logical: int) -> int:
        """Where a logical axis, counted from the front, lies in `value`."""
        return logical if self.axis is None or logical < self.axis else logical + 1

    def physical_axes(self, logical: Sequence[int]) -> tuple[int, ...]:
        return tuple(map(self.physical_axis, logical))

    def physical_entries(self, logical: Sequence[Entry], batch: Entry) -> tuple[Entry, ...]:
        """Entries for each axis of `value`, such as lengths or steps, from those for the logical ones."""
        at = len(logical) if self.axis is None else self.axis
        return (*logical[:at], *(() if self.axis is None else (batch,)), *logical[at:])

    def axis_without(self, physical: Sequence[int]) -> int:
        """Where the batch axis, which there is, lies once these others are removed."""
        assert self.axis is not None
        return self.axis - sum(axis < self.axis for axis in physical)

    def to_physical(self, axis: int = 0) -> Value:
        """The value with its batch axis, if it has one, moved to `axis`."""
        return self.value if self.axis is None else moveaxis(self.value, self.axis, axis)

    def on_axis(self, axis: int, size: int) -> Value:
        """The value with its batch axis moved to `axis`; repeated along such an axis if it has none."""
        if self.axis is not None:
            return self.to_physical(axis)
        shape = self.value.shape
        value = expand_dims(self.value, axis) if axis else self.value
        return broadcast_to(value, (*shape[:axis], size, *shape[axis:]))


# ---- rules that leave the batch axis where it lies ---------------------------------------------------


def broadcast_to_physical(inputs: Sequence[Batched]) -> tuple[list[Value], int]:
    """Physical values that broadcast as the logical ones do, and the batch axis of the result.

    Logical axes are aligned from the right: (B, 2) with (B, 3, 2) gives (B, 1, 2) and (B, 3, 2). The batch axis comes
    where the largest mapped input has it: in front, or before as many axes.
    """
    mapped = [x for x in inputs if x.axis is not None]
    largest = max(mapped, key=lambda x: sum(not is_one(dim) for dim in x.logical_shape))
    rank = max(x.logical_ndim for x in inputs)
    behind = largest.logical_ndim - largest.axis if largest.axis else rank
    return [_with_axis_before(x, behind) for x in inputs], rank - behind


def _with_axis_before(x: Batched, behind: int) -> Value:
    """The value with its batch axis before this many axes. Missing axes have length 1, or are left out in front."""
    ndim = x.logical_ndim
    if x.axis is None:
        return expand_dims(x.value, ndim - behind) if ndim > behind else x.value
    if ndim >= behind:
        return x.to_physical(ndim - behind)
    front = x.to_physical()
    return reshape(front, (front.shape[0], *(1,) * (behind - ndim), *front.shape[1:]))


def on_one_axis(inputs: Sequence[Batched], size: int) -> list[Batched]:
    """Inputs of one logical rank, all with a batch axis where that of the first mapped one lies."""
    axis = next(x.axis for x in inputs if x.axis is not None)
    return [Batched(x.on_axis(axis, size), axis) for x in inputs]


def batch_along_axis(op: str) -> BatchRule:
    """The batch rule of an op along one `axis`, which stays: of one array, or of several of one logical rank."""

    def batch(inputs: Sequence[Batched], size: int, axis: int, **params: Any) -> tuple[Batched, ...]:
        arrays = on_one_axis(inputs, size)
        along = arrays[0].physical_axis(axis)
        outputs = bind_all(op, *(x.value for x in arrays), axis=along, **params)
        return tuple(Batched(out, arrays[0].axis) for out in outputs)

    return batch


def batch_reduction(op: str) -> BatchRule:
    """The batch rule of an op that removes `axes`: the batch axis stays among the others."""

    def batch(inputs: Sequence[Batched], size: int, axes: tuple[int, ...], **params: Any) -> Batched:
        (x,) = inputs
        reduced = x.physical_axes(axes)
        return Batched(bind(op, x.value, axes=reduced, **params), x.axis_without(reduced))

    return batch


# ---- rules that need the batch axis in front -----------------------------------------------------------


def in_front(rule: Callable[..., Any]) -> BatchRule:
    """The batch rule from ``rule(inputs, mapped, size, **params)``, which gets and returns values.

    ``mapped[i]`` says whether input i has a batch axis, which is its first. Outputs have a new axis 0 of length `size`.
    """

    @wraps(rule)
    def batch(inputs: Sequence[Batched], size: int, **params: Any) -> tuple[Batched, ...]:
        values = tuple(x.to_physical() for x in inputs)
        outputs = as_tuple(rule(values, tuple(x.axis is not None for x in inputs), size, **params))
        return tuple(Batched(out, 0) for out in outputs)

    return batch


def leading(value: Value, mapped: bool, size: int) -> Value:
    """`value` with the batch axis in front; repeated if it has none."""
    return value if mapped else broadcast_to(value, (size, *value.shape))


def all_leading(inputs: Sequence[Value], mapped: Sequence[bool], size: int) -> list[Value]:
    return [leading(value, is_mapped, size) for value, is_mapped in zip(inputs, mapped, strict=True)]


def align_ranks(inputs: Sequence[Value], mapped: Sequence[bool]) -> list[Value]:
    """Align values that broadcast: mapped ones get the missing axes of length 1, after the batch axis."""
    rank = max(value.ndim - is_mapped for value, is_mapped in zip(inputs, mapped, strict=True))
    aligned = []
    for value, is_mapped in zip(inputs, mapped, strict=True):
        if is_mapped:
            missing = (1,) * (rank - (value.ndim - 1))
            value = reshape(value, (value.shape[0], *missing, *value.shape[1:]))
        aligned.append(value)
    return aligned


def shifted(axes: Sequence[int]) -> tuple[int, ...]:
    """Logical axes as physical ones, after one batch axis in front."""
    return tuple(axis + 1 for axis in axes)
