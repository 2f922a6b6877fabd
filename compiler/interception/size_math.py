"""``math.sqrt(n)`` and the like in a traced function, where `n` is a symbolic size: numbers, as ``n ** 0.5`` is.

Python's own need the number, which leaves the program one size. What may have no value, such as the root of a
difference of fractions, is left to them, since they raise where NumPy would go on with NaN.
"""

import math
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import numpy as np

from ..callers.user_code import is_library
from ..ir import Constant, Value
from ..symbolic_size import SymbolicSize, is_known
from ..tracing.trace import current_trace
from ..tracing.traced_array import TracedArray, located, wrap

_LEAST = {"cbrt": 0, "cos": 0, "log": 1, "log10": 1, "log1p": 0, "log2": 1, "sin": 0, "sqrt": 0, "tanh": 0}
"""The functions, and for which sizes they have a value."""
_KEEP_THE_SIGN = frozenset({"add", "convert", "divide", "multiply", "reciprocal", "sqrt"})


def functions_of_sizes() -> Iterator[tuple[str, Any, Any]]:
    """The name in `math`, what is there, and what also computes with sizes."""
    for name, least in _LEAST.items():
        original = getattr(math, name)
        yield name, original, _also_of_sizes(original, getattr(np, name), least)


def _also_of_sizes(original: Callable[..., float], ufunc: Any, least: int) -> Callable[..., Any]:
    @wraps(original)
    def function(*args: Any) -> Any:
        if not any(isinstance(x, SymbolicSize | TracedArray) for x in args) or current_trace() is None:
            return original(*args)
        is_ours = is_library(sys._getframe(1).f_code.co_filename)
        if is_ours or not all(_has_a_value(x, least) for x in args):
            return original(*args)
        return located(_computed, ufunc, *args)

    return function


def _computed(ufunc: Any, *args: Any) -> Any:
    """A weak number, as Python's are: it leaves the dtypes of arrays as they are. ``math.log`` may have a base."""
    parts = [ufunc(x.as_number() if isinstance(x, SymbolicSize) else x) for x in args]
    result = parts[0] if len(parts) == 1 else parts[0] / parts[1]
    return wrap(result.value, weak=float)


def _has_a_value(x: Any, least: int) -> bool:
    """Whether a function that needs sizes of at least `least` is defined for a number, whatever the sizes are."""
    if isinstance(x, SymbolicSize):
        return not x.may_overflow and bool(x >= least)  # type: ignore[operator]
    if isinstance(x, TracedArray):
        return x.weak is not None and _is_sized(x, x.value, least)
    return isinstance(x, int | float) and x > 0


def _is_sized(x: TracedArray, value: Value, least: int) -> bool:
    """Whether a value is computed from sizes of at least `least`, and from positive constants, without a difference."""
    if isinstance(value, Constant):
        return value.ndim == 0 and bool(value.array > 0)
    call = x._trace.producer(value)
    if call is None:
        return False
    if call.op == "size":
        size: Any = call.params["of"]
        return is_known(size >= least)
    return call.op in _KEEP_THE_SIGN and all(_is_sized(x, one, least) for one in call.inputs)
