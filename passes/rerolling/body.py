"""The step of a loop as a graph under construction: inputs are added as its calls need them."""

from collections.abc import Hashable, Sequence
from typing import Generic, TypeAlias, TypeVar

import numpy as np

from ...compiler.builder import Builder, bind_all, recording
from ...compiler.dtypes import INT64, Array
from ...compiler.ir import ArrayType, Call, Constant, Graph, Value
from ...compiler.params import ints_param
from ...compiler.value_ops import broadcast_to, constant, reshape
from .loop import Loop
from .operand import BodyOutput, Carried, Local, Numbers, Operand, OutsideValue, Rows

History: TypeAlias = tuple[BodyOutput, tuple[Hashable, ...]]
"""A value of the body n repetitions ago, where n is the number of its initial values, which have these identities."""


Key = TypeVar("Key", bound=Hashable)
Source = TypeVar("Source")


class Inputs(Generic[Key, Source]):
    """Inputs of the step of one kind, each with its value outside."""

    def __init__(self) -> None:
        self.values: dict[Key, Value] = {}
        self.sources: list[Source] = []

    def input(self, key: Key, source: Source, type: ArrayType) -> Value:
        """The input with this key; it is added if there is none."""
        if key not in self.values:
            self.values[key] = Value(type)
            self.sources.append(source)
        return self.values[key]


class Body:
    """The calls of a step, and its inputs and outputs."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.same: Inputs[Hashable, Value] = Inputs()
        """From values that do not change."""
        self.carried: Inputs[History, Value] = Inputs()
        """From initial values of the carry, by `History`."""
        self.sliced: Inputs[Hashable, Rows | Array] = Inputs()
        """From rows of an array of the program, or of constants."""
        self.made: dict[BodyOutput, Value] = {}
        self.builder = Builder()
        with recording(self.builder):
            for index, call in enumerate(loop.calls):
                if index not in loop.invariant:
                    self.builder.location = call.location
                    for output, value in enumerate(self._written(index, call)):
                        self.made[BodyOutput(index, output)] = value

    def _written(self, index: int, call: Call) -> tuple[Value, ...]:
        """Record one call of the body."""
        operands = self.loop.operands[index]
        if index not in self.loop.moving:
            return bind_all(call.op, *map(self._input, operands, call.inputs), **call.params)
        starts = self.loop.moving[index]
        (out,) = call.outputs
        row = self._row(call, operands[0], starts) if call.op == "slice" else None
        if row is not None:
            return (reshape(row, out.shape),)
        inputs = tuple(map(self._input, operands, call.inputs))
        places = [self._place(column) for column in starts.T]
        if call.op == "slice":
            return bind_all("dynamic_slice", *inputs, *places, sizes=out.shape)
        if call.op == "pad":
            part, fill = inputs
            inputs = broadcast_to(fill, out.shape), part
        return bind_all("dynamic_update_slice", *inputs, *places)

    # ---- inputs --------------------------------------------------------------------------------

    def _input(self, operand: Operand, like: Value) -> Value:
        """The value of an operand in the step, with its type in the first repetition."""
        if isinstance(operand, Local):
            return self.value(operand.made)
        if isinstance(operand, OutsideValue):
            return self._same(operand.value)
        if isinstance(operand, Carried):
            return self.history(operand.made, operand.before)
        if isinstance(operand, Numbers):
            array = np.stack([value.array for value in operand.values])
            return self._numbers(array)
        return reshape(self._entry(operand), like.shape)

    def value(self, made: BodyOutput) -> Value:
        """The value that the step computes there."""
        if made.call in self.loop.invariant:
            return self._same(self.loop.calls[made.call].outputs[made.output])
        return self.made[made]

    def _same(self, value: Value) -> Value:
        return self.same.input(identity(value), value, value.type)

    def history(self, made: BodyOutput, before: Sequence[Value]) -> Value:
        """The value from ``len(before)`` repetitions ago; those in between are carried, too."""
        for lag in range(1, len(before) + 1):
            recent = before[-lag:]
            self.carried.input((made, tuple(map(identity, recent))), recent[0], recent[0].type)
        return self.carried.input((made, tuple(map(identity, before))), before[0], before[0].type)

    def _numbers(self, array: Array) -> Value:
        key = (array.dtype, array.shape, array.tobytes())
        return self.sliced.input(key, array, ArrayType(array.dtype, array.shape[1:]))

    def _entry(self, rows: Rows) -> Value:
        return self.sliced.input(rows, rows, ArrayType(rows.array.dtype, rows.shape))

    def _row(self, call: Call, operand: Operand, starts: Array) -> Value | None:
        """The entry of an outside array that a slice takes, if it moves along one axis in equal steps."""
        strides = starts[1] - starts[0]
        (moving,) = np.nonzero(strides)
        if (
            not isinstance(operand, OutsideValue)
            or len(moving) != 1
            or (np.diff(starts, axis=0) != strides).any()
        ):
            return None
        axis = int(moving[0])
        start, stop = ints_param(call, "start"), ints_param(call, "stop")
        if stop[axis] - start[axis] != 1:
            return None
        return self._entry(Rows(operand.value, axis, start[axis], int(strides[axis]), start, stop))

    def _place(self, starts: Array) -> Value:
        """Where a part begins along one axis."""
        if not starts.any():
            return constant(0, INT64)
        if (starts == starts[0]).all():
            return self._same(constant(starts[0], INT64))
        return self._numbers(starts.astype(np.int64))

    # ---- the step ------------------------------------------------------------------------------

    def step(self, name: str, stacked: Sequence[BodyOutput]) -> Graph:
        """The graph of one step, which also returns the values to be stacked."""
        after = [
            self.value(made) if len(before) == 1 else self.carried.values[made, before[1:]]
            for made, before in self.carried.values
        ]
        kinds = (
            ("same", list(self.same.values.values())),
            ("carried", list(self.carried.values.values())),
            ("entry", list(self.sliced.values.values())),
        )
        return Graph(
            name,
            tuple(value for _, values in kinds for value in values),
            tuple(self.builder.calls),
            (*after, *map(self.value, stacked)),
            tuple(f"{kind}{i}" for kind, values in kinds for i in range(len(values))),
        )


def identity(value: Value) -> Hashable:
    """Equal for the same value, and for constants with the same bits."""
    return value.digest if isinstance(value, Constant) else value
