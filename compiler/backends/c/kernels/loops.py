"""`Writer`: loop nests as C: statements, and loops on vectors."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from ....affine import Affine, Variable, of
from ....dtypes import DType, dtype_name, is_inexact, real_dtype
from ....loops.nest import (
    Accumulate,
    Accumulator,
    Apply,
    Begin,
    Block,
    Choose,
    Expression,
    Let,
    Load,
    Local,
    Loop,
    Row,
    Statement,
    Store,
)
from ....loops.walk import accumulated, at_value, statements, used
from ....symbolic_size import SymbolicSize, is_known, is_one
from ...python.text import operand
from ..expression import near, of_library
from ..layout import bare
from ..sizes import place_text, size_text
from ..types import c_type, element_type
from .accumulators import AccumulatorWriter, stack_entries
from .angles import BLOCK, angles_in, are_costly, before_angles, widest
from .columns_in_tiles import AHEAD, COLUMNS, ColumnsInTiles, columns_in_tiles
from .expressions import condition_text, variables
from .next_rows import NextRow, next_rows
from .reductions import equals, gathering, is_search, longest, replaces, result
from .rows_at_once import parts_of_rows
from .vectors import LANES, SHORT, may_be_short, runs_on_vectors, smaller_type, widest_vector


@dataclass(slots=True)
class Writer(AccumulatorWriter):
    """Writes the statements of one function."""

    is_repeated: bool = False
    """Whether the current statements are in a loop."""
    narrowed: set[str] = field(default_factory=set[str])
    """The locals that a conversion has rounded to fewer bits."""

    def rows(self, outermost: Statement) -> None:
        """Memory for values that the loops in an outermost statement store for later ones."""
        for row in rows_in(outermost):
            size = stack_entries(row.size)
            if size is not None:
                self.line(f"{c_type(row.dtype)} {row.name}[{size}] __attribute__((aligned(64)));")

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
                place = place_text(statement.place)
                self.line(f"{statement.buffer.name}[{place}] = {bare(self.text(statement.expression))};")
            case Begin():
                for accumulator in statement.accumulators:
                    self.begin(accumulator)
            case Accumulate():
                self.accumulate(statement)
            case Loop():
                self.loop(statement)

    # ---- numbers with a name ---------------------------------------------------------------------------

    def let(self, let: Let) -> None:
        self.comment(let.call)
        name, value = let.local.name, let.expression
        if isinstance(value, Apply) and value.call.op == "convert":
            (given,) = value.operands
            if is_narrower(let.local.dtype, given.dtype):
                self.narrowed.add(name)
            elif isinstance(given, Local) and given.name in self.narrowed:
                value = replace(value, operands=(self.rounded(given, f"{name}_rounded"),))
        self.line(f"const {c_type(let.local.dtype)} {name} = {bare(self.text(value))};")

    def rounded(self, local: Local, name: str) -> Local:
        """A copy in memory of the rounded value: GCC 12 drops the rounding of vectors that are widened right after."""
        self.line(f"const volatile {c_type(local.dtype)} {name} = {local.name};")
        return Local(name, local.dtype)

    def choose(self, choice: Choose) -> None:
        conditions = " && ".join(condition_text(condition) for condition in choice.conditions)
        type, name = c_type(choice.local.dtype), choice.local.name
        self.comment(choice.call)
        if not choice.then_body and not choice.else_body:
            value = f"{conditions} ? {self.text(choice.then)} : {self.text(choice.otherwise)}"
            self.line(f"const {type} {name} = {value};")
            return
        self.line(f"{type} {name};")
        with self.braces(f"if ({conditions})"):
            self.statements(choice.then_body)
            self.line(f"{name} = {bare(self.text(choice.then))};")
        with self.braces("else"):
            self.statements(choice.else_body)
            self.line(f"{name} = {bare(self.text(choice.otherwise))};")

    # ---- loops -----------------------------------------------------------------------------------------

    def loop(self, loop: Loop, bounds: tuple[str, str] | None = None) -> None:
        """A loop over the range of its variable, or from a number up to another, which is excluded."""
        if bounds is None and is_one(loop.variable.extent) and not list(accumulated(loop.body)):
            self.statements(at_value(loop.body, loop.variable, Affine(loop.variable.low)))
            return
        low, end = bounds or (size_text(loop.variable.low), size_text(loop.variable.high + 1))
        if loop.is_unrolled:
            self.line(f"#pragma GCC unroll {loop.variable.extent}")
            self.iterations(loop, low, end, None)
            return
        vectors = runs_on_vectors(loop)
        if vectors:
            gathered = [a for a in accumulated(loop.body) if a.size is None]
        else:
            inner = {
                a
                for item in loop.body
                if isinstance(item, Loop) and not runs_on_vectors(item)
                for a in accumulated((item,))
            }
            gathered = [a for a in accumulated(loop.body) if a.size is not None and a not in inner]
        in_blocks = [a for a in gathered if self.now(a)[0].blocks is not None]
        if not in_blocks:
            self.iterations(loop, low, end, gathered if vectors else None, is_any=bounds is None)
        elif bounds is None and is_known(loop.variable.extent <= min(map(longest, in_blocks))):
            with self.braces(""):
                self.block(loop, low, end, gathered if vectors else None, in_blocks, is_any=True)
        elif vectors and bounds is None and isinstance(loop.variable.extent, SymbolicSize):
            self.blocks_and_rest(loop, low, end, gathered, in_blocks)
        else:
            step = min(map(longest, in_blocks))
            start, stop = f"{loop.variable}_block", f"{loop.variable}_end"
            with self.braces(f"for (long {start} = {low}; {start} < {end}; {start} += {step})"):
                whole = bounds is None and is_known(loop.variable.extent % step == 0)
                if not whole:
                    self.line(f"const long {stop} = {start} + {step} < {end} ? {start} + {step} : {end};")
                self.block(
                    loop,
                    start,
                    f"{start} + {step}" if whole else stop,
                    gathered if vectors else None,
                    in_blocks,
                )

    def blocks_and_rest(
        self,
        loop: Loop,
        low: str,
        end: str,
        gathered: Sequence[Accumulator],
        in_blocks: Sequence[Accumulator],
    ) -> None:
        """Blocks of a length that the compiler knows, and one for the remainder."""
        step, start = min(map(longest, in_blocks)), f"{loop.variable}_block"
        with self.braces(""):
            self.line(f"long {start} = {low};")
            with self.braces(f"for (; {start} + {step} <= {end}; {start} += {step})"):
                self.block(loop, start, f"{start} + {step}", gathered, in_blocks)
            with self.braces(f"if ({start} < {end})"):
                self.block(loop, start, end, gathered, in_blocks, is_any=True)

    def block(
        self,
        loop: Loop,
        low: str,
        end: str,
        gathered: Sequence[Accumulator] | None,
        in_blocks: Sequence[Accumulator],
        *,
        is_any: bool = False,
    ) -> None:
        """Iterations of a loop whose long sums are first accumulated in separate variables."""
        for accumulator in in_blocks:
            blocks = self.now(accumulator)[0].blocks
            assert blocks is not None
            self.declare(accumulator, blocks, "_block")
        searches = [s for s in loop.body if isinstance(s, Accumulate) and is_search(s.accumulator)]
        searches = [s for s in searches if s.accumulator in in_blocks]
        for search in searches:
            self.keep(search, loop, low, min(map(longest, in_blocks)))
        self.blocks |= set(in_blocks)
        self.iterations(loop, low, end, gathered, is_any=is_any)
        self.blocks -= set(in_blocks)
        for accumulator in in_blocks:
            if is_search(accumulator):
                continue
            how, _ = self.now(accumulator)
            assert how.blocks is not None
            self.merge(accumulator, how, how.blocks, "_block")
        for search in searches:
            self.find(search, loop.variable, low, end)

    def keep(self, search: Accumulate, loop: Loop, low: str, most: int) -> None:
        """Memory for the numbers of a block that will be searched, unless a second loop can load them again."""
        accumulator, variable = search.accumulator, loop.variable
        if can_load_again(search.expression, loop):
            self.searched.pop(accumulator, None)
            return
        extent = variable.extent
        values = f"{accumulator.name}_values"
        size = most if isinstance(extent, SymbolicSize) else min(most, extent)
        self.line(f"{element_type(accumulator.dtype)} {values}[{size}];")
        self.searched[accumulator] = f"{values}[{variable}{'' if low == '0' else f' - {operand(low)}'}]"

    def find(self, search: Accumulate, variable: Variable, low: str, end: str) -> None:
        """Search for the extreme number of a block, if it is more extreme than all before it."""
        accumulator, how = search.accumulator, gathering(search.accumulator)
        assert how.blocks is not None
        (name, at), block = variables(accumulator, how), f"{accumulator.name}_of_block"
        extreme = replace(accumulator, op=accumulator.op[3:])
        parts = variables(accumulator, how.blocks, "_block")
        dtype = accumulator.dtype
        self.line(f"const {c_type(dtype)} {block} = {result(extreme, how.blocks, parts, dtype)};")
        with self.braces(f"if ({replaces(accumulator, block, name)})"):
            self.line(f"{name} = {block};")
            first = Variable(f"{accumulator.name}_first", variable.low, variable.high)
            self.line(f"long {first} = {end};")
            self.line(f"#pragma omp simd reduction(min : {first})")
            with self.braces(f"for (long {variable} = {low}; {variable} < {end}; {variable}++)"):
                value = self.searched.get(accumulator) or self.text(search.expression)
                self.line(f"const {c_type(accumulator.dtype)} value = {value};")
                self.line(f"const long place = {equals(accumulator, 'value', name)} ? {variable} : {end};")
                self.line(f"{first} = place < {first} ? place : {first};")
            assert search.at is not None
            self.line(f"{at} = {place_text(search.at.at(variable, of(first)))};")

    def iterations(
        self,
        loop: Loop,
        low: str,
        end: str,
        gathered: Sequence[Accumulator] | None,
        *,
        is_any: bool = False,
    ) -> None:
        """The iterations from `low` up to `end`: vectorised, accumulating some sums, or one by one.

        With `is_any` there are as many as the symbolic extent of the loop, or as remain of it.
        """
        if gathered is None:
            self.rows_of_loops(loop, low, end)
            return
        if self.with_angles is None and (angles := angles_in(loop.body)):
            before = before_angles(loop.body)
            if before is None:
                self.each_iteration(loop, low, end)
            elif are_costly(before):
                self.with_angles = of_library
                self.iterations(loop, low, end, gathered, is_any=is_any)
                self.with_angles = None
            else:
                self.near_or_far(loop, low, end, gathered, angles, before, is_any=is_any)
            return
        if is_any and self.is_repeated and may_be_short(loop):
            length = operand(end) if low == "0" else f"({end} - {operand(low)})"
            with self.braces(f"if ({length} < {SHORT} && {length} % {widest_vector(loop)} >= {LANES})"):
                self.line(f"#pragma omp simd simdlen({LANES}){self.clauses(gathered)}")
                self.each_iteration(loop, low, end)
            with self.braces("else"):
                self.iterations(loop, low, end, gathered)
            return
        if (type := smaller_type(loop)) is not None:
            with self.braces(""):
                self.line(
                    "// Several vectors of elements at once, because of a type that is smaller than they are."
                )
                self.line(f"{type} tm_lane = 0, tm_lanes = 0;")
                self.line(f"#pragma omp simd reduction(| : tm_lanes) linear(tm_lane){self.clauses(gathered)}")
                self.each_iteration(loop, low, end, last="tm_lanes |= tm_lane++;")
                self.line('__asm__ volatile("" : : "r"(tm_lanes));')
            return
        self.line(f"#pragma omp simd{self.clauses(gathered)}")
        self.each_iteration(loop, low, end)

    def rows_of_loops(self, loop: Loop, low: str, end: str) -> None:
        """Iterations with inner loops. These may go over tiles, and functions between them may run on vectors."""
        variable = loop.variable
        first = Variable(f"{variable}_first", variable.low, variable.high)
        column = Variable("tm_column", 0, variable.high)
        tiles = columns_in_tiles(loop, first, column)
        if tiles is not None:
            self.tiles(loop, tiles, str(first), str(column), low, end)
            return
        parts = parts_of_rows(loop, first)
        if parts is None:
            self.each_iteration(loop, low, end)
            return
        last, rows = f"{variable}_last", parts.rows
        with self.braces(f"for (long {first} = {low}; {first} < {end}; {first} += {rows})"):
            self.line(f"const long {last} = {first} + {rows} < {end} ? {first} + {rows} : {end};")
            for row in parts.stored:
                self.line(f"{element_type(row.dtype)} {row.name}[{rows}];")
            if parts.before:
                self.each_iteration(replace(loop, body=parts.before), str(first), last)
            self.iterations(replace(loop, body=parts.functions), str(first), last, [])
            if parts.after:
                self.each_iteration(replace(loop, body=parts.after), str(first), last)

    def tiles(self, loop: Loop, tiles: ColumnsInTiles, first: str, column: str, low: str, end: str) -> None:
        """Iterations over tiles of the result, after a copy of what they read by columns."""
        row, along = loop.variable, tiles.inner.variable
        last, last_column = f"{row}_last", "tm_column_end"
        start, columns = size_text(along.low), size_text(along.high + 1)
        before, self.is_repeated = self.is_repeated, True
        with ExitStack() as braces:
            enter = braces.enter_context
            enter(self.braces(f"for (long {first} = {low}; {first} < {end}; {first} += {tiles.rows})"))
            self.line(f"const long {last} = {first} + {tiles.rows} < {end} ? {first} + {tiles.rows} : {end};")
            for between in tiles.between:
                variable = between.variable
                lowest, stop = size_text(variable.low), size_text(variable.high + 1)
                enter(self.braces(f"for (long {variable} = {lowest}; {variable} < {stop}; {variable}++)"))
            enter(self.braces(f"for (long {column} = {start}; {column} < {columns}; {column} += {COLUMNS})"))
            self.line(
                f"const long {last_column} = "
                f"{column} + {COLUMNS} < {columns} ? {column} + {COLUMNS} : {columns};"
            )
            for load, copy in tiles.copied.items():
                self.line(f"{element_type(load.dtype)} {copy.buffer.name}[{copy.buffer.size}];")
                with self.braces(f"for (long {along} = {column}; {along} < {last_column}; {along}++)"):
                    ahead = load.place.at(row, of(Variable(first, 0, 1))).at(along, of(along) + AHEAD)
                    self.line(f"__builtin_prefetch({load.buffer.name} + {place_text(ahead)}, 0, 3);")
                    self.each_iteration(Loop(row, (Store(copy.buffer, copy.place, load),)), first, last)
            with self.braces(f"for (long {row} = {first}; {row} < {last}; {row}++)"):
                self.iterations(tiles.inner, column, last_column, [])
        self.is_repeated = before

    def near_or_far(
        self,
        loop: Loop,
        low: str,
        end: str,
        gathered: Sequence[Accumulator],
        angles: Sequence[Expression],
        before: Block,
        *,
        is_any: bool,
    ) -> None:
        """Iterations that compute sines, cosines or tangents: one by one if an argument is far from 0."""
        if is_known(loop.variable.extent <= BLOCK) or not self.blocks.isdisjoint(gathered):
            head, start, stop = "", low, end
        else:
            start, stop = f"{loop.variable}_near", f"{loop.variable}_near_end"
            head = f"for (long {start} = {low}; {start} < {end}; {start} += {BLOCK})"
        with self.braces(head):
            if head:
                self.line(f"const long {stop} = {start} + {BLOCK} < {end} ? {start} + {BLOCK} : {end};")
            self.with_angles = near
            self.line(f"{widest(angles)} tm_far = 0;")
            self.line("#pragma omp simd reduction(| : tm_far)")
            variable = loop.variable
            with self.braces(f"for (long {variable} = {start}; {variable} < {stop}; {variable}++)"):
                self.statements(before)
                checks = (f"tm_is_far_{dtype_name(x.dtype)}({bare(self.text(x))})" for x in angles)
                for check in dict.fromkeys(checks):
                    self.line(self.called(f"tm_far |= {check};"))
            with self.braces("if (!tm_far)"):
                self.iterations(loop, start, stop, gathered, is_any=is_any)
            self.with_angles = None
            with self.braces("else"):
                self.each_iteration(loop, start, stop)

    def each_iteration(self, loop: Loop, low: str, end: str, last: str = "") -> None:
        before, self.is_repeated = self.is_repeated, True
        with self.braces(f"for (long {loop.variable} = {low}; {loop.variable} < {end}; {loop.variable}++)"):
            rows = next_rows(loop)
            for statement in loop.body:
                self.statement(statement)
                if rows and statement is rows[0].inner:
                    self.prefetch(rows, loop.variable, end)
            if last:
                self.line(last)
        self.is_repeated = before

    def prefetch(self, rows: Sequence[NextRow], variable: Variable, end: str) -> None:
        """Request the rows of the next iteration."""
        self.line("// The next row arrives while this one is in the cache.")
        with self.braces(f"if ({variable} + 1 < {end})"):
            for row in rows:
                start = place_text(row.start.at(variable, of(variable) + 1))
                size = size_text(row.inner.variable.extent)
                with self.braces(f"for (long c = 0; c < {size}; c += {row.step})"):
                    self.line(f"__builtin_prefetch({row.load.buffer.name} + {start} + c, 0, 3);")

    def clauses(self, gathered: Sequence[Accumulator]) -> str:
        clauses: dict[str, list[str]] = {}
        for accumulator in gathered:
            how, suffix = self.now(accumulator)
            for part, name in zip(how.parts, variables(accumulator, how, suffix), strict=True):
                clause = part.clause or how.clause
                assert clause is not None
                clauses.setdefault(clause, []).append(name)
        return "".join(f" reduction({clause} : {', '.join(names)})" for clause, names in clauses.items())


def rows_in(outermost: Statement) -> list[Row]:
    """Memory for values that the loops in an outermost statement, a loop or a branch, store for later ones."""
    return [buffer for buffer in used((outermost,)).buffers if isinstance(buffer, Row)]


def is_narrower(dtype: DType, other: DType) -> bool:
    """Whether a conversion from the other dtype rounds."""
    both = is_inexact(dtype) and is_inexact(other)
    return both and real_dtype(dtype).itemsize < real_dtype(other).itemsize


def can_load_again(expression: Expression, loop: Loop) -> bool:
    """Whether a number is in memory, at a position that the body of the loop does not compute."""
    if not isinstance(expression, Load):
        return False
    computed = {s.local.name for s in statements(loop.body) if isinstance(s, Let | Choose)}
    return not any(variable.name in computed for variable in expression.place.variables)
