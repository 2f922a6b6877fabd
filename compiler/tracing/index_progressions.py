"""`progression_of`: index arrays that are a range of a symbolic length, or computed from one: ``n - 1 - arange(n)``.

`value_range_of`: the least and greatest entry of other integer arrays.
"""

from dataclasses import dataclass, replace
from typing import Any

from ..affine import Variable, is_unit, of, same
from ..dtypes import INT64
from ..intervals import Interval
from ..ir import Call, Value
from ..op import is_reshaped, lookup
from ..params import int_param
from ..symbolic_size import is_known, is_none, is_one
from .size_values import size_of_value
from .trace import Trace
from .value_ranges import ValueRanges


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
    return found if found is None or is_reshaped(call) else _moved(call, found)


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


def _moved(call: Call, of_source: Progression) -> Progression | None:
    """A part of a range, such as every second entry from the last on; or all entries, repeated or reordered."""
    index_map, source, shape = lookup(call.op).index_map, call.inputs[0].shape, call.outputs[0].shape
    if index_map is None:
        return None
    variables = [Variable(f"i{axis}", 0, dim - 1) for axis, dim in enumerate(shape)]
    index = index_map(tuple(map(of, variables)), source, shape, **call.params)
    if len(source) == len(shape) == 1 and of_source.is_in_order:
        (place,), (variable,) = index, variables
        step = 1 if is_one(shape[0]) else place.factor(variable)
        if step is not None and not is_none(step):
            first = of_source.first + of_source.step * place.constant
            return Progression(first, of_source.step * step, shape[0])
    is_complete = all(
        is_one(dim) or any(is_unit(place.factor(one)) and same(one.extent, dim) for one in variables)
        for place, dim in zip(index, source, strict=True)
    )
    return replace(of_source, is_in_order=False) if is_complete else None


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
