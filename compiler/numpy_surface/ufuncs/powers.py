"""The bases of powers: of Python's ints, which give a float where the exponent is negative, and of scalars as roots.

NumPy refuses negative exponents of ints. Python's and NumPy's scalars call C's `pow` for square roots, arrays take the
root. The two differ at −inf, whose power is inf and whose root is NaN, and at −0.0, whose power is 0.0.
"""

from typing import Any

import numpy as np

from ...dtypes import FLOAT64
from ...ir import Constant, Value
from ...ops.installed_numpy import POWERS_THAT_ARE_ROOTS
from ...tracing.array_values import as_value
from ...tracing.exceptions.handlers import fall_back
from ...tracing.trace import require_trace
from ...tracing.traced_array import wrap
from ...tracing.traced_memory import is_traced
from ...tracing.values_in_call import guarded_truth, sizes_of_arguments, value_in_call
from ...value_ops import convert


def base_of_power(x: Any, y: Any) -> Any:
    """The base of ``x ** y`` for two Python ints: a float if the exponent is negative, as in Python.

    A program for a negative exponent is for calls in which it is negative. In others, the program raises NumPy's error
    for a negative exponent, and the function itself runs instead.
    """
    if not _is_negative(y):
        return x
    return wrap(convert(x.value, FLOAT64), weak=float) if is_traced(x) else float(x)


def _is_negative(y: Any) -> bool:
    if not is_traced(y):
        return bool(y < 0)
    test = as_value(np.less(y, 0))
    found = value_in_call(require_trace(), test, sizes_of_arguments())
    if found is not None and found:
        return bool(guarded_truth(require_trace(), test, "whether the exponent of an int is negative"))
    fall_back()
    return False


def is_root(x: Value, y: Value) -> bool:
    """Whether NumPy's power of these is the square root."""
    return (
        isinstance(y, Constant) and y.ndim == 0 and x.dtype in POWERS_THAT_ARE_ROOTS and bool(y.array == 0.5)
    )


def base_of_scalar_power(x: Any, y: Any) -> Any:
    """The base for ``x ** y`` of two scalars: if the exponent may be 0.5, one whose root is the power of `x`."""
    if not (_may_be_half(y) and _may_differ(x)):
        return x
    base: Any = np.where(np.equal(x, -np.inf), np.inf, x + 0.0)[()]
    if is_traced(y):
        base = np.where(np.equal(y, 0.5), base, x)[()]
    is_pythons = x.weak is not None if is_traced(x) else type(x) is float
    return wrap(base.value, weak=float) if is_pythons and is_traced(base) else base


def _may_be_half(y: Any) -> bool:
    return bool(y.dtype.kind == "f" if is_traced(y) else y == 0.5)


def _may_differ(x: Any) -> bool:
    if is_traced(x):
        return bool(x.dtype.kind == "f")
    return isinstance(x, float | np.floating) and x in (0.0, -np.inf)
