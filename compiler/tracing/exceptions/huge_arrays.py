"""New arrays that no machine can hold: NumPy does not make them, whatever the function reads of them."""

import math
from typing import Any, Final

import numpy as np

from ...builder import bind_all
from ...dtypes import FLOAT64, INT64
from ...ir import ArrayType, Value
from ...symbolic_size import HUGE, SymbolicSize, upper_bound
from ...value_ops import greater_equal, multiply, number
from ..trace import Trace, current_trace
from ..value_lengths import depends_on_values
from ..values_in_call import guarded_truth, sizes_of_arguments, value_in_call

LONG: Final = 1 << 10
"""Axes with fewer entries make no array too large, together with two others."""

_ERROR: Final = "MemoryError('Unable to allocate a new array')"


def refuse_huge(type_: ArrayType) -> None:
    """Raise NumPy's error for a new array that is too large.

    Where its shape follows from the sizes of arguments, what calls the program looks at its bytes first.
    """
    shape, itemsize = type_.shape, type_.dtype.itemsize
    if all(type(length) is int for length in shape):
        if math.prod(shape) * itemsize >= HUGE:
            np.empty(shape, type_.dtype)
        return
    trace = current_trace()
    if trace is None or trace.is_evaluating:
        return
    if any(map(depends_on_values, shape)):
        if _may_be_huge(trace, shape) and (shape, itemsize) not in trace.new_shapes:
            entries = number(itemsize, FLOAT64)
            for length in shape:
                entries = multiply(entries, number(length, FLOAT64))
            _refuse_in_call(trace, greater_equal(entries, float(HUGE)), type_)
            trace.new_shapes.add((shape, itemsize))
    else:
        trace.outermost().new_shapes.add((shape, itemsize))


def _refuse_in_call(trace: Trace, is_huge: Value, type_: ArrayType) -> None:
    """Make the program for calls like the one at hand, in which NumPy may raise its error.

    In an iteration or a branch, the program raises an error.
    """
    holds = guarded_truth(trace, is_huge, "whether a new array is too large")
    if holds is None:
        bind_all("raise_if", is_huge, error=_ERROR)
    elif holds:
        lengths = [
            value_in_call(trace, number(length, INT64), sizes_of_arguments()) for length in type_.shape
        ]
        np.empty([int(length) for length in lengths if length is not None], type_.dtype)


def _may_be_huge(trace: Trace, shape: Any) -> bool:
    """Whether an array with a length that values decide may be too large.

    Such a length is any number that the function computes, or not longer than some array. Two of the latter kind seldom
    make a product that is too large, three may.
    """
    if sum(upper_bound(length) >= LONG for length in shape) > 2:
        return True
    names = {str(one) for length in shape if isinstance(length, SymbolicSize) for one in length.sizes}
    return any(names & one.open_lengths for one in trace.enclosing())
