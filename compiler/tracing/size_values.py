"""Finds the symbolic size that an integer of the program is, so that ``np.prod(x.shape)`` can be a length."""

import operator
from math import isfinite
from typing import Any

import numpy as np

from ..dtypes import FLOAT64, INT64, DType
from ..ir import Call, Constant, Value
from ..op import lookup
from ..params import int_param
from ..symbolic_size import SymbolicSize, assume, max_expr, min_expr
from .trace import Trace

MOST_ENTRIES = 64
"""The longest list of sizes."""
_MOST_PARTS = 1 << 16

# Ops that compute with sizes as with ints, or move them. None compares them.
_EXACT = frozenset(
    """
    absolute add broadcast_to concatenate expand_dims flip floor_divide multiply negative prod remainder reshape slice
    subtract sum
    """.split()
)
_EXTREMES = {"maximum": np.frompyfunc(max_expr, 2, 1), "minimum": np.frompyfunc(min_expr, 2, 1)}
"""NumPy's functions would compare objects."""
_COMPUTED = {*_EXACT, *_EXTREMES, "convert"}
_COMPARISONS = {
    "equal": operator.eq,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "less": operator.lt,
    "less_equal": operator.le,
    "not_equal": operator.ne,
}


def size_of_value(trace: Trace, value: Value) -> Any:
    """The symbolic size or int that a number is; None if it is computed from anything but sizes."""
    found = None if value.ndim else _entries(trace, value)
    return None if found is None else found.item()


def comparison_of_value(trace: Trace, value: Value) -> Any:
    """The comparison of two sizes or ints that a boolean is; None if it is anything else."""
    call = None if value.ndim else trace.producer(value)
    compare = None if call is None else _COMPARISONS.get(call.op)
    if call is None or compare is None:
        return None
    left, right = (size_of_value(trace, one) for one in call.inputs)
    return None if left is None or right is None else compare(left, right)


def ratio_of_value(trace: Trace, value: Value) -> tuple[Any, int] | None:
    """The two sizes or ints whose quotient a float is; None if it is not known to be one.

    The float has 64 bits, and rounding it gives the same integers as rounding the exact quotient.
    """
    call = None if value.ndim or value.dtype != FLOAT64 else trace.producer(value)
    if call is None or call.op not in ("divide", "multiply"):
        return None
    left, right = (_fraction(trace, one) for one in call.inputs)
    if left is None or right is None:
        return None
    (top, below), (by, by_below) = left, right
    if call.op == "divide":
        by, by_below = by_below, by
    elif isinstance(by, SymbolicSize):
        top, by = by, top
    whole, part = top * by, below * by_below
    is_exact = (
        isinstance(part, int) and 0 < part <= _MOST_PARTS and type(by) is int and abs(by) <= _MOST_PARTS
    )
    return (whole, part) if is_exact else None


def rounded_quotient(top: Any, below: int) -> Any:
    """The quotient rounded to the nearest integer, ties to even. It is a size if `top` is one.

    >>> [rounded_quotient(top, 4) for top in (5, 6, 7, 9, 10, 11)] == [round(top / 4) for top in (5, 6, 7, 9, 10, 11)]
    True
    """
    if below % 2:
        return (2 * top + below) // (2 * below)
    rest, half = top % (2 * below), below // 2  # the quotient of the rest is below 2
    up = min_expr(max_expr(rest - half, 0), 1) + min_expr(max_expr(rest - 3 * half + 1, 0), 1)
    return top // (2 * below) * 2 + up


def _fraction(trace: Trace, value: Value) -> tuple[Any, Any] | None:
    if isinstance(value, Constant):
        number = value.array.item()
        return number.as_integer_ratio() if isinstance(number, (int, float)) and isfinite(number) else None
    call = trace.producer(value)
    size = None if call is None or call.op != "convert" else size_of_value(trace, call.inputs[0])
    return None if size is None else (size, 1)


def _entries(trace: Trace, value: Value) -> Any:
    """Sizes and ints in an array of objects.

    What it is computed from is looked up once, and without recursion: a loop may have made a long chain of it.
    """
    found: dict[Value, Any] = {}
    stack = [value]
    while stack:
        one = stack[-1]
        call = trace.producer(one) if one.dtype.kind in "iu" else None
        parts = () if call is None or call.op not in _COMPUTED else call.inputs
        missing = [part for part in parts if part not in found]
        if missing:
            stack += missing
        else:
            found[one] = _entries_of(one, call, [found[part] for part in parts])
            stack.pop()
    return found[value]


def _entries_of(value: Value, call: Call | None, inputs: list[Any]) -> Any:
    """The same, given the entries of the inputs of the call that makes the array."""
    if isinstance(value, Constant) and value.dtype.kind in "iu":
        return value.array.astype(object) if value.array.size <= MOST_ENTRIES else None
    if call is None or any(entries is None for entries in inputs):
        return None
    if call.op == "size":
        return _as_objects(int_param(call, "of"))
    if call.op == "convert":
        return _fitting(inputs[0], value.dtype)
    if call.op not in _COMPUTED or _is_long(call):
        return None
    compute = _EXTREMES.get(call.op) or lookup(call.op).numpy
    return _fitting(_as_objects(compute(*inputs, **call.params)), value.dtype)


def _fitting(entries: Any, dtype: DType) -> Any:
    """The entries, if none overflows its dtype, at least in this call."""
    if entries is None or dtype == INT64:
        return entries
    limits = np.iinfo(dtype)
    fits = all(assume(one >= int(limits.min)) and assume(one <= int(limits.max)) for one in entries.flat)
    return entries if fits else None


def _is_long(call: Call) -> bool:
    shape = call.outputs[0].shape
    return any(isinstance(dim, SymbolicSize) for dim in shape) or call.outputs[0].type.size > MOST_ENTRIES


def _as_objects(entries: Any) -> Any:
    return entries if isinstance(entries, np.ndarray) else np.array(entries, object)
