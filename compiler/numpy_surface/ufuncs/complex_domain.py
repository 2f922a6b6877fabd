"""`numpy.emath`: functions that return complex numbers where real ones have no value."""

from typing import Any

import numpy as np

from ...dtypes import complex_dtype, is_complex, is_inexact
from ...errors import ConcretizationError
from ...tracing.registry import implements
from .ufunc_calls import as_array


def _widened(x: Any, name: str, outside: Any) -> Any:
    """The array as complex if an entry is outside the real domain, which must be known while tracing."""
    array: Any = as_array(x)
    if is_complex(array.dtype):
        return array
    known = array.concrete()
    if known is None:
        raise ConcretizationError(
            f"np.emath.{name} gives a dtype that depends on values: use np.{name}(x + 0j), or np.{name} if it is real"
        )
    if not np.any(outside(known)):
        return array
    small = array.dtype.itemsize <= 2 if array.dtype.kind in "iub" else False
    return array.astype(
        np.complex64 if small else complex_dtype(array.dtype) if is_inexact(array.dtype) else complex
    )


def _negative(x: Any) -> Any:
    return x < 0


def _beyond_one(x: Any) -> Any:
    return np.abs(x) > 1


for _name, _outside in (
    ("sqrt", _negative),
    ("log", _negative),
    ("log2", _negative),
    ("log10", _negative),
    ("arccos", _beyond_one),
    ("arcsin", _beyond_one),
    ("arctanh", _beyond_one),
):

    def _register(name: str, outside: Any) -> None:
        plain = getattr(np, name)

        @implements(getattr(np.emath, name))
        def function(x: Any) -> Any:
            return plain(_widened(x, name, outside))

    _register(_name, _outside)


@implements(np.emath.logn)
def logn(n: Any, x: Any) -> Any:
    return np.log(_widened(x, "log", _negative)) / np.log(_widened(n, "log", _negative))


@implements(np.emath.power)
def power(x: Any, p: Any) -> Any:
    exponent: Any = as_array(p)
    if exponent.dtype.kind in "iu":
        known = exponent.concrete()
        if known is None or np.any(known < 0):
            exponent = exponent.astype(float)
    return np.power(_widened(x, "power", _negative), exponent)
