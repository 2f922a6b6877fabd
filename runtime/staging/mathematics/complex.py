"""The functions of `cmath` in converted code, for traced numbers: a Python complex, with Python's exceptions."""

import cmath
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ....compiler.numpy_surface.ufuncs.python_exceptions import refuse_domain, refuse_overflow
from ...branching.python_numbers import as_float, as_python_number, complex_of, is_unknown
from .real import are_close, is_computed, refuse_negative_tolerances

_NAMES: Final = """
    sqrt exp sin cos tan sinh cosh tanh
    asin=arcsin acos=arccos atan=arctan asinh=arcsinh acosh=arccosh atanh=arctanh
""".split()
"""The functions, with NumPy's name for them if it differs."""
_OVERFLOWS: Final = frozenset({"cos", "cosh", "exp", "sin", "sinh"})
_QUESTIONS: Final = ("isnan", "isinf", "isfinite")


def _function(name: str, meaning: Any) -> Callable[..., Any]:
    own = getattr(cmath, name)

    def function(*given: Any) -> Any:
        if len(given) != 1 or not is_computed(given[0]):
            return own(*given)
        z = as_python_number(given[0], complex)
        if (is_outside := _is_outside(name, z)) is not None:
            refuse_domain(is_outside)
        result = meaning(z)
        if name in _OVERFLOWS:
            refuse_overflow(np.logical_and(np.isinf(result), np.isfinite(z)))
        return as_python_number(result, complex)

    return function


def _is_outside(name: str, z: Any) -> Any:
    """Where Python raises ValueError, as CPython's Modules/cmathmodule.c decides; None if it raises none."""
    x, y = z.real, z.imag
    match name:
        case "atanh":
            return np.logical_and(np.equal(np.abs(x), 1), np.equal(y, 0))
        case "atan":
            return np.logical_and(np.equal(x, 0), np.equal(np.abs(y), 1))
        case "exp":
            is_any = np.logical_or(np.isfinite(x), np.equal(x, np.inf))
            return np.logical_and(np.isinf(y), is_any)
        case "sinh" | "cosh":
            return np.logical_and(np.isinf(y), np.logical_not(np.isnan(x)))
        case "sin" | "cos":
            return np.logical_and(np.isinf(x), np.logical_not(np.isnan(y)))
        case "tanh":
            return np.logical_and(np.isinf(y), np.isfinite(x))
        case "tan":
            return np.logical_and(np.isinf(x), np.isfinite(y))
        case _:
            return None


def _log(*given: Any) -> Any:
    """``cmath.log``, which may have a base."""
    if not given or len(given) > 2 or not any(map(is_computed, given)):
        return cmath.log(*given)
    if len(given) == 1:
        return _log_of_one(np.log, given[0])
    x, base = (as_python_number(one, complex) for one in given)
    # Python does not ask whether the first number is 0.
    refuse_domain(np.logical_or(np.equal(base, 0), np.equal(base, 1)))
    return as_python_number(np.log(x), complex) / as_python_number(np.log(base), complex)


def _log10(*given: Any) -> Any:
    is_traced = len(given) == 1 and is_computed(given[0])
    return _log_of_one(np.log10, given[0]) if is_traced else cmath.log10(*given)


def _log_of_one(meaning: Any, x: Any) -> Any:
    z = as_python_number(x, complex)
    refuse_domain(np.equal(z, 0))
    return as_python_number(meaning(z), complex)


def _phase(z: Any) -> Any:
    if not is_computed(z):
        return cmath.phase(z)
    z = as_python_number(z, complex)
    return as_python_number(np.arctan2(z.imag, z.real), float)


def _polar(z: Any) -> Any:
    if not is_computed(z):
        return cmath.polar(z)
    size = np.abs(as_python_number(z, complex))
    refuse_overflow(np.logical_and(np.isinf(size), np.isfinite(z)))
    return as_python_number(size, float), _phase(z)


def _rect(r: Any, phi: Any) -> Any:
    if not (is_computed(r) or is_computed(phi)):
        return cmath.rect(r, phi)
    r, phi = as_float(r), as_float(phi)
    is_number = np.logical_and(np.not_equal(r, 0), np.logical_not(np.isnan(r)))
    refuse_domain(np.logical_and(np.isinf(phi), is_number))
    is_finite = np.isfinite(phi)
    angle = np.where(is_finite, phi, 1.0)
    beside = np.where(np.isinf(r), np.copysign(1.0, r) * angle, np.where(np.isnan(r), 0.0, r * angle))
    re = np.where(np.equal(angle, 0), r, r * np.cos(angle))
    im = np.where(np.equal(angle, 0), beside, r * np.sin(angle))
    without = np.where(np.equal(r, 0), 0.0, np.nan)
    return complex_of(
        np.where(is_finite, re, np.where(np.isinf(r), np.inf, without)), np.where(is_finite, im, without)
    )


def _question(name: str) -> Callable[[Any], Any]:
    own, meaning = getattr(cmath, name), getattr(np, name)
    return lambda z: as_python_number(meaning(z), bool) if is_unknown(z) else own(z)


def _isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    if not any(map(is_computed, (a, b, rel_tol, abs_tol))):
        return cmath.isclose(a, b, rel_tol=rel_tol, abs_tol=abs_tol)
    refuse_negative_tolerances(rel_tol, abs_tol)
    return are_close(a, b, rel_tol, abs_tol)


def _meanings() -> dict[Any, Callable[..., Any]]:
    found: dict[Any, Callable[..., Any]] = {
        cmath.log: _log,
        cmath.log10: _log10,
        cmath.phase: _phase,
        cmath.polar: _polar,
        cmath.rect: _rect,
        cmath.isclose: _isclose,
        **{getattr(cmath, name): _question(name) for name in _QUESTIONS},
    }
    for pair in _NAMES:
        name, _, numpys = pair.partition("=")
        found[getattr(cmath, name)] = _function(name, getattr(np, numpys or name))
    return found


COMPLEX_MATHEMATICS: Final = _meanings()
"""Maps functions of `cmath` to those that converted code calls instead."""
