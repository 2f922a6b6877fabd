"""Square roots as powers: Python's and NumPy's scalars call C's `pow`, arrays take the root.

The two differ at −inf, whose power is inf and whose root is NaN, and at −0.0, whose power is 0.0.
"""

from typing import Any

import numpy as np

from ...ir import Constant, Value
from ...ops.installed_numpy import POWERS_THAT_ARE_ROOTS
from ...tracing.traced_array import wrap
from ...tracing.traced_memory import is_traced


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
