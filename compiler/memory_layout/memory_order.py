"""`MemoryOrder`: the memory order of an argument, independent of its sizes."""

from dataclasses import dataclass

from ..dtypes import Array
from ..ir import Shape
from .layout import Layout, LayoutQuestion, dense_layout
from .strides import Order, Strides, contiguous_strides, dense_strides, element_strides


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
            return dense_layout(shape, self.axes, questions)
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
