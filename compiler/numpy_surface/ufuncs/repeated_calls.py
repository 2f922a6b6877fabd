"""Calls of NumPy's functions that repeat: what one has recorded is recorded again for other operands of the same types.

A Python loop of 200 turns calls the same few functions on arrays of the same types in each turn. Promotion,
broadcasting and memory layouts are worked out in the first.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np

from ...builder import current_builder
from ...ir import ArrayType, Call, Constant, Value, exact
from ...memory_layout.layout import Layout
from ...tracing.array_values import as_value
from ...tracing.registry import FUNCTIONS
from ...tracing.trace import Trace, next_number
from ...tracing.traced_array import TracedArray, array_on

Operand = int | Constant
"""A constant, or the place of a value among the operands of the function and what was recorded before."""


@dataclass(frozen=True, slots=True)
class Step:
    """One call, without its operands."""

    op: str
    inputs: tuple[Operand, ...]
    params: Any
    types: tuple[ArrayType, ...]


@dataclass(frozen=True, slots=True)
class Recording:
    """What a function records for operands of some types, and its result."""

    steps: tuple[Step, ...]
    result: int
    layout: Layout | None
    is_scalar: bool

    def replay(self, trace: Trace, values: Sequence[Value]) -> TracedArray:
        """Record the same for other operands."""
        found = list(values)
        location = trace.where()
        for step in self.steps:
            inputs = tuple([found[one] if isinstance(one, int) else one for one in step.inputs])
            outputs = tuple(map(Value, step.types))
            trace.append(Call(step.op, inputs, step.params, outputs, location))
            found += outputs
        value = found[self.result]
        return array_on(trace.new_storage(value, self.layout), value.type, is_scalar=self.is_scalar)


def _unless_plain(layout: Layout | None) -> Layout | None:
    """The layout; None if the shape already determines it."""
    return None if layout is None or (layout.is_row_major and not layout.questions) else layout


def _recording(values: Sequence[Value], calls: Sequence[Call], result: TracedArray) -> Recording | None:
    """What a function has recorded. None if its result is a view, or if it has used other values."""
    places = {value: place for place, value in enumerate(values)}
    steps: list[Step] = []
    for call in calls:
        if not all(isinstance(value, Constant) or value in places for value in call.inputs):
            return None
        inputs = tuple([value if isinstance(value, Constant) else places[value] for value in call.inputs])
        steps.append(Step(call.op, inputs, call.params, tuple([out.type for out in call.outputs])))
        for out in call.outputs:
            places[out] = len(places)
    if result._views or result.weak is not None:
        return None
    value = result._storage.value
    if value not in places or places[value] < len(values):
        return None
    return Recording(tuple(steps), places[value], _unless_plain(result._storage.layout), result.is_scalar)


def repeated(function: Callable[..., Any], *operands: Any) -> Any:
    """``function(*operands)``, for a function that makes a new array by calls that depend only on the types and layouts
    of arrays among its operands, and on the values of Python numbers."""
    trace = current_builder()
    if type(trace) is not Trace:  # other traces also compute
        return function(*operands)
    parts: list[Hashable] = [function]
    values: list[Value] = []
    for x in operands:
        kind = type(x)
        if kind is TracedArray:
            if x._views or x.weak is not None:
                return function(*operands)
            parts += (x.type.dtype, x.type.shape, x.is_scalar, _unless_plain(x._storage.layout))
            value = x.value
        elif kind is np.ndarray:
            parts += (x.dtype, x.shape, x.strides)
            value = as_value(x)
        elif kind is float or kind is int:
            parts.append(exact(x))
            continue
        elif kind is np.ufunc:
            parts.append(x)
            continue
        else:
            return function(*operands)
        if type(value) is not Value:  # with a constant, less may be recorded
            return function(*operands)
        values.append(value)
    if len(set(values)) < len(values):
        return function(*operands)
    key = tuple(parts)
    known = trace.recordings.get(key)
    if known is not None:
        return known.replay(trace, values)
    before, number = len(trace.calls), next_number()
    result = function(*operands)
    if type(result) is TracedArray and result._storage.number > number:  # not that of an argument `out`
        trace.recordings[key] = _recording(values, trace.calls[before:], result)
    return result


def record_again(numpy_function: Any) -> None:
    """Let what a registered function of NumPy records be recorded again where it is called without keywords."""
    function = FUNCTIONS[numpy_function]

    @wraps(function)
    def called(*operands: Any, **keywords: Any) -> Any:
        return function(*operands, **keywords) if keywords else repeated(function, *operands)

    FUNCTIONS[numpy_function] = called
