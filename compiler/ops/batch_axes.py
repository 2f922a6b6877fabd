"""The vocabulary of batch rules: logical and physical axes.

*Logical* is the array as the mapped function sees it. *Physical* has the batch axis too, in front. A rule sees one
batch at a time. Batches nest, and `simplify` cancels the transposes between them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..ir import Value
from ..value_ops import broadcast_to, reshape


def leading(value: Value, mapped: bool, size: int) -> Value:
    """`value` with the batch axis in front; repeated if it has none."""
    return value if mapped else broadcast_to(value, (size, *value.shape))


def all_leading(inputs: Sequence[Value], mapped: Sequence[bool], size: int) -> list[Value]:
    return [leading(value, is_mapped, size) for value, is_mapped in zip(inputs, mapped, strict=True)]


def align_ranks(inputs: Sequence[Value], mapped: Sequence[bool]) -> list[Value]:
    """Align values for an elementwise op: mapped ones get the missing axes of length 1, after the batch axis."""
    rank = max(value.ndim - is_mapped for value, is_mapped in zip(inputs, mapped, strict=True))
    aligned = []
    for value, is_mapped in zip(inputs, mapped, strict=True):
        if is_mapped:
            missing = (1,) * (rank - (value.ndim - 1))
            value = reshape(value, (value.shape[0], *missing, *value.shape[1:]))
        aligned.append(value)
    return aligned


def shifted(axes: Sequence[int]) -> tuple[int, ...]:
    """Logical axes as physical ones, after one batch axis."""
    return tuple(axis + 1 for axis in axes)


@dataclass(frozen=True, slots=True)
class Unmapped:
    """An output of a batch rule that is the same for all examples, and therefore has no batch axis."""

    value: Value
