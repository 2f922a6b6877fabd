"""The layouts of results: of ufuncs, of functions on stacks of matrices, and of copies."""

from collections.abc import Iterable, Sequence
from typing import Literal

from ..dtypes import Array
from ..ir import Shape
from ..symbolic_size import is_known, is_symbolic_shape, same_shape
from .layout import (
    NOTHING_ASKED,
    Layout,
    LayoutQuestion,
    at_most,
    dense_layout,
    elementwise_order,
    layout_of,
    magnitudes,
    row_major,
)
from .strides import Order


def are_in_columns(shape: Shape, operands: Sequence[Layout]) -> bool:
    """Whether all operands have this shape, which has axes of a single entry, and are in F order but not in C order.

    Without conversions, NumPy then loops over all elements at once and allocates the result in F order. Its iterator
    would place the axes of a single entry differently.
    """
    long = [dim for dim in shape if not is_known(dim == 1)]
    if not 2 <= len(long) < len(shape) or any(layout.is_row_major for layout in operands):
        return False  # along a single axis, both orders are the same
    return all(same_shape(layout.shape, shape) for layout in operands) and all(
        layout.is_contiguous("F") and not layout.is_contiguous("C") for layout in operands
    )


def direct_layout(shape: Shape, operands: Sequence[Layout]) -> Layout | None:
    """The layout of a result of operands that are broadcast but not converted."""
    if operands and are_in_columns(shape, operands):
        return dense_layout(shape, tuple(range(len(shape)))[::-1], joint_questions(operands))
    return elementwise_layout(shape, operands)


def elementwise_layout(shape: Shape, operands: Iterable[Layout]) -> Layout | None:
    """The layout of a new result of broadcast operands; None if it is row-major for all arguments."""
    if len(shape) < 2:
        return None
    layouts = [layout for layout in operands if len(layout.shape) > 1]
    if not layouts:
        return None
    questions = joint_questions(layouts)
    if all(layout.is_row_major for layout in layouts):
        return row_major(shape, questions) if questions else None
    return dense_layout(shape, elementwise_order(len(shape), layouts), questions)


def layout_of_stacks(shape: Shape, operands: Sequence[Layout]) -> Layout | None:
    """The layout of stacked matrices: the axes of the stack as in a ufunc, then those of each matrix in C order."""
    stacks = [len(layout.shape) - 2 for layout in operands]
    behind = len(shape) - max(stacks, default=0)
    pairs = zip(operands, stacks, strict=True)
    return elementwise_layout(shape, [layout.front(stack, behind) for layout, stack in pairs])


def joint_questions(layouts: Sequence[Layout]) -> frozenset[LayoutQuestion]:
    """The arguments whose layouts the layouts of several arrays depend on."""
    if not layouts:
        return NOTHING_ASKED
    first = layouts[0].questions
    if all(layout.questions is first for layout in layouts):
        return first
    return first.union(*(layout.questions for layout in layouts))


def copied_order(layout: Layout, order: Literal["C", "F", "A", "K"]) -> Order:
    """The order of the axes of ``np.array(x, order=order)``."""
    axes = tuple(range(len(layout.shape)))
    if order == "K":
        return kept_order(layout)
    if order == "A":
        order = "F" if layout.is_contiguous("F") and not layout.is_contiguous("C") else "C"
    return axes[::-1] if order == "F" else axes


def kept_order(layout: Layout) -> Order:
    """The order of the axes of a copy: C or F order if the array is contiguous in it, otherwise that of the strides.

    Unlike in a ufunc, repeated axes and axes with a single entry count. Repeated axes come last.
    """
    order = layout.order()  # this records a question about the arguments
    if layout.is_row_major or layout.strides is None:
        return order
    longer = [axis for axis in order if not is_known(layout.shape[axis] == 1)]
    if longer != sorted(longer) and longer != sorted(longer, reverse=True):
        return stride_order(layout)
    dense = tuple(sorted(order, reverse=longer != sorted(longer)))
    if is_symbolic_shape((*layout.shape, *layout.strides)) and dense == _from_largest(layout):
        return stride_order(layout)  # whether there are gaps, which may depend on sizes, makes no difference
    return dense if layout.is_dense else stride_order(layout)


def stride_order(layout: Layout) -> Order:
    """The axes from the largest stride to the smallest, including those of length 1."""
    if any(is_known(dim == 1) for dim in layout.shape):
        layout.asked_wholly()
    elif any(is_known(stride == 0) for stride in magnitudes(layout)):
        layout.asked()
    return _from_largest(layout)


def _from_largest(layout: Layout) -> Order:
    strides = magnitudes(layout)
    inner_last: list[int] = []
    for axis in range(len(layout.shape)):
        place = sum(at_most(strides[axis], strides[other]) for other in inner_last)
        inner_last.insert(place, axis)
    return tuple(inner_last)


def order_of(array: Array) -> Order:
    """The order of the axes of a NumPy array, as a copy would have it."""
    return copied_order(layout_of(array), "K")
