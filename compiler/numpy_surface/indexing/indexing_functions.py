"""Indexing routines: taking, putting and choosing entries; positions of entries."""

import math
from contextlib import nullcontext
from functools import reduce
from itertools import accumulate
from operator import mul
from typing import Any

import numpy as np

from ...arguments.axes import normalize_axis
from ...dtypes import INT64, DType
from ...errors import (
    ArgumentTypeError,
    ArgumentValueError,
    DTypeError,
    IndexTypeError,
    OutOfBoundsError,
    ReadOnlyError,
    ShapeError,
)
from ...ir import Shape, Value
from ...nesting import shown
from ...ops.installed_numpy import TAKE_READS_OUT, WHERE_CHECKS_PYTHON_NUMBERS
from ...symbolic_size import is_empty, is_known, is_symbolic_shape, max_expr, min_expr
from ...tracing.array_values import as_value, check_fits, weak_or_dtype, written_value
from ...tracing.index_checks import unchecked
from ...tracing.registry import implements, method
from ...tracing.traced_array import TracedArray, wrap
from ...tracing.traced_memory import contains_traced
from ...tracing.value_lengths import is_nothing
from ...tracing.views import Reshape
from ...value_ops import (
    add,
    broadcast_to,
    concatenate,
    constant,
    convert,
    elementwise,
    equal,
    full,
    iota,
    multiply,
    nonzero_mask,
    number,
    reshape,
    transpose,
    where,
)
from ..arrays.constructors import as_shape, constants_of, constructs_constants, new_array
from ..arrays.editing import recycled
from ..arrays.reshaping import broadcast_shape, ravel, view_of
from ..arrays.selected_positions import along_each_axis, positions_of_nonzero
from ..ufuncs.ufunc_calls import as_array, target_of, write_out
from ..ufuncs.value_checks import refuse_values

constructs_constants("mask_indices", "ix_")


def as_positions(indices: Any) -> Value:
    """Indices as int64; raises `DTypeError` unless they are integers or bools (0 and 1)."""
    value = as_value(
        np.asarray(indices, np.intp) if isinstance(indices, (list, tuple)) and not indices else indices
    )
    if value.dtype.kind not in "iub":
        raise DTypeError(f"indices must be integers, not {value.type}")
    return convert(value, INT64)


def _check_safe(name: str, indices: Any) -> None:
    """Raises `DTypeError` if the indices are an array of a dtype that int64 cannot hold."""
    if isinstance(indices, np.ndarray) and not np.can_cast(indices.dtype, INT64):
        raise DTypeError(
            f"{name}: indices of dtype {indices.dtype} cannot be cast to int64 safely: pass indices.astype(int)"
        )


def in_mode(places: Value, length: int, mode: str) -> Value:
    """Positions mapped into the axis: "wrap" counts around, "clip" takes the nearest, "raise" does not change them."""
    if mode == "raise":
        return places
    if mode == "wrap":
        return elementwise("remainder", places, max_expr(length, 1))
    if mode == "clip":
        return elementwise("clip", places, 0, max_expr(length - 1, 0))
    raise ArgumentValueError(f"mode must be 'raise', 'wrap' or 'clip', not {shown(mode)}")


# ---- taking ------------------------------------------------------------------------------------------


_NOTHING_TO_TAKE = "cannot do a non-empty take from an empty axes."


@implements(np.take)
def take(a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> TracedArray:
    array = as_array(a)
    if axis is None:
        array, axis = ravel(array), 0
    place = normalize_axis(axis, array.ndim)
    index = in_mode(as_positions(indices), array.shape[place], mode)
    if not is_known(index.type.size == 0) and is_nothing(
        array.shape[place], f"IndexError({_NOTHING_TO_TAKE!r})"
    ):
        raise OutOfBoundsError(_NOTHING_TO_TAKE)
    if is_empty(array.shape[:place]):  # NumPy never looks at the indices
        index = broadcast_to(constant(0, INT64), index.shape)
    with nullcontext() if mode == "raise" else unchecked():
        found: TracedArray = array[(*(slice(None),) * place, wrap(index))]
    result = found if found.ndim == 0 else new_array(found.value)
    if out is None:
        return result
    if TAKE_READS_OUT and not np.can_cast(target_of(out).dtype, result.dtype):
        raise DTypeError(
            f"take: cannot cast out= from {target_of(out).dtype} to {result.dtype}, as NumPy does first"
        )
    return write_out(out, result, casting="unsafe")


def _along_axis(shape: Shape, indices: Any, axis: int) -> tuple[Any, ...]:
    """The index expression of `take_along_axis`: positions along the other axes, `indices` along this one."""
    places = as_value(indices)
    if places.dtype.kind not in "iu":
        raise IndexTypeError("`indices` must be an integer array")
    if places.ndim != len(shape):
        raise ShapeError("`indices` and `arr` must have the same number of dimensions")
    grids = [
        reshape(iota(dim, INT64), tuple(dim if i == j else 1 for j in range(len(shape))))
        for i, dim in enumerate(shape)
    ]
    return tuple(wrap(places if i == axis else grid, is_scalar=False) for i, grid in enumerate(grids))


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> TracedArray:
    array = as_array(arr)
    if axis is None:
        array, axis = ravel(array), 0
    return array[_along_axis(array.shape, indices, normalize_axis(axis, array.ndim))]  # type: ignore[no-any-return]


@implements(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    array = target_of(arr)
    if axis is None:
        places = as_value(indices)
        if places.ndim != 1:
            raise ShapeError("when axis=None, `indices` must have a single dimension")
        if not array.layout.is_contiguous("C"):
            raise ReadOnlyError(
                "put_along_axis(axis=None) is read-only for arrays that are not in C order, as in NumPy: write to "
                "x.flat[indices] instead"
            )
        array.flat[wrap(places)] = values
        return
    array[_along_axis(array.shape, indices, normalize_axis(axis, array.ndim))] = values


@implements(np.compress)
def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> TracedArray:
    """The entries along an axis where a condition is true."""
    mask = as_value(condition)
    if mask.ndim != 1:
        raise ShapeError("condition must be a 1-d array")
    array = as_array(a)
    place = None if axis is None else normalize_axis(axis, array.ndim)
    selected = _selected(mask, array.size if place is None else array.shape[place], place or 0)
    return take(array, selected, place, out)


@method("compress")
def compress_method(a: TracedArray, condition: Any, axis: int | None = None, out: Any = None) -> TracedArray:
    """`compress` with the array as the first argument."""
    return compress(condition, a, axis, out)


@implements(np.extract)
def extract(condition: Any, arr: Any) -> TracedArray:
    array = ravel(arr)
    return take(array, _selected(as_value(condition), array.size, 0), 0)


def _selected(mask: Value, length: int, axis: int) -> TracedArray:
    """The positions where a mask is true, which may be longer than the axis if it is false beyond the end."""
    beyond = ravel(wrap(nonzero_mask(mask)))[length:]
    if not is_empty(beyond.shape):
        first = np.add(wrap(number(length, INT64)), np.argmax(beyond))
        message = f"index {{}} is out of bounds for axis {axis} with size {{}}"
        refuse_values(np.any(beyond), message, IndexError, shown_values=(first, wrap(number(length, INT64))))
    return wrap(positions_of_nonzero(mask))


# ---- choosing ----------------------------------------------------------------------------------------


@implements(np.where)
def where_(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """``x`` where the condition is true, ``y`` elsewhere; with only the condition, the positions where it is true."""
    mask = nonzero_mask(as_value(condition))
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise ArgumentTypeError("np.where takes both x and y, or neither")
    dtype = np.result_type(*[weak_or_dtype(choice, as_value(choice)) for choice in (x, y)])
    if WHERE_CHECKS_PYTHON_NUMBERS:
        for choice in (x, y):
            if not isinstance(choice, (list, tuple)):  # which become arrays before the dtype is chosen
                check_fits(choice, dtype)
    yes, no = (convert(as_value(choice), dtype) for choice in (x, y))  # others wrap
    return new_array(where(mask, yes, no))


@implements(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> TracedArray:
    """For each entry, the choice of the first true condition."""
    conditions = [as_value(c) for c in condlist]
    if len(conditions) != len(choicelist) or not conditions:
        raise ShapeError("select needs equally many conditions and choices, at least one")
    if any(c.dtype.kind != "b" for c in conditions):
        raise ArgumentTypeError("the conditions of np.select must be boolean arrays")
    items = [*choicelist, default]
    dtype = np.result_type(*[weak_or_dtype(x, as_value(x)) for x in items])
    *choices, result = (convert(as_value(x), dtype) for x in items)
    shape = broadcast_shape(*[v.shape for v in (*conditions, *choices, result)])
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        result = where(condition, choice, result)
    return new_array(broadcast_to(result, shape))


@implements(np.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> TracedArray:
    """``choices[a[i]][i]`` for each position."""
    given = list(choices)
    options = [as_value(c) for c in given]
    _check_safe("np.choose", a)
    which = as_positions(a)
    shape = broadcast_shape(which.shape, *[option.shape for option in options])
    if mode == "raise" and not is_empty(shape):
        refuse_values(_is_outside(which, len(options)), "invalid entry in choice array")
    which = in_mode(which, len(options), "clip" if mode == "raise" else mode)
    dtype = np.result_type(*map(weak_or_dtype, given, options))
    result = convert(options[-1], dtype)
    for place, option in reversed(list(enumerate(options[:-1]))):
        result = where(equal(which, place), convert(option, dtype), result)
    chosen = wrap(broadcast_to(result, shape))
    return chosen if out is None else write_out(out, chosen, casting="unsafe")


# ---- putting -----------------------------------------------------------------------------------------


@implements(np.put)
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """``a.flat[ind] = v``, with `v` repeated or cut to the number of indices."""
    _check_safe("np.put", ind)
    if not isinstance(ind, np.ndarray) and not contains_traced(ind):
        ind = np.asarray(ind).astype(INT64, casting="unsafe")  # NumPy rounds such numbers towards 0
    array = target_of(a)
    places = in_mode(ravel(wrap(as_positions(ind))).value, array.size, mode)
    new = written_value(v, array.dtype)
    if not new.type.size or not places.type.size:
        return
    with nullcontext() if mode == "raise" else unchecked():
        array.flat[wrap(places)] = wrap(recycled(new, places.shape))


@implements(np.putmask)
def putmask(a: Any, mask: Any, values: Any) -> None:
    """``a.flat[n] = values.flat[n % len(values)]`` where the mask is true."""
    array = target_of(a)
    chosen, new = nonzero_mask(as_value(mask)), _safely_written("putmask", values, array.dtype)
    if chosen.type.size != array.size:
        raise ShapeError(f"putmask: the mask has shape {chosen.shape}, the array {array.shape}")
    if new.type.size:
        spread = recycled(convert(new, array.dtype), array.shape)
        array[...] = where(reshape(chosen, array.shape), spread, array.value)


def _safely_written(function: str, values: Any, dtype: DType) -> Value:
    """What is written where NumPy casts arrays only to dtypes that hold them. Numbers it casts to any."""
    is_array = isinstance(values, np.ndarray) or (isinstance(values, TracedArray) and not values.is_scalar)
    if is_array and not np.can_cast(values.dtype, dtype, "safe"):
        raise DTypeError(
            f"{function}: cannot cast {values.dtype} to {dtype} safely: write values.astype(np.{dtype})"
        )
    return written_value(values, dtype)


@implements(np.place)
def place(arr: Any, mask: Any, vals: Any) -> None:
    """The n-th position where the mask is true gets the n-th of `vals`, which are repeated if necessary."""
    array = target_of(arr)
    chosen, new = nonzero_mask(as_value(mask)), _safely_written("place", vals, array.dtype)
    count: Any = new.type.size
    is_nothing = bool(count == 0)
    if chosen.type.size != array.size:
        raise ShapeError(f"place: the mask has shape {chosen.shape}, the array {array.shape}")
    if is_nothing:
        refuse_values(np.any(wrap(chosen)), "Cannot insert from an empty array!")
        return
    flat, line = reshape(chosen, (array.size,)), reshape(convert(new, array.dtype), (count,))
    if count > 1:
        rank = as_value(np.cumsum(wrap(convert(flat, INT64))))
        line = take(wrap(line), wrap(add(rank, -1)), mode="wrap").value
    spread = broadcast_to(line, (array.size,))
    array[...] = reshape(where(flat, spread, ravel(array).value), array.shape)


@implements(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Write to the main diagonal, which restarts below a tall matrix with ``wrap=True``."""
    array = target_of(a)
    if array.ndim < 2:
        raise ShapeError("array must be at least 2-d")
    if array.ndim == 2 and not wrap and is_symbolic_shape(array.shape) and not np.ndim(val):
        places = new_array(iota(min_expr(*array.shape), INT64))
        array[places, places] = val
        return
    end = array.size
    if array.ndim == 2:
        step = array.shape[1] + 1
        end = end if wrap else min(array.shape[1] ** 2, end)
    elif len(set(array.shape)) > 1:
        raise ShapeError("All dimensions of input must be of equal length")
    else:
        step = 1 + sum(math.prod(array.shape[:i]) for i in range(1, array.ndim))
    array.flat[:end:step] = val


# ---- positions ---------------------------------------------------------------------------------------


@implements(np.nonzero)
def nonzero(a: Any) -> Any:
    array = as_array(a)
    if array.ndim == 0:
        raise ShapeError("nonzero of a 0-d array: use np.atleast_1d first")
    known = array.concrete()
    if known is not None:
        return constants_of(np.nonzero(known))
    return tuple(map(new_array, along_each_axis(positions_of_nonzero(array.value), array.shape)))


@implements(np.flatnonzero)
def flatnonzero(a: Any) -> Any:
    return new_array(positions_of_nonzero(as_value(a)))


@implements(np.argwhere)
def argwhere(a: Any) -> Any:
    array = as_array(a)
    flat = positions_of_nonzero(array.value)
    if array.ndim == 0:
        return new_array(full((*flat.shape, 0), 0, INT64))
    columns = [reshape(column, (1, *column.shape)) for column in along_each_axis(flat, array.shape)]
    return new_array(
        transpose(concatenate(columns, 0), (1, 0)), (1, 0)
    )  # NumPy transposes a row for each axis


@implements(np.ix_)
def ix_(*args: Any) -> tuple[TracedArray, ...]:
    """Index arrays that select the product of several sequences."""
    grids = []
    for place, arg in enumerate(args):
        line = as_array(np.asarray(arg, np.intp) if isinstance(arg, (list, tuple)) and not arg else arg)
        if line.ndim != 1:
            raise ShapeError("Cross index must be 1 dimensional")
        if line.dtype.kind == "b":
            line = new_array(positions_of_nonzero(line.value))
        grids.append(view_of(line, Reshape(tuple(line.size if i == place else 1 for i in range(len(args))))))
    return tuple(grids)


@implements(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[TracedArray, ...]:
    """Flat positions as one position per axis."""
    dims = as_shape(shape)
    places = as_positions(indices)
    size, least = math.prod(dims), np.iinfo(INT64).min
    is_outside = _is_outside(places, size)
    wrong = np.max(wrap(where(is_outside.value, places, least)), initial=least)
    message = "index {} is out of bounds for array with size {}"
    refuse_values(np.any(is_outside), message, shown_values=(wrong, wrap(number(size, INT64))))
    result: list[TracedArray] = []
    for dim in reversed(dims) if order == "C" else dims:
        result.append(wrap(elementwise("remainder", places, max_expr(dim, 1))))
        places = elementwise("floor_divide", places, max_expr(dim, 1))
    return tuple(reversed(result) if order == "C" else result)


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> TracedArray:
    """One position per axis as flat positions."""
    shape = as_shape(dims)
    columns = [as_positions(column) for column in multi_index]
    if len(columns) != len(shape):
        raise ShapeError(f"ravel_multi_index needs one index array for each of the {len(shape)} axes")
    modes = (mode,) * len(shape) if isinstance(mode, str) else mode
    flat: list[Value] = []
    strides = list(accumulate((1, *(shape[:0:-1] if order == "C" else shape[:-1])), mul))
    for column, dim, how, stride in zip(
        columns, shape, modes, strides[::-1] if order == "C" else strides, strict=True
    ):
        if how == "raise":
            refuse_values(_is_outside(column, dim), "invalid entry in coordinates array")
        flat.append(multiply(in_mode(column, dim, how), stride))
    return wrap(reduce(add, flat))


def _is_outside(places: Value, length: int) -> Any:
    """Which positions are not in [0, length)."""
    return np.logical_or(
        np.less(wrap(places), 0), np.greater_equal(wrap(places), wrap(number(length, INT64)))
    )
