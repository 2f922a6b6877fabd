"""Reductions over axes, and cumulative sums: NumPy's dtype rules, ``out=``, ``initial=``, ``where=``, ``keepdims=``."""

import math
from functools import cache
from typing import Any

import numpy as np

from ...arguments.axes import normalize_axes, normalize_axis
from ...builder import bind
from ...dtypes import BOOL, DType, is_complex
from ...errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError
from ...ir import Shape, Value
from ...ops.arrays.reduction import keep_dims
from ...symbolic_size import is_known
from ...tracing.array_values import as_value, plain_number, written_value
from ...tracing.registry import implements
from ...tracing.traced_array import TracedArray, wrap
from ...tracing.value_lengths import depends_on_values, is_nothing
from ...value_ops import (
    broadcast_to,
    concatenate,
    constant,
    convert,
    elementwise,
    equal,
    expand_dims,
    imag,
    make_complex,
    nonzero_mask,
    real,
    reshape,
    sum_,
    transpose,
)
from ...value_ops import where as choose
from .ufunc_calls import apply, as_array, write_out

NO_VALUE: Any = np._NoValue
Axes = tuple[int, ...]


# ---- axes --------------------------------------------------------------------------------------------


def some_axes(axis: Any, ndim: int) -> Axes:
    """The axes in ``axis=``: all for None, one for an int, those of a tuple. A 0-d array may have axis 0."""
    if axis is None or (ndim == 0 and axis in (0, -1)):
        return tuple(range(ndim))
    return normalize_axes(axis, ndim)


def count_along(shape: Shape, axes: Axes) -> int:
    """How many entries a reduction over `axes` combines."""
    return math.prod(shape[axis] for axis in axes)


def keeps_axes(keepdims: Any) -> bool:
    """Whether ``keepdims=`` is given and true."""
    return keepdims is not NO_VALUE and bool(keepdims)


def finished_reduction(
    result: Value,
    out: Any = None,
    shape: Shape = (),
    axes: Axes = (),
    keepdims: Any = False,
    casting: str = "unsafe",
) -> TracedArray:
    """The result of a reduction of an array of `shape`, with the axes that ``keepdims=`` keeps, stored in ``out=``.

    As in NumPy, ``out=`` must have the shape of the result, and a reduction casts to any dtype.
    """
    if keeps_axes(keepdims):
        result = keep_dims(result, shape, axes)
    wrapped = wrap(result)
    if out is None:
        return wrapped
    target = out[0] if isinstance(out, tuple) else out
    if np.shape(target) != result.shape:
        raise ShapeError(f"out= has shape {np.shape(target)}, the result {result.shape}")
    return write_out(target, wrapped, casting=casting)


def masked(x: Value, where: Any, fill: complex) -> Value:
    """`x` with `fill` where the mask of ``where=`` is false; the two are broadcast."""
    if where is True or where is NO_VALUE:
        return x
    mask = as_value(where)
    if mask.dtype != BOOL:
        raise ArgumentTypeError("where= must be a boolean array")
    return choose(mask, x, constant(fill, x.dtype))


def root_of_squares(squares: Value) -> Value:
    """The square root of a sum of squares. All derivatives at 0 are 0 instead of infinite or NaN."""
    return elementwise("sqrt" if squares.dtype.kind == "c" else "root_of_squares", squares)


# ---- sums and products -------------------------------------------------------------------------------


@cache
def summed_dtype(ufunc: Any, dtype: DType) -> DType:
    """The dtype in which NumPy sums or multiplies entries of `dtype`."""
    if dtype.name == "bfloat16":
        return dtype
    chosen: DType = ufunc.reduce(np.zeros(1, dtype)).dtype
    return chosen


def _folded(name: str, ufunc: Any, identity: int) -> Any:
    combine = ufunc.__name__

    def reduction(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = NO_VALUE,
        where: Any = True,
    ) -> TracedArray:
        x = as_value(a)
        chosen = accumulator(ufunc, x.dtype, dtype, out)
        x = masked(convert(x, chosen), where, identity)
        axes = some_axes(axis, x.ndim)
        result = fold_all(name, x, axes)
        if initial is not NO_VALUE:
            result = elementwise(combine, result, convert(as_value(initial, chosen), chosen))
        return finished_reduction(result, out, x.shape, axes, keepdims)

    return reduction


def fold_all(name: str, x: Value, axes: Axes) -> Value:
    """Sum or product; for booleans these are any and all."""
    if x.dtype == BOOL:
        name = {"sum": "any", "prod": "all"}[name]
    return bind(name, x, axes=axes) if axes else x


def accumulator(ufunc: Any, given: DType, dtype: Any, out: Any) -> DType:
    """The dtype of a cumulative or total sum: ``dtype=``, otherwise one for the entries and ``out=``, otherwise
    NumPy's choice."""
    if dtype is not None:
        requested: DType = np.dtype(dtype)
        return requested
    if out is not None:
        return np.dtype(np.promote_types(given, out_dtype(out)))
    return summed_dtype(ufunc, given)


def out_dtype(out: Any) -> DType:
    """The dtype of ``out=``, given alone or in a tuple."""
    dtype: DType = (out[0] if isinstance(out, tuple) else out).dtype
    return dtype


implements(np.sum)(_folded("sum", np.add, 0))
implements(np.prod)(_folded("prod", np.multiply, 1))


def _running(name: str, ufunc: Any) -> Any:
    def running(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> TracedArray:
        x = as_value(a)
        x = convert(x, accumulator(ufunc, x.dtype, dtype, out))
        if axis is None:
            x, axis = reshape(x, (x.type.size,)), 0
        return finished_reduction(run_along(name, x, normalize_axis(axis, x.ndim)), out)

    return running


def run_along(name: str, x: Value, axis: int) -> Value:
    """A cumulative sum or product; booleans are converted to integers, for which these are cumulative any and all."""
    if x.dtype != BOOL:
        return bind(name, x, axis=axis, reverse=False)
    return convert(bind(name, convert(x, np.dtype(np.int64)), axis=axis, reverse=False), BOOL)


implements(np.cumsum)(_running("cumsum", np.add))
implements(np.cumprod)(_running("cumprod", np.multiply))


def _running_with_initial(name: str, running: Any, start: int) -> None:
    @implements(getattr(np, name))
    def cumulative(
        x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
    ) -> Any:
        array: Any = as_array(x)
        if axis is None:
            if array.ndim != 1:
                raise ArgumentValueError(
                    "For arrays which have more than one dimension ``axis`` argument is required."
                )
            axis = 0
        axis = normalize_axis(axis, array.ndim)
        result: Any = running(array, axis=axis, dtype=dtype)
        if include_initial:
            first = np.full((*result.shape[:axis], 1, *result.shape[axis + 1 :]), start, result.dtype)
            result = np.concatenate([first, result], axis=axis)
        return finished_reduction(result.value, out)


if "cumulative_sum" in np.__all__:  # since numpy 2.1
    _running_with_initial("cumulative_sum", np.cumsum, 0)
    _running_with_initial("cumulative_prod", np.cumprod, 1)


# ---- any and all -------------------------------------------------------------------------------------


def _truth(name: str, identity: bool) -> Any:
    def reduction(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
    ) -> TracedArray:
        x = masked(nonzero_mask(as_value(a)), where, identity)
        axes = some_axes(axis, x.ndim)
        result = bind(name, x, axes=axes)
        return finished_reduction(result, out, x.shape, axes, keepdims)

    return reduction


implements(np.any)(_truth("any", False))
implements(np.all)(_truth("all", True))


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> TracedArray:
    x = convert(nonzero_mask(as_value(a)), np.dtype(np.intp))
    axes = some_axes(axis, x.ndim)
    return finished_reduction(sum_(x, axes), None, x.shape, axes, keepdims)


# ---- extrema -----------------------------------------------------------------------------------------


def extreme(name: str, x: Value, axes: Axes) -> Value:
    """max or min of entries of any dtype; complex numbers are ordered by real, then by imaginary part."""
    if not is_complex(x.dtype):
        return bind(name, x, axes=axes)
    fill = -math.inf if name == "max" else math.inf
    top = keep_dims(bind(name, real(x), axes=axes), x.shape, axes)
    second = bind(name, choose(equal(real(x), top), imag(x), constant(fill, imag(x).dtype)), axes=axes)
    found = make_complex(reshape(top, second.shape), second)
    bad = elementwise("isnan", x)
    return choose(bind("any", bad, axes=axes), _first_marked(x, bad, axes), found)


def _first_marked(x: Value, mark: Value, axes: Axes) -> Value:
    """The first marked entry along `axes` (in row-major order), if there is one."""
    x, mark = in_one_axis(x, axes), in_one_axis(mark, axes)
    place = expand_dims(bind("argmax", mark, axis=x.ndim - 1), -1)
    is_there = equal(bind("iota", length=x.shape[-1], dtype=place.dtype), place)
    parts = [choose(is_there, part, constant(0, part.dtype)) for part in (real(x), imag(x))]
    return make_complex(*[sum_(part, (x.ndim - 1,)) for part in parts])


def in_one_axis(x: Value, axes: Axes) -> Value:
    """The array with `axes` moved to the end and merged into one."""
    rest = tuple(axis for axis in range(x.ndim) if axis not in axes)
    shape = (*(x.shape[axis] for axis in rest), count_along(x.shape, axes))
    return reshape(transpose(x, (*rest, *sorted(axes))), shape)


def refuse_nothing(x: Value, axes: Axes, ufunc: Any) -> None:
    """Raise NumPy's error where a reduction without an identity has no entries to combine."""
    problem = f"zero-size array to reduction operation {ufunc.__name__} which has no identity"
    if is_nothing(count_along(x.shape, axes), f"ValueError({problem!r})"):
        raise ShapeError(problem)


def _extremum(name: str, ufunc: Any) -> Any:
    def reduction(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = NO_VALUE,
        where: Any = True,
    ) -> TracedArray:
        x = as_value(a)
        axes = some_axes(axis, x.ndim)
        start = (
            None
            if initial is NO_VALUE
            else convert(written_value(plain_number(initial, x.dtype), x.dtype), x.dtype)
        )
        if where is not True and where is not NO_VALUE:
            if start is None:
                raise ShapeError(f"{name} with where= needs initial=: the mask may select nothing")
            x = choose(as_value(where), x, start)
        shape = x.shape
        if start is None:
            refuse_nothing(x, axes, ufunc)
        if start is not None and is_known(count_along(shape, axes) == 0):
            result = broadcast_to(start, tuple(dim for i, dim in enumerate(shape) if i not in axes))
        else:
            x = x if start is None else _with_something(x, start, axes)
            result = extreme(name, x, axes) if axes else x
            result = result if start is None else ufunc(wrap(result), wrap(start)).value
        return finished_reduction(result, out, shape, axes, keepdims)

    return reduction


def _with_something(x: Value, start: Value, axes: Axes) -> Value:
    """`x`, with `start` at the end of axes that may turn out to have no entries when the program runs."""
    for axis in axes:
        length = x.shape[axis]
        if depends_on_values(length) and not is_known(length >= 1):
            end = broadcast_to(start, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))
            x = concatenate([x, end], axis)
    return x


implements(np.max, np.amax)(_extremum("max", np.maximum))
implements(np.min, np.amin)(_extremum("min", np.minimum))


@implements(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> TracedArray:
    x = as_value(a)
    axes = some_axes(axis, x.ndim)
    refuse_nothing(x, axes, np.maximum)
    top = finished_reduction(extreme("max", x, axes), out, x.shape, axes, keepdims)
    bottom = finished_reduction(extreme("min", x, axes), None, x.shape, axes, keepdims)
    return apply(np.subtract, top, bottom, out=out)  # type: ignore[no-any-return]


def _index_of(name: str, extreme_name: str) -> Any:
    def reduction(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> TracedArray:
        x = as_value(a)
        axes = some_axes(axis, x.ndim) if axis is None else (normalize_axis(axis, x.ndim),)
        problem = f"attempt to get {name} of an empty sequence"
        if is_nothing(count_along(x.shape, axes), f"ValueError({problem!r})"):
            raise ShapeError(problem)
        line = in_one_axis(x, axes)
        last = line.ndim - 1
        if is_complex(x.dtype):
            best = equal(line, expand_dims(extreme(extreme_name, line, (last,)), -1))
            bad = elementwise("isnan", line)
            found = choose(
                bind("any", bad, axes=(last,)),
                bind("argmax", bad, axis=last),
                bind("argmax", best, axis=last),
            )
        else:
            found = bind(name, line, axis=last)
        if out is not None and not np.can_cast(out_dtype(out), found.dtype, "safe"):
            raise DTypeError(
                f"out= of {name} must have a dtype that {found.dtype} holds, not {out_dtype(out)}"
            )
        return finished_reduction(found, out, x.shape, axes, keepdims)

    return reduction


implements(np.argmax)(_index_of("argmax", "max"))
implements(np.argmin)(_index_of("argmin", "min"))
