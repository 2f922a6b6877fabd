"""Elements of loop nests as Triton: the names of blocks, their positions in memory, and expressions of them."""

import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from ....affine import Affine, Atom, Variable, of, same
from ....dtypes import kind
from ....ir import Call, Location
from ....loops.nest import (
    Accumulator,
    Apply,
    Buffer,
    Clamped,
    Expression,
    Fold,
    Literal,
    Load,
    Local,
    Position,
    Result,
)
from ....op import Between, Condition
from ....symbolic_size import is_known, typical
from ....text.printer import location_text
from ..literals import bare_literal, triton_literal
from ..types import triton_type
from .assumed import held_by, pieces
from .blocks import CACHED, Rows
from .expression import expression as elementwise
from .expression import functions_in, takes_bare
from .numbers import Numbers
from .reductions import SEARCHES, combined, gathered_dtype, neutral

INDENT = "    "
ROW, ALONG = "row", "along"
"""The axes of a block: the row, and the position in it."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition under which elements are needed, or not needed."""

    conditions: tuple[Condition, ...]
    text: str

    @property
    def variables(self) -> frozenset[Variable]:
        return frozenset[Variable]().union(*(condition.place.variables for condition in self.conditions))


@dataclass(slots=True)
class Elements:
    """The lines of one function, the values of names in them, and the names of expressions."""

    rows: Rows
    is_whole: bool = False
    """Whether all rows of the program exist: the last program may have fewer."""
    numbers: Numbers = field(default_factory=Numbers)
    """How sizes are spelled."""
    is_by_axes: bool = False
    """Whether terms that differ along one axis are added first, in offsets: a loop along another one does not change
    them."""
    lines: list[str] = field(default_factory=list[str])
    buffers: set[Buffer] = field(default_factory=set[Buffer])
    needs: set[str] = field(default_factory=set[str])
    depth: int = 1
    user_line: Location | None = None
    """The line of the user's source that is computed."""
    shown: Location | None = None
    """The user's line that was shown last."""
    axes: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """Along which axes of the block a name varies; constant ones are left out."""
    unflattened: dict[Variable, Affine] = field(default_factory=dict[Variable, Affine])
    """The values of variables that a row represents together."""
    names_of: dict[Variable, str] = field(default_factory=dict[Variable, str])
    masks: dict[Variable, str] = field(default_factory=dict[Variable, str])
    """For each variable that runs beyond its range: where it does not."""
    known: dict[str, str] = field(default_factory=dict[str, str])
    """The computed expressions, by their text."""
    same: dict[str, str] = field(default_factory=dict[str, str])
    """Locals that are equal to earlier ones."""
    guards: list[Guard] = field(default_factory=list[Guard])
    begun: set[Accumulator] = field(default_factory=set[Accumulator])
    """Accumulators that have accumulated nothing yet, and have no variable."""
    names: set[str] = field(default_factory=set[str])
    blocks: set[Variable] = field(default_factory=set[Variable])
    """Variables for whose values there is a block now."""
    gatherers: dict[Accumulator, str] = field(default_factory=dict[Accumulator, str])
    streamed: dict[Accumulator, str] = field(default_factory=dict[Accumulator, str])
    """Accumulators that are blocks now."""
    pointers: dict[tuple[str, Affine], str] = field(default_factory=dict[tuple[str, Affine], str])
    """Names of pointers to positions in buffers with these names, if they have any."""
    row_mask: str = ""
    """Where rows are within their range, if some are not."""
    leaf: Variable | None = None
    """The variable of the loop whose iterations are a block now."""

    # ---- lines and names -------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        if self.user_line != self.shown and self.user_line is not None:
            self.shown = self.user_line
            self.lines.append(f"{INDENT * self.depth}# {location_text(self.shown)}")
        self.lines.append(f"{INDENT * self.depth}{text}")

    @contextmanager
    def indented(self, head: str) -> Generator[None]:
        """A Python block; values computed in it are not known after it."""
        self.line(head)
        self.depth += 1
        known, blocks, names = dict(self.known), set(self.blocks), dict(self.names_of)
        yield
        self.known, self.blocks, self.names_of = known, blocks, names
        self.depth -= 1

    def comment(self, call: Call | None) -> None:
        """Show the user's line before the next statement, if it differs."""
        if call is not None and call.location is not None:
            self.user_line = call.location

    def claim(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self.names or name in self.numbers.claimed:
            number += 1
            name = f"{wanted}_{number}"
        self.names.add(name)
        return name

    def called(self, text: str) -> str:
        self.needs |= functions_in(text)
        return text

    def named(self, wanted: str, text: str, axes: frozenset[str]) -> str:
        """The name of a block, which is computed here unless it has been before."""
        if text in self.known:
            return self.known[text]
        name = self.claim(wanted)
        self.line(f"{name} = {text}")
        self.known[text] = name
        self.axes[name] = axes
        return name

    # ---- programs and blocks ---------------------------------------------------------------------------

    def programs(self, variables: Sequence[Variable], column: Variable | None = None) -> int:
        """The rows of this program, as the variables of nested loops; and its part of the columns.

        Returns how many programs share the columns of a row.
        """
        if not variables:
            return 1
        size, tiles = self.rows.count, 1
        number = f"tl.program_id(0){self.wide}"
        if column is not None:
            width = self.size(column)
            tiles = pieces(column.extent, width)
            program, shown = self.claim("program"), self.factor(tiles)
            self.line(f"{program} = {number}")
            number = f"{program} // {shown}"
            self.along(column, f"{self.start(column)}{program} % {shown} * {width}")
        self.rows_from(variables, f"{number} * {size}" if size > 1 else number)
        return tiles

    def rows_from(self, variables: Sequence[Variable], number: str) -> None:
        """The rows starting at one, as the variables of nested loops."""
        count, size = math.prod(v.extent for v in variables), self.rows.count
        if size > 1:
            number = f"{number} + tl.arange(0, {size}){'' if self.rows.is_flat else '[:, None]'}"
        axes = frozenset({ROW}) if size > 1 else frozenset[str]()
        if len(variables) == 1:
            first = self.counter(variables[0], number, axes)
            limit = self.end(variables[0])
        else:
            first, limit = self.claim("row"), self.numbers.text(count)
            self.line(f"{first} = {number}")
            self.axes[first] = axes
            row = of(Variable(first, 0, count - 1))
            for variable in variables:
                inner = math.prod(v.extent for v in variables[variables.index(variable) + 1 :])
                self.unflattened[variable] = row // inner % variable.extent + variable.low
                self.names_of[variable] = first
        if not self.is_whole and not is_known(count % size == 0):
            mask = self.row_mask = self.claim(f"{first}_in")
            self.line(f"{mask} = {first} < {limit}")
            self.masks |= dict.fromkeys(variables, mask)

    def counter(self, variable: Variable, number: str, axes: frozenset[str]) -> str:
        """What a variable is called, which has these values."""
        name = self.names_of[variable] = self.claim(variable.name)
        self.axes[name] = axes
        self.line(f"{name} = {self.start(variable)}{number}")
        return name

    def along(self, variable: Variable, first: str) -> None:
        """A block of the values of a loop's variable."""
        size = self.size(variable)
        number = f"tl.arange(0, {size}){'' if self.rows.is_flat else '[None, :]'}{self.wide}"
        name = self.names_of[variable] = self.claim(variable.name)
        self.axes[name] = frozenset({ALONG})
        self.line(f"{name} = {number if first == '0' else f'{first} + {number}'}")
        self.masks.pop(variable, None)
        if not is_known(variable.extent % size == 0):
            mask = self.masks[variable] = self.claim(f"{name}_in")
            self.line(f"{mask} = {name} < {self.end(variable)}")

    def size(self, variable: Variable) -> int:
        """How many values of a variable make a block."""
        return held_by(variable.extent, self.rows.block)

    def start(self, variable: Variable) -> str:
        """What the values of a variable are counted from, with a plus sign behind it."""
        return "" if same(variable.low, 0) else f"{self.numbers.text(variable.low)} + "

    def end(self, variable: Variable) -> str:
        """What is behind the last value of a variable."""
        return self.numbers.text(variable.high + 1)

    def factor(self, size: int) -> str:
        return self.numbers.factor(size)

    @property
    def wide(self) -> str:
        """What makes whole numbers large enough for all places."""
        return ".to(tl.int64)" if self.rows.is_far else ""

    # ---- expressions -------------------------------------------------------------------------------------

    def text(self, expression: Expression) -> str:
        """An expression: a name, a number, or what is computed of such."""
        match expression:
            case Local():
                return self.same.get(expression.name, expression.name)
            case Literal():
                return bare_literal(expression.constant.array)
            case Position():
                return f"tl.cast({self.place(expression.place)}, {triton_type(expression.dtype)})"
            case Load():
                text = self.load(expression)
                return self.named(expression.buffer.name, text, self.axes_of(expression))
            case Apply():
                found = elementwise(expression.call, self.operands(expression))
                self.needs |= found.needs
                return found.text
            case Clamped():
                return self.clamped(expression)
            case Fold():
                return self.folded(expression)
            case Result():
                return self.result(expression)

    def operands(self, applied: Apply) -> list[str]:
        """The operands of an elementwise call; not all of them are numbers of Python."""
        is_known = [isinstance(operand, Literal) for operand in applied.operands]
        bare = takes_bare(applied.call, is_known)
        return [
            triton_literal(operand.constant.array)
            if isinstance(operand, Literal) and not is_bare
            else self.text(operand)
            for operand, is_bare in zip(applied.operands, bare, strict=True)
        ]

    def load(self, load: Load) -> str:
        self.buffers.add(load.buffer)
        masks = self.masks_of(load.place)
        allowed = load.place.variables
        left_out = False
        for guard in self.guards:
            if guard.variables <= allowed:
                masks.append(guard.text)
            else:
                left_out = True
        if left_out and not load.place.is_below(load.buffer.size):
            place = self.place(load.place)
            masks.append(f"({place} >= 0) & ({place} < {self.numbers.text(load.buffer.size)})")
        mask = f", mask={' & '.join(masks)}, other=0" if masks else ""
        return f"tl.load({self.pointer(load.buffer, load.place)}{mask}{self.eviction(load)})"

    def eviction(self, load: Load) -> str:
        """The cache policy: keep data that other rows read again, and evict data that no cache can hold."""
        if self.rows.block or not load.place.variables:
            return ""
        if self.unflattened.keys() - load.place.variables:
            return ', eviction_policy="evict_last"'
        if typical(load.buffer.size) * load.dtype.itemsize > CACHED:
            return ', eviction_policy="evict_first"'
        return ""

    def pointer(self, buffer: Buffer, place: Affine) -> str:
        if (buffer.name, place) in self.pointers:
            return self.pointers[buffer.name, place]
        text = self.place(place)
        return f"{buffer.name}_ptr + {text}" if text != "0" else f"{buffer.name}_ptr"

    def masks_of(self, place: Affine) -> list[str]:
        """Where the block of an offset is within the ranges of its variables."""
        return sorted({self.masks[variable] for variable in place.variables if variable in self.masks})

    def place(self, place: Affine) -> str:
        """An index expression; its quotients are of numbers that are not negative."""
        for variable in place.variables & self.unflattened.keys():
            place = place.at(variable, self.unflattened[variable])
        for variable in place.variables:
            name = self.name_of(variable)
            if name != variable.name:
                place = place.at(variable, Affine(0, ((replace(variable, name=name), 1),)))
        if not self.is_by_axes:
            return self.spelled(place)
        parts = self.by_axes(place)
        texts = map(self.spelled, parts)
        return " + ".join(
            f"({text})" if len(parts) > 1 and (len(part.terms) > 1 or not same(part.constant, 0)) else text
            for part, text in zip(parts, texts, strict=True)
        )

    def spelled(self, place: Affine) -> str:
        return place.text(self.numbers.text).replace(" / ", " // ")

    def by_axes(self, place: Affine) -> list[Affine]:
        """The parts of a sum that vary along the same axes of the block, those along fewer axes first."""
        parts: dict[frozenset[str], list[tuple[Atom, int]]] = {}
        for atom, factor in place.terms:
            axes = self.axes_of_place(Affine(0, ((atom, factor),)))
            parts.setdefault(axes, []).append((atom, factor))
        first, *others = sorted(parts, key=lambda axes: (len(axes), sorted(axes))) or [frozenset[str]()]
        sums = [Affine(place.constant, tuple(parts.get(first, ())))]
        return [*sums, *(Affine(0, tuple(parts[axes])) for axes in others)]

    def name_of(self, variable: Variable) -> str:
        """A counter, or an index that was read from an array."""
        return self.names_of.get(variable) or self.same.get(variable.name, variable.name)

    def condition(self, condition: Condition) -> str:
        place = self.place(condition.place)
        if not isinstance(condition, Between):
            return f"(({place}) % {condition.step} == 0)"
        low, high = map(self.numbers.text, (condition.low, condition.high))
        above = [] if is_known(condition.place.low >= condition.low) else [f"({place} >= {low})"]
        below = [] if is_known(condition.place.high < condition.high) else [f"({place} < {high})"]
        return " & ".join([*above, *below])

    def clamped(self, expression: Clamped) -> str:
        number, last = self.text(expression.number), self.numbers.text(expression.last)
        if kind(expression.number.dtype) == "u":
            return f"tl.where({number} > {last}, {last}, {number}).to(tl.int64)"
        wide = f"{number}.to(tl.int64)"
        return f"tl.minimum(tl.maximum({wide}, 0), {last})"

    def folded(self, fold: Fold) -> str:
        """A few numbers as one."""
        wide, dtype = gathered_dtype(fold.dtype), fold.dtype
        first, *others = fold.operands
        start = triton_literal(first.constant.array) if isinstance(first, Literal) else self.text(first)
        texts = [start, *map(self.text, others)]
        if wide != dtype:
            texts = [f"{text}.to({triton_type(wide)})" for text in texts]
        total = texts[0]
        for text in texts[1:]:
            total = f"({combined(fold.op, dtype, total, text)})"
        return f"{total}.to({triton_type(dtype)})" if wide != dtype else total

    def result(self, result: Result) -> str:
        accumulator = result.accumulator
        if accumulator in self.begun:
            self.declare(accumulator)
        if accumulator.op in SEARCHES:
            return f"{self.gatherer(accumulator)}_at"
        wide, dtype, name = gathered_dtype(accumulator.dtype), result.dtype, self.gatherer(accumulator)
        return f"{name}.to({triton_type(dtype)})" if wide != dtype else name

    def axes_of(self, expression: Expression) -> frozenset[str]:
        """Along which axes of the block an expression varies."""
        match expression:
            case Local():
                return self.axes[self.same.get(expression.name, expression.name)]
            case Literal():
                return frozenset()
            case Position() | Load():
                return self.axes_of_place(expression.place)
            case Apply() | Fold():
                return frozenset[str]().union(*map(self.axes_of, expression.operands))
            case Clamped():
                return self.axes_of(expression.number)
            case Result():
                return self.axes.get(self.gatherer(expression.accumulator), frozenset())

    def axes_of_place(self, place: Affine) -> frozenset[str]:
        names = map(self.name_of, place.variables)
        return frozenset[str]().union(*(self.axes.get(name, frozenset()) for name in names))

    # ---- variables of reductions -----------------------------------------------------------------------

    def declare(self, accumulator: Accumulator) -> None:
        """A variable that has accumulated nothing yet."""
        self.begun.discard(accumulator)
        name = self.gatherer(accumulator)
        self.fill(accumulator, name, self.row_shape())
        self.is_of_rows(accumulator, name)

    def gatherer(self, accumulator: Accumulator) -> str:
        """The variable of an accumulator."""
        if accumulator not in self.gatherers:
            self.gatherers[accumulator] = self.claim(accumulator.name.replace("_so_far", ""))
        return self.gatherers[accumulator]

    def is_of_rows(self, accumulator: Accumulator, name: str) -> None:
        """Record that a variable holds one number per row."""
        axes = frozenset({ROW}) if self.rows.count > 1 else frozenset[str]()
        self.axes[name] = axes
        if accumulator.op in SEARCHES:
            self.axes[f"{name}_at"] = axes

    def fill(self, accumulator: Accumulator, name: str, shape: str) -> None:
        type = triton_type(gathered_dtype(accumulator.dtype))
        self.line(f"{name} = tl.full({shape}, {neutral(accumulator)}, {type})")
        if accumulator.op in SEARCHES:
            self.line(f"{name}_at = tl.full({shape}, 0, tl.int64)")

    def row_shape(self) -> str:
        if self.rows.count == 1:
            return "()"
        return f"({self.rows.count},)" if self.rows.is_flat else f"({self.rows.count}, 1)"
