"""Powers of Python's ints: an int, or a float where the exponent is negative. NumPy refuses the latter."""

from typing import Any

import numpy as np

from ...dtypes import FLOAT64
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
