"""Writes a graph again with loops in place of repetitions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...compiler.builder import Builder, bind_all, recording
from ...compiler.dtypes import INT64, Array
from ...compiler.ir import Call, Constant, Graph, Param, Shape, Value
from ...compiler.op import is_reshaped
from ...compiler.params import int_param
from ...compiler.symbolic_size import same_shape
from ...compiler.value_ops import (
    add,
    concatenate,
    constant,
    flip,
    iota,
    moveaxis,
    multiply,
    reshape,
    slice_,
    slice_axis,
    zeros_like,
)
from .body import Body
from .loop import Loop, Numbering
from .needs import Needs, needs_of, outside, viewed_from_outside
from .operand import BodyOutput, Local, Rows


class Entry(NamedTuple):
    """One entry along the first axis of an array: without that axis, or with it at position `axis`."""

    array: Value
    at: int
    axis: int | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """The outputs of a written loop."""

    loop: Loop
    reverse: bool
    last: dict[tuple[BodyOutput, int], Value]
    """The values of the last repetitions, counted from the end: the last one is 1."""
    stacks: dict[BodyOutput, Value]
    """The stacked values of all repetitions."""


def with_loops(graph: Graph, numbering: Numbering, loops: Sequence[Loop]) -> Graph:
    """`graph` with these loops, which are in order."""
    return _Writer(graph, numbering, loops).run()


class _Writer(Builder):
    def __init__(self, graph: Graph, numbering: Numbering, loops: Sequence[Loop]) -> None:
        super().__init__()
        self.graph = graph
        self.numbering = numbering
        self.loops = loops
        self.written: list[Written] = []
        self.now: dict[Value, Value] = {}
        """The new value of a value of the old graph, once it has been needed."""
        self.entries: dict[Value, Entry] = {}
        """Values that are entries of a stack of a loop and have been needed as such."""

    def run(self) -> Graph:
        graph = self.graph
        needs = iter(needs_of(graph, self.numbering, self.loops))
        with recording(self):
            for index, loop in outside(graph, self.loops):
                call = graph.calls[index]
                self.location = call.location
                if loop is not None:
                    self.write(loop, next(needs))
                else:
                    self.keep(call)
            outputs = tuple(map(self.value, graph.outputs))
        return Graph(graph.name, graph.inputs, tuple(self.calls), outputs, graph.input_names)

    # ---- outside of loops ----------------------------------------------------------------------

    def keep(self, call: Call) -> None:
        """Record a call of the old graph, unless it joins entries that a loop stacks."""
        if is_reshaped(call) and self.is_entry_with_axis(call):
            return
        if call.op == "concatenate" and self.is_joined(call):
            return
        inputs = tuple(map(self.value, call.inputs))
        self.calls.append(Call(call.op, inputs, call.params, call.outputs, call.location))
        self.now.update(zip(call.outputs, call.outputs, strict=True))

    def value(self, value: Value) -> Value:
        """The new value of a value of the old graph."""
        if isinstance(value, Constant):
            return value
        if value not in self.now:
            self.now[value] = self.from_loop(value)
        return self.now[value]

    def from_loop(self, value: Value) -> Value:
        """The new value of a value that a loop computes; other values do not change."""
        for written, made, repetition in self.origin(value):
            loop = written.loop
            last = written.last.get((made, loop.place.count - repetition))
            if made.call in loop.invariant:
                return self.now[loop.calls[made.call].outputs[made.output]]
            if last is not None:
                return last
            if viewed_from_outside(value, loop, self.numbering) is not None:
                self.keep(self.numbering.calls[self.numbering.maker[self.numbering.of[value]]])
                return self.now[value]
        entry = self.entry(value)
        return value if entry is None else _taken(entry, value.shape)

    def entry(self, value: Value) -> Entry | None:
        """The entry of a stack that a value is."""
        if value not in self.entries:
            for written, made, repetition in self.origin(value):
                if made in written.stacks:
                    row = written.loop.place.count - 1 - repetition if written.reverse else repetition
                    self.entries[value] = Entry(written.stacks[made], row)
        return self.entries.get(value)

    def origin(self, value: Value) -> Iterator[tuple[Written, BodyOutput, int]]:
        """The loop that computes a value, where and in which repetition; None if there is none."""
        number = self.numbering.of.get(value, -1)
        for written in self.written:
            if written.loop.first <= number < written.loop.stop:
                yield written, *written.loop.find(number)

    def is_entry_with_axis(self, call: Call) -> bool:
        """Whether a reshape gives an entry a new axis; its result is not recorded before it is needed."""
        (x,), (out,) = call.inputs, call.outputs
        entry = self.entry(x)
        if entry is None or entry.axis is not None or out.ndim != x.ndim + 1:
            return False
        for axis in range(out.ndim):
            if same_shape(out.shape, (*x.shape[:axis], 1, *x.shape[axis:])):
                self.entries[out] = entry._replace(axis=axis)
                return True
        return False

    def is_joined(self, call: Call) -> bool:
        """Whether a concatenation joins consecutive entries of one stack, so that it is a part of the stack."""
        axis = int_param(call, "axis")
        parts: list[Value] = []
        for entries, values in self.sequences(call.inputs, axis):
            if len(values) == 1:
                parts.append(self.value(values[0]))
                continue
            array, at, place = entries[0]
            if at < entries[1].at:
                array = slice_axis(array, at, at + len(values), 0)
            else:
                array = flip(slice_axis(array, at + 1 - len(values), at + 1, 0), (0,))
            whole = sum(value.shape[axis] for value in values)
            shape = (*values[0].shape[:axis], whole, *values[0].shape[axis + 1 :])
            parts.append(reshape(array if place is None else moveaxis(array, 0, place), shape))
        if len(parts) == len(call.inputs):
            return False
        self.now[call.outputs[0]] = concatenate(parts, axis)
        return True

    def sequences(self, values: Sequence[Value], axis: int) -> Iterator[tuple[list[Entry], list[Value]]]:
        """Adjacent values of a concatenation, as long as they are also adjacent in a stack."""
        entries: list[Entry] = []
        together: list[Value] = []
        for value in values:
            entry = self.entry(value)
            if entry is not None and (entry.axis or 0) != axis:
                entry = None
            if together and (entry is None or not _follows(entry, entries)):
                yield entries, together
                entries, together = [], []
            entries += [entry] if entry is not None else []
            together.append(value)
            if entry is None:
                yield entries, together
                together = []
        if together:
            yield entries, together

    # ---- loops ---------------------------------------------------------------------------------

    def write(self, loop: Loop, needs: Needs) -> None:
        """Record a loop."""
        self.hoist(loop)
        body = Body(loop)
        count = loop.place.count
        needs = {made: repetitions for made, repetitions in needs.items() if made.call not in loop.invariant}
        for made, repetitions in needs.items():
            if repetitions == {count - 1} and not any(made == one for one, _ in body.carried.values):
                value = body.value(made)  # carried only for the last one
                body.carried.input((made, ("zero",)), zeros_like(value), value.type)
        states, stacked = _settled(body, needs, count)
        rows = [source for source in body.sliced.sources if isinstance(source, Rows)]
        reverse = sum(source.stride < 0 for source in rows) > sum(source.stride > 0 for source in rows)
        inputs = (
            *map(self.value, body.same.sources),
            *map(self.value, body.carried.sources),
            *(self.sliced(source, count, reverse=reverse) for source in body.sliced.sources),
        )
        params: dict[str, Param] = {
            "graph": body.step(f"{self.graph.name}_step", stacked),
            "counts": (len(body.same.sources), len(body.carried.sources)),
            "length": count,
        }
        if reverse:
            params["reverse"] = True
        found = bind_all("scan", *inputs, **params)
        last = dict(zip(states, found, strict=False))
        stacks = dict(zip(stacked, found[len(states) :], strict=True))
        self.written.append(Written(loop, reverse, last, stacks))

    def hoist(self, loop: Loop) -> None:
        """Record the calls that are the same in each repetition, and the constants that they need."""
        outside = set(loop.invariant)
        for index in range(loop.place.period - 1, -1, -1):
            if index in outside:
                outside.update(x.made.call for x in loop.operands[index] if isinstance(x, Local))
        for index in sorted(outside):
            self.keep(loop.calls[index])

    def sliced(self, source: Rows | Array, count: int, *, reverse: bool) -> Value:
        """The array whose entries the steps take, one each."""
        if not isinstance(source, Rows):
            return _numbers(source[::-1] if reverse else source)
        axis, last = source.axis, source.first + source.stride * (count - 1)
        start, stop, step = list(source.start), list(source.stop), [1] * len(source.start)
        start[axis], stop[axis] = min(source.first, last), max(source.first, last) + 1
        step[axis] = abs(source.stride)
        array = slice_(self.value(source.array), start, stop, step)
        if (source.stride < 0) != reverse:
            array = flip(array, (axis,))
        return moveaxis(array, axis, 0)


def _settled(body: Body, needs: Needs, count: int) -> "tuple[list[tuple[BodyOutput, int]], list[BodyOutput]]":
    """The carried values, each with how many repetitions it goes back, and those that are stacked.

    The step computes all of them here. That may need more operands, which the loop must get as inputs.
    """
    while True:
        states = [(made, len(before)) for made, before in body.carried.values]
        stacked = [
            made
            for made, repetitions in needs.items()
            if not all((made, count - repetition) in states for repetition in repetitions)
        ]
        for made in (*(made for made, back in states if back == 1), *stacked):
            body.value(made)
        if len(body.carried.values) == len(states):
            return states, stacked


def _follows(entry: Entry, before: Sequence[Entry]) -> bool:
    """Whether an entry continues the sequence of those before it."""
    *_, last = before
    step = last.at - before[-2].at if len(before) > 1 else entry.at - last.at
    return (
        entry.array is last.array
        and entry.axis == last.axis
        and entry.at == last.at + step
        and abs(step) == 1
    )


def _numbers(array: Array) -> Value:
    """A constant; integers in equal steps are described by a rule."""
    if array.dtype != INT64 or array.ndim != 1 or (np.diff(array, 2) != 0).any():
        return constant(array)
    first, stride = int(array[0]), int(array[1] - array[0])
    numbers = iota(len(array), INT64)
    numbers = numbers if stride == 1 else multiply(numbers, stride)
    return add(numbers, first) if first else numbers


def _taken(entry: Entry, shape: Shape) -> Value:
    """Record the calls that take an entry."""
    return reshape(slice_axis(entry.array, entry.at, entry.at + 1, 0), shape)
