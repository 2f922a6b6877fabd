"""`Layout`: the memory layout that NumPy would give an array. It decides whether results are views or copies."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from ..dtypes import Array
from ..ir import Shape
from ..symbolic_size import SymbolicSize, guarded_is_equal, guarded_is_one, is_known, same_shape, typical

Strides: TypeAlias = tuple[int, ...] | None
"""Distances between neighbours along each axis, in elements; None for an axis without a regular distance."""

Order: TypeAlias = tuple[int, ...]
"""The axes of an array, from the largest stride to the smallest."""


class LayoutQuestion:
    """Records what a program has asked about the layout of an argument: later calls must have the same answers."""

    __slots__ = (
        "asked_order", "asked_owndata", "asked_single", "asked_strides", "asked_writeable", "name", "owndata",
        "writeable",
    )  # fmt: skip

    def __init__(self, name: str = "", *, owndata: bool = True, writeable: bool = True) -> None:
        self.name = name
        """The name of the argument in errors."""
        self.owndata = owndata
        """Whether the argument is not a view of another array."""
        self.writeable = writeable
        """Whether it is writeable."""
        self.asked_owndata = False
        self.asked_writeable = False
        """The program depends on these."""
        self.asked_order = False
        """Whether the program depends on the order of the axes."""
        self.asked_strides = False
        """Whether it depends on gaps between neighbouring axes."""
        self.asked_single = False
        """Whether it depends on the strides of axes with a single entry, which do not affect where elements are."""


NOTHING_ASKED: frozenset[LayoutQuestion] = frozenset()


class Layout:
    """Shape and strides of an array in memory, and the arguments whose layouts they follow from.

    >>> columns = Layout((2, 3), (1, 2))
    >>> columns.is_contiguous("F"), columns.order()
    (True, (1, 0))
    """

    __slots__ = ("_strides", "axes", "is_row_major", "questions", "shape")

    def __init__(
        self,
        shape: Shape,
        strides: Strides = None,
        questions: frozenset[LayoutQuestion] = NOTHING_ASKED,
        *,
        axes: Order | None = None,
        is_row_major: bool = False,
    ) -> None:
        self.shape = shape
        self._strides = strides
        self.axes = axes
        """Their order in memory, if it is known without the strides, which may be equal for some named sizes."""
        self.is_row_major = is_row_major
        """Whether it is known to be in C order without gaps. Strides are then computed when needed."""
        self.questions = questions

    @property
    def strides(self) -> Strides:
        if self._strides is None and self.is_row_major:
            self._strides = contiguous_strides(self.shape)
        return self._strides

    @property
    def known_axes(self) -> Order | None:
        """The order of the axes in memory, if it is known without the strides."""
        return tuple(range(len(self.shape))) if self.is_row_major else self.axes

    def order(self) -> Order:
        """The order of the axes in a copy with NumPy's ``order="K"``."""
        for question in self.questions:
            question.asked_order = True
        axes = tuple(range(len(self.shape)))
        if self.is_row_major or self.strides is None:
            return axes
        return elementwise_order(len(self.shape), [self])

    def asked(self) -> "Layout":
        """The same layout, for a caller that depends on its strides."""
        for question in self.questions:
            question.asked_order = question.asked_strides = True
        return self

    def asked_wholly(self) -> "Layout":
        """The same layout, for a caller that depends on the strides of axes with a single entry, too."""
        for question in self.questions:
            question.asked_single = True
        return self.asked()

    def is_contiguous(self, order: str) -> bool:
        """Whether the elements follow each other with the last ("C") or the first ("F") axis fastest."""
        return self.asked().fills_memory(order)

    def fills_memory(self, order: str) -> bool:
        """The same, for a caller that has already asked."""
        if self.is_row_major and order == "C":
            return True
        strides = self.strides
        if strides is None:
            return False
        step = 1
        pairs = list(zip(self.shape, strides, strict=True))
        for dim, stride in reversed(pairs) if order == "C" else pairs:
            if is_known(dim == 0):
                return True
            if not (is_known(dim == 1) or _follows(stride, step) or guarded_is_one(dim)):
                return any(is_known(d == 0) for d in self.shape)
            step *= dim
        return True

    def without(self, axis: int) -> "Layout":
        """The layout of ``x[i]`` along an axis."""
        if self.is_row_major and axis == 0:
            return row_major(self.shape[1:], self.questions)
        shape = self.shape[:axis] + self.shape[axis + 1 :]
        strides = self.strides
        return Layout(shape, strides and strides[:axis] + strides[axis + 1 :], self.questions)

    def with_length(self, axis: int, length: int) -> "Layout":
        """The same strides with another length of an axis. The order of an axis of length 1 does not count."""
        if self.is_row_major:
            return self
        shape = (*self.shape[:axis], length, *self.shape[axis + 1 :])
        return Layout(shape, self.strides, self.questions)

    def front(self, count: int, behind: int) -> "Layout":
        """The layout of the first axes, followed by axes `behind` that have no order."""
        shape = (*self.shape[:count], *(1,) * behind)
        if self.is_row_major:
            return row_major(shape, self.questions)
        return Layout(shape, self.strides and (*self.strides[:count], *(0,) * behind), self.questions)

    @property
    def is_dense(self) -> bool:
        """Whether the elements fill their memory without gaps, in any order of the axes."""
        if self.is_row_major or self.strides is None:
            return self.is_row_major
        whole = dense_strides(self.shape, elementwise_order(len(self.shape), [self]))
        pairs = zip(self.shape, self.strides, whole, strict=True)
        return all(is_known(dim == 1) or _follows(stride, wanted) for dim, stride, wanted in pairs)


def row_major(shape: Shape, questions: frozenset[LayoutQuestion] = NOTHING_ASKED) -> Layout:
    """The layout of a new array in C order."""
    return Layout(shape, None, questions, is_row_major=True)


def dense(shape: Shape, order: Order, questions: frozenset[LayoutQuestion] = NOTHING_ASKED) -> Layout:
    """The layout of a new array whose axes have this order in memory."""
    if order == tuple(range(len(shape))):
        return row_major(shape, questions)
    return Layout(shape, dense_strides(shape, order), questions, axes=order)


def layout_of(array: Array) -> Layout:
    """The layout of a NumPy array."""
    strides = element_strides(array)
    return (
        row_major(array.shape) if strides == contiguous_strides(array.shape) else Layout(array.shape, strides)
    )


@dataclass(frozen=True, slots=True)
class MemoryOrder:
    """The memory order of an array, independent of its sizes."""

    axes: Order
    strides: Strides = None
    """Strides in elements, if there are gaps; None if the elements follow each other."""
    repeated: Order = ()
    """The axes along which a broadcast array repeats. Ufuncs ignore their order, and copies put them last."""
    single: tuple[tuple[int, int], ...] = ()
    """Axes with a single entry, with their strides if these do not follow from the order."""

    def layout(self, shape: Shape, questions: frozenset[LayoutQuestion]) -> Layout:
        """The layout of an array of this shape."""
        if self.strides is not None:
            return Layout(shape, self.strides, questions)
        if not self.single:
            return dense(shape, self.axes, questions)
        strides = list(dense_strides(shape, self.axes))
        for axis, stride in self.single:
            strides[axis] = stride
        return Layout(shape, tuple(strides), questions)

    def __str__(self) -> str:
        ascending = tuple(range(len(self.axes)))
        names = {ascending[::-1]: "column-major (F order)", ascending: "row-major (C order)"}
        text = names.get(self.axes, f"in the order of axes {self.axes}")
        if self.strides is not None:
            return f"{text} with gaps, strides {self.strides}"
        return text + "".join(f", stride {stride} along axis {axis}" for axis, stride in self.single)


def memory_order(array: Array) -> MemoryOrder | None:
    """The memory order of an array; None for C order."""
    strides = element_strides(array)
    if strides == contiguous_strides(array.shape):
        return None
    layout = Layout(array.shape, strides)
    order = layout.order()
    if layout.is_dense or not array.size:
        pairs = enumerate(zip(strides, dense_strides(array.shape, order), strict=True))
        return MemoryOrder(
            order, single=tuple((axis, found) for axis, (found, usual) in pairs if found != usual)
        )
    repeated = tuple(axis for axis, dim in enumerate(array.shape) if dim > 1 and strides[axis] == 0)
    return MemoryOrder(order, strides, repeated)


def element_strides(array: Array) -> tuple[int, ...]:
    """NumPy's strides in elements."""
    return tuple(stride // array.itemsize for stride in array.strides)


def order_of(array: Array) -> Order:
    """The order of the axes of a NumPy array, as a copy would have it."""
    return copied_order(layout_of(array), "K")


# ---- the layout of results -----------------------------------------------------------------------------


def elementwise_order(ndim: int, operands: Sequence[Layout]) -> Order:
    """The order of the axes of a result of broadcast operands, by the rule of ``numpy.nditer``.

    Axes are compared in pairs. One goes before another if an operand has them in this order. If operands disagree, or
    if none decides, the axes stay in order.
    """
    rows = [_aligned(layout, ndim) for layout in operands]
    inner_first: list[int] = []
    for axis in reversed(range(ndim)):
        place = len(inner_first)
        for other in reversed(range(len(inner_first))):
            verdict = _goes_inside(axis, inner_first[other], rows)
            if verdict is False:
                break
            if verdict:
                place = other
        inner_first.insert(place, axis)
    return tuple(reversed(inner_first))


def joined_order(ndim: int, operands: Sequence[Layout]) -> Order:
    """The order of the axes of ``np.concatenate``: as for a ufunc, but an axis without an order stays in front."""
    rows = [
        [None if is_known(dim == 1) else stride for dim, stride in zip(x.shape, magnitudes(x), strict=True)]
        for x in operands
    ]
    outer_first: list[int] = []
    for axis in range(ndim):
        place = len(outer_first)
        for other in reversed(range(len(outer_first))):
            verdict = _goes_inside(outer_first[other], axis, rows)
            if verdict is False:
                break
            if verdict:
                place = other
        outer_first.insert(place, axis)
    return tuple(outer_first)


def magnitudes(layout: Layout) -> list[int]:
    """Numbers that order the axes by stride; 0 if a stride is 0 or not regular."""
    order = layout.known_axes
    if order is not None and any(isinstance(dim, SymbolicSize) for dim in layout.shape):
        return [len(order) - order.index(axis) for axis in range(len(order))]
    strides = layout.strides or (0,) * len(layout.shape)
    return [-stride if is_known(stride < 0) else stride for stride in strides]


def _at_most(stride: int, other: int) -> bool:
    """Whether a stride is at most another: for all sizes if that is known, otherwise for typical sizes.

    A stride that is never smaller is larger, but for the sizes at which an axis has a single entry.
    """
    if not (isinstance(stride, SymbolicSize) or isinstance(other, SymbolicSize)):
        return stride <= other
    if is_known(stride <= other):
        return True
    return not is_known(stride >= other) and typical(stride) <= typical(other)


def _aligned(layout: Layout, ndim: int) -> list[int | None]:
    """The magnitude of the strides along each axis of the result; None for axes that an operand lacks or repeats."""
    known = [
        None if is_known(stride == 0) or is_known(dim == 1) else stride
        for dim, stride in zip(layout.shape, magnitudes(layout), strict=True)
    ]
    return [None] * (ndim - len(known)) + known


def _goes_inside(axis: int, later: int, rows: Sequence[Sequence[int | None]]) -> bool | None:
    """Whether an axis has smaller strides than a later one; None if no operand decides."""
    verdict: bool | None = None
    for row in rows:
        ours, theirs = row[axis], row[later]
        if ours is not None and theirs is not None:
            if _at_most(theirs, ours):
                return False
            verdict = True
    return verdict


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
        return dense(shape, tuple(range(len(shape)))[::-1], joint_questions(operands))
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
    return dense(shape, elementwise_order(len(shape), layouts), questions)


def layout_of_stacks(shape: Shape, operands: Sequence[Layout]) -> Layout | None:
    """The layout of stacked matrices: the axes of the stack as in a ufunc, then those of each matrix in C order."""
    stacks = [len(layout.shape) - 2 for layout in operands]
    behind = len(shape) - max(stacks, default=0)
    pairs = zip(operands, stacks, strict=True)
    return elementwise_layout(shape, [layout.front(stack, behind) for layout, stack in pairs])


def joint_questions(layouts: Sequence[Layout]) -> frozenset[LayoutQuestion]:
    """The arguments whose layouts the layouts of several arrays depend on."""
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
    if layout.is_dense:
        longer = [axis for axis in order if not is_known(layout.shape[axis] == 1)]
        if longer == sorted(longer):
            return tuple(sorted(order))
        if longer == sorted(longer, reverse=True):
            return tuple(sorted(order, reverse=True))
    return stride_order(layout)


def stride_order(layout: Layout) -> Order:
    """The axes from the largest stride to the smallest, including those of length 1."""
    strides = magnitudes(layout)
    if any(is_known(dim == 1) for dim in layout.shape):
        layout.asked_wholly()
    elif 0 in strides:
        layout.asked()
    inner_last: list[int] = []
    for axis in range(len(layout.shape)):
        place = sum(_at_most(strides[axis], strides[other]) for other in inner_last)
        inner_last.insert(place, axis)
    return tuple(inner_last)


# ---- strides -------------------------------------------------------------------------------------------


def contiguous_strides(shape: Shape) -> tuple[int, ...]:
    """The strides of a new row-major array, as in NumPy: all 0 if there are no elements."""
    return (0,) * len(shape) if _is_empty(shape) else filled_strides(shape)


def filled_strides(shape: Shape) -> tuple[int, ...]:
    """The strides of a row-major view in another shape. Lengths of 0 count as 1."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        dim = shape[axis + 1]
        strides[axis] = strides[axis + 1] * (1 if type(dim) is int and dim == 0 else dim)
    return tuple(strides)


def _is_empty(shape: Shape) -> bool:
    """Whether an axis is known to have the length 0."""
    return any(type(dim) is int and dim == 0 for dim in shape)


def dense_strides(shape: Shape, order: Order) -> tuple[int, ...]:
    """The strides of a new array whose axes have this order in memory."""
    strides = [0] * len(shape)
    in_memory = contiguous_strides(tuple(shape[axis] for axis in order))
    for axis, stride in zip(order, in_memory, strict=True):
        strides[axis] = stride
    return tuple(strides)


def reshaped_strides(
    shape: Shape, strides: Sequence[int], new: Shape, order: Literal["C", "F"] = "C"
) -> Strides:
    """The strides of a reshape without a copy, with the last or the first axis fastest; None if NumPy must copy.

    Axes of the old and the new shape are matched in groups of equal size; within a group the old axes
    must follow each other in memory. Old axes of length 1 do not count. If this is not a view for all named sizes,
    guards say which of them are 1, or equal, in the current call.
    """
    if any(is_known(dim == 0) for dim in new):
        return filled_strides(new)
    old = [(dim, stride) for dim, stride in zip(shape, strides, strict=True) if not is_known(dim == 1)]
    found = _regrouped(old, new, order)
    if found is None:
        old = [(dim, stride) for dim, stride in old if not guarded_is_one(dim)]
        found = _regrouped(old, new, order, are_equal=guarded_is_equal)
    return found


def _regrouped(
    old: Sequence[tuple[int, int]],
    new: Shape,
    order: Literal["C", "F"],
    are_equal: Callable[[Any, Any], bool] = lambda one, other: is_known(one == other),
) -> Strides:
    """The strides of a reshape of axes that are given as pairs of length and stride."""
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
        while not are_equal(size_old, size_new) and (at < len(old) or pending):
            if not pending or (at < len(old) and typical(size_old) < typical(size_new)):
                group_old.append(old[at])
                size_old *= old[at][0]
                at += 1
            else:
                size_new *= pending[0]
                group_new.append(pending.pop(0))
        if order == "F":
            group_old.reverse()
        if not all(_follows(outer[1], inner[1] * inner[0]) for outer, inner in pairwise(group_old)):
            return None
        if group_old:
            fastest = group_old[-1][1]
        elif order == "F" and result:
            fastest = result[-1] * new[len(result) - 1]
        else:
            fastest = result[-1] if result else 1
        if order == "C" or not group_old:
            steps = contiguous_strides(tuple(group_new))
        else:
            steps = contiguous_strides(tuple(reversed(group_new)))[::-1]
        result += [fastest * step for step in steps]
    return tuple(result)


def _follows(stride: int, extent: int) -> bool:
    """Whether an axis continues where the next one ends. With a gap of known width, that may need a guard.

    So it does for neighbours whose distance is 1 only at some sizes, as along the columns of a part with one row.
    """
    if isinstance(extent, SymbolicSize) != isinstance(stride, SymbolicSize):
        return bool(extent == stride)
    return is_known(stride == extent)
