"""Queries that the type of a traced array answers: shape, ndim, size, result_type, can_cast."""

from typing import Any

import numpy as np

from ..arguments.axes import normalize_axes
from ..errors import ConcretizationError
from ..tracing.array_values import as_value
from ..tracing.registry import implements
from ..tracing.trace import require_trace
from ..tracing.traced_array import TracedArray
from ..tracing.traced_memory import is_traced
from .ufuncs.ufunc_calls import as_array


@implements(np.shape)
def shape(a: Any) -> tuple[int, ...]:
    return as_array(a).shape


@implements(np.ndim)
def ndim(a: Any) -> int:
    return as_array(a).ndim


@implements(np.size)
def size(a: Any, axis: Any = None) -> int:
    array = as_array(a)
    if axis is None:
        return array.size
    count = 1
    for one in normalize_axes(axis, array.ndim):
        count *= array.shape[one]
    return count


def promoted(x: Any) -> Any:
    """The operand's contribution to promotion: its dtype, or a Python number if it is weak."""
    if not is_traced(x):
        return x
    return x.dtype if x.weak is None else x.weak(0)


@implements(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> Any:
    return np.result_type(*map(promoted, arrays_and_dtypes))


@implements(np.can_cast)
def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    return np.can_cast(from_.dtype if is_traced(from_) else from_, to, casting)  # type: ignore[arg-type]


@implements(np.common_type)
def common_type(*arrays: Any) -> Any:
    return np.common_type(*[np.empty((), x.dtype) if is_traced(x) else x for x in arrays])


@implements(np.min_scalar_type)
def min_scalar_type(a: Any, /) -> Any:
    """Depends on the value of a number, which must be known."""
    array: TracedArray = as_array(a)
    if array.ndim:
        return array.dtype
    known = require_trace().concrete(as_value(array))
    if known is None:
        raise ConcretizationError(f"np.min_scalar_type needs the value of a traced {array.type}: use x.dtype")
    return np.min_scalar_type(known[()])
