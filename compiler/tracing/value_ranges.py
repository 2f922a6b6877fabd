"""`value_range_of`: sizes between which the entries of whole numbers lie: 0 and ``2*N - 2`` for ``i[:, None] + i``."""

from collections.abc import Callable, Hashable, Mapping
from math import ceil, floor
from typing import Any, Final

import numpy as np

from ..dtypes import FLOAT64, INT64, is_inexact
from ..ir import Call, Constant, Value
from ..symbolic_size import (
    SymbolicSize,
    assuming,
    is_known,
    lower_bound,
    max_expr,
    min_expr,
    quotient,
    upper_bound,
)
from .index_progressions import progression_of
from .trace import Trace

Interval = tuple[Any, Any]
"""The least and the greatest that an entry may be, ints or sizes. Where there are no entries, they may be anything."""

_LONGEST: Final = 1 << 48
"""No axis is longer."""
_USUAL: Final = 1 << 20
"""Axes of which several are multiplied are not much longer."""
_PARTS: Final = 1 << 10
"""Of 1, in which constants are measured."""
_DEEPEST: Final = 100
_DEEPEST_END: Final = 3
"""Of what stands deeper in each other, little can be told, and that takes long."""
_MOST_NARROWED: Final = 3
"""Choices within choices of which what follows from their conditions is used."""
_FARTHEST: Final = 10
"""Calls back from a choice to where what follows from its condition is used."""

_MOVES: Final = frozenset(
    ("broadcast_to", "expand_dims", "flip", "gather", "max", "min", "reshape", "slice", "transpose")
)
"""They take entries of their first input."""
_JOINS: Final = frozenset({"concatenate", "update_slice"})
_ROUNDS: Final = frozenset({"ceil", "floor", "rint", "stop_gradient", "trunc"})
"""They leave entries between the same whole numbers."""
_NAMED: Final = frozenset(
    """
    add broadcast_to convert expand_dims flip floor_divide iota multiply remainder reshape size slice subtract transpose
    """.split()
)
"""What is looked for in both a condition and what is chosen by it."""
_AND: Final = ("logical_and", "bitwise_and")
_OR: Final = ("logical_or", "bitwise_or")
_OPPOSITE: Final = {
    "less": "greater_equal",
    "less_equal": "greater",
    "greater": "less_equal",
    "greater_equal": "less",
    "equal": "not_equal",
    "not_equal": "equal",
}


def value_range_of(trace: Trace, value: Value) -> tuple[Interval, tuple[Any, ...]] | None:
    """Where all entries lie, and what must hold so that no number is too large; None if nothing is known."""
    reader = _Reader(trace)
    found = reader.of(value)
    return None if found is None else (found, tuple(reader.facts))


class _Reader:
    """Interval arithmetic along the calls that a value is computed by."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.facts: list[Any] = []
        self._plain = self
        self._narrowed: Mapping[Hashable, Interval] = {}
        """What else is known of entries at the place that is looked at, by what they are computed from."""
        self._depth = 0
        self._farthest = _DEEPEST
        self._choices = 0
        self._found: dict[Value, Interval | None] = {}
        self._names: dict[Value, int] = {}
        self._numbers: dict[Hashable, int] = {}

    def _where(self, narrowed: Mapping[Hashable, Interval]) -> "_Reader":
        """What is known besides where a condition holds."""
        if not narrowed:
            return self
        reader = _Reader(self.trace)
        reader.facts, reader._plain, reader._depth = self.facts, self._plain, self._depth
        reader._narrowed, reader._choices = {**self._narrowed, **narrowed}, self._choices + 1
        reader._farthest = min(self._farthest, self._depth + _FARTHEST)
        reader._names, reader._numbers = self._names, self._numbers
        return reader

    def of(self, value: Value) -> Interval | None:
        if value not in self._found:
            if self._depth >= self._farthest and self is not self._plain:
                return self._plain.of(value)
            self._depth += 1
            self._found[value] = self._of(value) if self._depth < _DEEPEST else None
            self._depth -= 1
        return self._found[value]

    def _of(self, value: Value) -> Interval | None:
        if isinstance(value, Constant):
            return _of_array(value.array)
        implied = self._narrowed.get(self._name(value)) if self._narrowed else None
        if implied is not None:
            return _both(implied, self._plain.of(value))
        noted = self.trace.ends.get(value)
        if noted is not None:
            return noted
        progression = progression_of(self.trace, value)
        found = None if progression is None else progression.ends
        call = self.trace.producer(value)
        if call is None:
            return self._from_outside(value)
        if progression is None or self._narrowed:
            found = _both(found, self._fitting(value, self._computed(call, value)))
        return found

    def _from_outside(self, value: Value) -> Interval | None:
        """What a function inside of another takes from that one's arrays."""
        outer = self.trace.outer_value(value)
        if outer is None or self.trace.parent is None:
            return None
        found = value_range_of(self.trace.parent, outer)
        if found is not None:
            self.facts += found[1]
        return None if found is None else found[0]

    def _fitting(self, value: Value, found: Interval | None) -> Interval | None:
        """The interval if the dtype holds such numbers, which becomes a fact."""
        if found is None or value.dtype.kind == "b" or any(_may_overflow(end) for end in found):
            return None
        found = _simpler(found)
        if found is None:
            return None
        low, high = found
        if is_inexact(value.dtype):
            exact = 1 << (np.finfo(value.dtype).nmant + 1)
            with assuming(size <= _LONGEST for end in found for size in _sizes(end)):
                return found if is_known(low >= -exact) and is_known(high <= exact) else None
        if value.dtype != INT64:
            limits = np.iinfo(value.dtype)
            self.facts += [low >= int(limits.min), high <= min(int(limits.max), 2**63 - 1)]
        return found

    def _computed(self, call: Call, value: Value) -> Interval | None:
        op, params = call.op, call.params
        first = call.inputs[0] if call.inputs else None
        found: Interval | None = None
        if op == "size":
            found = params["of"], params["of"]
        elif op == "iota":
            length: Any = params["length"]
            found = 0, length - 1
        elif op == "sort":
            found = self._plain.of(call.inputs[call.outputs.index(value)])
        elif op in _JOINS:
            found = _hull(*map(self._plain.of, call.inputs))
        elif op == "where":
            found = self._chosen(*call.inputs)
        elif op in _ARITHMETIC and (op in _EXTREMES or not is_inexact(value.dtype)):
            inputs = [self.of(one) for one in call.inputs]
            needed = inputs[1:] if op in _LIMITS and not is_inexact(value.dtype) else inputs
            found = None if any(one is None for one in needed) else _ARITHMETIC[op](*inputs)
        elif first is None:
            found = None
        elif op in _MOVES:
            found = (self if op == "broadcast_to" else self._plain).of(first)
        elif op in _ROUNDS or op == "convert":
            found = (0, 1) if first.dtype.kind == "b" else self.of(first)
            is_rounded = op in ("floor", "rint", "trunc") or (op == "convert" and not is_inexact(value.dtype))
            if found is None and is_rounded:
                found = self._rounded(first, op)
        return found

    def _rounded(self, value: Value, op: str) -> Interval | None:
        """Of floats of 64 bits that are not below 0, the whole numbers below them, or next to them.

        What computes them is next to a whole number only where it is one: 64 bits hold their numerators by far.
        """
        found = self._share_above(value) if value.dtype == FLOAT64 else None
        if found is None:
            return None
        top, below = found if op != "rint" else (2 * found[0] + found[1], 2 * found[1])
        with assuming(size <= _USUAL for size in _sizes(top)):
            return (0, quotient(top, below)) if is_known(top <= 1 << 50) else None

    def _share_above(self, value: Value, calls: int = 6) -> tuple[Any, Any] | None:
        """A quotient that entries are not above, none of which is below 0. It is looked for so many calls back."""
        if isinstance(value, Constant):
            least, most = _limits(value.array)
            return most.as_integer_ratio() if least >= 0 else None
        call = self.trace.producer(value)
        if call is not None and call.op == "convert" and value.dtype == FLOAT64:
            value = call.inputs[0]
        whole = self.of(value)
        if whole is not None:
            return (whole[1], 1) if is_known(whole[0] >= 0) else None
        if call is None or not calls or call.op not in (*_MOVES, "add", "divide", "multiply"):
            return None
        one = self._share_above(call.inputs[0], calls - 1)
        if one is None or call.op in _MOVES:
            return one
        right = call.inputs[1]
        by = self._share_below(right) if call.op == "divide" else self._share_above(right, calls - 1)
        if by is None:
            return None
        if call.op == "add":
            return one[0] * by[1] + by[0] * one[1], one[1] * by[1]
        by = by[::-1] if call.op == "divide" else by
        return one[0] * by[0], one[1] * by[1]

    def _share_below(self, value: Value) -> tuple[Any, Any] | None:
        """A quotient above 0 that entries are not below."""
        if isinstance(value, Constant):
            least, _ = _limits(value.array)
            return least.as_integer_ratio() if least > 0 else None
        whole = self.of(value)
        return (whole[0], 1) if whole is not None and is_known(whole[0] >= 1) else None

    def _chosen(self, condition: Value, yes: Value, no: Value) -> Interval | None:
        if self._choices >= _MOST_NARROWED:
            return _hull(self.of(yes), self.of(no))
        return _hull(
            self._where(self._implied(condition, True)).of(yes),
            self._where(self._implied(condition, False)).of(no),
        )

    def _implied(self, condition: Value, holds: bool) -> dict[Hashable, Interval]:
        """What a condition, or its opposite, says of what it compares."""
        call = self.trace.producer(condition)
        if call is None:
            return {}
        if call.op == "logical_not":
            return self._implied(call.inputs[0], not holds)
        if call.op in (_AND if holds else _OR):
            first, second = (self._implied(part, holds) for part in call.inputs)
            return first | {name: _both(first.get(name), found) or found for name, found in second.items()}
        relation = call.op if holds else _OPPOSITE.get(call.op)
        if relation not in _OPPOSITE or is_inexact(call.inputs[0].dtype):
            return {}
        left, right = call.inputs
        one, other = self.of(left), self.of(right)
        if one is None or other is None:
            return {}
        if relation in ("greater", "greater_equal"):
            left, right, one, other = right, left, other, one
        apart = 1 if relation in ("less", "greater") else 0
        if relation == "equal":
            return {self._name(left): _both(one, other) or one, self._name(right): _both(other, one) or other}
        if relation == "not_equal":
            return {}
        return {
            self._name(left): (one[0], min_expr(one[1], other[1] - apart)),
            self._name(right): (max_expr(other[0], one[0] + apart), other[1]),
        }

    def _name(self, value: Value) -> int:
        """The same for values that are computed alike."""
        if value not in self._names:
            call = self.trace.producer(value)
            key: Hashable = value
            if isinstance(value, Constant):
                key = value.digest
            elif call is not None and call.op in _NAMED and self._depth < _DEEPEST:
                self._depth += 1
                key = call.op, repr(sorted(call.params.items())), *map(self._name, call.inputs)
                self._depth -= 1
            self._names[value] = self._numbers.setdefault(key, len(self._numbers))
        return self._names[value]


def _of_array(array: Any) -> Interval | None:
    if not array.size:
        return 0, -1
    if array.dtype.kind not in "iu" and not (array.dtype.kind == "f" and np.isfinite(array).all()):
        return None
    return int(np.floor(array.min())), int(np.ceil(array.max()))


def _limits(array: Any) -> tuple[float, float]:
    """Short fractions between which the entries lie; -1 for both if they are not usual numbers."""
    if not array.size or array.dtype.kind not in "iuf" or not (abs(array.astype(float)) < 1 << 30).all():
        return -1, -1
    return floor(float(array.min()) * _PARTS) / _PARTS, ceil(float(array.max()) * _PARTS) / _PARTS


def _sizes(end: Any) -> tuple[Any, ...]:
    return end.sizes if isinstance(end, SymbolicSize) else ()


def _may_overflow(end: Any) -> bool:
    return end.may_overflow if isinstance(end, SymbolicSize) else abs(end) >= 2**62


def _is_deep(end: Any) -> bool:
    return isinstance(end, SymbolicSize) and end.nesting > _DEEPEST_END


def _simpler(found: Interval) -> Interval | None:
    """With ints beyond the ends of which little can be told; None if there are none."""
    low, high = found
    low, high = lower_bound(low) if _is_deep(low) else low, upper_bound(high) if _is_deep(high) else high
    return None if isinstance(low, float) or isinstance(high, float) else (low, high)


def _both(one: Interval | None, other: Interval | None) -> Interval | None:
    """What lies in both, as far as it is known which ends are nearer."""
    if one is None or other is None:
        return one or other
    low = other[0] if is_known(other[0] >= one[0]) else one[0]
    return low, other[1] if is_known(other[1] <= one[1]) else one[1]


def _hull(*intervals: Interval | None) -> Interval | None:
    """What holds all of several."""
    found: Interval | None = None
    for one in intervals:
        if one is None:
            return None
        found = one if found is None else (min_expr(found[0], one[0]), max_expr(found[1], one[1]))
    return found


# ---- arithmetic ----------------------------------------------------------------------------------------


def _sum(x: Interval, y: Interval) -> Interval:
    return x[0] + y[0], x[1] + y[1]


def _negative(x: Interval) -> Interval:
    return -x[1], -x[0]


def _difference(x: Interval, y: Interval) -> Interval:
    return x[0] - y[1], x[1] - y[0]


def _product(x: Interval, y: Interval) -> Interval | None:
    for one, by in ((x, y), (y, x)):
        if by[0] is by[1] or is_known(by[0] == by[1]):
            if is_known(by[0] >= 0):
                return one[0] * by[0], one[1] * by[0]
            if is_known(by[0] <= 0):
                return one[1] * by[0], one[0] * by[0]
    return (x[0] * y[0], x[1] * y[1]) if is_known(x[0] >= 0) and is_known(y[0] >= 0) else None


def _quotient(x: Interval, y: Interval) -> Interval | None:
    if not is_known(y[0] >= 1):
        return None
    if y[0] is y[1] or is_known(y[0] == y[1]):
        return quotient(x[0], y[0]), quotient(x[1], y[0])
    return (0, quotient(x[1], y[0])) if is_known(x[0] >= 0) else None


def _remainder(x: Interval | None, y: Interval) -> Interval | None:
    if not is_known(y[0] >= 1):
        return None
    return x if x and is_known(x[0] >= 0) and is_known(x[1] < y[0]) else (0, y[1] - 1)


def _rest(x: Interval, y: Interval) -> Interval | None:
    """Of the division towards 0."""
    return _remainder(x, y) if is_known(x[0] >= 0) else None


def _inverted(x: Interval) -> Interval:
    return -1 - x[1], -1 - x[0]


def _shared_bits(x: Interval, y: Interval) -> Interval | None:
    if is_known(x[0] >= 0):
        return 0, min_expr(x[1], y[1]) if is_known(y[0] >= 0) else x[1]
    return (0, y[1]) if is_known(y[0] >= 0) else None


def _power_of_two(y: Interval) -> Interval | None:
    low, high = y
    return (1 << low, 1 << low) if type(low) is int and low == high and 0 <= low < 32 else None


def _shifted_left(x: Interval, y: Interval) -> Interval | None:
    by = _power_of_two(y)
    return by and _product(x, by)


def _shifted_right(x: Interval, y: Interval) -> Interval | None:
    by = _power_of_two(y)
    return by and _quotient(x, by)


def _absolute(x: Interval) -> Interval:
    return x if is_known(x[0] >= 0) else (0, max_expr(-x[0], x[1]))


def _least(x: Interval, y: Interval) -> Interval:
    return min_expr(x[0], y[0]), min_expr(x[1], y[1])


def _greatest(x: Interval, y: Interval) -> Interval:
    return max_expr(x[0], y[0]), max_expr(x[1], y[1])


def _clipped(x: Interval | None, low: Interval, high: Interval) -> Interval:
    return (min_expr(low[0], high[0]), high[1]) if x is None else _least(_greatest(x, low), high)


_LIMITS: Final = frozenset({"clip", "remainder"})
"""They need not know of the first of their numbers what it is, if it is whole: a float may be NaN."""
_EXTREMES: Final[Mapping[str, Callable[..., Interval | None]]] = {
    "clip": _clipped,
    "maximum": _greatest,
    "minimum": _least,
}
_ARITHMETIC: Final[Mapping[str, Callable[..., Interval | None]]] = {
    **_EXTREMES,
    "absolute": _absolute,
    "add": _sum,
    "bitwise_and": _shared_bits,
    "floor_divide": _quotient,
    "fmod": _rest,
    "invert": _inverted,
    "left_shift": _shifted_left,
    "multiply": _product,
    "negative": _negative,
    "remainder": _remainder,
    "right_shift": _shifted_right,
    "subtract": _difference,
}
