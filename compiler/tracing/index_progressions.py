"""`progression_of`: index arrays that are a range of a symbolic length, or computed from one: ``n - 1 - arange(n)``.

`value_range_of`: the least and greatest entry of other integer arrays.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

from ..dtypes import INT64
from ..ir import Call, Value
from ..params import int_param, ints_param
from ..symbolic_size import is_known
from ..value_ranges import Interval, ValueRanges
from .size_values import size_of_value
from .trace import Trace

_SAME_ENTRIES: Final = frozenset({"broadcast_to", "transpose"})
"""Ops that may repeat or reorder entries."""
_SAME_ORDER: Final = frozenset({"expand_dims", "reshape"})


@dataclass(frozen=True, slots=True)
class Progression:
    """``first + step * k`` for k in ``range(count)``."""

    first: Any
    step: Any
    count: Any
    is_in_order: bool = True
    """Whether these are all entries, in order. Otherwise, only the set of entries is known."""

    @property
    def ends(self) -> tuple[Any, Any] | None:
        """The least and the greatest entry, if there are entries; None if which is which depends on sizes."""
        last = self.first + self.step * (self.count - 1)
        if is_known(self.step >= 0):
            return self.first, last
        return (last, self.first) if is_known(self.step <= 0) else None

    def plus(self, number: Any) -> "Progression":
        """Add a number to each."""
        return replace(self, first=self.first + number)

    def times(self, number: Any) -> "Progression":
        """Multiply each by a number."""
        return replace(self, first=self.first * number, step=self.step * number)


def progression_of(trace: Trace, value: Value) -> Progression | None:
    """The range that an array is computed from; None unless it is a range combined with numbers by operators."""
    call = trace.producer(value)
    if call is None or value.dtype != INT64:
        return None
    if call.op == "iota":
        return Progression(0, 1, int_param(call, "length"))
    if call.op in ("add", "subtract", "multiply"):
        return _computed(trace, call)
    found = progression_of(trace, call.inputs[0]) if call.inputs else None
    if found is None or call.op in _SAME_ORDER:
        return found
    if call.op in _SAME_ENTRIES:
        return replace(found, is_in_order=False)
    return _part(call, found) if value.ndim == 1 and found.is_in_order else None


def _computed(trace: Trace, call: Call) -> Progression | None:
    of, number = call.inputs[0], size_of_value(trace, call.inputs[1])
    is_taken_off = call.op == "subtract" and number is None
    if number is None:
        of, number = call.inputs[1], size_of_value(trace, call.inputs[0])
    elif call.op == "subtract":
        number = -number
    found = None if number is None else progression_of(trace, of)
    if found is None:
        return None
    found = found.times(-1) if is_taken_off else found
    return found.times(number) if call.op == "multiply" else found.plus(number)


def _part(call: Call, of: Progression) -> Progression | None:
    """A slice of a range, or a reversed range."""
    if call.op == "flip":
        return replace(of, first=of.first + of.step * (of.count - 1), step=of.step * -1)
    if call.op != "slice":
        return None
    (start,), (stop,), (step,) = ints_param(call, "start"), ints_param(call, "stop"), ints_param(call, "step")
    return Progression(of.first + of.step * start, of.step * step, (stop - start + step - 1) // step)


def value_range_of(trace: Trace, value: Value) -> tuple[Interval, tuple[Any, ...]] | None:
    """The range of all entries, and the conditions under which no number overflows; None if nothing is known."""

    def noted(value: Value) -> Interval | None:
        known = trace.ends.get(value)
        if known is not None:
            return known
        if trace.producer(value) is None:
            return outside(value)
        progression = progression_of(trace, value)
        return None if progression is None else progression.ends

    def outside(value: Value) -> Interval | None:
        """The arrays that a function inside another takes from that one."""
        outer = trace.outer_value(value)
        found = None if outer is None or trace.parent is None else value_range_of(trace.parent, outer)
        if found is None:
            return None
        ranges.facts += found[1]
        return found[0]

    ranges = ValueRanges(trace.producer, noted)
    found = ranges.of(value)
    return None if found is None else (found, tuple(ranges.facts))
