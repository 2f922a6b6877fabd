"""`AccumulatorWriter`: the variables of reductions as C."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from ....loops.building import MOST_COLUMNS, PART
from ....loops.nest import Accumulate, Accumulator, Local
from ....symbolic_size import SymbolicSize, is_known
from ..layout import bare
from ..sizes import place_text, size_text
from ..types import c_type, element_type
from .expressions import ExpressionWriter, variables
from .reductions import Gathering, added, gathering, merged


@dataclass(slots=True)
class AccumulatorWriter(ExpressionWriter):
    """Writes the variables of accumulators, and what is added to them."""

    blocks: set[Accumulator] = field(default_factory=set[Accumulator])
    """The accumulators that currently add to the variables of a block."""
    searched: dict[Accumulator, str] = field(default_factory=dict[Accumulator, str])
    """Where the numbers of a block are stored that are searched for the extreme one."""
    gathers: dict[Accumulator, Gathering] = field(default_factory=dict[Accumulator, Gathering])
    """How accumulators are kept if each chunk has a part of them."""

    def begin(self, accumulator: Accumulator) -> None:
        self.declare(accumulator, gathering(accumulator), "")

    def declare(self, accumulator: Accumulator, how: Gathering, suffix: str) -> None:
        """Declares variables of empty accumulators."""
        for name, part in zip(variables(accumulator, how, suffix), how.parts, strict=True):
            if accumulator.size is None:
                self.line(f"{c_type(part.dtype)} {name} = {part.initial};")
            else:
                self.line(f"{element_type(part.dtype)} {name}[{stack_entries(accumulator.size)}];")
        self.fill(accumulator, how, suffix)

    def part_begins(self, accumulator: Accumulator, how: Gathering) -> None:
        """Like `declare`, but many results are accumulated where the caller says."""
        if accumulator.size is None:
            self.declare(accumulator, how, "")
            return
        for name, part in zip(variables(accumulator, how), how.parts, strict=True):
            self.line(f"{element_type(part.dtype)} *restrict {name} = {name}_part;")
        self.fill(accumulator, how, "")

    def fill(self, accumulator: Accumulator, how: Gathering, suffix: str) -> None:
        if accumulator.size is None:
            return
        with self.each(accumulator):
            for name, part in zip(variables(accumulator, how, suffix), how.parts, strict=True):
                self.line(f"{name}[c] = {part.initial};")

    def each(self, accumulator: Accumulator) -> AbstractContextManager[None]:
        """A loop over the places c of an accumulator with many results; none for an accumulator with one."""
        if accumulator.size is None:
            return nullcontext()
        return self.braces(f"for (long c = 0; c < {size_text(accumulator.size)}; c++)")

    def accumulate(self, statement: Accumulate) -> None:
        accumulator, value = statement.accumulator, self.text(statement.expression)
        self.comment(accumulator.call)
        how, suffix = self.now(accumulator)
        at = "" if statement.at is None else place_text(statement.at)
        if not isinstance(statement.expression, Local) and how.clause != "+":
            name = f"{accumulator.name}_next"
            self.line(f"const {c_type(accumulator.dtype)} {name} = {bare(value)};")
            value = name
        if accumulator in self.blocks and accumulator in self.searched:
            self.line(f"{self.searched[accumulator]} = {value};")
        for line in added(accumulator, how, variables(accumulator, how, suffix, statement.place), value, at):
            self.line(self.called(line))

    def now(self, accumulator: Accumulator) -> tuple[Gathering, str]:
        """How an accumulator is kept at the moment, and the suffix of its variables."""
        how = self.gathers.get(accumulator) or gathering(accumulator)
        if accumulator in self.blocks:
            assert how.blocks is not None
            return how.blocks, "_block"
        return how, ""

    def merge(self, accumulator: Accumulator, how: Gathering, other: Gathering, suffix: str) -> None:
        """Add the contents of other variables."""
        place = None if accumulator.size is None else "c"
        names = variables(accumulator, how, "", place)
        with self.each(accumulator):
            others = variables(accumulator, other, suffix, None if "[" in suffix else place)
            for line in merged(accumulator, how, names, others):
                self.line(self.called(line))


def stack_entries(size: int | None) -> int | None:
    """The entries of an array on the stack, for an unknown size the maximum; None if there may be too many."""
    if not isinstance(size, SymbolicSize):
        return size
    return next((limit for limit in (PART, MOST_COLUMNS) if is_known(size <= limit)), None)
