"""`ValueRanges`: bounds on the entries of integer arrays: 0 and ``2*N - 2`` for ``i[:, None] + i``.

The bounds are ints or symbolic sizes. No bounds are known for other calls than those below; they need a guard on the
sizes of the call.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, Final

import numpy as np

from ..dtypes import INT64, Array, is_integer
from ..intervals import (
    Interval,
    add,
    hull,
    maximum,
    minimum,
    multiply,
    negative,
    quotient,
    remainder,
    subtract,
)
from ..ir import Call, Constant, Value
from ..op import is_move, moved_inputs
from ..params import int_param, ints_param
from ..symbolic_size import SymbolicSize, is_known, lower_bound, max_expr, min_expr, upper_bound

_DEEPEST: Final = 100
_DEEPEST_END: Final = 3
"""Deeper nesting gives little information, and takes long."""

_ROUNDS: Final = frozenset({"ceil", "convert", "floor", "rint", "trunc"})
"""They keep entries within the same integer bounds."""
_TAKING: Final = frozenset({"set", "maximum", "minimum"})
"""A scatter in these modes gives entries of its operands."""
_JOINS: Final[Mapping[str, Callable[[Call], Sequence[Value]]]] = {
    "max": lambda call: call.inputs,
    "min": lambda call: call.inputs,
    "scatter": lambda call: call.inputs[:2] if call.params["mode"] in _TAKING else (),
    "where": lambda call: call.inputs[1:],
}
"""They take entries of these inputs, as do ops that move elements."""


class ValueRanges:
    """Interval arithmetic along the calls that compute values.

    Args:
        producer: the call that makes a value; None for inputs.
        noted: what else is known about a value.
    """

    def __init__(
        self,
        producer: Callable[[Value], Call | None],
        noted: Callable[[Value], Interval | None] = lambda value: None,
    ) -> None:
        self.facts: list[Any] = []
        """The conditions under which no number overflows its dtype."""
        self._producer, self._noted = producer, noted
        self._depth = 0
        self._found: dict[Value, Interval | None] = {}
        self._worst: dict[Value, Interval] = {}

    def of(self, value: Value) -> Interval | None:
        """Bounds of all entries, if the `facts` hold; None if nothing is known."""
        if value not in self._found:
            self._depth += 1
            self._found[value] = self._of(value) if self._depth < _DEEPEST else None
            self._depth -= 1
        return self._found[value]

    def at_most(self, value: Value) -> Any:
        """The greatest entry at most, if the `facts` hold; None if nothing is known."""
        high = self._at_worst(value)[1]
        return None if _may_overflow(high) else high

    def _at_worst(self, value: Value) -> Interval:
        """Bounds of all entries, those of the dtype if nothing else is known: for what compares them."""
        found = self.of(value) or self._worst.get(value)
        if found is not None:
            return found
        call = self._producer(value)
        limits = np.iinfo(value.dtype)
        found = int(limits.min), int(limits.max)
        if call is not None and call.op in _CHOICES and self._depth < _DEEPEST:
            self._depth += 1
            low, high = map(self._at_worst, call.inputs)
            found = minimum(low, high) if call.op == "minimum" else maximum(low, high)
            self._depth -= 1
        self._worst[value] = found
        return found

    def _of(self, value: Value) -> Interval | None:
        if isinstance(value, Constant):
            return _of_array(value.array)
        noted = self._noted(value)
        if noted is not None:
            return noted
        if value.dtype.kind == "b":
            return 0, 1
        call = self._producer(value)
        return None if call is None else self._fitting(value, self._computed(call, value))

    def _fitting(self, value: Value, found: Interval | None) -> Interval | None:
        """The interval if it fits the dtype. That it fits becomes a fact."""
        if found is None or any(_may_overflow(end) for end in found):
            return None
        found = _simpler(found)
        if found is not None and value.dtype != INT64 and is_integer(value.dtype):
            low, high = found
            limits = np.iinfo(value.dtype)
            self.facts += [low >= int(limits.min), high <= min(int(limits.max), 2**63 - 1)]
        return found

    def _computed(self, call: Call, value: Value) -> Interval | None:
        op = call.op
        if op in _OWN:
            return _OWN[op](call)
        if op in ("sum", "cumsum"):
            return self._total(call)
        if op == "sort":
            return self.of(call.inputs[call.outputs.index(value)])
        if op in _JOINS or is_move(call):
            return hull(*map(self.of, _JOINS[op](call) if op in _JOINS else moved_inputs(call)))
        if op in _ROUNDS:
            return self.of(call.inputs[0])
        if op not in _ARITHMETIC or not is_integer(value.dtype):
            return None
        if op in _CHOICES:
            return _ARITHMETIC[op](*map(self._at_worst, call.inputs))
        inputs = [self.of(one) for one in call.inputs]
        needed = inputs[1:] if op in _LIMITS else inputs
        return None if any(one is None for one in needed) else _ARITHMETIC[op](*inputs)

    def _total(self, call: Call) -> Interval | None:
        """Of sums: of all entries along axes, or of the first ones along an axis."""
        (x,) = call.inputs
        axes = ints_param(call, "axes") if call.op == "sum" else (int_param(call, "axis"),)
        count = reduce(operator.mul, (x.shape[axis] for axis in axes), 1)
        entry = self.of(x) if is_integer(x.dtype) else None
        total = None if entry is None else multiply(entry, (count, count))
        if call.op == "sum" or total is None:
            return total
        return hull(entry, total) if entry is not None and is_known(entry[0] >= 0) else None


def _of_array(array: Array) -> Interval | None:
    if not array.size:
        return 0, -1
    return (int(array.min()), int(array.max())) if is_integer(array.dtype) else None


def _may_overflow(end: Any) -> bool:
    return end.may_overflow if isinstance(end, SymbolicSize) else abs(end) >= 2**62


def _is_deep(end: Any) -> bool:
    return isinstance(end, SymbolicSize) and end.nesting > _DEEPEST_END


def _simpler(found: Interval) -> Interval | None:
    """With ints as far bounds, beyond which little is known; None if there are none."""
    low, high = found
    low, high = lower_bound(low) if _is_deep(low) else low, upper_bound(high) if _is_deep(high) else high
    return None if isinstance(low, float) or isinstance(high, float) else (low, high)


# ---- arithmetic ----------------------------------------------------------------------------------------


def _absolute(x: Interval) -> Interval:
    return x if is_known(x[0] >= 0) else (0, max_expr(-x[0], x[1]))


def _clipped(x: Interval | None, low: Interval, high: Interval) -> Interval:
    return (min_expr(low[0], high[0]), high[1]) if x is None else minimum(maximum(x, low), high)


def _position(call: Call) -> Interval:
    """Where the extreme of an axis is, which is not empty."""
    return 0, call.inputs[0].shape[int_param(call, "axis")] - 1


_OWN: Final[Mapping[str, Callable[[Call], Interval]]] = {
    "argmax": _position,
    "argmin": _position,
    "flatnonzero": lambda call: (0, call.inputs[0].shape[0] - 1),
    "iota": lambda call: (0, int_param(call, "length") - 1),
    "size": lambda call: (int_param(call, "of"), int_param(call, "of")),
}
"""The bounds do not depend on those of operands."""
_CHOICES: Final = frozenset({"maximum", "minimum"})
"""They give one of their operands."""
_LIMITS: Final = frozenset({"clip", "remainder"})
"""These need no bounds of their first operand."""
_ARITHMETIC: Final[Mapping[str, Callable[..., Interval | None]]] = {
    "absolute": _absolute,
    "add": add,
    "clip": _clipped,
    "floor_divide": quotient,
    "maximum": maximum,
    "minimum": minimum,
    "multiply": multiply,
    "negative": negative,
    "remainder": remainder,
    "subtract": subtract,
}
