"""`math`'s functions in converted code: of traced numbers, and of symbolic sizes, as in ``math.sqrt(len(x))``.

Of sizes they are numbers of the program, as ``n ** 0.5`` is; Python's own would need the size, which leaves the program
one. What may have no value, such as the root of a difference of fractions, is left to Python's, since they raise where
NumPy would go on with NaN.
"""

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...compiler.ir import Constant, Value
from ...compiler.params import int_param
from ...compiler.symbolic_size import SymbolicSize, is_known
from ...compiler.tracing.traced_array import TracedArray, located, wrap
from ..branching.python_numbers import as_float, as_python_number
from .functions_of_floats import is_computed, meanings_of_several

_LEAST: Final = {
    "cbrt": 0,
    "cos": 0,
    "log": 1,
    "log10": 1,
    "log1p": 0,
    "log2": 1,
    "sin": 0,
    "sqrt": 0,
    "tanh": 0,
}
"""The functions that compute with sizes, and for which they have a value."""
_KEEP_THE_SIGN: Final = frozenset({"add", "convert", "divide", "multiply", "reciprocal", "sqrt"})
_NAMES: Final = """
    sqrt exp expm1 log log2 log10 log1p sin cos tan sinh cosh tanh fabs copysign fmod cbrt exp2 pow=power
    asin=arcsin acos=arccos atan=arctan atan2=arctan2 asinh=arcsinh acosh=arccosh atanh=arctanh
    degrees radians nextafter
""".split()
"""The functions, and what NumPy calls them if it has another name."""


def _function(name: str, numpys: Any) -> Callable[..., Any]:
    own = getattr(math, name)

    def function(*given: Any) -> Any:
        if len(given) == numpys.nin and any(map(is_computed, given)):
            return as_python_number(numpys(*map(as_float, given)), float)
        if name in _LEAST and any(isinstance(x, SymbolicSize | TracedArray) for x in given):
            least = _LEAST[name]
            if all(_has_a_value(x, least) for x in given):
                return located(_computed, numpys, *given)
        return own(*given)

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
        size = int_param(call, "of")
        return is_known(size >= least)
    return call.op in _KEEP_THE_SIGN and all(_is_sized(x, one, least) for one in call.inputs)


def _rounded(own: Any, numpys: Any) -> Callable[[Any], Any]:
    return lambda x: as_python_number(numpys(x), int) if is_computed(x) and x.dtype.kind == "f" else own(x)


def _question(own: Any, numpys: Any) -> Callable[[Any], Any]:
    return lambda x: numpys(x) if is_computed(x) else own(x)


def _meanings() -> dict[Any, Callable[..., Any]]:
    found: dict[Any, Callable[..., Any]] = {
        math.floor: _rounded(math.floor, np.floor),
        math.ceil: _rounded(math.ceil, np.ceil),
        math.trunc: _rounded(math.trunc, np.trunc),
        math.isnan: _question(math.isnan, np.isnan),
        math.isinf: _question(math.isinf, np.isinf),
        math.isfinite: _question(math.isfinite, np.isfinite),
    }
    for pair in _NAMES:
        name, _, numpys = pair.partition("=")
        if hasattr(math, name):
            found[getattr(math, name)] = _function(name, getattr(np, numpys or name))
    return found | meanings_of_several()


MATHEMATICS: Final = _meanings()
"""Function of `math` -> what converted code calls in its place."""
