"""Programs that go over rows in turn, and accumulate over their rows what registers can hold: sums of columns."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from ....affine import Affine, Variable
from ....ir import Call
from ....loops.nest import Accumulate, Accumulator, Block, Buffer, Loop, Statement, Store
from ....loops.walk import statements
from ....symbolic_size import is_known, min_expr
from ..choice import RULES, Choice
from ..types import triton_type
from .assumed import pieces
from .blocks import Rows, rows_of
from .numbers import Numbers
from .reductions import combined, gathered_dtype, neutral, reduced
from .writer import Writer

PROGRAMS: Final = 256
"""This many programs that accumulate columns keep a GPU busy: their registers are full."""

BRIEF: Final = 2048
"""This many for single numbers: more hide the latency of loads, fewer leave less to be added afterwards."""


@dataclass(frozen=True, slots=True)
class Gathering:
    """A loop over rows that accumulates some of its results over all rows instead of storing them."""

    ahead: Block
    """What every program computes first."""
    variables: tuple[Variable, ...]
    """Of the loops over rows."""
    body: Block
    rows: Rows
    columns: Mapping[Accumulator, Variable | None]
    """The loop whose iterations are accumulated side by side; None if each row gives one number."""
    buffers: Mapping[Buffer, Accumulator]
    """The values that are accumulated instead of being stored."""
    most: int | None = None
    """The maximum number of programs; None if it follows from what is accumulated."""

    @staticmethod
    def of(
        ahead: Block, loop: Loop, count: int, calls: Mapping[Buffer, Call], choice: Choice = RULES
    ) -> "Gathering | None":
        """The loop over rows with the stores to these buffers accumulated instead, as calls say.

        None if registers cannot hold that, or if the loop is not over `count` rows.
        """
        variables, body = _rows_of(loop, count)
        if not is_known(math.prod(variable.extent for variable in variables) == count):
            return None
        rows = rows_of(variables, body, is_kept=True, choice=choice)
        stored = {s.buffer: s for s in statements(body) if isinstance(s, Store) and s.buffer in calls}
        if set(stored) != set(calls):
            return None
        loops = {s.buffer: x for x in body if isinstance(x, Loop) for s in x.body if isinstance(s, Store)}
        columns: dict[Accumulator, Variable | None] = {}
        buffers: dict[Buffer, Accumulator] = {}
        for buffer, call in calls.items():
            place = _in_row(stored[buffer].place, variables)
            column = loops[buffer].variable if buffer in loops else None
            if place != (Affine(0) if column is None else Affine(-column.low, ((column, 1),))):
                return None
            if column is not None and not is_known(column.extent <= rows.block):
                return None
            accumulator = Accumulator(f"{call.op}_of_rows", call.op, buffer.dtype, count, call)
            buffers[buffer], columns[accumulator] = accumulator, column
        gathered = _gathered(body, buffers, variables)
        rows = replace(rows, arrays=1 + len(columns))
        return Gathering(ahead, variables, gathered, rows, columns, buffers, choice.programs)

    @property
    def programs(self) -> int:
        count = math.prod(variable.extent for variable in self.variables)
        most = BRIEF if all(column is None for column in self.columns.values()) else PROGRAMS
        return min_expr(self.most or most, pieces(count, self.rows.count))  # type: ignore[no-any-return]

    def written(self, parts: Mapping[Buffer, Buffer], numbers: Numbers) -> Writer:
        """The lines of the function; where programs leave their sums, for each buffer that is not stored."""
        writer = _Writer(self.rows, numbers=numbers, over=self.columns)
        writer.statements(self.ahead)
        program = writer.begin(self)
        for buffer, accumulator in self.buffers.items():
            writer.leave(accumulator, parts[buffer], program)
        return writer


def _rows_of(loop: Loop, count: int) -> tuple[tuple[Variable, ...], Block]:
    """The outermost loops that are together over `count` rows, and their bodies."""
    variables, body = [loop.variable], loop.body
    while not is_known(math.prod(variable.extent for variable in variables) >= count) and len(body) == 1:
        (inner,) = body
        if not isinstance(inner, Loop):
            break
        variables.append(inner.variable)
        body = inner.body
    return tuple(variables), body


def _in_row(place: Affine, variables: tuple[Variable, ...]) -> Affine:
    """The position of an element in its row."""
    for variable in variables:
        place = place.at(variable, Affine(variable.low))
    return place


def _gathered(body: Block, buffers: Mapping[Buffer, Accumulator], variables: tuple[Variable, ...]) -> Block:
    """The same statements, with numbers accumulated instead of stored."""

    def changed(statement: Statement) -> Statement:
        match statement:
            case Store() if statement.buffer in buffers:
                place = _in_row(statement.place, variables)
                return Accumulate(buffers[statement.buffer], statement.expression, place, None)
            case Loop():
                return replace(statement, body=_gathered(statement.body, buffers, variables))
            case _:
                return statement

    return tuple(map(changed, body))


@dataclass
class _Writer(Writer):
    """Writes functions that accumulate over rows."""

    over: Mapping[Accumulator, Variable | None] = field(
        default_factory=dict["Accumulator", "Variable | None"]
    )

    def begin(self, gathering: Gathering) -> str:
        """The loop over the rows of a program; returns the name of the program's number."""
        for accumulator, column in self.over.items():
            name, size = self.gatherer(accumulator), self.rows.count
            shape = self.row_shape()
            if column is not None:
                shape = f"({self.size(column)},)" if self.rows.is_flat else f"({size}, {self.size(column)})"
            self.fill(accumulator, name, shape)
        program, first, size = self.claim("program"), self.claim("first"), self.rows.count
        self.line(f"{program} = tl.program_id(0){self.wide}")
        count = math.prod(variable.extent for variable in gathering.variables)
        start = program if size == 1 else f"{program} * {size}"
        end, step = map(self.numbers.text, (count, gathering.programs * size))
        with self.indented(f"for {first} in range({start}, {end}, {step}):"):
            self.rows_from(gathering.variables, first)
            self.statements(gathering.body)
        return program

    def accumulate(self, statement: Accumulate) -> None:
        accumulator = statement.accumulator
        if accumulator not in self.over:
            super().accumulate(statement)
            return
        dtype, name = gathered_dtype(accumulator.dtype), self.gatherer(accumulator)
        value = self.text(statement.expression)
        if dtype != accumulator.dtype:
            value = f"{value}.to({triton_type(dtype)})"
        if self.row_mask:
            value = f"tl.where({self.row_mask}, {value}, {neutral(accumulator)})"
        self.line(f"{name} = {combined(accumulator.op, accumulator.dtype, name, value)}")

    def leave(self, accumulator: Accumulator, buffer: Buffer, program: str) -> None:
        """Store what a program has accumulated."""
        self.buffers.add(buffer)
        total, column, rows = self.gatherer(accumulator), self.over[accumulator], self.rows
        if rows.count > 1:
            if column is None and not rows.is_flat:
                total = f"tl.reshape({total}, ({rows.count},))"
            total = self.called(reduced(accumulator, total, 0, False))
        if column is None:
            self.line(f"tl.store({buffer.name}_ptr + {program}, {total})")
            return
        size, extent = self.size(column), self.numbers.factor(column.extent)
        place = self.claim("column")
        self.line(f"{place} = tl.arange(0, {size})")
        is_whole = is_known(column.extent >= size)
        mask = "" if is_whole else f", mask={place} < {self.numbers.text(column.extent)}"
        self.line(f"tl.store({buffer.name}_ptr + {program} * {extent} + {place}, {total}{mask})")
