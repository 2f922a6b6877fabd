"""`adopt`: a NumPy array that a traced function writes to becomes traced, under every name the function has for it.

``v = V.copy(); np.multiply(v, x, out=v); v.sum()`` must see what was written. NumPy alone reads its own memory, so the
variables of the function that hold the array, or views of the same memory, are bound to traced arrays from then on.
"""

import ctypes
import inspect
import sys
from collections.abc import Iterator
from functools import partial
from types import FrameType
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..callers.user_code import is_library
from ..dtypes import Array
from ..tracing.indexing import Gather
from ..tracing.memory_layout import LayoutQuestion
from ..tracing.trace import Trace, require_trace
from ..tracing.traced_array import TracedArray, array_on, is_numpy_array
from ..tracing.views import Reshape
from ..value_ops import constant

_TRACING = "tracemill.compiler.frontend.traced_program"
"""Where the function `trace` stands, which calls the user's function."""

_arange = np.arange  # kept, because `np.arange` is intercepted during a trace


def adopt(array: Array) -> TracedArray:
    """The traced array that stands for a NumPy array, to be written to."""
    trace = require_trace()
    if trace.is_open_ended:  # a tape computes at once, and its variables are told apart from NumPy's arrays
        return _whole(trace, array)
    outermost = trace.outermost()
    base = _base(array)
    held = [(frame, _views(frame, base)) for frame in _users_frames(trace)]
    if not any(x is not array for _, views in held for _, x in views):
        base = array  # nobody else sees the memory: there is no need to look at all of it
    whole = _whole(outermost, base)
    outermost.adopted[id(base)] = partial(_seen_later, outermost)
    for frame, views in held:
        _rebind(frame, {name: _seen(whole, base, x) for name, x in views})
    return _seen(whole, base, array)


def _whole(trace: Trace, array: Array) -> TracedArray:
    storage = trace.storage_of_array(array)
    if storage.argument is None:
        flags = array.flags
        name = "an array that the function closes over"
        storage.argument = LayoutQuestion(name, owndata=flags.owndata, writeable=flags.writeable)
    return array_on(storage, storage.value.type)


def _seen_later(outermost: Trace, view: Array) -> TracedArray:
    """The same for another view. Nothing else is held here: a trace asks who holds what it captured."""
    base: Any = view.base
    return _seen(_whole(outermost, base), base, view)


def _base(array: Array) -> Array:
    """The array whose memory this one is a view of, where both have one dtype and all of it can be seen."""
    base = array.base
    if is_numpy_array(base) and base.dtype == array.dtype and base.flags.c_contiguous:
        return base
    return array


def _seen(whole: TracedArray, base: Array, view: Array) -> TracedArray:
    """A view of an adopted array, by the positions of its elements in that."""
    if view is base:
        return whole
    first = view.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    numbers = _arange(base.size, dtype=np.int64)[first // base.itemsize :]
    positions = as_strided(numbers, view.shape, [8 * stride // base.itemsize for stride in view.strides])
    index = require_trace().outermost().new_storage(constant(np.ascontiguousarray(positions)))
    return whole.through(Reshape((base.size,)), Gather((index,), (0,), 0))


def _users_frames(trace: Trace) -> Iterator[FrameType]:
    """The functions of the user's that are running since the outermost trace began."""
    frame: FrameType | None = sys._getframe(1)
    traces = trace.depth
    while frame is not None and traces:
        if not is_library(frame.f_code.co_filename):
            yield frame
        traces -= frame.f_code.co_name == "trace" and frame.f_globals.get("__name__") == _TRACING
        frame = frame.f_back


def _views(frame: FrameType, base: Array) -> list[tuple[str, Array]]:
    """The variables of a function that hold an array or views of its memory; those of enclosing functions stay."""
    code = frame.f_code
    if not code.co_flags & inspect.CO_NEWLOCALS:
        return []
    own = {*code.co_varnames, *code.co_cellvars}
    held = [(name, x) for name, x in frame.f_locals.items() if name in own and is_numpy_array(x)]
    return [(name, x) for name, x in held if x is base or (x.base is base and _base(x) is base)]


def _rebind(frame: FrameType, names: dict[str, Any]) -> None:
    """Give variables of a running function other values."""
    if not names:
        return
    if sys.version_info >= (3, 13):
        frame.f_locals.update(names)
        return
    variables = frame.f_locals  # a copy, which is written back as a whole
    variables.update(names)
    ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
