"""Functions of `math` that are no single one of NumPy's, of traced numbers: ``math.hypot(x, y, z)``, ``math.fsum``."""

import math
import operator
from collections.abc import Callable, Iterable
from functools import partial, reduce
from typing import Any

import numpy as np

from ...compiler.builder import bind
from ...compiler.numpy_surface.ufuncs.ufunc_calls import BY_NAME
from ...compiler.symbolic_size import SymbolicSize
from ...compiler.tracing.traced_array import is_traced, wrap
from ..branching.python_numbers import as_float, as_python_number, is_differentiable, is_unknown


def is_computed(x: Any) -> bool:
    """Whether a function of a number is computed by the program, rather than by Python while tracing."""
    return is_unknown(x) or is_differentiable(x)


def meanings_of_several() -> dict[Any, Callable[..., Any]]:
    """Function of `math` -> what converted code calls in its place."""
    return {
        math.log: _log,
        math.hypot: _of_numbers(math.hypot, _hypot),
        math.dist: _dist,
        math.fsum: _fsum,
        math.erf: _of_numbers(math.erf, partial(_special, "erf")),
        math.erfc: _of_numbers(math.erfc, partial(_special, "erfc")),
        math.gamma: _of_numbers(math.gamma, partial(_special, "gamma")),
        math.lgamma: _of_numbers(math.lgamma, partial(_special, "gammaln")),
        math.modf: _modf,
        math.frexp: _frexp,
        math.ldexp: _of_numbers(math.ldexp, lambda x, i: x * np.exp2(i)),
        math.remainder: _of_numbers(math.remainder, _remainder),
        math.isclose: _isclose,
        math.gcd: _of_integers(math.gcd, np.gcd),
        math.lcm: _of_integers(math.lcm, np.lcm),
        math.isqrt: _isqrt,
    }


def _special(name: str, x: Any) -> Any:
    """A function of `scipy.special`, which itself is not needed."""
    meaning = BY_NAME.get(name)
    return wrap(bind(name, x.value)) if meaning is None else meaning(x)


def _of_numbers(own: Any, meaning: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives a float of Python's."""

    def function(*given: Any) -> Any:
        if not any(map(is_computed, given)):
            return own(*given)
        return as_python_number(meaning(*map(as_float, given)), float)

    return function


def _log(x: Any, *base: Any) -> Any:
    if base:
        return _log(x) / _log(base[0]) if any(map(is_computed, (x, *base))) else math.log(x, *base)
    if not is_computed(x):
        return math.log(x)
    return as_python_number(np.log(as_float(x)), float)


def _hypot(*given: Any) -> Any:
    return reduce(np.hypot, given) if len(given) > 1 else np.abs(given[0])


def _dist(p: Any, q: Any) -> Any:
    p, q = list(p), list(q)
    if not any(map(is_computed, (*p, *q))):
        return math.dist(p, q)
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    return as_python_number(_hypot(*map(operator.sub, p, q)), float)


def _fsum(given: Iterable[Any]) -> Any:
    """The sum of numbers, of which rounding loses nothing: what it would lose is summed as well, twice over."""
    if not (is_traced(given) and given.ndim == 1):
        given = list(given)
        if not any(map(is_computed, given)):
            return math.fsum(given)
        given = np.stack([np.asarray(x, float) if not is_traced(x) else x for x in given])
    numbers = given.astype(float)
    plain = np.sum(numbers)
    if isinstance(numbers.shape[0], SymbolicSize):
        return as_python_number(plain, float)
    total, lost = _split(numbers)
    more, rest = _split(lost)
    exact = total + (more + np.sum(rest))
    return as_python_number(np.where(np.isfinite(total), exact, plain), float)


def _split(numbers: Any) -> "tuple[Any, Any]":
    """The rounded sum of numbers, and what each addition has lost: Knuth's exact addition, in pairs."""
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
    rest = np.where(2 * rest > size, rest - size, rest)
    rest = np.where(2 * rest >= size, rest - size, rest)
    return np.where(np.signbit(x), -rest, rest)


def _isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    if not any(map(is_computed, (a, b, rel_tol, abs_tol))):
        return math.isclose(a, b, rel_tol=rel_tol, abs_tol=abs_tol)
    bound = np.maximum(rel_tol * np.maximum(np.abs(a), np.abs(b)), abs_tol)
    is_near = np.logical_and(np.abs(np.subtract(a, b)) <= bound, np.isfinite(bound))
    return np.logical_or(np.equal(a, b), is_near)


def _of_integers(own: Any, ufunc: np.ufunc) -> Callable[..., Any]:
    def function(*given: Any) -> Any:
        if not any(map(is_unknown, given)) or len(given) < 2:
            return own(*given)
        return as_python_number(reduce(ufunc, given), int)

    return function


def _isqrt(x: Any) -> Any:
    if not is_unknown(x):
        return math.isqrt(x)
    root = np.floor(np.sqrt(x)).astype(int)
    root = np.where(root * root > x, root - 1, root)
    return as_python_number(np.where((root + 1) * (root + 1) <= x, root + 1, root), int)
