"""Runs loop nests in Python, statement by statement: what they mean without any compiler."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tracemill.compiler.affine import Affine, Quotient, Variable
from tracemill.compiler.dtypes import Array
from tracemill.compiler.loops import nest as ir
from tracemill.compiler.loops.walk import used
from tracemill.compiler.op import Condition, Multiple, lookup


class Run:
    """The memory of one run.

    `over` says which outputs share the memory of which inputs; those are copied first. With `backwards`, the
    iterations of every loop run in reverse order.
    """

    def __init__(
        self,
        nest: ir.Nest,
        inputs: Sequence[Array],
        *,
        over: Mapping[int, int] | None = None,
        backwards: bool = False,
    ) -> None:
        self.backwards = backwards
        self.numbers: dict[str, Any] = {}
        self.memory = {buffer: np.ravel(x) for buffer, x in zip(nest.inputs, inputs, strict=True)}
        self.memory |= {buffer: np.ravel(constant.array) for buffer, constant in nest.constants}
        rows = [buffer for buffer in used(nest.body).buffers if isinstance(buffer, ir.Row | ir.Copy)]
        self.memory |= {b: np.full(b.size, 77, b.dtype) for b in (*nest.outputs, *rows)}
        for output, place in (over or {}).items():
            shared = nest.inputs[place]
            self.memory[shared] = self.memory[nest.outputs[output]] = self.memory[shared].copy()
        self.gathered: dict[tuple[ir.Accumulator, int], list[tuple[int, Any]]] = {}
        with np.errstate(all="ignore"):
            self.block(nest.body)
        self.outputs = [self.memory[buffer] for buffer in nest.outputs]

    def block(self, body: ir.Block) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, statement: ir.Statement) -> None:
        match statement:
            case ir.Let():
                self.numbers[statement.local.name] = self.value(statement.expression)
            case ir.Store():
                self.memory[statement.buffer][self.place(statement.place)] = self.value(statement.expression)
            case ir.Choose():
                holds = all(map(self.holds, statement.conditions))
                self.block(statement.then_body if holds else statement.else_body)
                chosen = statement.then if holds else statement.otherwise
                self.numbers[statement.local.name] = self.value(chosen)
            case ir.Begin():
                for accumulator in statement.accumulators:
                    for place in range(accumulator.size or 1):
                        self.gathered[accumulator, place] = []
            case ir.Accumulate():
                place = 0 if statement.place is None else self.place(statement.place)
                at = 0 if statement.at is None else self.place(statement.at)
                self.gathered[statement.accumulator, place].append((at, self.value(statement.expression)))
            case ir.Loop():
                numbers = range(statement.variable.low, statement.variable.high + 1)
                for number in reversed(numbers) if self.backwards else numbers:
                    self.numbers[statement.variable.name] = number
                    self.block(statement.body)

    def place(self, place: Affine) -> int:
        total = place.constant
        for atom, factor in place.terms:
            if isinstance(atom, Variable):
                total += factor * int(self.numbers[atom.name])
            elif isinstance(atom, Quotient):
                total += factor * (self.place(atom.dividend) // atom.divisor)
            else:
                total += factor * (self.place(atom.dividend) % atom.divisor)
        return total

    def holds(self, condition: Condition) -> bool:
        place = self.place(condition.place)
        if isinstance(condition, Multiple):
            return place % condition.step == 0
        return condition.low <= place < condition.high

    def value(self, expression: ir.Expression) -> Any:
        match expression:
            case ir.Local():
                return self.numbers[expression.name]
            case ir.Literal():
                return expression.constant.array
            case ir.Position():
                return np.asarray(self.place(expression.place)).astype(expression.dtype)
            case ir.Load():
                place = self.place(expression.place)
                assert 0 <= place < expression.buffer.size
                return self.memory[expression.buffer][place]
            case ir.Apply():
                call = expression.call
                return lookup(call.op).numpy(
                    *map(np.asarray, map(self.value, expression.operands)), **call.params
                )
            case ir.Clamped():
                return min(max(int(self.value(expression.number)), 0), expression.last)
            case ir.Fold():
                return _reduced(expression.op, [self.value(x) for x in expression.operands], expression.dtype)
            case ir.Result():
                place = 0 if expression.place is None else self.place(expression.place)
                return self.result(
                    expression, sorted(self.gathered[expression.accumulator, place], key=_first)
                )

    def result(self, expression: ir.Result, gathered: list[tuple[int, Any]]) -> Any:
        assert len(gathered) == expression.accumulator.count
        return _reduced(expression.accumulator.op, [x for _, x in gathered], expression.accumulator.dtype)


def _first(pair: tuple[int, Any]) -> int:
    return pair[0]


def _reduced(op: str, numbers: list[Any], dtype: Any) -> Any:
    x = np.array(numbers, dtype)
    return lookup(op).numpy(x, axis=0) if op in ("argmax", "argmin") else lookup(op).numpy(x, axes=(0,))
