"""The methods of ufuncs on traced arrays: reduce, accumulate, reduceat, outer, at."""

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...arguments.axes import normalize_axis
from ...builder import bind
from ...dtypes import BOOL, INT64, Array, DType, is_complex, is_inexact
from ...errors import ArgumentValueError, DTypeError, OutOfBoundsError, UnsupportedFunctionError
from ...errors.tracemill_error import text_of
from ...ir import Value
from ...memory_layout.result_layouts import elementwise_layout
from ...ops.parallel_prefix import prefix_strides
from ...symbolic_size import is_known, is_symbolic_shape
from ...tracing.array_values import as_value, index_items
from ...tracing.trace import require_trace
from ...tracing.traced_array import TracedArray, wrap
from ...value_ops import broadcast_to, concatenate, constant, convert, expand_dims, full, slice_axis, where
from ...value_ops import moveaxis as move_axis
from .reduced_pieces import reduced_pieces
from .reductions import NO_VALUE, finished_reduction, in_one_axis, run_along, some_axes
from .ufunc_calls import METHODS_OF_UFUNCS, apply, as_array, as_mask, layouts_of, loop_dtypes, target_of

_ASSOCIATIVE = frozenset(
    [
        "add",
        "multiply",
        "maximum",
        "minimum",
        "fmax",
        "fmin",
        "logical_and",
        "logical_or",
        "logical_xor",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "gcd",
        "lcm",
        "hypot",
        "logaddexp",
        "logaddexp2",
    ]
)
"""Binary ufuncs whose operands may be grouped in any way; the others combine one entry at a time, from the left."""

_SAME_FUNCTION: dict[str, Any] = {
    "add": np.sum,
    "multiply": np.prod,
    "maximum": np.max,
    "minimum": np.min,
    "logical_and": np.all,
    "logical_or": np.any,
}
_RUNNING = {"add": "cumsum", "multiply": "cumprod", "maximum": "cummax", "minimum": "cummin"}
_SCATTERED = {
    "add": "add",
    "subtract": "add",
    "multiply": "multiply",
    "maximum": "maximum",
    "minimum": "minimum",
}


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    METHODS_OF_UFUNCS[function.__name__] = function
    return function


def _refuse_unless_binary(ufunc: Any, method: str) -> None:
    if ufunc.nin != 2 or ufunc.nout != 1 or ufunc.signature is not None:
        raise ArgumentValueError(f"{ufunc.__name__}.{method}: only for ufuncs of two arrays with one result")


def _reduced_dtype(ufunc: Any, given: DType, dtype: Any, out: Any) -> DType:
    """The dtype in which a reduction combines entries, by NumPy's rules, which consider that of ``out=``."""
    target = None
    if out is not None:
        (only,) = out if isinstance(out, tuple) else (out,)
        target = only.dtype
    if dtype is None and ufunc.__name__ in ("add", "multiply"):
        dtype = target
    wanted = {} if dtype is None else {"signature": (np.dtype(dtype), None, None)}
    try:
        dtypes = ufunc.resolve_dtypes((target, given, None), reduction=True, casting="unsafe", **wanted)
    except TypeError as error:
        raise DTypeError(f"{ufunc.__name__}.reduce is not defined for {given}: {text_of(error)}") from None
    chosen: DType = dtypes[1]
    if dtypes[0] != chosen:
        raise DTypeError(
            f"{ufunc.__name__}.reduce: the result, {dtypes[0]}, is not of the dtype of the entries"
        )
    return chosen


# ---- reduce ------------------------------------------------------------------------------------------


@_method
def reduce(
    ufunc: Any,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NO_VALUE,
    where: Any = True,
) -> Any:
    """Combine the entries along `axis`, or along several."""
    _refuse_unless_binary(ufunc, "reduce")
    function = _SAME_FUNCTION.get(ufunc.__name__)
    if function is not None and (dtype is None or ufunc in (np.add, np.multiply)):
        kwargs: dict[str, Any] = {"axis": axis, "out": out, "keepdims": keepdims, "where": where}
        if ufunc not in (np.logical_and, np.logical_or):
            kwargs["initial"] = NO_VALUE if initial is None else initial
        if dtype is not None:
            kwargs["dtype"] = dtype
        return function(as_array(array), **kwargs)
    x = as_value(array)
    x = convert(x, _reduced_dtype(ufunc, x.dtype, dtype, out))
    start = _start(ufunc, x, initial, where)
    axes = some_axes(axis, x.ndim)
    if len(axes) > 1 and ufunc.__name__ not in _ASSOCIATIVE:
        raise ArgumentValueError(
            f"reduction operation {ufunc.__name__!r} is not reorderable, so at most one axis"
        )
    mask = None
    if where is not True and ufunc.__name__ in _ASSOCIATIVE:
        x = _chosen(where, x, start if ufunc.identity is None else _identity(ufunc, x.dtype))
    elif where is not True:
        if start is None:
            raise ArgumentValueError("a reduction with where= and initial=None needs an initial value")
        mask = in_one_axis(broadcast_to(as_mask(where), x.shape), axes)
    line = in_one_axis(x, axes)
    if start is not None:
        line = concatenate([broadcast_to(start, (*line.shape[:-1], 1)), line], line.ndim - 1)
    folded = _fold(ufunc, line) if mask is None else _folded_where(ufunc, line, mask)
    return finished_reduction(folded, out, x.shape, axes, keepdims)


def _start(ufunc: Any, x: Value, initial: Any, mask: Any) -> Value | None:
    """The start value of the reduction: ``initial=``, otherwise the identity if it is needed."""
    if initial is None:
        return None
    if initial is NO_VALUE:
        if mask is True and (x.type.size or ufunc.identity is None):
            return None
        if ufunc.identity is None:
            raise ArgumentValueError(
                f"{ufunc.__name__}.reduce with where= needs initial=: it has no identity"
            )
        return _identity(ufunc, x.dtype)
    return convert(as_value(initial, x.dtype), x.dtype)


def _identity(ufunc: Any, dtype: DType) -> Value:
    """What changes no entry; −1 stands for all bits, also without sign."""
    return constant(np.asarray(ufunc.identity).astype(dtype))


def _folded_where(ufunc: Any, line: Value, mask: Value) -> Value:
    """The first entry of the last axis, combined with those of the others for which the mask holds, one by one."""
    axis = line.ndim - 1
    length = operator.index(line.shape[axis])
    result, *entries = [slice_axis(line, i, i + 1, axis) for i in range(length)]
    for i, entry in enumerate(entries):
        result = where(slice_axis(mask, i, i + 1, axis), _combine(ufunc, result, entry), result)
    return _drop_last(result)


def _chosen(mask: Any, x: Value, fill: Value | None) -> Value:
    if fill is None:
        raise ArgumentValueError("a reduction with where= and initial=None needs an initial value")
    return where(as_mask(mask), x, fill)


def _fold(ufunc: Any, line: Value) -> Value:
    """The combined entries of the last axis. NumPy combines the first with 0 if that only changes one entry."""
    if ufunc in (np.hypot, np.gcd) and not is_known(line.shape[-1] >= 2):
        return _combine(ufunc, full(line.shape[:-1], 0, line.dtype), _combined(ufunc, line))
    return _combined(ufunc, line)


def _combined(ufunc: Any, line: Value) -> Value:
    axis = line.ndim - 1
    if ufunc is np.logaddexp and is_symbolic_shape(line.shape[axis:]):
        return bind("logsumexp", line, axes=(axis,))
    if ufunc.__name__ in _ASSOCIATIVE and is_symbolic_shape(line.shape[axis:]) and line.shape[axis] >= 1:
        return _drop_last(slice_axis(_scan(ufunc, line, axis), line.shape[axis] - 1, line.shape[axis], axis))
    length = operator.index(line.shape[axis])
    if not length:
        raise ArgumentValueError(
            f"zero-size array to reduction operation {ufunc.__name__}, which has no identity"
        )
    if ufunc.__name__ not in _ASSOCIATIVE:
        entries = [slice_axis(line, i, i + 1, axis) for i in range(length)]
        result = entries[0]
        for entry in entries[1:]:
            result = _combine(ufunc, result, entry)
        return _drop_last(result)
    singles = []
    while length > 1:
        half = length // 2
        if length % 2:
            singles.append(slice_axis(line, length - 1, length, axis))
        line = _combine(ufunc, slice_axis(line, 0, half, axis), slice_axis(line, half, 2 * half, axis))
        length = half
    for single in reversed(singles):
        line = _combine(ufunc, line, single)
    return _drop_last(line)


def _drop_last(x: Value) -> Value:
    return bind("reshape", x, shape=x.shape[:-1])


def _combine(ufunc: Any, x: Value, y: Value) -> Value:
    """The ufunc on two values, in their dtype."""
    return convert(apply(ufunc, wrap(x), wrap(y)).value, x.dtype)


# ---- accumulate --------------------------------------------------------------------------------------


@_method
def accumulate(ufunc: Any, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    """The results of combining the entries so far."""
    _refuse_unless_binary(ufunc, "accumulate")
    x = as_value(array)
    x = convert(x, _reduced_dtype(ufunc, x.dtype, dtype, out))
    result = finished_reduction(_scan(ufunc, x, normalize_axis(axis, x.ndim)), out)
    return result if out is not None else _laid_out_like(array, result)


def _laid_out_like(array: Any, result: TracedArray) -> TracedArray:
    return wrap(result.value, layout=elementwise_layout(result.shape, layouts_of([array])))


def _scan(ufunc: Any, x: Value, axis: int) -> Value:
    running = _RUNNING.get(ufunc.__name__)
    if running is not None and not (is_complex(x.dtype) and running in ("cummax", "cummin")):
        return run_along(running, x, axis)
    length = x.shape[axis]
    if ufunc.__name__ in _ASSOCIATIVE:
        for step in prefix_strides(length):
            joined = _combine(ufunc, slice_axis(x, 0, length - step, axis), slice_axis(x, step, length, axis))
            x = concatenate([slice_axis(x, 0, step, axis), joined], axis)
        return x
    length = operator.index(length)
    rows = [slice_axis(x, 0, 1, axis)] if length else [x]
    for i in range(1, length):
        rows.append(_combine(ufunc, rows[-1], slice_axis(x, i, i + 1, axis)))
    return concatenate(rows, axis)


# ---- reduceat ----------------------------------------------------------------------------------------


@_method
def reduceat(ufunc: Any, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    """Reduce the pieces between consecutive `indices`."""
    _refuse_unless_binary(ufunc, "reduceat")
    x = as_value(array)
    x = convert(x, _reduced_dtype(ufunc, x.dtype, dtype, out))
    place = normalize_axis(axis, x.ndim)
    lines, starts = move_axis(x, place, 0), as_value(indices)
    known = require_trace().concrete(starts)
    mode = _SCATTERED.get(ufunc.__name__)
    pieces = [] if known is None else list(_pieces([int(i) for i in known], x.shape[place]))
    if known is None:
        result = reduced_pieces(ufunc, lines, starts)
    elif mode is None or ufunc is np.subtract or x.dtype == BOOL or is_complex(x.dtype):
        done = [_combined(ufunc, move_axis(slice_axis(lines, a, b, 0), 0, x.ndim - 1)) for a, b in pieces]
        result = concatenate([expand_dims(row, 0) for row in done], 0)
    else:
        result = _reduce_pieces(mode, lines, pieces)
    delivered = finished_reduction(move_axis(result, 0, place), out)
    if out is not None:
        return delivered
    layouts = [
        layout.with_length(place, 1) for layout in layouts_of([array])
    ]  # NumPy ignores its strides there
    return wrap(delivered.value, layout=elementwise_layout(delivered.shape, layouts))


def _pieces(bounds: Sequence[int], length: int) -> Iterator[tuple[int, int]]:
    """From each index to the next; a single entry if the next one is not larger."""
    for index, following in zip(bounds, [*bounds[1:], length], strict=True):
        if not 0 <= index < length:
            raise OutOfBoundsError(f"index {index} is out of bounds for reduceat along an axis of {length}")
        yield index, following if following > index else index + 1


def _reduce_pieces(mode: str, lines: Value, pieces: Sequence[tuple[int, int]]) -> Value:
    """All pieces at once: each starts with its first entry, and the others are scattered into it."""
    firsts = constant([a for a, _ in pieces], INT64)
    others = np.concatenate([np.arange(a + 1, b) for a, b in pieces]).astype(np.int64)
    owners = np.repeat(np.arange(len(pieces)), [b - a - 1 for a, b in pieces])
    result = bind("gather", lines, firsts, axes=(0,))
    if not others.size:
        return result
    entries = bind("gather", lines, constant(others), axes=(0,))
    return bind("scatter", result, entries, constant(owners, INT64), axes=(0,), mode=mode)


# ---- outer -------------------------------------------------------------------------------------------


@_method
def outer(ufunc: Any, x: Any, y: Any, **kwargs: Any) -> Any:
    """The ufunc on every pair of an entry of x and an entry of y."""
    left, right = as_array(x), as_array(y)
    return apply(ufunc, np.reshape(left, (*left.shape, *(1,) * right.ndim)), right, **kwargs)


# ---- at ----------------------------------------------------------------------------------------------


@_method
def at(ufunc: Any, target: Any, index: Any, *operands: Any) -> None:
    """Update in place; an index that occurs twice counts twice.

    As in NumPy, a Python number has its own dtype here, and each result is cast to the dtype of the array.
    """
    array = target_of(target)
    items = index_items(index)
    updates = [as_value(operand) for operand in operands]
    loop = loop_dtypes(ufunc, (array.dtype, *(update.dtype for update in updates)), None, "same_kind")
    if not any(isinstance(item, Value) for item in items):  # integers and slices: no position occurs twice
        array[index] = apply(ufunc, array[index], *map(wrap, updates))
        return
    mode = _SCATTERED.get(ufunc.__name__)
    unordered = is_complex(array.dtype) and mode in ("maximum", "minimum")
    if mode is None or unordered:
        _at_known_places(
            ufunc, array, items, updates, "only add, subtract, multiply, maximum and minimum do not"
        )
        return
    dtype = _scattered_dtype(ufunc, array.dtype, loop[0], *updates)
    if dtype is None:
        fix = (
            f"it casts every result from {loop[0]} to {array.dtype}, so the order counts. Give updates of the array's "
            f"own dtype: np.asarray(updates, np.{array.dtype})"
        )
        _at_known_places(ufunc, array, items, updates, fix)
        return
    update = convert(updates[0], dtype)
    if ufunc is np.subtract:
        update = bind("negative", update)
    if dtype == array.dtype:
        array.at_index(items, update, mode)
    else:
        wide = wrap(convert(array.value, dtype), is_scalar=False)
        wide.at_index(items, update, mode)
        array.write(wide.value)


def _scattered_dtype(ufunc: Any, own: DType, loop: DType, update: Value) -> DType | None:
    """The dtype in which all updates can be combined at once, or None if NumPy's cast after each makes a difference.

    Integers wrap around in the narrow dtype as they do in the wide one, but their maximum does not.
    """
    if loop == own:
        return own
    integers = own.kind in "iu" and loop.kind in "iu"
    fractions = is_inexact(own) and is_inexact(loop) and is_complex(own) == is_complex(loop)
    if integers and ufunc in (np.add, np.subtract, np.multiply):
        return own
    if (integers or fractions) and _holds(own, require_trace().concrete(update)):
        return own
    return loop if fractions else None


def _holds(dtype: DType, known: Array | None) -> bool:
    """Whether the dtype can hold all of these numbers; False if they are not known."""
    if known is None:
        return False
    with np.errstate(all="ignore"):
        return np.array_equal(
            known.astype(dtype).astype(known.dtype), known, equal_nan=is_inexact(known.dtype)
        )


def _at_known_places(
    ufunc: Any, array: TracedArray, items: list[Any], operands: Sequence[Value], why: str
) -> None:
    """Any ufunc, in rounds: round k updates the positions that occur for the k-th time."""
    known = [_known_item(item, ufunc, why) for item in items]
    places = np.arange(operator.index(array.size)).reshape(array.shape)[tuple(known)]
    flat = np.ravel(places)
    flattened = wrap(bind("reshape", array.value, shape=(array.size,)), is_scalar=False)
    updates = [np.ravel(np.broadcast_to(wrap(operand), places.shape)) for operand in operands]
    rounds = _occurrence(flat)
    for number in range(int(rounds.max(initial=-1)) + 1):
        chosen = np.flatnonzero(rounds == number)
        at_places = flat[chosen]
        flattened[at_places] = apply(ufunc, flattened[at_places], *(update[chosen] for update in updates))
    array.write(bind("reshape", flattened.value, shape=array.shape))


def _known_item(item: Any, ufunc: Any, why: str) -> Any:
    if not isinstance(item, Value):
        return item
    known = require_trace().concrete(item)
    if known is None:
        raise UnsupportedFunctionError(
            f"{ufunc.__name__}.at needs an index that is known while tracing: {why}"
        )
    return known


def _occurrence(places: Array) -> Array:
    """How often each entry has occurred before in the list."""
    order = np.argsort(places, kind="stable")
    ranked = places[order]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]]) if places.size else np.zeros(0, np.int64)
    counts = np.diff(np.append(starts, places.size))
    occurrence = np.empty(places.size, np.int64)
    occurrence[order] = np.arange(places.size) - np.repeat(starts, counts)
    return occurrence
