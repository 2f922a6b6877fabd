"""Changing shape and the order of axes, as a view wherever NumPy returns one."""

import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arguments.axes import normalize_axes, normalize_axis
from ...errors import ArgumentValueError, ShapeError, UnsupportedFunctionError
from ...ir import Shape
from ...nesting import shown
from ...symbolic_size import (
    assume,
    broadcasts,
    is_known,
    is_symbolic_shape,
    joint_shape,
    quotient,
    remainder,
    same_shape,
)
from ...tracing.registry import constructs, implements, method
from ...tracing.traced_array import TracedArray, wrap
from ...tracing.traced_memory import is_numpy_array
from ...tracing.views import Broadcast, ReadOnly, Reshape, SelectAxes, Transpose, View, Windows
from ...value_ops import reshape as reshape_value
from ..ufuncs.ufunc_calls import as_array, target_of
from .constructors import as_shape, copied, new_array


def view_of(array: TracedArray, *views: View) -> TracedArray:
    """`array` viewed through `views`. A scalar has no memory to share: the result is a view of a copy, or a scalar if
    0-d."""
    if not array.is_scalar:
        return array.through(*views)
    value = array.value
    for step in views:
        value = step.read(value)
    return wrap(value).through() if value.ndim else wrap(value)


# ---- the order of axes -------------------------------------------------------------------------------


@implements(np.transpose)
def transpose(a: Any, axes: Any = None) -> TracedArray:
    array = as_array(a)
    order = tuple(reversed(range(array.ndim))) if axes is None else normalize_axes(axes, array.ndim, "axes")
    if len(order) != array.ndim:
        raise ShapeError(f"axes {tuple(order)} do not name each axis of an array of dimension {array.ndim}")
    return view_of(array, Transpose(order))


@method("transpose")
def transpose_method(a: TracedArray, *axes: Any) -> TracedArray:
    """``x.transpose(1, 0)``, ``x.transpose((1, 0))`` and ``x.transpose()``."""
    if not axes:
        return transpose(a)
    return transpose(a, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes)


@implements(np.matrix_transpose)
def matrix_transpose(x: Any, /) -> TracedArray:
    array = as_array(x)
    if array.ndim < 2:
        raise ShapeError(f"the matrix transpose of an array needs 2 dimensions or more, not {array.ndim}")
    return swapaxes(array, -1, -2)


@implements(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> TracedArray:
    array = as_array(a)
    first, second = (normalize_axis(axis, array.ndim, f"axis{i}") for i, axis in enumerate((axis1, axis2), 1))
    order = list(range(array.ndim))
    order[first], order[second] = second, first
    return view_of(array, Transpose(tuple(order)))


@implements(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> TracedArray:
    array = as_array(a)
    sources = normalize_axes(source, array.ndim, "source")
    places = normalize_axes(destination, array.ndim, "destination")
    if len(sources) != len(places):
        raise ShapeError("source and destination must have the same number of axes")
    order = [axis for axis in range(array.ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return view_of(array, Transpose(tuple(order)))


@implements(np.rollaxis)
def rollaxis(a: Any, axis: int, start: int = 0) -> TracedArray:
    """Move `axis` back until it is before `start`."""
    array = as_array(a)
    moved = normalize_axis(axis, array.ndim)
    place = operator.index(start)
    place += array.ndim if place < 0 else 0
    if not 0 <= place <= array.ndim:
        raise ShapeError(f"start={start} is out of bounds for an array of dimension {array.ndim}")
    order = [one for one in range(array.ndim) if one != moved]
    order.insert(place - (moved < place), moved)
    return view_of(array, Transpose(tuple(order)))


# ---- another shape -----------------------------------------------------------------------------------


@implements(np.reshape)
def reshape(a: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> TracedArray:
    """A view if the strides allow one (or an error with ``copy=False``), else a copy."""
    array = as_array(a)
    wanted = completed_shape(as_shape(shape), array.shape)
    if order not in ("C", "F", "A"):
        raise ArgumentValueError(f"order must be 'C', 'F' or 'A', not {shown(order)}")
    is_completed = any(type(dim) is int and dim == -1 for dim in as_shape(shape))
    in_columns = _is_column_major(array, order)
    view = Reshape(wanted, "F" if in_columns else "C", is_completed)
    if array.is_scalar:
        return view_of(array, view)
    can_view = view.layout(array.layout.asked()).strides is not None
    if copy is False and not can_view:
        raise ShapeError("this reshape needs a copy, which copy=False forbids")
    if can_view and not copy:
        return array.through(view)
    return copied(array.value, array, view.order).through(view)


@method("reshape")
def reshape_method(a: TracedArray, *shape: Any, order: str = "C", copy: bool | None = None) -> TracedArray:
    """``x.reshape(2, 3)`` and ``x.reshape((2, 3))``."""
    return reshape(a, shape[0] if len(shape) == 1 else shape, order, copy=copy)


def completed_shape(shape: Shape, given: Shape) -> Shape:
    """The shape with its negative length, if there is one, replaced by the rest of the size of the `given` shape."""
    if is_symbolic_shape(shape) or is_symbolic_shape(given):
        return _completed_symbolic(shape, given)
    size = math.prod(given)
    known = math.prod(dim for dim in shape if dim >= 0)
    if sum(dim < 0 for dim in shape) > 1:
        raise ShapeError("can only specify one unknown dimension")
    full = tuple(size // known if dim < 0 and known else dim for dim in shape)
    if min(full, default=0) < 0 or math.prod(full) != size:
        raise ShapeError(f"cannot reshape array of size {size} into shape {_shape_text(shape)}")
    return full


def _shape_text(shape: Shape) -> str:
    """The shape in NumPy's message, which leaves out a negative length at the start."""
    entries = itertools.dropwhile(lambda dim: dim < 0, shape)
    text = ",".join("newaxis" if dim < 0 else str(dim) for dim in entries)
    return f"({text},)" if len(shape) == 1 else f"({text})"


def _completed_symbolic(shape: Shape, given: Shape) -> Shape:
    """Like `completed_shape`. Equal lengths are removed first, so that comparisons involve few sizes."""
    unknown = [axis for axis, dim in enumerate(shape) if type(dim) is int and dim < 0]
    left, asked = _without_shared(given, [dim for axis, dim in enumerate(shape) if axis not in unknown])
    size, known = math.prod(left), math.prod(asked)
    fits = len(unknown) <= 1 and all(dim >= 0 for dim in asked)
    if fits and unknown:  # beside a length of 0, -1 may be anything: an error if a call has such a length
        fits = assume(known != 0) or not assume(known == 0)
        fits = fits and bool(remainder(size, known) == 0)
        shape = (*shape[: unknown[0]], quotient(size, known), *shape[unknown[0] + 1 :])
    elif fits:
        fits = bool(size == known)
    if not fits:
        raise ShapeError(f"cannot reshape an array of shape {given} into shape {tuple(shape)}")
    return shape


def _without_shared(given: Sequence[Any], asked: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Both without the symbolic lengths that occur in both, which are nonzero or leave nothing to do."""
    left, rest = list(given), []
    for dim in asked:
        place = next((i for i, other in enumerate(left) if other is dim and is_known(dim != 0)), None)
        if place is None:
            rest.append(dim)
        else:
            del left[place]
    return left, rest


def _is_column_major(array: TracedArray, order: str) -> bool:
    """Order "A" means "F" for column-major arrays, otherwise "C"."""
    layout = array.layout
    return order == "F" or (order == "A" and layout.is_contiguous("F") and not layout.is_contiguous("C"))


@implements(np.ravel)
def ravel(a: Any, order: str = "C") -> TracedArray:
    """All elements in one axis: a view of a contiguous array, otherwise a copy."""
    array = as_array(a)
    if order == "K":
        array = transpose(array, array.layout.order())
    elif _is_column_major(array, order):
        array = transpose(array)
    return reshape(array, -1) if array.layout.is_contiguous("C") else flatten(array)


@method("flatten")
def flatten(a: TracedArray, order: str = "C") -> TracedArray:
    """All elements in one axis, always as a copy."""
    if order == "K":
        a = transpose(a, a.layout.order())
    elif _is_column_major(a, order):
        a = transpose(a)
    value = a.value
    return new_array(reshape_value(value, (a.size,)))


@implements(np.squeeze)
def squeeze(a: Any, axis: Any = None) -> TracedArray:
    array = as_array(a)
    if axis is None:
        axes = tuple(i for i, dim in enumerate(array.shape) if dim == 1)
    else:
        axes = normalize_axes(axis, array.ndim)
    if any(array.shape[i] != 1 for i in axes):
        raise ShapeError(f"cannot squeeze axis {axis} of shape {array.shape}: its length is not 1")
    if not axes and not array.is_scalar:
        return array
    kept = tuple(i for i in range(array.ndim) if i not in axes)
    return view_of(array, SelectAxes(tuple(array.shape[i] for i in kept), kept))


@implements(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> TracedArray:
    array = as_array(a)
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    axes = normalize_axes(axis, array.ndim + count)
    rest = iter(array.shape)
    return view_of(array, Reshape(tuple(1 if i in axes else next(rest) for i in range(array.ndim + count))))


def _at_least(ndim: int, function: Any, sources: Sequence[tuple[int | None, ...]]) -> None:
    """``atleast_nd``: an array with enough dimensions is returned unchanged.

    `sources` gives the axes of the result by the number of axes: existing and new ones.
    """

    def seen(array: TracedArray) -> TracedArray:
        if array.ndim >= ndim:
            return array
        axes = sources[array.ndim]
        shape = tuple(1 if axis is None else array.shape[axis] for axis in axes)
        return view_of(array, SelectAxes(shape, axes) if array.ndim else Reshape(shape))

    @implements(function)
    def atleast(*arrays: Any) -> Any:
        results = tuple(map(seen, map(as_array, arrays)))
        return results[0] if len(results) == 1 else results


_at_least(1, np.atleast_1d, [(None,)])
_at_least(2, np.atleast_2d, [(None, None), (None, 0)])
_at_least(3, np.atleast_3d, [(None, None, None), (None, 0, None), (0, 1, None)])


# ---- broadcasting ------------------------------------------------------------------------------------


@implements(np.broadcast_to)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> TracedArray:
    """A read-only view."""
    source = as_array(array)
    wanted = as_shape(shape)
    lead = len(wanted) - source.ndim
    if lead < 0 or not all(broadcasts(a, b) for a, b in zip(source.shape, wanted[lead:], strict=True)):
        raise ShapeError(f"an array of shape {source.shape} does not broadcast to {wanted}")
    return source.through(Broadcast(wanted))


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[TracedArray, ...]:
    arrays = [target_of(x) if is_numpy_array(x) else as_array(x) for x in args]
    shape = broadcast_shape(*[array.shape for array in arrays])
    return tuple(_broadcast_with_others(array, shape) for array in arrays)


def _broadcast_with_others(array: TracedArray, shape: Shape) -> TracedArray:
    """An array of this shape is returned unchanged."""
    if not same_shape(array.shape, shape):
        return array.through(Broadcast(shape, flagged_writeable=True))
    return new_array(array.value) if array.is_scalar else array


def broadcast_shape(*shapes: Shape) -> Shape:
    """The shape to which all broadcast; raises `ShapeError` if there is none."""
    shape = joint_shape(*shapes) if shapes else ()
    if shape is None:
        raise ShapeError(f"shapes {', '.join(map(str, shapes))} do not broadcast")
    return shape


_numpy_broadcast_shapes = np.broadcast_shapes


@constructs("broadcast_shapes")
def broadcast_shapes(*args: Any) -> Shape:
    """The shape to which all broadcast: a tuple, of sizes where these are symbolic."""
    shapes = [as_shape(shape) for shape in args]
    return broadcast_shape(*shapes) if any(map(is_symbolic_shape, shapes)) else _numpy_broadcast_shapes(*args)


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> TracedArray:
    """All windows of an array: their positions along the axes, then, as last axes, the entries of each."""
    array = as_array(x)
    lengths = as_shape(window_shape)
    axes = (
        tuple(range(array.ndim))
        if axis is None
        else tuple(normalize_axis(i, array.ndim) for i in np.atleast_1d(axis).tolist())
    )
    if len(lengths) != len(axes):
        raise ShapeError(
            f"sliding_window_view needs one window length for each of the axes {axes}, not {lengths}"
        )
    if writeable:
        raise UnsupportedFunctionError("a sliding_window_view that can be written to cannot be traced")
    views: list[View] = []
    shape = list(array.shape)
    for length, along in zip(lengths, axes, strict=True):
        shape[along] += 1 - length
        if length < 0 or shape[along] <= 0:
            raise ShapeError(
                f"a window of {length} does not fit into an axis of length {shape[along] + length - 1}"
            )
        views.append(Windows(along, length))
    return view_of(array, *views, ReadOnly())
