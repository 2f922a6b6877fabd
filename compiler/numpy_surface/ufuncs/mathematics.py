"""Mathematical functions that consist of several ufuncs: rounding, parts of complex numbers."""

import operator
from typing import Any

import numpy as np

from ...builder import bind
from ...dtypes import BOOL, is_complex, is_inexact
from ...errors import ArgumentTypeError, ConcretizationError, DTypeError
from ...nesting import shown
from ...tracing.registry import implements
from ...tracing.traced_array import TracedArray, wrap
from ...value_ops import make_complex
from .reductions import finished_reduction
from .ufunc_calls import as_array

# ---- rounding ----------------------------------------------------------------------------------------


@implements(np.round, np.around)
def round_(a: Any, decimals: Any = 0, out: Any = None) -> TracedArray:
    """To the nearest multiple of 10^−decimals, ties to even; integers of an integer dtype stay exact."""
    x: Any = as_array(a)
    decimals = operator.index(decimals)
    if x.dtype.kind in "iu":
        rounded = x if decimals >= 0 else _rounded_integer(x, decimals)
        return finished_reduction(rounded.value, out, casting="same_kind")
    if x.dtype == BOOL:
        if decimals:
            raise DTypeError(
                "booleans are rounded to whole numbers only, because the result would be boolean"
            )
        x = x.astype(np.float16)
    if is_complex(x.dtype):
        parts = (_rounded(part, decimals).value for part in (x.real, x.imag))
        return finished_reduction(make_complex(*parts), out, casting="same_kind")
    return finished_reduction(_rounded(x, decimals).value, out, casting="same_kind")


def _rounded(x: Any, decimals: int) -> Any:
    if decimals == 0:
        return np.rint(x)
    factor = 10.0 ** abs(decimals)
    return np.rint(x * factor) / factor if decimals > 0 else np.rint(x / factor) * factor


def _rounded_integer(x: Any, decimals: int) -> Any:
    factor = 10.0**-decimals
    return (np.rint(x / factor) * factor).astype(x.dtype)


@implements(np.fix)
def fix(x: Any, out: Any = None) -> Any:
    return np.trunc(as_array(x), out=out)


@implements(np.nan_to_num)
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """Replaces NaN and infinities by numbers; in `x` itself without ``copy``."""
    array: Any = as_array(x)
    if not is_inexact(array.dtype):
        array = wrap(array.value) if copy else array
        return array if array.ndim else array[()]
    parts = (array.real, array.imag) if is_complex(array.dtype) else (array,)
    done = [_without_infinities(part, nan, posinf, neginf) for part in parts]
    result = wrap(make_complex(*[part.value for part in done])) if is_complex(array.dtype) else done[0]
    if copy:
        return result if result.ndim else result[()]
    array.write(result.value)
    return array if array.ndim else array[()]


def _without_infinities(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    limits = np.finfo(x.dtype)
    high, low = (limits.max if posinf is None else posinf), (limits.min if neginf is None else neginf)
    for wrong, number in ((np.isnan(x), nan), (_is_infinity(x, 1), high), (_is_infinity(x, -1), low)):
        replacement = as_array(number)
        if is_complex(replacement.dtype):
            raise DTypeError(f"nan_to_num: nan, posinf and neginf must be real, not {shown(number)}")
        x = np.where(wrong, replacement.astype(x.dtype), x)
    return x


def _is_infinity(x: Any, sign: int) -> Any:
    return x == sign * np.inf


# ---- parts of complex numbers ------------------------------------------------------------------------


@implements(np.real)
def real(val: Any) -> TracedArray:
    return as_array(val).real


@implements(np.imag)
def imag(val: Any) -> TracedArray:
    return as_array(val).imag


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    x: Any = as_array(z)
    parts = (x.imag, x.real) if is_complex(x.dtype) else (0, x)
    result = np.arctan2(*parts)
    return result * (180 / np.pi) if deg else result


@implements(np.real_if_close)
def real_if_close(a: Any, tol: float = 100) -> Any:
    """The real part if all imaginary parts are small, which must be known while tracing."""
    x: Any = as_array(a)
    if not is_complex(x.dtype):
        return x
    known = x.imag.concrete()
    if known is None:
        raise ConcretizationError(
            "np.real_if_close gives a dtype that depends on values: use x.real or x as it is"
        )
    limit = np.finfo(x.dtype).eps * tol if tol > 1 else tol
    return x.real if np.all(np.absolute(known) < limit) else x


# ---- special functions of numpy ----------------------------------------------------------------------


@implements(np.sinc)
def sinc(x: Any) -> TracedArray:
    """sin(πx) / (πx), 1 at 0."""
    array: Any = as_array(x)
    if is_complex(array.dtype):
        return wrap(bind("sin_quotient", (np.pi * array).value, order=0))
    return wrap(bind("sinc", (array if is_inexact(array.dtype) else array.astype(float)).value, order=0))


@implements(np.i0)
def i0(x: Any) -> Any:
    """The modified Bessel function of order 0."""
    array: Any = as_array(x)
    if is_complex(array.dtype):
        raise ArgumentTypeError("i0 not supported for complex values")
    if not is_inexact(array.dtype):
        array = array.astype(float)
    return wrap(bessel_i(array, 0).value, is_scalar=False)


def bessel_i(x: Any, order: int) -> Any:
    return wrap(bind("bessel_i", x.value, order=order))
