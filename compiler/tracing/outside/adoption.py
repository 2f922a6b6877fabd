"""`adopt`: a NumPy array that a traced function writes to becomes traced, under every name the function has for it.

``v = V.copy(); np.multiply(v, x, out=v); v.sum()`` must see the write, but NumPy only reads its own memory. So a traced
array replaces the array, and every view of its memory, wherever the function can reach one: in its variables, globals,
attributes, containers, and in the functions that it can call. When the function has returned, everything outside it
gets the arrays back.
"""

import ctypes
import gc
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from types import CellType, CodeType, FrameType, FunctionType
from typing import Any, Final, TypeVar

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.lib.stride_tricks import as_strided

from ...callers.user_code import is_library, user_location
from ...dtypes import Array, is_supported
from ...errors import ArgumentValueError, UnsupportedFunctionError
from ...memory_layout.layout import LayoutQuestion
from ...value_ops import constant
from ..indexing import Gather
from ..trace import Storage, Trace, array_type, require_trace
from ..traced_array import TracedArray, array_on
from ..traced_memory import is_numpy_array, is_traced
from ..views import Bits, ImaginaryPart, Placed, ReadOnly, RealPart, Reshape, Slice, View
from .object_walk import ObjectWalk
from .place import Place

F = TypeVar("F", bound=Callable[..., Any])

_BEGIN_TRACES: Final[set[CodeType]] = set()
"""The code of the functions that call the user's function in a new trace."""


def begins_trace(function: F) -> F:
    """Mark a function that calls the user's function in a new trace. What called that function is outside the trace."""
    _BEGIN_TRACES.add(function.__code__)
    return function


def adopt(array: Array) -> TracedArray:
    """The traced array that replaces a NumPy array before a write to it."""
    trace = require_trace()
    if trace.is_open_ended:  # a tape computes at once, and its variables are not NumPy arrays
        return captured_array(trace, array)
    outermost = trace.outermost()
    frames = list(_users_frames(trace))
    base = _adopted_base(outermost, array)
    if base is None:
        base = _owner(array)
        if base is not array and not _is_seen_elsewhere(frames, array, base):
            base = array  # no other array shares the memory, so there is no need to look at all of it
    _replace_outside(outermost, frames, base)
    return _seen(outermost, base, array)


def adopt_for_write(array: Array) -> TracedArray:
    """The same for a write by the user, who must not write to an array that each iteration of a loop makes anew."""
    trace = require_trace()
    if not trace.is_open_ended and _adopted_base(trace.outermost(), array) is None:
        for iteration in trace.enclosing():
            if iteration.repeats and not _is_from_outside(trace, iteration, array):
                raise UnsupportedFunctionError(
                    f"an iteration of a loop makes {array_type(array)} with NumPy alone and then writes to it, but "
                    "is traced once for all: make the array with np.array(...), which each iteration repeats",
                    user_location(),
                )
    return adopt(array)


def replace_outside(arrays: Iterable[Array], *roots: Any) -> None:
    """Begin with traced arrays instead of the arrays that the function with these `roots` was found to write to."""
    trace = require_trace()
    for array in arrays:
        base = _adopted_base(trace.outermost(), array)
        _replace_outside(
            trace.outermost(), list(_users_frames(trace)), _owner(array) if base is None else base, roots
        )


def traced_replacement(x: Any) -> Any:
    """The traced array that replaces a NumPy array, if it was adopted; anything else unchanged."""
    if is_numpy_array(x):
        seen = require_trace().outermost().adopted_view(x)
        return x if seen is None else seen
    return x


def is_adopted(array: Array) -> bool:
    """Whether a traced array has replaced this NumPy array."""
    return require_trace().outermost().adopted_view(array) is not None


def is_reachable(array: Array) -> bool:
    """Whether the user's functions that are running can reach the memory of a NumPy array."""
    walk = ObjectWalk()
    _walk(walk, _users_frames(require_trace()))
    return _holds(walk, array)


def _is_from_outside(trace: Trace, iteration: Trace, array: Array) -> bool:
    """Whether functions can reach the memory of an array without the variables of an iteration."""
    outside = list(_users_frames(trace, beyond=trace.depth - iteration.depth + 1))
    walk = ObjectWalk()
    _walk(walk, outside)
    for frame in _users_frames(trace):
        if frame not in outside:
            walk.named(frame.f_code, frame.f_globals)
            _walk_enclosing(walk, frame)
    return _holds(walk, array)


def _holds(walk: ObjectWalk, array: Array) -> bool:
    """Whether what was walked through has the memory of an array."""
    low, high = byte_bounds(array)
    return any(x is array or _overlap(x, low, high) for _, x in walk.arrays.values())


def _adopt_captured(storage: Storage) -> None:
    """Adopt an array that is written to through ``np.asarray(TABLE)``, like any other."""
    array = storage.trace.array_of_storage(storage)
    if array is not None and not storage.trace.outermost().is_open_ended:
        adopt_for_write(array)


Trace.first_write = staticmethod(_adopt_captured)


# ---- replacing -----------------------------------------------------------------------------------------


def _replace_outside(
    outermost: Trace, frames: Iterable[FrameType], base: Array, roots: Iterable[Any] = ()
) -> None:
    """Put traced arrays wherever functions can reach a NumPy array, until the trace is over."""
    low, high = byte_bounds(base)
    outermost.adopted[id(base)] = low, high, partial(_seen_later, outermost, id(base))
    whole = captured_array(outermost, base)

    def replacement(x: Array) -> Any:
        return _seen(outermost, base, x) if x is base or _overlap(x, low, high) else x

    walk = ObjectWalk(replacement)
    bindings = _walk(walk, frames, roots)
    if walk.stuck:
        path, _ = walk.stuck[0]
        raise ArgumentValueError(
            f"the function writes to {whole.type}, an array from outside that `{path}` holds, too, where reading it "
            "would not show what was written: make that a list, or write to a copy",
            user_location(),
        )
    for place, x in walk.places:
        outermost.replacements.append(partial(_put_back, place, x))
        place.set(x)
    for frame, names in bindings:
        _rebind(frame, names)


def _walk(
    walk: ObjectWalk, frames: Iterable[FrameType], roots: Iterable[Any] = ()
) -> list[tuple[FrameType, dict[str, Any]]]:
    """Walk through everything that running functions can reach. Returns the new values of their local variables."""
    bindings: list[tuple[FrameType, dict[str, Any]]] = []
    for root in roots:
        walk.of(root, "")
    for frame in frames:
        code = frame.f_code
        own = {*code.co_varnames, *code.co_cellvars} if code.co_flags & inspect.CO_NEWLOCALS else set()
        variables = frame.f_locals
        found = {name: walk.of(x, name) for name, x in variables.items() if name in own}
        bindings.append((frame, {name: x for name, x in found.items() if x is not variables[name]}))
        _walk_enclosing(walk, frame)
        walk.named(code, frame.f_globals)
    return bindings


def _walk_enclosing(walk: ObjectWalk, frame: FrameType) -> None:
    """Walk through the variables of enclosing functions that a running function uses.

    Their cells are only looked for where one must get a replacement, because that goes through all objects of Python;
    and in the body of a class, whose frame does not have the variables.
    """
    code, variables = frame.f_code, frame.f_locals
    values = [(name, variables[name]) for name in code.co_freevars if name in variables]
    if not code.co_flags & inspect.CO_OPTIMIZED or any(walk.of(x, name) is not x for name, x in values):
        for cell in _cells(code):
            walk.of(cell, "a variable of an enclosing function")


def _is_seen_elsewhere(frames: Iterable[FrameType], array: Array, base: Array) -> bool:
    """Whether functions can reach the memory of `base` other than by its view `array`."""
    walk = ObjectWalk()
    _walk(walk, frames)
    low, high = byte_bounds(base)
    return any(x is base or (x is not array and _overlap(x, low, high)) for _, x in walk.arrays.values())


def _users_frames(trace: Trace, *, beyond: int = 0) -> Iterator[FrameType]:
    """The user's functions that are running, from the one that the outermost trace called, without those that run in
    the innermost traces, if these are to be left out: `beyond` is their number."""
    frame: FrameType | None = sys._getframe(1)
    traces = trace.depth
    while frame is not None and traces:
        if traces <= trace.depth - beyond and not is_library(frame.f_code.co_filename):
            yield frame
        traces -= frame.f_code in _BEGIN_TRACES
        frame = frame.f_back


def _cells(code: CodeType) -> list[CellType]:
    """The cells of the functions with this code. It is not known which of them runs."""
    if not code.co_freevars:
        return []
    functions = [x for x in gc.get_referrers(code) if isinstance(x, FunctionType)]
    return list({id(cell): cell for function in functions for cell in function.__closure__ or ()}.values())


def _put_back(place: Place, replacement: Any) -> None:
    """Restore the old value, unless the function has replaced it."""
    with suppress(LookupError, AttributeError, ValueError):
        now = place.now()
        if now is replacement or is_traced(now):
            place.set(place.value)


def _rebind(frame: FrameType, names: dict[str, Any]) -> None:
    """Set variables of a running function."""
    if not names:
        return
    if sys.version_info >= (3, 13):
        frame.f_locals.update(names)
        return
    variables = frame.f_locals  # a copy, which is written back as a whole
    variables.update(names)
    ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))


# ---- memory ------------------------------------------------------------------------------------------


def captured_array(trace: Trace, array: Array) -> TracedArray:
    """The traced array that replaces a NumPy array from outside, with the flags of that."""
    storage = trace.storage_of_array(array)
    if storage.argument is None:
        flags = array.flags
        name = "an array that the function closes over"
        storage.argument = LayoutQuestion(name, owndata=flags.owndata, writeable=flags.writeable)
    return array_on(storage, storage.value.type)


def _owner(array: Array) -> Array:
    """The array whose memory this one is a view of, if one traced array can replace both."""
    found = array
    x: Any = array
    while x is not None:
        if is_numpy_array(x) and is_supported(x.dtype) and _is_dense(x) and _views_of(x, array) is not None:
            found = x
        x = x.obj if isinstance(x, memoryview) else getattr(x, "base", None)
    return found


def _adopted_base(outermost: Trace, array: Array) -> Array | None:
    """The adopted array whose memory an array is in; None if there is none."""
    key = outermost.adopted_key(array)
    return next((x for x in outermost.captured if id(x) == key), None)  # type: ignore[return-value]


def _overlap(x: Array, low: int, high: int) -> bool:
    first, last = byte_bounds(x)
    return x.size > 0 and first < high and low < last


def _seen_later(outermost: Trace, key: int, view: Array) -> TracedArray:
    """The same for another view. This keeps nothing alive, because a trace counts references to what it captured."""
    base: Any = next(x for x in outermost.captured if id(x) == key)
    return _seen(outermost, base, view)


def _seen(outermost: Trace, base: Array, view: Array) -> TracedArray:
    """A view of an adopted array, by the positions of its elements in it."""
    whole = captured_array(outermost, base)
    if view is base:
        return whole
    if type(view) not in (np.ndarray, np.memmap):
        raise ArgumentValueError(
            f"the function writes to {whole.type}, an array from outside, whose memory it also sees as a "
            f"{type(view).__name__}, whose rules differ from a plain array's: use np.asarray of it there",
            user_location(),
        )
    views = _views_of(base, view)
    if views is None:
        raise ArgumentValueError(
            f"the function writes to {whole.type}, an array from outside, whose memory it also sees as "
            f"{array_type(view)}: write to one of them through the other, which is made in the function: "
            f"w = np.asarray(w), and w.view(np.{view.dtype})",
            user_location(),
        )
    return whole.through(*views)


def _views_of(base: Array, view: Array) -> tuple[View, ...] | None:
    """The steps from an array to one that shares its memory; None if these are not its elements, or parts of them."""
    part: tuple[View, ...] = ()
    size = base.itemsize
    (low, high), (begin, end) = byte_bounds(base), byte_bounds(view)
    if not (_is_dense(base) and low <= begin and end <= high):
        return None
    first = view.__array_interface__["data"][0] - low
    if base.dtype.kind == "c" and view.dtype == np.real(base).dtype:
        part = (ImaginaryPart(),) if first % size else (RealPart(),)
        first -= first % size
    elif view.itemsize == size:
        part = () if view.dtype == base.dtype else (Bits(view.dtype),)
    else:
        return None
    if first % size or any(stride % size for stride in view.strides):
        return None
    steps: list[View] = [*part, Reshape((base.size,))]
    numbers = _in_memory_order(base)[first // size :]
    positions = as_strided(numbers, view.shape, [8 * stride // size for stride in view.strides])
    start = int(positions.flat[0]) if view.size else 0
    if np.array_equal(positions.reshape(-1), np.arange(start, start + view.size)):
        steps += [Slice((start,), (start + view.size,), (1,)), Reshape(view.shape)]
    else:
        index = require_trace().outermost().new_storage(constant(np.ascontiguousarray(positions)))
        steps.append(Gather((index,), (0,), 0))
    if base.flags.writeable and not view.flags.writeable:
        steps.append(ReadOnly())
    return (Placed(tuple(steps), view.shape, tuple(stride // view.itemsize for stride in view.strides)),)


def _is_dense(x: Array) -> bool:
    """Whether an array covers all of its memory, in any order of its axes."""
    return (
        bool(x.size) and byte_bounds(x)[1] - byte_bounds(x)[0] == x.nbytes and min(x.strides, default=1) > 0
    )


def _in_memory_order(base: Array) -> Array:
    """For each element in memory order, its number in row-major order."""
    axes = sorted(range(base.ndim), key=lambda axis: -base.strides[axis])
    numbers: Array = np.arange(base.size, dtype=np.int64).reshape(base.shape)
    return np.ascontiguousarray(numbers.transpose(axes)).reshape(-1)
