"""What converted code calls instead of functions of NumPy and SciPy, so that they handle traced arrays.

NumPy's protocol lets a traced array among the arguments implement a function. But NumPy does not look for arrays in
lists, and functions such as ``np.zeros(n)`` have no array among their arguments.
"""

import operator
import sys
from collections.abc import Callable, Sequence, Set
from functools import lru_cache, partial
from types import FunctionType, MethodType
from typing import Any, Final

import numpy as np

from ...compiler.callers.user_code import user_location
from ...compiler.errors import RandomStateError
from ...compiler.frontend.conversion import converted
from ...compiler.tracing.array_values import as_value
from ...compiler.tracing.outside.adoption import adopt_for_write
from ...compiler.tracing.registry import CONSTRUCTORS, FUNCTIONS, INDEXABLES, place_in_numpy
from ...compiler.tracing.trace import require_trace
from ...compiler.tracing.traced_array import TracedArray, located, wrap
from ...compiler.tracing.traced_memory import contains_size, contains_traced, is_numpy_array, is_traced
from ..branching.watching import watch_called
from .special_methods import as_numpys
from .user_call import call

_WRITERS: Final = frozenset(
    {np.copyto, np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis, operator.setitem}
)
"""Functions that write to their first argument."""
_WRITE: Final = frozenset(
    {"fill", "itemset", "partition", "put", "resize", "setfield", "sort", "__setitem__"}
)
"""Methods that write to their array."""
_ARRAYS: Final = frozenset({TracedArray, np.ndarray})
_PLAIN: Final = _ARRAYS | {float, int}
_NOT_READING: Final = frozenset(
    {
        np.shape,
        np.ndim,
        np.size,
        np.result_type,
        np.iscomplexobj,
        np.isrealobj,
        np.isfortran,
        np.shares_memory,
    }
)
"""Functions that only look at the types of arrays."""
_CLASSES: Final = frozenset(
    {
        "BitGenerator",
        "Generator",
        "MT19937",
        "PCG64",
        "PCG64DXSM",
        "Philox",
        "RandomState",
        "SFC64",
        "SeedSequence",
    }
)
"""The names in `numpy.random` that are not functions."""


def numpy_meaning(function: Any) -> Callable[..., Any] | None:
    """What converted code calls instead of a function of NumPy or SciPy; None if it calls the function itself."""
    found = _meanings().get(function)
    if found is not None:
        return found
    if isinstance(function, np.ufunc):
        return partial(_of_lists, function)
    if function is operator.setitem:
        return partial(_noting_writes, function)
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):
        return partial(_method_of_lists, function)
    if is_numpy_array(owner) and (function.__name__ in _WRITE or not function.__name__.startswith("__")):
        return partial(_of_array, function)
    if "numpy.random" in sys.modules and (name := _draws().get(function)) is not None:
        return partial(_draw_from_global, name)
    return None


def indexable(x: Any) -> Any:
    """What converted code indexes instead of an object such as ``np.r_``; None for other objects."""
    return _indexables().get(id(x))


def with_converted_functions(function: Callable[..., Any], *given: Any, **more: Any) -> Any:
    """Call a function of a library with the user's functions among its arguments converted: ``map(f, rows)``."""
    return function(
        *map(_converted_within, given), **{name: _converted_within(x) for name, x in more.items()}
    )


def _converted_within(x: Any) -> Any:
    if isinstance(x, (FunctionType, MethodType)):
        watch_called(x)
        return converted(x)
    if type(x) is list and any(isinstance(one, FunctionType) for one in x):
        return [_converted_within(one) for one in x]
    return x


@lru_cache(1)
def _meanings() -> dict[Any, Callable[..., Any]]:
    found: dict[Any, Callable[..., Any]] = {
        function: partial(_looking_everywhere, function) for function in FUNCTIONS
    }
    for name, traced in CONSTRUCTORS.items():
        module, short = place_in_numpy(name)
        found[getattr(module, short)] = partial(_constructing, traced)
    found[np.isscalar] = _is_scalar
    return found


def _constructing(traced: Any, *given: Any, **more: Any) -> Any:
    """``np.asarray(x)``, ``np.zeros(n)``"""
    return with_converted_functions(partial(located, traced), *map(as_numpys, given), **more)


def _is_scalar(element: Any) -> bool:
    return bool(element.is_scalar) if is_traced(element) else np.isscalar(element)


@lru_cache(1)
def _draws() -> dict[Any, str]:
    """The functions that draw from NumPy's global generator or set its state, with their names."""
    names = {name for name in np.random.__all__ if name not in _CLASSES and name != "default_rng"}
    return {getattr(np.random, name): name for name in names}


@lru_cache(1)
def _indexables() -> dict[int, Any]:
    return {id(getattr(np, name)): traced for name, traced in INDEXABLES.items()}


def _looking_everywhere(function: Any, *given: Any, **more: Any) -> Any:
    """``np.max([x, y])``, ``np.fill_diagonal(w, x)``: NumPy's protocol looks at some arguments only, not into lists."""
    if not more and _are_traced_with(_ARRAYS, given):
        return located(FUNCTIONS[function], *given)
    given = tuple(map(as_numpys, given))
    arguments = (*given, *more.values())
    if any(map(contains_traced, arguments)) or any(map(contains_size, arguments)):
        return with_converted_functions(partial(located, FUNCTIONS[function]), *given, **more)
    return with_converted_functions(partial(_noting_writes, function), *given, **more)


def _are_traced_with(kinds: Set[type], given: Sequence[Any]) -> bool:
    """Whether some arguments are traced arrays and all are of these classes, so that there is nothing to look into."""
    found = set(map(type, given))
    return TracedArray in found and found <= kinds


def _of_lists(ufunc: np.ufunc, *given: Any, **more: Any) -> Any:
    """``np.add([x, y], 1)``"""
    if not more and _are_traced_with(_PLAIN, given):
        return call(ufunc, *given)
    return _noting_writes(ufunc, *map(_array_of_list, given), **more)


def _method_of_lists(method: Any, *given: Any, **more: Any) -> Any:
    """``np.add.reduce([x, y])``. In ``np.add.at(x, (i, j), y)``, the tuple is an index."""
    if method.__name__ == "at":
        return call(method, *given[:2], *map(_array_of_list, given[2:]), **more)
    return call(method, *map(_array_of_list, given), **more)


def _array_of_list(x: Any) -> Any:
    """The array of a list of traced numbers or sizes, of which NumPy would make an array of objects; else `x`."""
    holds_numbers = isinstance(x, (list, tuple)) and (contains_traced(x) or contains_size(x))
    return CONSTRUCTORS["array"](x) if holds_numbers else as_numpys(x)


def _of_array(method: Any, *given: Any, **more: Any) -> Any:
    """``table.take(i)``, ``weights.dot(x)``: a method of a NumPy array with traced arguments."""
    if not any(map(contains_traced, (*given, *more.values()))):
        if method.__name__ in _WRITE:
            require_trace().note_numpy_write(method.__self__)
        return _noting_reads(method, method.__self__, *given, **more)(call(method, *given, **more))
    own, name = method.__self__, method.__name__
    return getattr(adopt_for_write(own) if name in _WRITE else wrap(as_value(own)), name)(*given, **more)


def _noting_writes(function: Any, *given: Any, **more: Any) -> Any:
    """Call a function that may write to a NumPy array, with no traced arguments, and note the write."""
    if not any(map(is_traced, given)):
        targets = given[function.nin :] if isinstance(function, np.ufunc) else given[: function in _WRITERS]
        out = more.get("out")
        for target in (*targets, *(out if isinstance(out, tuple) else (out,))):
            if is_numpy_array(target):
                require_trace().note_numpy_write(target)
        return _noting_reads(function, *given, **more)(call(function, *given, **more))
    return call(function, *given, **more)


def _noting_reads(function: Any, *given: Any, **more: Any) -> Callable[[Any], Any]:
    """Call a function, and note the arrays that its result was computed from, unless it is a view of them."""

    def noted(result: Any) -> Any:
        read = [x for x in (*given, *more.values()) if is_numpy_array(x) and not _is_view(result, x)]
        if read and function not in _NOT_READING:
            require_trace().note_numpy_read(read)
        return result

    return noted


def _is_view(result: Any, array: Any) -> bool:
    return is_numpy_array(result) and np.may_share_memory(result, array)


def _draw_from_global(name: str, *given: Any, **more: Any) -> Any:
    """A function of ``np.random`` that draws from NumPy's global generator. No program can do so."""
    trace = require_trace()
    if trace.is_evaluating and trace.outermost().is_evaluating:
        return getattr(np.random, name)(*given, **more)
    raise RandomStateError(
        f"np.random.{name} was called while tracing: its number would be frozen into the graph. "
        "Draw from a generator of tracemill.random.default_rng, or outside, and pass the result as an argument",
        user_location(),
    )
