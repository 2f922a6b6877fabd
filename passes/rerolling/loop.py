"""`Loop`: a repetition whose calls and operands are all explained, shortened until this is possible."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...compiler.dtypes import Array
from ...compiler.ir import Call, Constant, Graph, Value, same_params, same_type
from ...compiler.op import has_effect, is_reshaped, is_view
from ...compiler.params import ints_param
from ...compiler.symbolic_size import SymbolicSize, is_known, is_one
from .operand import BodyOutput, Carried, Local, Numbers, Operand, OutsideValue, Rows
from .repetition import Repetition

LONGEST_LAG = 8
"""How many repetitions back a value may come from."""

PLACES = {"slice": "start", "update_slice": "start", "pad": "low"}
"""Ops that read or write a part of an array, and the parameter with its position."""


class Numbering:
    """The values that the calls of a graph compute, by number."""

    def __init__(self, graph: Graph) -> None:
        self.calls = graph.calls
        self.of: dict[Value, int] = {}
        self.first: list[int] = []
        """Per call: the number of its first output; at the end, the number of the next value."""
        self.maker: list[int] = []
        """Per value: the call that computes it."""
        self.known: set[Value] = set()
        """Values that depend only on constants."""
        for index, call in enumerate(graph.calls):
            self.first.append(len(self.maker))
            if all(isinstance(value, Constant) or value in self.known for value in call.inputs):
                self.known.update(call.outputs)
            for output in call.outputs:
                self.of[output] = len(self.maker)
                self.maker.append(index)
        self.first.append(len(self.maker))

    def call_that_makes(self, value: Value) -> Call | None:
        number = self.of.get(value)
        return None if number is None else self.calls[self.maker[number]]

    def is_before(self, value: Value, call: int) -> bool:
        """Whether a value exists before the call with that index."""
        return self.of.get(value, -1) < self.first[call]


@dataclass(frozen=True, slots=True)
class Loop:
    """A body with operands that describe their values in each repetition."""

    place: Repetition
    calls: tuple[Call, ...]
    """The calls of the first repetition."""
    operands: tuple[tuple[Operand, ...], ...]
    moving: Mapping[int, Array]
    """For calls at moving positions: where they begin in each repetition, along each axis."""
    invariant: frozenset[int]
    """Calls with the same results in each repetition, except those of constants only, which are cheap in the body."""
    first: int
    """The number of the first value that the loop computes."""
    made: tuple[BodyOutput, ...]
    """The values of the body, in order."""

    @property
    def stop(self) -> int:
        """The number after the last value that the loop computes."""
        return self.first + len(self.made) * self.place.count

    def find(self, number: int) -> tuple[BodyOutput, int]:
        """Which value of the body a value is, and of which repetition."""
        repetition, offset = divmod(number - self.first, len(self.made))
        return self.made[offset], repetition


def explained(place: Repetition, numbering: Numbering, fewest_calls: int) -> Loop | None:
    """The loop of a repetition, or of its middle without the parts that differ at its ends."""
    while place.is_loop(fewest_calls):
        reading = _Reading(place, numbering, fewest_calls)
        loop = reading.loop()
        first, last = reading.valid
        if (first, last) == (0, place.count):
            return loop
        place = place.part(first, last)
    return None


class _DifferentError(Exception):
    """No two repetitions correspond."""


class _Reading:
    """One attempt to explain a repetition. Corresponding values are compared with those in the middle."""

    def __init__(self, place: Repetition, numbering: Numbering, fewest_calls: int) -> None:
        self.place = place
        self.numbering = numbering
        self.fewest_calls = fewest_calls
        self.middle = place.count // 2
        self.valid = (0, place.count)
        """The repetitions that are explained so far."""
        self.first = numbering.first[place.start]
        self.made = tuple(
            BodyOutput(index, output)
            for index in range(place.period)
            for output in range(len(numbering.calls[place.start + index].outputs))
        )
        self.moving: dict[int, Array] = {}

    def loop(self) -> Loop | None:
        place, calls = self.place, self.numbering.calls
        try:
            self._check_numbers()
            operands = [self._explain(index) for index in range(place.period)]
        except _DifferentError:
            self.valid = (0, 0)
            return None
        if self.valid != (0, place.count):
            return None
        body = calls[place.start : place.start + place.period]
        if all(output in self.numbering.known for call in body for output in call.outputs):
            self.valid = (0, 0)  # to be computed at compile time
            return None
        invariant = _invariant(body, operands, self.moving)
        if all(is_view(call) or index in invariant for index, call in enumerate(body)):
            self.valid = (0, 0)  # nothing to do in a loop
            return None
        return Loop(place, body, tuple(operands), self.moving, invariant, self.first, self.made)

    def _check_numbers(self) -> None:
        """The calls of each repetition have the same number of results."""
        starts = np.array(self.numbering.first[self.place.start : self.place.stop + 1 : self.place.period])
        if (np.diff(starts) != len(self.made)).any():
            raise _DifferentError

    def _narrow(self, corresponds: Sequence[bool]) -> tuple[int, int]:
        """The repetitions around the middle one for which this holds."""
        first = last = self.middle
        while first > 0 and corresponds[first - 1]:
            first -= 1
        while last < len(corresponds) and corresponds[last]:
            last += 1
        self._cut(first, last)
        return first, last

    def _cut(self, first: int, last: int) -> None:
        first, last = self.valid = max(first, self.valid[0]), min(last, self.valid[1])
        if not self.place.part(first, last).is_loop(self.fewest_calls):
            raise _DifferentError

    # ---- calls ---------------------------------------------------------------------------------

    def _explain(self, index: int) -> tuple[Operand, ...]:
        place = self.place
        calls = self.numbering.calls[place.start + index : place.stop : place.period]
        like = calls[self.middle]
        self._narrow([_same_types(call, like) for call in calls])
        same = [same_params(call.params, like.params) for call in calls]
        if not (same[self.middle - 1] and same[self.middle + 1]) and like.op in PLACES:
            self._narrow([_is_dense(call) and _begins_at_ints(call) for call in calls])
            own = _place(like)
            places = [
                _place(call) for call in calls
            ]  # those that do not count may have another number of axes
            self.moving[index] = np.array([one if len(one) == len(own) else own for one in places])
        else:
            self._narrow(same)
        return tuple(self._operand([call.inputs[slot] for call in calls]) for slot in range(len(like.inputs)))

    # ---- operands ------------------------------------------------------------------------------

    def _operand(self, values: Sequence[Value]) -> Operand:
        middle = values[self.middle]
        if _same_value(middle, values[self.middle - 1]) or _same_value(middle, values[self.middle + 1]):
            return self._same(values)
        if isinstance(middle, Constant):
            first, last = self._narrow([isinstance(value, Constant) for value in values])
            return Numbers(tuple(value for value in values[first:last] if isinstance(value, Constant)))
        number = self.numbering.of.get(middle, -1)
        if number >= self.first:
            return self._own(values, number)
        return self._rows(values)

    def _same(self, values: Sequence[Value]) -> OutsideValue:
        middle = values[self.middle]
        first, last = self._narrow([_same_value(value, middle) for value in values])
        while not self.numbering.is_before(middle, self.place.start + first * self.place.period):
            first += 1
        self._cut(first, last)
        return OutsideValue(middle)

    def _own(self, values: Sequence[Value], number: int) -> Operand:
        """A value that the loop itself computes, in this repetition or in an earlier one."""
        repetition, offset = divmod(number - self.first, len(self.made))
        made = self.made[offset]
        lag = self.middle - repetition
        if lag > LONGEST_LAG:
            raise _DifferentError
        size, of = len(self.made), self.numbering.of
        expected = number - self.middle * size
        first, last = self._extent([of.get(v, -1) == expected + t * size for t, v in enumerate(values)])
        if not lag:
            self._cut(first, last)
            return Local(made)
        start = max(0, first - lag)
        before = self.place.start + start * self.place.period
        if not all(self.numbering.is_before(value, before) for value in values[start:first]):
            start = first
        self._cut(start, last)
        return Carried(made, tuple(values[start : start + lag]))

    def _extent(self, corresponds: Sequence[bool]) -> tuple[int, int]:
        before = self.valid
        self.valid = (0, self.place.count)
        found = self._narrow(corresponds)
        self.valid = before
        return found

    def _rows(self, values: Sequence[Value]) -> Rows | OutsideValue:
        """Consecutive entries of an array, or one entry that is read again in each repetition."""
        rows = [self._row(value) for value in values]
        middle, following = rows[self.middle], rows[self.middle + 1]
        if middle is None or following is None or middle[:2] != following[:2]:
            raise _DifferentError
        array, axis, at = middle
        stride = following[2] - at
        first = at - self.middle * stride
        start, _ = self._narrow([row == (array, axis, first + t * stride) for t, row in enumerate(rows)])
        if not stride:
            return OutsideValue(values[self.middle])
        return Rows(array, axis, first + start * stride, stride, (0,) * array.ndim, array.shape)

    def _row(self, value: Value) -> tuple[Value, int, int] | None:
        """The array that contains a value as an entry, the axis, and the position of the entry."""
        call = self.numbering.call_that_makes(value)
        while call is not None and is_reshaped(call):
            call = self.numbering.call_that_makes(call.inputs[0])
        if call is None or call.op != "slice":
            return None
        (array,) = call.inputs
        axis = row_axis(array.shape, call)
        if axis is None or not self.numbering.is_before(array, self.place.start):
            return None
        starts = ints_param(call, "start")
        return None if isinstance(starts[axis], SymbolicSize) else (array, axis, starts[axis])


def row_axis(shape: Sequence[int], call: Call) -> int | None:
    """The axis along which a slice takes one entry; it takes all entries of the others."""
    parts = list(zip(shape, ints_param(call, "start"), ints_param(call, "stop"), strict=True))
    partial = [axis for axis, (dim, start, stop) in enumerate(parts) if not is_known(stop - start == dim)]
    if len(partial) != 1 or any(step != 1 for step in ints_param(call, "step")):
        return None
    _, start, stop = parts[partial[0]]
    return partial[0] if is_one(stop - start) else None


def _same_types(call: Call, other: Call) -> bool:
    return (
        len(call.inputs) == len(other.inputs)
        and len(call.outputs) == len(other.outputs)
        and all(same_type(a.type, b.type) for a, b in zip(call.inputs, other.inputs, strict=True))
        and all(same_type(a.type, b.type) for a, b in zip(call.outputs, other.outputs, strict=True))
    )


def _same_value(value: Value, other: Value) -> bool:
    if isinstance(value, Constant) and isinstance(other, Constant):
        return value is other or value.same_as(other)
    return value is other


def _is_dense(call: Call) -> bool:
    """Whether the part that a call reads or writes has no gaps."""
    return (
        not any(ints_param(call, "interior"))
        if call.op == "pad"
        else all(step == 1 for step in ints_param(call, "step"))
    )


def _begins_at_ints(call: Call) -> bool:
    """Whether the position of the part is known: steps between symbolic positions are not searched for."""
    return not any(isinstance(start, SymbolicSize) for start in _place(call))


def _place(call: Call) -> Sequence[int]:
    """Where the part that a call reads or writes begins along each axis."""
    return ints_param(call, PLACES[call.op])


def _invariant(
    calls: Sequence[Call], operands: Sequence[Sequence[Operand]], moving: Mapping[int, Any]
) -> frozenset[int]:
    """The calls whose operands are the same in each repetition and not all constants."""
    same: set[int] = set()
    of_constants: set[int] = set()
    for index, (call, given) in enumerate(zip(calls, operands, strict=True)):
        if index in moving or has_effect(call):
            continue
        if all(isinstance(x, OutsideValue) or (isinstance(x, Local) and x.made.call in same) for x in given):
            same.add(index)
        if all(_is_constant(x) or (isinstance(x, Local) and x.made.call in of_constants) for x in given):
            of_constants.add(index)
    return frozenset(same - of_constants)


def _is_constant(operand: Operand) -> bool:
    return isinstance(operand, OutsideValue) and isinstance(operand.value, Constant)
