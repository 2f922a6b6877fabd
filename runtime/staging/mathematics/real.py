"""The functions of `math` in converted code, for traced numbers and for symbolic sizes: ``math.sqrt(len(x))``.

The result for a size is a number of the program, like ``n ** 0.5``. Python's own function would need the size itself
and so restrict the program to it. A function that may have no value, such as the root of a difference of fractions, is
left to Python, because Python raises an error where NumPy would return NaN.
"""

import math
import operator
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, Final

import numpy as np

from ....compiler.builder import bind
from ....compiler.ir import Constant, Value
from ....compiler.numpy_surface.ufuncs.python_exceptions import refuse_domain, refuse_outside_of_math
from ....compiler.numpy_surface.ufuncs.ufunc_calls import BY_NAME
from ....compiler.params import int_param
from ....compiler.symbolic_size import SymbolicSize, is_known
from ....compiler.tracing.traced_array import TracedArray, located, wrap
from ....compiler.tracing.traced_memory import is_traced
from ...branching.python_numbers import as_float, as_python_number, is_differentiable, is_unknown

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
"""The functions that accept sizes, and the least size for which each is defined."""
_KEEP_THE_SIGN: Final = frozenset({"add", "convert", "divide", "multiply", "reciprocal", "sqrt"})
_NAMES: Final = """
    sqrt exp expm1 log log2 log10 log1p sin cos tan sinh cosh tanh fabs copysign fmod cbrt exp2 pow=power
    asin=arcsin acos=arccos atan=arctan atan2=arctan2 asinh=arcsinh acosh=arccosh atanh=arctanh
    degrees radians nextafter
""".split()
"""The functions, with NumPy's name for them if it differs."""


def _function(name: str, numpys: Any) -> Callable[..., Any]:
    own = getattr(math, name)

    def function(*given: Any) -> Any:
        if len(given) == numpys.nin and any(map(is_computed, given)):
            return _checked(name, numpys, given)
        if name in _LEAST and any(isinstance(x, SymbolicSize | TracedArray) for x in given):
            least = _LEAST[name]
            if all(_has_a_value(x, least) for x in given):
                return located(_computed, numpys, *given)
        return own(*given)

    return function


def _checked(name: str, meaning: Callable[..., Any], given: Sequence[Any]) -> Any:
    """The function of Python floats, as a Python float; with Python's exceptions."""
    floats = [as_float(x) for x in given]
    result = meaning(*floats)
    refuse_outside_of_math(name, result, floats)
    return as_python_number(result, float)


def _computed(ufunc: Any, *args: Any) -> Any:
    """A weak number, like Python's: it does not change the dtypes of arrays."""
    parts = [ufunc(x.as_number() if isinstance(x, SymbolicSize) else x) for x in args]
    result = parts[0] if len(parts) == 1 else parts[0] / parts[1]
    return wrap(result.value, weak=float)


def _has_a_value(x: Any, least: int) -> bool:
    """Whether a function that needs sizes of at least `least` is defined for `x`, whatever the sizes are."""
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
    return lambda x: as_python_number(numpys(x), bool) if is_computed(x) else own(x)


def is_computed(x: Any) -> bool:
    """Whether the program computes a function of `x`, rather than Python while tracing."""
    return is_unknown(x) or is_differentiable(x)


def _special(name: str, x: Any) -> Any:
    """A function of `scipy.special`, without importing SciPy."""
    meaning = BY_NAME.get(name)
    return wrap(bind(name, x.value)) if meaning is None else meaning(x)


def _of_numbers(own: Any, meaning: Callable[..., Any]) -> Callable[..., Any]:
    """A function that returns a Python float."""

    def function(*given: Any) -> Any:
        if not any(map(is_computed, given)):
            return own(*given)
        return _checked(own.__name__, meaning, given)

    return function


def _log() -> Callable[..., Any]:
    """``math.log``, which may have a base."""
    of_one = _function("log", np.log)

    def log(*given: Any) -> Any:
        if len(given) == 2 and any(map(is_computed, given)):
            return of_one(given[0]) / of_one(given[1])
        return of_one(*given)

    return log


def _lgamma(x: Any) -> Any:
    """``math.lgamma``, which is inf at -inf, unlike SciPy's."""
    return np.where(np.isinf(x), np.inf, _special("gammaln", x))[()]


def _hypot(first: Any, *others: Any) -> Any:
    return reduce(np.hypot, others, first) if others else np.abs(first)


def _dist(p: Any, q: Any) -> Any:
    p, q = list(p), list(q)
    if not any(map(is_computed, (*p, *q))):
        return math.dist(p, q)
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    return as_python_number(_hypot(*map(operator.sub, p, q)), float)


def _fsum(given: Any) -> Any:
    """``math.fsum``: the rounding errors of the sum are summed as well, and so are the errors of that sum."""
    if not (is_traced(given) and given.ndim == 1):
        given = list(given)
        if not any(map(is_computed, given)):
            return math.fsum(given)
    return sum_of(given)


def sum_of(given: Any) -> Any:
    """The sum of numbers, some of which are traced, as a Python float."""
    if not is_traced(given):
        if not any(map(is_traced, given)):
            return math.fsum(given)
        given = np.stack([x if is_traced(x) else np.asarray(x, float) for x in given])
    numbers = given.astype(float)
    plain = np.sum(numbers)
    if isinstance(numbers.shape[0], SymbolicSize):
        return as_python_number(plain, float)
    total, lost = _split(numbers)
    more, rest = _split(lost)
    exact = total + (more + np.sum(rest))
    return as_python_number(np.where(np.isfinite(total), exact, plain), float)


def _split(numbers: Any) -> "tuple[Any, Any]":
    """The rounded sum of numbers, and the rounding error of each addition: Knuth's TwoSum, in pairs."""
    lost: list[Any] = [np.zeros(1)]
    while len(numbers) > 1:
        even = len(numbers) // 2 * 2
        x, y = numbers[0:even:2], numbers[1:even:2]
        total = x + y
        part = total - x
        lost.append((x - (total - part)) + (y - part))
        numbers = np.concatenate([total, numbers[even:]])
    return (numbers[0] if len(numbers) else np.float64(0.0)), np.concatenate(lost)


def _modf(x: Any) -> Any:
    if not is_computed(x):
        return math.modf(x)
    x = as_float(x)
    whole = np.trunc(x)
    part = np.where(np.isinf(x), 0.0, x - whole)
    return as_python_number(np.copysign(part, x), float), as_python_number(whole, float)


def _frexp(x: Any) -> Any:
    if not is_computed(x):
        return math.frexp(x)
    mantissa, exponent = np.frexp(as_float(x))
    return as_python_number(mantissa, float), as_python_number(exponent, int)


def _remainder(x: Any, y: Any) -> Any:
    """The remainder nearest to zero, of quotients rounded to the nearest and even number."""
    size = np.abs(y)
    rest = np.fmod(np.abs(x), 2 * size)
    is_beyond = (
        2 * rest > size
    )  # else it is the nearest already: half of the size belongs to an even quotient
    rest = np.where(is_beyond, rest - size, rest)
    rest = np.where(np.logical_and(is_beyond, 2 * rest >= size), rest - size, rest)
    return np.where(np.signbit(x), -rest, rest)


def refuse_negative_tolerances(*tolerances: Any) -> None:
    """Raise the exception of `isclose`."""
    for one in tolerances:
        refuse_domain(np.less(one, 0), "tolerances must be non-negative")


def are_close(a: Any, b: Any, rel_tol: Any, abs_tol: Any) -> Any:
    """Whether two numbers are close, as `math.isclose` and `cmath.isclose` decide. An infinity is close to itself."""
    distance = np.abs(np.subtract(a, b))
    is_near = np.logical_or(distance <= rel_tol * np.maximum(np.abs(a), np.abs(b)), distance <= abs_tol)
    are_finite = np.logical_and(np.isfinite(a), np.isfinite(b))
    return as_python_number(np.logical_or(np.equal(a, b), np.logical_and(is_near, are_finite)), bool)


def _isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    if not any(map(is_computed, (a, b, rel_tol, abs_tol))):
        return math.isclose(a, b, rel_tol=rel_tol, abs_tol=abs_tol)
    refuse_negative_tolerances(rel_tol, abs_tol)
    return are_close(a, b, rel_tol, abs_tol)


def _of_integers(own: Any, ufunc: np.ufunc) -> Callable[..., Any]:
    def function(*given: Any) -> Any:
        if not any(map(is_unknown, given)) or len(given) < 2:
            return own(*given)
        return as_python_number(reduce(ufunc, given), int)

    return function


def _ldexp(x: Any, i: Any) -> Any:
    """``math.ldexp``: exact also where 2 to the power i itself is no float."""
    if not (is_computed(x) or is_computed(i)):
        return math.ldexp(x, i)
    if not _is_integer(i):
        raise TypeError("Expected an int as second argument to ldexp.")
    number = as_float(x)
    result = np.ldexp(number, i.as_number() if isinstance(i, SymbolicSize) else as_python_number(i, int))
    refuse_outside_of_math("ldexp", result, [number])
    return as_python_number(result, float)


def _is_integer(x: Any) -> bool:
    return x.dtype.kind in "biu" if is_traced(x) else isinstance(x, int | np.integer | SymbolicSize)


def _isqrt(x: Any) -> Any:
    if not is_unknown(x):
        return math.isqrt(x)
    if not _is_integer(x):
        raise TypeError("'float' object cannot be interpreted as an integer")
    refuse_domain(np.less(x, 0), "isqrt() argument must be nonnegative")
    root = np.floor(np.sqrt(x)).astype(int)
    root = np.where(root * root > x, root - 1, root)
    return as_python_number(np.where((root + 1) * (root + 1) <= x, root + 1, root), int)


def _meanings_of_several() -> dict[Any, Callable[..., Any]]:
    """Maps functions of `math` to those that converted code calls instead."""
    return {
        math.log: _log(),
        math.hypot: _of_numbers(math.hypot, _hypot),
        math.dist: _dist,
        math.fsum: _fsum,
        math.erf: _of_numbers(math.erf, partial(_special, "erf")),
        math.erfc: _of_numbers(math.erfc, partial(_special, "erfc")),
        math.gamma: _of_numbers(math.gamma, partial(_special, "gamma")),
        math.lgamma: _of_numbers(math.lgamma, _lgamma),
        math.modf: _modf,
        math.frexp: _frexp,
        math.ldexp: _ldexp,
        math.remainder: _of_numbers(math.remainder, _remainder),
        math.isclose: _isclose,
        math.gcd: _of_integers(math.gcd, np.gcd),
        math.lcm: _of_integers(math.lcm, np.lcm),
        math.isqrt: _isqrt,
    }


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
    return found | _meanings_of_several()


MATHEMATICS: Final = _meanings()
"""Maps functions of `math` to those that converted code calls instead."""
