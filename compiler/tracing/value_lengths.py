"""Lengths that depend on values: the program finds them out when it runs, and until then they have a name."""

import re
from collections.abc import Hashable
from typing import Any, Final, TypeAlias

import numpy as np

from ..builder import bind, bind_all
from ..dtypes import INT64
from ..free_sizes import sizes_in_param
from ..ir import Constant, Value, exact
from ..op import has_effect
from ..symbolic_size import SymbolicSize, is_known
from ..value_ops import (
    add,
    constant,
    convert,
    elementwise,
    equal,
    less,
    maximum,
    minimum,
    number,
    subtract,
    sum_,
    where,
)
from .index_progressions import value_range_of
from .size_values import size_of_value
from .trace import Trace, current_trace, require_trace

Terms: TypeAlias = tuple[dict[Value, Any], Any]
"""A sum of numbers with known factors, and of a known number."""

_NAME: Final = re.compile(r"\bn_[0-9]+\b")

_MANY: Final = 2**30
"""A bound that keeps no array from being too large."""
MOST_COMPARED = 64
"""How many calls are looked at to see that two masks are the same."""


def length_of(count: Value, *, may_be_negative: bool = True) -> Any:
    """The size that stands for a number i64[] of the program: the same for what computes the same number.

    Where the number is negative, NumPy's error is raised when the program runs.
    """
    return _lengths(require_trace(), count, may_be_negative=may_be_negative).shape[0]


def length_at_least_0(count: Value) -> Any:
    """As `length_of`, and 0 where the number is negative."""
    trace = require_trace()
    key = _key(trace, count)
    if key not in trace.lengths:
        trace.lengths[key] = bind("length", maximum(count, number(0, INT64)), dim=_new_size(trace))
        trace.clipped_lengths.add(key)
        _note_open(trace, count, trace.lengths[key].shape[0])
    return trace.lengths[key].shape[0]


def computed_slice(start: Any, stop: Any, step: int, size: Any) -> tuple[Value, Any]:
    """Where ``x[start:stop:step]`` begins, and how long it is, along an axis of this size; ends may be values i64[]."""
    if step == 1 and (length := _length_of_window(start, stop, size)) is not None:
        return start, length
    low, high = (0, size) if step > 0 else (-1, size - 1)
    default = (low, high) if step > 0 else (high, low)
    first, last = (
        number(usual, INT64) if end is None else _within(end, size, low, high)
        for end, usual in zip((start, stop), default, strict=True)
    )
    ahead = subtract(last, first) if step > 0 else subtract(first, last)
    count = elementwise("floor_divide", add(ahead, number(abs(step) - 1, INT64)), number(abs(step), INT64))
    return first, length_of(maximum(count, number(0, INT64)), may_be_negative=False)


def _length_of_window(start: Any, stop: Any, size: Any) -> Any:
    """The length of ``x[i : i + 3]``, if it is the same for all values of `i` and none is outside; otherwise None."""
    if not (isinstance(start, Value) and isinstance(stop, Value)):
        return None
    trace = require_trace()
    first, last = value_range_of(trace, start), value_range_of(trace, stop)
    if first is None or last is None or not all(map(is_known, (*first[1], *last[1]))):
        return None
    if not (is_known(first[0][0] >= 0) and is_known(last[0][1] <= size)):
        return None
    terms, length = _sum_of_terms(_terms(trace, stop, 1), _terms(trace, start, -1))
    return length if not any(terms.values()) and is_known(length >= 0) else None


def _terms(trace: Trace, value: Value, factor: Any) -> Terms:
    """The terms of a multiple of a number."""
    known = size_of_value(trace, value)
    if known is not None:
        return {}, factor * known
    call = trace.producer(value)
    if call is None or call.op not in ("add", "subtract", "multiply"):
        return {value: factor}, 0
    left, right = call.inputs
    if call.op == "multiply":
        sizes = [size_of_value(trace, one) for one in (left, right)]
        place = next((i for i, one in enumerate(sizes) if one is not None), None)
        return (
            ({value: factor}, 0)
            if place is None
            else _terms(trace, (right, left)[place], factor * sizes[place])
        )
    of_right = -factor if call.op == "subtract" else factor
    return _sum_of_terms(_terms(trace, left, factor), _terms(trace, right, of_right))


def _sum_of_terms(one: Terms, other: Terms) -> Terms:
    factors = dict(one[0])
    for term, factor in other[0].items():
        factors[term] = factors.get(term, 0) + factor
    return factors, one[1] + other[1]


def _within(end: Any, size: Any, low: Any, high: Any) -> Value:
    """An end of a slice, counted from the front, moved into [low, high]."""
    end = end if isinstance(end, Value) else number(end, INT64)
    from_front = where(less(end, number(0, INT64)), add(end, number(size, INT64)), end)
    return minimum(maximum(from_front, number(low, INT64)), number(high, INT64))


def depends_on_values(size: Any) -> bool:
    """Whether a size is, or follows from, a length that the program finds out when it runs."""
    if not isinstance(size, SymbolicSize):
        return False
    return is_computed({str(one) for one in size.sizes})


def is_computed(names: set[str]) -> bool:
    """Whether a size with one of these names is a length that the program finds out when it runs."""
    trace = current_trace()
    return trace is not None and any(names & one.bound_sizes.keys() for one in trace.enclosing())


def is_nothing(size: Any, error: str) -> bool:
    """Whether a size is 0. Where the program finds that out, it raises the error of this text if it is."""
    if not depends_on_values(size):
        return bool(size == 0)
    if is_known(size == 0):
        return True
    if not is_known(size >= 1):
        bind_all("raise_if", equal(number(size, INT64), 0), error=error)
    return False


def positions(mask: Value) -> Value:
    """Where a mask bool[m] holds, in order: i64[n], as many as there are."""
    if is_known(mask.shape[0] == 0):
        return constant(np.zeros(0, INT64))
    trace = require_trace()
    count = sum_(convert(mask, INT64), (0,))
    found = bind("flatnonzero", mask, _lengths(trace, count, may_be_negative=False))
    trace.ends[found] = 0, mask.shape[0] - 1
    return found


def _lengths(trace: Trace, count: Value, *, may_be_negative: bool = True) -> Value:
    """The array that is as long as `count` says."""
    key = _key(trace, count)
    found = trace.lengths.get(key)
    if may_be_negative and (found is None or key in trace.clipped_lengths):
        bind_all("raise_if", less(count, 0), error="ValueError('negative dimensions are not allowed')")
        trace.clipped_lengths.discard(key)
    if found is None:
        found = trace.lengths[key] = bind("length", count, dim=_new_size(trace))
        _note_open(trace, count, found.shape[0])
    return found


def _note_open(trace: Trace, count: Value, length: Any) -> None:
    """Note a length that may be any number, unlike the sum of a mask."""
    found = value_range_of(trace, count)
    if found is None or (type(found[0][1]) is int and found[0][1] >= _MANY):
        trace.open_lengths.add(str(length))


def _new_size(trace: Trace) -> Any:
    """A size with a name that is new in the function that is being traced."""
    from ..shapes.dim import Dim

    outermost = trace.outermost()
    shapes = [value.shape for value in outermost.inputs]
    taken = {str(one) for size in sizes_in_param(tuple(shapes)) for one in size.sizes}
    while True:
        outermost.length_count += 1
        name = f"n_{outermost.length_count}"
        if name not in taken:
            return Dim(name)


def names_length(text: str) -> bool:
    """Whether a message shows a size with such a name."""
    return _NAME.search(text) is not None


def _key(trace: Trace, value: Value) -> Hashable:
    """Equal for values that are computed in the same way, if a short look shows that."""
    numbers: dict[Value, int] = {}
    parts: list[Hashable] = []
    stack = [value]
    while stack:
        top = stack.pop()
        if top in numbers:
            parts.append(numbers[top])
            continue
        numbers[top] = len(numbers)
        call = trace.producer(top)
        if isinstance(top, Constant):
            parts.append(top.digest)
        elif call is None or len(numbers) > MOST_COMPARED or has_effect(call) or call.op == "random_bits":
            parts.append(top)
        else:
            params = tuple((name, exact(param)) for name, param in sorted(call.params.items()))
            parts.append((call.op, call.outputs.index(top), len(call.inputs), params))
            stack += reversed(call.inputs)
    return tuple(parts)
