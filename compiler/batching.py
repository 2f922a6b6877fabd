"""The vocabulary of batch rules: logical and physical axes, and values with batch axes at levels.

*Logical* is the array as the mapped function sees it; *physical* has the batch axes, too. The batch
rule of an op meets one level at a time with its axis in front (`leading`, `shifted`); `Batched` is
the general form, any number of levels at any axes, and is what those reduce to.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from .ir import Shape, Value
from .value_ops import broadcast_to, reshape, transpose


@dataclass(frozen=True, slots=True)
class Batched:
    """A physical value and where its batch axes are: ``axes`` maps level to physical axis."""

    value: Value
    axes: tuple[tuple[int, int], ...]
    """Pairs of (level, physical axis), by rising level."""

    @property
    def levels(self) -> tuple[int, ...]:
        return tuple(level for level, _ in self.axes)

    @property
    def logical_shape(self) -> Shape:
        """The shape as the mapped function sees it."""
        hidden = {axis for _, axis in self.axes}
        return tuple(dim for axis, dim in enumerate(self.value.shape) if axis not in hidden)

    @property
    def logical_ndim(self) -> int:
        return self.value.ndim - len(self.axes)

    def to_physical(self) -> Value:
        """The value with all batch axes in front, by rising level, then the logical axes in order."""
        front = [axis for _, axis in self.axes]
        return transpose(self.value, [*front, *(a for a in range(self.value.ndim) if a not in front)])

    def physical_axis(self, logical: int) -> int:
        """Where a logical axis lies in `to_physical`: negatives wrap first, then the batch axes shift it."""
        return logical % self.logical_ndim + len(self.axes)

    def physical_shape(self, logical: Shape) -> Shape:
        """A logical shape with the batch sizes in front."""
        return (*(self.value.shape[axis] for _, axis in self.axes), *logical)


def to_logical(physical: Value, levels: Sequence[int]) -> Batched:
    """The way back from `to_physical`: the front axes of `physical` are the batch axes of `levels`."""
    return Batched(physical, tuple((level, axis) for axis, level in enumerate(levels)))


def broadcast_to_physical(*values: Batched) -> tuple[tuple[int, ...], tuple[Value, ...]]:
    """Align values for an elementwise op: the union of the levels, and the physical values.

    A missing level becomes an axis of length 1; logical axes align from the right: (B, 2) with
    (B, 3, 2) gives (B, 1, 2) and (B, 3, 2).
    """
    levels = tuple(sorted({level for value in values for level in value.levels}))
    rank = max(value.logical_ndim for value in values)
    aligned = []
    for value in values:
        sizes = {level: value.value.shape[axis] for level, axis in value.axes}
        batch = tuple(sizes.get(level, 1) for level in levels)
        missing = (1,) * (rank - value.logical_ndim)
        aligned.append(reshape(value.to_physical(), (*batch, *missing, *value.logical_shape)))
    return levels, tuple(aligned)


# ---- the same for one level, its axis in front: what the rules of ops use ---------------------------


def leading(value: Value, mapped: bool, size: int) -> Value:
    """`value` with the batch axis in front, repeated if it has none."""
    return value if mapped else broadcast_to(value, (size, *value.shape))


def all_leading(inputs: Sequence[Value], mapped: Sequence[bool], size: int) -> list[Value]:
    return [leading(value, is_mapped, size) for value, is_mapped in zip(inputs, mapped, strict=True)]


def align_ranks(inputs: Sequence[Value], mapped: Sequence[bool]) -> list[Value]:
    """`broadcast_to_physical` for one level in front: mapped values get axes of length 1 after it."""
    rank = max(value.ndim - is_mapped for value, is_mapped in zip(inputs, mapped, strict=True))
    aligned = []
    for value, is_mapped in zip(inputs, mapped, strict=True):
        if is_mapped:
            missing = (1,) * (rank - (value.ndim - 1))
            value = reshape(value, (value.shape[0], *missing, *value.shape[1:]))
        aligned.append(value)
    return aligned


def shifted(axes: Sequence[int]) -> tuple[int, ...]:
    """Logical axes as physical ones behind one batch axis."""
    return tuple(axis + 1 for axis in axes)


@dataclass(frozen=True, slots=True)
class Unmapped:
    """An output of a batch rule that is the same for all examples, and so has no batch axis."""

    value: Value
