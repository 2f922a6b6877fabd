"""Loop nests as Triton: statements on blocks of elements in place of C's loops, and reductions of blocks."""

from dataclasses import dataclass

from ....affine import Affine
from ....loops.nest import (
    Accumulate,
    Accumulator,
    Begin,
    Block,
    Buffer,
    Choose,
    Let,
    Load,
    Local,
    Loop,
    Statement,
    Store,
)
from ....loops.walk import accumulated, statements
from ....symbolic_size import is_known
from ..types import triton_type
from .elements import ALONG, ROW, Elements, Guard
from .reductions import SEARCHES, combined, gathered_dtype, is_better, is_extreme, neutral, reduced

_NO_PLACE = "9223372036854775807"


@dataclass(slots=True)
class Writer(Elements):
    """Writes the statements of one function."""

    # ---- statements --------------------------------------------------------------------------------------

    def statements(self, body: Block) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, statement: Statement) -> None:
        match statement:
            case Let():
                self.let(statement)
            case Choose():
                self.choose(statement)
            case Store():
                self.store(statement.buffer, statement.place, self.text(statement.expression))
            case Begin():
                self.begun |= set(statement.accumulators)
            case Accumulate():
                self.accumulate(statement)
            case Loop():
                self.loop(statement)

    def let(self, let: Let) -> None:
        self.comment(let.call)
        self.give(let.local, self.text(let.expression), self.axes_of(let.expression))

    def give(self, local: Local, text: str, axes: frozenset[str]) -> None:
        """Assign a value to a local: an existing name, or a new one."""
        if text in self.axes or text in self.known:
            self.same[local.name] = self.known.get(text, text)
            return
        name = self.same[local.name] = self.claim(local.name)
        self.line(f"{name} = {text}")
        self.known[text] = name
        self.axes[name] = axes

    def choose(self, choice: Choose) -> None:
        axes = frozenset[str]().union(*(self.axes_of_place(c.place) for c in choice.conditions))
        holds = self.named("holds", " & ".join(map(self.condition, choice.conditions)), axes)
        self.guards.append(Guard(choice.conditions, holds))
        self.statements(choice.then_body)
        then = self.text(choice.then)
        self.guards[-1] = Guard(choice.conditions, f"({holds} == 0)")
        self.statements(choice.else_body)
        otherwise = self.text(choice.otherwise)
        self.guards.pop()
        self.comment(choice.call)
        both = axes | self.axes_of(choice.then) | self.axes_of(choice.otherwise)
        self.give(choice.local, f"tl.where({holds}, {then}, {otherwise})", both)

    def store(self, buffer: Buffer, place: Affine, text: str) -> None:
        self.buffers.add(buffer)
        masks = self.masks_of(place)
        mask = f", mask={' & '.join(masks)}" if masks else ""
        self.line(f"tl.store({self.pointer(buffer, place)}, {text}{mask})")

    def keep(self, local: Local, buffer: Buffer) -> None:
        """Store a number for later functions."""
        self.store(buffer, Affine(0), self.same.get(local.name, local.name))

    def restore(self, local: Local, buffer: Buffer) -> None:
        """Load a number that an earlier function stored."""
        self.give(local, self.load(Load(buffer, Affine(0))), frozenset())

    # ---- reductions --------------------------------------------------------------------------------------

    def accumulate(self, statement: Accumulate) -> None:
        accumulator, value = statement.accumulator, self.text(statement.expression)
        dtype = gathered_dtype(accumulator.dtype)
        if dtype != accumulator.dtype:
            value = f"{value}.to({triton_type(dtype)})"
        at = "" if statement.at is None else f"tl.cast({self.place(statement.at)}, tl.int64)"
        if accumulator in self.streamed:
            self.stream(statement, value, at)
            return
        if self.leaf is None:
            if accumulator in self.begun:
                self.declare(accumulator)
            self.take(accumulator, self.gatherer(accumulator), value, at)
            return
        value = self.masked(statement, value)
        axis, keep_dims = (0, False) if self.rows.is_flat else (1, True)
        block = self.called(reduced(accumulator, value, axis, keep_dims))
        if accumulator.op in SEARCHES:
            self.find(accumulator, block, value, at)
        else:
            self.finish(accumulator, block, "")

    def find(self, accumulator: Accumulator, extreme: str, numbers: str, at: str) -> None:
        """Add the extreme number of a block, and its first position."""
        name = self.claim(f"{self.gatherer(accumulator)}_extreme")
        self.line(f"{name} = {extreme}")
        along = "0" if self.rows.is_flat else "1, keep_dims=True"
        places = f"tl.where({is_extreme(accumulator, numbers, name)}, {at}, {_NO_PLACE})"
        self.finish(accumulator, name, f"tl.min({places}, {along})")

    def masked(self, statement: Accumulate, value: str) -> str:
        """The block of numbers to accumulate, with neutral ones beyond its end."""
        assert self.leaf is not None
        mask = self.masks.get(self.leaf, "")
        if ALONG not in self.axes_of(statement.expression) and not mask:
            low = self.numbers.text(self.leaf.low)
            mask = f"{self.name_of(self.leaf)} >= {low}"  # the same number in every iteration
        if not mask:
            return value
        return self.named(
            f"{self.gatherer(statement.accumulator)}_next",
            f"tl.where({mask}, {value}, {neutral(statement.accumulator)})",
            frozenset({ROW, ALONG}),
        )

    def finish(self, accumulator: Accumulator, block: str, at: str) -> None:
        """Add the number that a block is reduced to."""
        name = self.gatherer(accumulator)
        if accumulator not in self.begun:
            self.take(accumulator, name, block, at)
            return
        self.begun.remove(accumulator)
        self.is_of_rows(accumulator, name)
        self.line(f"{name} = {block}")
        if at:
            self.line(f"{name}_at = {at}")

    def take(self, accumulator: Accumulator, name: str, value: str, at: str) -> None:
        """Add a number, or a block of them, to a variable."""
        if not at:
            self.line(f"{name} = {combined(accumulator.op, accumulator.dtype, name, value)}")
            return
        better = self.claim(f"{name}_better")
        self.line(f"{better} = {is_better(accumulator, value, name)}")
        self.line(f"{name}_at = tl.where({better}, {at}, {name}_at)")
        self.line(f"{name} = tl.where({better}, {value}, {name})")

    def stream(self, statement: Accumulate, value: str, at: str) -> None:
        """Add a block to an accumulated block, element by element."""
        accumulator = statement.accumulator
        self.take(accumulator, self.streamed[accumulator], self.masked(statement, value), at)

    # ---- loops ---------------------------------------------------------------------------------------------

    def loop(self, loop: Loop) -> None:
        if any(isinstance(s, Loop) for s in statements(loop.body)):
            self.iteration_by_iteration(loop)
            return
        self.leaf = loop.variable
        if is_known(self.size(loop.variable) >= loop.variable.extent):
            if loop.variable not in self.blocks:
                self.along(loop.variable, self.numbers.text(loop.variable.low))
                self.blocks.add(loop.variable)
            self.statements(loop.body)
        else:
            self.block_by_block(loop)
        self.leaf = None

    def iteration_by_iteration(self, loop: Loop) -> None:
        """A loop with inner loops, each of whose iterations is computed for all rows."""
        for accumulator in accumulated(loop.body):
            if accumulator in self.begun:
                self.declare(accumulator)
        variable = loop.variable
        name = self.claim(variable.name)
        self.axes[name] = frozenset()
        low = self.numbers.text(variable.low)
        with self.indented(f"for {name} in range({low}, {self.end(variable)}):"):
            self.names_of[variable] = name
            self.masks.pop(variable, None)
            self.statements(loop.body)

    def block_by_block(self, loop: Loop) -> None:
        """A loop that is too long for one block."""
        gathered = list(accumulated(loop.body))
        variable, size = loop.variable, self.size(loop.variable)
        shape = f"({size},)" if self.rows.is_flat else f"({self.rows.count}, {size})"
        for accumulator in gathered:
            name = self.claim(f"{self.gatherer(accumulator)}_block")
            self.fill(accumulator, name, shape)
            self.streamed[accumulator] = name
        first = self.claim(f"{variable}_first")
        low = self.numbers.text(variable.low)
        with self.indented(f"for {first} in range({low}, {self.end(variable)}, {size}):"):
            self.along(variable, first)
            self.statements(loop.body)
        axis, keep_dims = (0, False) if self.rows.is_flat else (1, True)
        for accumulator in gathered:
            name = self.streamed.pop(accumulator)
            block = self.called(reduced(accumulator, name, axis, keep_dims))
            if accumulator.op in SEARCHES:
                self.find(accumulator, block, name, f"{name}_at")
            else:
                self.finish(accumulator, block, "")
