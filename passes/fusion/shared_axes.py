"""How the index of an operand's element follows from the index of the result: which leading axes they share.

Axes of length 1 do not count, since their index is always 0: shapes are compared without them.
"""

from collections.abc import Iterable, Sequence
from math import prod

from ...compiler.analysis.fusible_ops import REDUCTIONS, is_elementwise, reduced_axes
from ...compiler.analysis.source_axes import source_axes
from ...compiler.ir import Call, Extent, Shape, Value


def long_axes(shape: Shape) -> Shape:
    """A shape without its axes of length 1.

    >>> long_axes((64, 1, 10))
    (64, 10)
    """
    return tuple(dim for dim in shape if dim != 1)


def rank(value: Value) -> int:
    """How many axes of a value are longer than 1."""
    return sum(dim != 1 for dim in value.shape)


def is_reduction(call: Call) -> bool:
    """Whether several elements of the operand are combined into one element of the result."""
    if call.op not in REDUCTIONS:
        return False
    shape = call.inputs[0].shape
    return any(shape[axis] != 1 for axis in reduced_axes(call))


def reduces_last_axes(call: Call) -> bool:
    """Whether the elements that a reduction combines are adjacent."""
    axes = reduced_axes(call)
    kinds = [axis in axes for axis, dim in enumerate(call.inputs[0].shape) if dim != 1]
    return kinds == sorted(kinds)


ACCUMULATORS = 16
"""This many sums of a loop can be kept in registers."""


def in_order(call: Call) -> bool:
    """Whether the loops of a reduction go over its operand's axes in their order, with the last one innermost.

    They do if the last axes are reduced, and if few sums are accumulated at a time: ``f64[300, 3]`` from ``f64[300,
    300, 3]`` over axis 1. Other reductions go over the kept axes first.
    """
    shape, axes = call.inputs[0].shape, reduced_axes(call)
    first = min((axis for axis in axes if shape[axis] != 1), default=len(shape))
    return prod(dim for axis, dim in enumerate(shape) if axis > first and axis not in axes) <= ACCUMULATORS


def outer_axes(call: Call) -> int:
    """How many leading axes a reduction's operand and its result have in common, as loops around everything else."""
    if reduces_last_axes(call) or not in_order(call):
        return rank(call.outputs[0])
    return aligned_axes(call, 0)


def aligned_axes(call: Call, place: int) -> int:
    """How many leading axes of operand `place` have the same index as those of the result.

    1 for the first operand of ``f64[8, 3] - f64[8, 1]`` and 1 for the second; 0 for the second of ``f64[8, 3] -
    f64[3]``. For a reduction: the number of axes before the first axis that it reduces.
    """
    operand, (output,) = call.inputs[place], call.outputs
    if call.op in REDUCTIONS:
        gone = reduced_axes(call)
        return _leading((dim, axis not in gone) for axis, dim in enumerate(operand.shape))
    if (sources := source_axes(call)) is not None:
        inner = [source.same for source, dim in zip(sources, operand.shape, strict=True) if dim != 1]
        return _common(inner, [axis for axis, dim in enumerate(output.shape) if dim != 1])
    if call.op == "gather":
        return 0 if place == 0 else _broadcast(operand.shape, _index_shape(call))
    if is_elementwise(call):
        return _broadcast(operand.shape, output.shape)
    if (
        operand.ndim != output.ndim
    ):  # the start of a dynamic slice and the fill value of a pad are single numbers
        return 0
    return _leading((b, a == b) for a, b in zip(operand.shape, output.shape, strict=True))


def _index_shape(call: Call) -> Shape:
    """The axes of a gathered result that correspond to entries of the indices."""
    kept = call.inputs[0].ndim - len(call.inputs) + 1
    shape = call.outputs[0].shape
    return shape[: len(shape) - kept]


def _leading(dims: Iterable[tuple[Extent, bool]]) -> int:
    """How many axes longer than 1 come before the first axis with a different index."""
    count = 0
    for dim, same in dims:
        if dim != 1:
            if not same:
                return count
            count += 1
    return count


def _common(left: Sequence[int | None], right: Sequence[int]) -> int:
    count = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        count += 1
    return count


def _broadcast(shape: Shape, into: Shape) -> int:
    """Axes are aligned from the right. If an operand is repeated, its remaining axes are no longer leading ones."""
    if shape == into:
        return sum(dim != 1 for dim in shape)
    padded = (1,) * (len(into) - len(shape)) + shape
    return _leading((b, a == b) for a, b in zip(padded, into, strict=True))


def common_prefix(shapes: Sequence[Shape]) -> Shape:
    """The leading axes that the shapes share."""
    first = shapes[0]
    return first[: min(_common(first, shape) for shape in shapes)]
