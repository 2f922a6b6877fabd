"""NumPy's indexing, from an index expression to views and at most one `Gather`."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..builder import bind
from ..callers.user_code import user_location
from ..dtypes import INT64
from ..errors import ArgumentValueError, OutOfBoundsError
from ..ir import Shape, Value
from ..memory_layout.layout import Layout, dense_layout
from ..memory_layout.result_layouts import stride_order
from ..symbolic_size import (
    SymbolicSize,
    assume,
    guarded_max,
    guarded_min,
    is_empty,
    is_known,
    joint_shape,
    max_expr,
    same_shape,
)
from ..value_ops import (
    broadcast_to,
    constant,
    full,
    inverse_permutation,
    number,
    reshape,
    transpose,
    where,
)
from .index_checks import check_index, checked_place, fails_when_run, in_range, wrap_index
from .trace import Storage, require_trace
from .value_lengths import computed_slice, depends_on_values, positions
from .views import ComputedSlice, Flip, Reshape, SelectAxes, Slice, View


@dataclass(frozen=True, slots=True)
class Gather:
    """``x[i, j, …]`` with integer arrays along some axes. The axes of these arrays start at `place` in the result."""

    indices: tuple[Storage, ...]
    axes: tuple[int, ...]
    place: int

    def values(self) -> tuple[Value, ...]:
        trace = require_trace()
        return tuple(trace.shadow(index).value for index in self.indices)

    def index_ndim(self) -> int:
        return max(index.value.ndim for index in self.indices)

    def read(self, of: Value) -> Value:
        if self._is_outside(of):
            places = joint_shape(*(index.value.shape for index in self.indices)) or ()
            rest = [dim for axis, dim in enumerate(of.shape) if axis not in self.axes]
            found = full((*places, *rest), 0, of.dtype)
            return transpose(found, self._order(found.ndim))
        found = bind("gather", of, *self.values(), axes=self.axes)
        return transpose(found, self._order(found.ndim))

    def write(self, of: Value, new: Value) -> Value:
        return self.combine(of, new, "set")

    def combine(self, of: Value, new: Value, mode: str) -> Value:
        """`of` with `new` set, added, … at these places."""
        if self._is_outside(of):
            return of
        updates = transpose(new, inverse_permutation(self._order(new.ndim)))
        return bind("scatter", of, updates, *self.values(), axes=self.axes, mode=mode)

    def _is_outside(self, of: Value) -> bool:
        """Whether every index is out of bounds, because an axis has no entries, in a branch that may not run.

        What such a branch reads does not matter: either it does not run, or the check of the index fails.
        """
        if not require_trace().may_not_run:
            return False
        shapes = [index.value.shape for index in self.indices]
        return any(is_empty(of.shape[axis : axis + 1]) for axis in self.axes) and not any(
            map(is_empty, shapes)
        )

    def layout(self, of: Layout) -> Layout:
        """Not supported: in NumPy, this is a copy."""
        return Layout((), None, of.questions)

    def copied(self, of: Layout, shape: Shape) -> Layout | None:
        """The layout of the copy: the axes of the index arrays vary slowest, then the others in their own order."""
        count = self.index_ndim()
        if not count or (of.is_row_major and not of.questions and self.place == 0):
            return None
        rest = [axis for axis in stride_order(of) if axis not in self.axes]
        kept = sorted(rest)
        behind = self._order(len(shape))
        order = (*range(count), *(count + kept.index(axis) for axis in rest))
        return dense_layout(shape, tuple(behind.index(axis) for axis in order), of.questions)

    def _order(self, ndim: int) -> list[int]:
        """The source of each axis of the result, if the index axes come first."""
        count = self.index_ndim()
        rest = list(range(count, ndim))
        return [*rest[: self.place], *range(count), *rest[self.place :]]


@dataclass(frozen=True, slots=True)
class Selection:
    """An analysed index: views to apply in order, then perhaps a gather, then perhaps a mask."""

    views: tuple[View, ...]
    gather: Gather | None = None
    is_copy: bool = False
    """Integer arrays and masks select copies; integers and slices select views."""
    is_element: bool = False
    """Every axis has an integer: NumPy gives a scalar."""


@dataclass(slots=True)
class _Plan:
    """The parts of a selection while walking over the index."""

    start: list[int] = field(default_factory=list)
    stop: list[int] = field(default_factory=list)
    step: list[int] = field(default_factory=list)
    flips: list[int] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    """Lengths of the axes after slicing, dropping integers and inserting new axes."""
    sources: list[int | None] = field(default_factory=list)
    """The axis of the array for each of those; None for new ones."""
    arrays: list[Value] = field(default_factory=list)
    array_axes: list[int] = field(default_factory=list)
    """The kept axes that integer arrays select from."""
    computed: list[ComputedSlice] = field(default_factory=list)
    """Slices that begin or end at computed places."""
    array_places: list[int] = field(default_factory=list)
    """The place of each integer array in the index expression."""

    def take_slice(self, dim: int, index: slice) -> None:
        if isinstance(index.start, Value) or isinstance(index.stop, Value):
            self._take_computed(dim, index)
            return
        if isinstance(dim, SymbolicSize) or any(
            isinstance(end, SymbolicSize) for end in (index.start, index.stop, index.step)
        ):
            self._take_symbolic(dim, index)
            return
        start, stop, step = index.indices(dim)
        count = len(range(start, stop, step))
        if count == 0:
            start, stop, step = 0, 0, 1
        elif step < 0:
            start, stop, step = start + (count - 1) * step, start + 1, -step
            self.flips.append(len(self.start))
        else:
            stop = start + (count - 1) * step + 1
        self.keep(count, len(self.start))
        self._take(start, stop, step)

    def _take_symbolic(self, dim: Any, index: slice) -> None:
        """As `take_slice`, asking what decides where the slice begins and ends."""
        step = 1 if index.step is None else operator.index(index.step)
        if step == 0:
            raise ArgumentValueError("slice step cannot be zero", user_location())
        if _is_always_empty(index, step):
            self.keep(0, len(self.start))
            self._take(0, 0, 1)
            return
        if step > 0:
            start, stop = _first(index.start, dim), _within(index.stop, dim, dim, 0, dim)
            if not assume(start <= stop):
                start, stop, step = (
                    (0, 0, 1) if assume(stop < start) else (start, max_expr(start, stop), step)
                )
        else:
            last = _within(index.start, dim - 1, dim, -1, dim - 1)
            before = _within(index.stop, -1, dim, -1, dim - 1)
            step = -step
            count = (last - before + step - 1) // step
            start, stop = last - (count - 1) * step, last + 1
            if not (before <= last if step == 1 else before < last):
                start, stop, step = 0, 0, 1
            self.flips.append(len(self.start))
        self.keep((stop - start + step - 1) // step, len(self.start))
        self._take(start, stop, step)

    def _take_computed(self, dim: int, index: slice) -> None:
        step = 1 if index.step is None else operator.index(index.step)
        if step == 0:
            raise ArgumentValueError("slice step cannot be zero", user_location())
        axis = len(self.start)
        start, length = computed_slice(index.start, index.stop, step, dim)
        self.computed.append(ComputedSlice(axis, require_trace().new_storage(start), length, step))
        self.keep(length, axis)
        self._take(0, dim, 1)

    def take_integer(self, index: int) -> None:
        self._take(index, index + 1, 1)

    def take_array(self, dim: int, index: Value, place: int) -> None:
        source = len(self.start)
        self._take(0, dim, 1)
        self.index_next(dim, index, place, source)

    def index_next(self, dim: int, index: Value, place: int, source: int | None = None) -> None:
        """The next kept axis, of length `dim`, is indexed by an array."""
        self.arrays.append(index)
        self.array_axes.append(len(self.kept))
        self.array_places.append(place)
        self.keep(dim, source)

    def keep(self, dim: int, source: int | None) -> None:
        """The result has an axis of this length, which is an axis of the array, or new."""
        self.kept.append(dim)
        self.sources.append(source)

    def _take(self, start: int, stop: int, step: int) -> None:
        self.start.append(start)
        self.stop.append(stop)
        self.step.append(step)

    def views(self, shape: Shape) -> tuple[View, ...]:
        views: list[View] = []
        sliced = tuple((b - a + s - 1) // s for a, b, s in zip(self.start, self.stop, self.step, strict=True))
        if not same_shape(sliced, shape) or not same_shape(self.step, (1,) * len(shape)):
            views.append(Slice(tuple(self.start), tuple(self.stop), tuple(self.step)))
        if self.flips:
            views.append(Flip(tuple(self.flips)))
        for computed in self.computed:
            views.append(computed)
            sliced = (*sliced[: computed.axis], computed.length, *sliced[computed.axis + 1 :])
        if not same_shape(self.kept, sliced):
            views.append(SelectAxes(tuple(self.kept), tuple(self.sources)))
        return tuple(views)

    def gather(self) -> Gather | None:
        if not self.arrays:
            return None
        shapes = [index.shape for index in self.arrays]
        if joint_shape(*shapes) is None:
            raise OutOfBoundsError(
                f"index arrays of shapes {', '.join(map(str, shapes))} do not broadcast", user_location()
            )
        adjacent = self.array_places[-1] - self.array_places[0] == len(self.array_places) - 1
        trace = require_trace()
        storages = tuple(trace.new_storage(index) for index in self.arrays)
        return Gather(storages, tuple(self.array_axes), self.array_axes[0] if adjacent else 0)


def select(shape: Shape, index: Sequence[Any]) -> Selection:
    """What ``x[index]`` means for an array of `shape`.

    `index` holds ints, slices, None, Ellipsis and values of integer or bool dtype.
    """
    whole = shape
    shape, items = _with_flat_masks(shape, _expand_masks(shape, _expand_ellipsis(shape, index)))
    places = [item.shape for item in items if isinstance(item, Value) and item.dtype.kind != "b"]
    has_array = any(isinstance(item, Value) and (item.ndim or item.dtype.kind == "b") for item in items)
    is_element = (bool(index) or not shape) and all(
        isinstance(i, (int, SymbolicSize)) or (isinstance(i, Value) and i.ndim == 0) for i in items
    )
    plan = _Plan()
    axis = 0
    for place, item in enumerate(items):
        if item is None:
            plan.keep(1, None)
            continue
        if item is Ellipsis:
            continue
        if isinstance(item, Value) and item.dtype.kind == "b":  # of no axes: a new axis of length 0 or 1
            plan.index_next(1, _places_in_new_axis(item), place)
            continue
        dim = shape[axis]
        if isinstance(item, slice):
            plan.take_slice(dim, item)
        elif isinstance(item, Value):
            plan.take_array(dim, wrap_index(item, dim, axis, places), place)
        elif fails_when_run(item, dim):
            check_index(constant(item, INT64), dim, axis)
            plan.take_array(dim, constant(0, INT64), place)
        elif is_element and depends_on_values(dim) and not is_known(dim >= 1):
            plan.take_array(dim, checked_place(item, dim, axis), place)
        elif has_array:
            plan.take_array(dim, number(in_range(item, dim, axis), INT64), place)
        else:
            plan.take_integer(in_range(item, dim, axis))
        axis += 1
    written = any(item is Ellipsis for item in index)
    views = plan.views(shape) if len(shape) == len(whole) else (Reshape(shape), *plan.views(shape))
    return Selection(views, plan.gather(), has_array, is_element and not written)


def _is_always_empty(index: slice, step: int) -> bool:
    """Whether a slice is empty for all lengths of the axis, because both ends are counted from the same side."""
    low, high = (index.start, index.stop) if step > 0 else (index.stop, index.start)
    if step > 0 and high is not None and is_known(high == 0):
        return True
    if low is None or high is None or not is_known(high <= low):
        return False
    return is_known(high >= 0) or is_known(low < 0)


def _first(start: Any, dim: Any) -> Any:
    """Where a slice begins, from the front. Of lengths that the program finds out, what is left has the shortest form:
    ``max(n - 1, 0)`` for ``x[1:]``, as for ``x[:-1]``."""
    if type(start) is int and start > 0 and depends_on_values(dim) and not is_known(dim >= start):
        return dim - max_expr(dim - start, 0)
    return _within(start, 0, dim, 0, dim)


def _within(end: Any, default: Any, dim: Any, low: Any, high: Any) -> Any:
    """An end of a slice, counted from the front, moved into [low, high]."""
    if end is None:
        return default
    if not end >= 0:
        return guarded_max(end + dim, low)
    return guarded_min(end, high)


def _consumed(item: Any) -> int:
    """The number of axes of the array that an item of the index selects from."""
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if isinstance(item, Value) and item.dtype.kind == "b" else 1


def _expand_ellipsis(shape: Shape, index: Sequence[Any]) -> list[Any]:
    """The index with full slices for the ellipsis or at the end, so that every axis is named."""
    items = list(index)
    missing = len(shape) - sum(map(_consumed, items))
    if missing < 0:
        raise OutOfBoundsError(
            f"too many indices: the array has {len(shape)} axes, {len(shape) - missing} were indexed",
            user_location(),
        )
    dots = [place for place, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise OutOfBoundsError("an index can have only one ellipsis ('...')", user_location())
    if dots and not missing:
        return items  # the ellipsis stays: it stands for no axis, but separates the arrays beside it
    at = dots[0] if dots else len(items)
    return [*items[:at], *[slice(None)] * missing, *items[at + len(dots) :]]


def _expand_masks(shape: Shape, items: Sequence[Any]) -> list[Any]:
    """Replace masks with known values by integer arrays, as NumPy does."""
    expanded: list[Any] = []
    axis = 0
    for item in items:
        if isinstance(item, Value) and item.dtype.kind == "b" and item.ndim:
            expected = shape[axis : axis + item.ndim]
            if _selects_nothing(item.shape, expected):
                expanded += [constant(np.zeros(0, np.int64), INT64)] * item.ndim
                axis += item.ndim
                continue
            if item.shape != expected:
                raise OutOfBoundsError(
                    f"a mask of shape {item.shape} does not match the axes {expected} that it indexes",
                    user_location(),
                )
            known = require_trace().concrete(item)
            expanded += [item] if known is None else [constant(one, INT64) for one in known.nonzero()]
        else:
            expanded.append(item)
        axis += _consumed(item)
    return expanded


def _selects_nothing(mask: Shape, expected: Shape) -> bool:
    """Whether a mask has an axis of length 0, which NumPy takes for an axis of any length."""
    fits = [is_known(own == 0) or own == other for own, other in zip(mask, expected, strict=True)]
    return all(fits) and any(is_known(own == 0) for own in mask)


def _places_in_new_axis(mask: Value) -> Value:
    """A mask without axes, as a selection from a new axis of length 1: its entry, or nothing."""
    known = require_trace().concrete(mask)
    return positions(reshape(mask, (1,))) if known is None else constant(np.zeros(int(known), np.int64))


def _with_flat_masks(shape: Shape, items: Sequence[Any]) -> tuple[Shape, list[Any]]:
    """Replace masks with unknown values by places in one axis. The axes that such a mask spans are merged."""
    flat: list[Any] = []
    sizes = list(shape)
    axis = 0
    for item in items:
        if isinstance(item, Value) and item.dtype.kind == "b" and item.ndim:
            sizes[axis : axis + item.ndim] = [item.type.size]
            flat.append(positions(reshape(item, (item.type.size,))))
            axis += 1
        else:
            flat.append(item)
            axis += _consumed(item)
    return tuple(sizes), flat


@dataclass(frozen=True, slots=True)
class MaskedPart:
    """A part of an array that a mask selects from: ``x[0, mask]``. A write to it works with an unknown mask."""

    views: tuple[View, ...]
    mask: Value
    rows: int
    """The number of axes of the part after those of the mask."""

    def written(self, part: Value, update: Value) -> Value:
        """The part with `update`, which has the shape of one row, in each row where the mask is true."""
        row = part.shape[part.ndim - self.rows :]
        while update.ndim > self.rows:
            update = reshape(update, update.shape[1:])
        aligned = reshape(self.mask, (*self.mask.shape, *(1,) * self.rows))
        return where(aligned, broadcast_to(broadcast_to(update, row), part.shape), part)


def masked_part(shape: Shape, index: Sequence[Any], update: Value) -> MaskedPart | None:
    """The part that ``x[index] = update`` writes to, if a mask is its only array and `update` fits each row."""
    arrays = [i for i in index if isinstance(i, Value) and (i.ndim or i.dtype.kind == "b")]
    if len(arrays) != 1 or arrays[0].dtype.kind != "b":
        return None
    (mask,) = arrays
    items = _expand_ellipsis(shape, index)
    place = next(i for i, item in enumerate(items) if item is mask)
    axis = sum(map(_consumed, items[:place]))
    rows = sum(1 for item in items[place + 1 :] if item is None or isinstance(item, slice))
    repeated = update.shape[: max(update.ndim - rows, 0)]
    same_for_all = all(is_known(dim == 1) if depends_on_values(dim) else dim == 1 for dim in repeated)
    if mask.shape != shape[axis : axis + mask.ndim] or not same_for_all:
        return None
    slices = (slice(None),) * mask.ndim
    return MaskedPart(select(shape, [*items[:place], *slices, *items[place + 1 :]]).views, mask, rows)
