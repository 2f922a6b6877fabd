"""`adopt`: a NumPy array that a traced function writes to becomes traced, under every name the function has for it.

``v = V.copy(); np.multiply(v, x, out=v); v.sum()`` must see what was written. NumPy alone reads its own memory, so the
variables of the function that hold the array, or views of the same memory, are bound to traced arrays from then on. So
is what else the function can reach the array through: globals, variables of enclosing functions, attributes, lists and
dicts. Those get the array back when the function has returned.
"""

import ctypes
import gc
import inspect
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from types import CellType, FrameType, FunctionType, ModuleType
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..callers.user_code import is_library
from ..dtypes import Array
from ..tracing.indexing import Gather
from ..tracing.memory_layout import LayoutQuestion
from ..tracing.trace import Trace, require_trace
from ..tracing.traced_array import TracedArray, array_on, is_numpy_array, is_traced
from ..tracing.views import Reshape
from ..value_ops import constant

_TRACING = "tracemill.compiler.frontend.traced_program"
"""Where the function `trace` stands, which calls the user's function."""

_DEPTH: Final = 3
"""How many attributes or indices lead from a variable to an array: ``self.layers[0].buffer``."""
_MOST_MET: Final = 10_000

_arange = np.arange  # kept, because `np.arange` is intercepted during a trace


def adopt(array: Array) -> TracedArray:
    """The traced array that stands for a NumPy array, to be written to."""
    trace = require_trace()
    if trace.is_open_ended:  # a tape computes at once, and its variables are told apart from NumPy's arrays
        return _whole(trace, array)
    outermost = trace.outermost()
    base = _base(array)
    frames = list(_users_frames(trace))
    held = [(frame, _views(frame, base)) for frame in frames]
    slots = [slot for slot in _slots(frames) if _is_part(slot[2], base)]
    cells = [cell for frame in frames for cell in _cells(frame) if _is_part(cell.cell_contents, base)]
    seen = [x for _, views in held for _, x in views]
    seen += [slot[2] for slot in slots] + [cell.cell_contents for cell in cells]
    if id(base) not in outermost.adopted and not any(x is not array for x in seen):
        base = array  # nobody else sees the memory: there is no need to look at all of it
    whole = _whole(outermost, base)
    outermost.adopted[id(base)] = partial(_seen_later, outermost)
    for container, key, x in slots:
        outermost.borrowed.append(partial(_put, container, key, x))
        container[key] = _seen(whole, base, x)
    for cell in cells:
        outermost.borrowed.append(partial(setattr, cell, "cell_contents", cell.cell_contents))
        cell.cell_contents = _seen(whole, base, cell.cell_contents)
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
    return [(name, x) for name, x in frame.f_locals.items() if name in own and _is_part(x, base)]


def _is_part(x: Any, base: Array) -> bool:
    """Whether something is an array, or a view of its memory."""
    return x is base or (is_numpy_array(x) and x.base is base and _base(x) is base)


def _cells(frame: FrameType) -> list[CellType]:
    """The variables of enclosing functions that a running one uses. Which of its closures runs is not known."""
    code = frame.f_code
    if not code.co_freevars:
        return []
    functions = [x for x in gc.get_referrers(code) if isinstance(x, FunctionType)]
    cells = {id(cell): cell for function in functions for cell in function.__closure__ or ()}
    return [cell for cell in cells.values() if _content(cell) is not None]


def _content(cell: CellType) -> Any:
    """What a variable holds, None if it has no value yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


_Slot: TypeAlias = tuple[Any, Any, Any]
"""A dict or list, a key, and what is there."""


def _slots(frames: Iterable[FrameType]) -> Iterator[_Slot]:
    """The places that functions can reach by their globals, and by attributes and entries of what they have."""
    met: set[int] = set()
    for frame in frames:
        names = [name for name in frame.f_code.co_names if name in frame.f_globals]
        level: list[_Slot] = [(frame.f_globals, name, frame.f_globals[name]) for name in names]
        yield from level
        reached = [x for _, _, x in level] + list(frame.f_locals.values())
        for _ in range(_DEPTH):
            below = [slot for x in reached for slot in _entries(x, met)]
            yield from below
            reached = [x for _, _, x in below]


def _entries(x: Any, met: set[int]) -> list[_Slot]:
    """The attributes of an object of the user's, or the entries of a dict, list or tuple."""
    if (
        id(x) in met
        or len(met) > _MOST_MET
        or is_traced(x)
        or isinstance(x, (np.ndarray, type, FunctionType))
    ):
        return []
    met.add(id(x))
    if isinstance(x, ModuleType):
        return [] if is_library(getattr(x, "__file__", None) or "") else _of_dict(vars(x))
    if isinstance(x, dict):
        return _of_dict(x)
    if isinstance(x, list):
        return [(x, index, entry) for index, entry in enumerate(x)]
    if isinstance(x, tuple):
        return [slot for entry in x for slot in _entries(entry, met)]
    return _of_dict(getattr(x, "__dict__", None) or {})


def _of_dict(x: dict[Any, Any]) -> list[_Slot]:
    return [(x, key, entry) for key, entry in x.items()]


def _put(container: Any, key: Any, x: Array) -> None:
    """Put the array back, unless the function has put something else there."""
    with suppress(LookupError):
        if is_traced(container[key]):
            container[key] = x


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
