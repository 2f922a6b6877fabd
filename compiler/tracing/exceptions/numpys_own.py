"""NumPy's own exception for a call that the NumPy surface has refused, for handlers that look at it.

Tracemill's errors say more than NumPy's, such as the user's line. But a handler's ``str(error)`` is part of what the
function computes. So the refused call is made again, by NumPy, on arrays of the same types.
"""

import operator
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType, FunctionType, MethodType
from typing import Any, Final

import numpy as np

from ...callers.user_code import is_users
from ...errors import TracemillError
from ...symbolic_size import SymbolicSize
from ..array_values import refuse_several
from ..registry import CONSTRUCTORS, FUNCTIONS, METHODS, UFUNCS, place_in_numpy
from ..traced_array import TracedArray, located
from ..traced_memory import is_traced
from ..views import is_flagged_read_only
from .own_errors import LIKE_NUMPYS

_MOST_COPIED: Final = 1 << 16
"""Arrays with more elements have no memory of their own in the second call."""
_CODES: Final = frozenset({TracedArray.__array_function__.__code__, located.__code__})
_FUNCTIONS: Final = frozenset({FunctionType, MethodType, partial})
_INDEXING: Final[dict[Any, Any]] = {
    TracedArray._get: operator.getitem,
    TracedArray._set: operator.setitem,
}


def numpys_own(error: BaseException) -> BaseException:
    """The exception that NumPy raises for the same call, or the error itself if it stands for none or none is found."""
    if not isinstance(error, LIKE_NUMPYS):
        return error
    call = _refused_call(error)
    if call is None:
        return error
    try:
        with np.errstate(all="ignore"):
            call()
    except TracemillError:  # a size that is not known
        return error
    except Exception as found:
        if isinstance(found, _classes_outside(error)):
            found.__context__ = error.__context__
            return found.with_traceback(error.__traceback__)
    return error


def _classes_outside(error: BaseException) -> tuple[type[BaseException], ...]:
    """The classes of Python and NumPy that an error of Tracemill belongs to."""
    own = [kind for kind in type(error).__mro__ if not issubclass(TracemillError, kind)]
    return tuple(kind for kind in own if issubclass(kind, Exception) and not issubclass(kind, TracemillError))


def _refused_call(error: BaseException) -> "Callable[[], Any] | None":
    """The call of NumPy's that an error refuses: the outermost one after the user's last frame."""
    frames = list(_frames(error))
    last = max((n for n, one in enumerate(frames) if is_users(one.f_code.co_filename)), default=-1)
    for frame in frames[last + 1 :]:
        if frame.f_code in _CODES and any(type(one) in _FUNCTIONS for one in frame.f_locals["args"]):
            return None  # the user's function would run again
        call = _call_in(frame)
        if call is not None:
            return call
    return None


def _frames(error: BaseException) -> Iterator[FrameType]:
    step = error.__traceback__
    while step is not None:
        yield step.tb_frame
        step = step.tb_next


def _call_in(frame: FrameType) -> "Callable[[], Any] | None":
    """The call that a frame of the NumPy surface is for, with plain arrays."""
    code, given = frame.f_code, frame.f_locals
    if code is TracedArray.__array_function__.__code__:
        return lambda: given["function"](*_plain(given["args"]), **_plain(given["kwargs"]))
    if code is refuse_several.__code__:
        return lambda: given["convert"](_plain_array(given["array"]))
    if code is not located.__code__:
        return None
    ours = given["function"]
    if ours is UFUNCS["call"]:
        ufunc, method, inputs, options = given["args"]
        return lambda: getattr(ufunc, method)(*_plain(inputs), **_plain(options))
    numpys = _numpys(ours)
    owner = (ours.__self__,) if isinstance(ours, MethodType) else ()
    return (
        None
        if numpys is None
        else lambda: numpys(*_plain((*owner, *given["args"])), **_plain(given["kwargs"]))
    )


def _numpys(function: Any) -> "Callable[..., Any] | None":
    """The function of NumPy's that one of the NumPy surface stands for."""
    indexing: Callable[..., Any] | None = _INDEXING.get(getattr(function, "__func__", None))
    if indexing is not None:
        return indexing
    for numpys, ours in FUNCTIONS.items():
        if ours is function:
            return numpys  # type: ignore[no-any-return]
    for name, ours in METHODS.items():
        if ours is function:
            return lambda array, *given, **more: getattr(array, name)(*given, **more)
    for name, ours in CONSTRUCTORS.items():
        if ours is function:
            module, short = place_in_numpy(name)
            return getattr(module, short)  # type: ignore[no-any-return]
    return None


def _plain(x: Any) -> Any:
    """Arguments without anything traced."""
    if isinstance(x, SymbolicSize):
        return operator.index(x)
    if is_traced(x):
        return _plain_array(x)
    if type(x) in (list, tuple):
        return type(x)(map(_plain, x))
    if type(x) is dict:
        return {name: _plain(one) for name, one in x.items()}
    return slice(*map(_plain, (x.start, x.stop, x.step))) if type(x) is slice else x


def _plain_array(x: Any) -> Any:
    """An array of the same type, with the same elements if they are known and few: it may be written to."""
    shape = tuple(map(operator.index, x.shape))
    if np.prod(shape, dtype=object) > _MOST_COPIED:
        return np.lib.stride_tricks.as_strided(np.ones(1, x.dtype), shape, (0,) * len(shape))
    known = x.concrete()
    array = np.ones(shape, x.dtype) if known is None else np.array(known)
    argument = x._storage.argument
    is_read_only = any(map(is_flagged_read_only, x._views)) or (
        argument is not None and not argument.writeable
    )
    array.flags.writeable = not is_read_only
    if x.weak is not None:
        return array.item()
    return array[()] if x.is_scalar else array
