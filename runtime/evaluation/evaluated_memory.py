"""The memory of evaluated arrays: its elements are known, and lie as NumPy's do."""

from contextvars import ContextVar
from math import inf
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ...compiler.dtypes import Array
from ...compiler.errors import InternalError
from ...compiler.ir import ArrayType, Constant, Value
from ...compiler.memory_layout.layout import Layout, layout_of
from ...compiler.tracing.trace import Storage, Trace

LATEST_END: ContextVar[float] = ContextVar("latest_end", default=inf)
"""Arrays of calls that have ended are their values, if the calls ended before this number: what is traced later on
behalf of a call must not take its arrays for constants."""


class Evaluated(Value):
    """A value whose elements are known, and the node that its derivative comes from."""

    __slots__ = ("array", "node")

    def __init__(self, array: Array, node: Any = None) -> None:
        super().__init__(ArrayType(array.dtype, array.shape))
        self.array = array
        """Never written to."""
        self.node = node


class RunAgainError(BaseException):
    """The function must run once more, in another trace. What its first run has kept stays unusable: the second one
    would take that for constants."""


class MustTraceError(RunAgainError):
    """The function must be traced: it writes to a variable of `tracemill.autograd`, or uses one in forward mode, or
    after a large array, or it uses an array of a GPU."""


def elements(value: Value) -> Array:
    """The elements of a value in an evaluating trace."""
    if isinstance(value, (Evaluated, Constant)):
        return value.array
    raise InternalError(f"a value {value.type} of another trace")


class EvaluatedMemory(Storage):
    """Memory whose elements lie as NumPy's do. What is a view and what is a copy follows from that."""

    __slots__ = ("array",)

    def __init__(self, trace: Trace, value: Value, layout: Layout | None = None) -> None:
        super().__init__(trace, value, layout)
        self.array: Array | None = None
        """The array from outside that it represents, or what it is after its call, if that was asked for."""

    def write(self, value: Value) -> None:
        super().write(laid_out(value, self.layout))

    def array_after_call(self) -> Array | None:
        home: Any = self.trace
        if not (home.has_ended and home.ended_at < LATEST_END.get()):
            return None
        if self.array is None:
            self.array = copied(elements(self.value))
        return self.array


class BorrowedMemory(EvaluatedMemory):
    """The memory of a variable, to which only functions that are traced write."""

    __slots__ = ()

    def write(self, value: Value) -> None:
        raise MustTraceError


def laid_out(value: Value, layout: Layout | None) -> Evaluated:
    """The same elements in memory with this layout."""
    known = value if isinstance(value, Evaluated) else Evaluated(elements(value))
    array = known.array
    if not array.ndim:
        return known
    if layout is None or layout.is_row_major:
        fitting = array if array.flags.c_contiguous else np.ascontiguousarray(array)
    else:
        fitting = _in_layout(array, layout)
    return known if fitting is array else Evaluated(fitting, known.node)


def _in_layout(array: Array, layout: Layout) -> Array:
    """The elements in memory with these strides; the axes of a broadcast array have none, and remain as they are."""
    strides = layout.strides
    if strides is None or not array.size or layout_of(array).strides == strides:
        return array
    if any(stride == 0 and dim > 1 for stride, dim in zip(strides, array.shape, strict=True)):
        return array
    ends = [stride * (dim - 1) for stride, dim in zip(strides, array.shape, strict=True)]
    first = -sum(end for end in ends if end < 0)
    memory = np.empty(first + sum(end for end in ends if end > 0) + 1, array.dtype)
    nbytes = [stride * array.itemsize for stride in strides]
    found = np.lib.stride_tricks.as_strided(memory[first:], array.shape, nbytes)
    found[...] = array
    return found


def copied(array: Array) -> Array:
    """A copy with the same strides."""
    if array.flags.c_contiguous:
        return array.copy()
    low, high = byte_bounds(array)
    first = array.__array_interface__["data"][0]
    copy: Array = np.ndarray(
        array.shape, array.dtype, np.empty(high - low, np.uint8), first - low, array.strides
    )
    copy[...] = array
    return copy
