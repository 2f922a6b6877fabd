"""`Layout`: the shape and the strides of an array, and the order of its axes in memory."""

from collections.abc import Sequence

from ..dtypes import Array
from ..ir import Shape
from ..symbolic_size import SymbolicSize, guarded_is_one, is_known, typical
from .strides import Order, Strides, contiguous_strides, continues_axis, dense_strides, element_strides


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
            if not (is_known(dim == 1) or continues_axis(stride, step) or guarded_is_one(dim)):
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
        return all(is_known(dim == 1) or continues_axis(stride, wanted) for dim, stride, wanted in pairs)


def row_major(shape: Shape, questions: frozenset[LayoutQuestion] = NOTHING_ASKED) -> Layout:
    """The layout of a new array in C order."""
    return Layout(shape, None, questions, is_row_major=True)


def dense_layout(shape: Shape, order: Order, questions: frozenset[LayoutQuestion] = NOTHING_ASKED) -> Layout:
    """The layout of a new array whose axes have this order in memory."""
    if order == tuple(range(len(shape))):
        return row_major(shape, questions)
    return Layout(shape, dense_strides(shape, order), questions, axes=order)


def layout_of(array: Array) -> Layout:
    """The layout of a NumPy array."""
    if array.flags.c_contiguous and not {0, 1}.intersection(array.shape):
        return row_major(array.shape)
    strides = element_strides(array)
    return (
        row_major(array.shape) if strides == contiguous_strides(array.shape) else Layout(array.shape, strides)
    )


# ---- the order of axes ---------------------------------------------------------------------------------


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


def at_most(stride: int, other: int) -> bool:
    """Whether a stride is at most another: for all sizes if that is known, otherwise for typical sizes.

    A stride that is never smaller counts as larger: they are equal only at sizes at which an axis has a single entry.
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
            if at_most(theirs, ours):
                return False
            verdict = True
    return verdict
