"""Loops that threads share, in C: a separate function for a chunk of the iterations, and a call that runs all chunks.

Each chunk accumulates its part of a sum in its own variables; the parts are added in the order of the chunks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ....affine import Variable, of, same
from ....analysis.memory_plan import aligned
from ....dtypes import DType
from ....loops.loop_costs import MOST_CHUNKS
from ....loops.nest import Accumulator, Block, Buffer, Copy, Loop, Row, Statement
from ....loops.walk import Uses, accumulated, used
from ....symbolic_size import SymbolicSize, is_known, min_expr, quotient
from ..parameters import STACK
from ..sizes import factor_text, place_text, size_parameters, size_text, size_variable
from ..threads.shared_loop import SharedLoop
from ..types import c_type, element_type
from .accumulators import stack_entries
from .expressions import variables
from .loops import Writer, rows_in
from .reductions import Gathering, gathering


@dataclass(slots=True)
class ChunkWriter(Writer):
    """Writes a function whose outermost loops threads may share."""

    name: str = ""
    functions: list[str] = field(default_factory=list[str])
    """The texts of the functions for chunks."""
    memory: int = 0
    """Bytes that the caller provides."""
    aliased: frozenset[Buffer] = frozenset()
    """Arrays that may share memory with others."""
    sizes: Sequence[str] = ()
    """The named sizes that functions take."""

    def pointer(self, buffer: Buffer) -> str:
        """The parameter for a buffer."""
        alone = "" if buffer in self.aliased else "restrict "
        return f"{element_type(buffer.dtype)} *{alone}{buffer.name}"

    def statement(self, statement: Statement) -> None:
        if isinstance(statement, Loop) and statement.chunk is not None:
            self.chunks(statement, statement.chunk)
        else:
            if self.depth == 1:
                self.rows(statement)
                for row in rows_in(statement):
                    if stack_entries(row.size) is None:
                        self.part(row.dtype, row.name, row.size)
            Writer.statement(self, statement)

    def chunks(self, loop: Loop, size: int) -> None:
        """A function for one chunk of the loop, the loop over all chunks, and the sum of their parts."""
        variable = loop.variable
        number = f"_{len(self.functions) + 1}" if self.functions else ""
        function = f"{self.name}_chunk{number}"
        gathered = list(accumulated(loop.body))
        parts = {a: gathering(a, quotient(a.count, variable.extent) * size) for a in gathered}
        count, most_chunks, per_chunk = self.chunk_counts(variable.extent, size, number)
        uses = used((loop,))
        parameters, arguments = self.outside(uses)
        given = list(parameters)
        for accumulator, how in parts.items():
            names = variables(accumulator, how, "_part")
            step = 1 if accumulator.size is None else accumulator.size
            parameters += [
                f"{element_type(part.dtype)} *restrict {name}"
                for part, name in zip(how.parts, names, strict=True)
            ]
            for part, name in zip(how.parts, names, strict=True):
                self.part(part.dtype, f"{name}s{number}", most_chunks * step)
                given.append(f"{element_type(part.dtype)} *{name}s{number}")
                apart = "" if is_known(step == 1) else f"{factor_text(step)} * "
                arguments.append(f"{name}s{number} + {apart}chunk")
        for row in rows_in(loop):
            if stack_entries(row.size) is None:
                parameters.append(f"{element_type(row.dtype)} *restrict {row.name}")
                arguments.append(self.row_of_chunk(row, most_chunks))
        begin = of(Variable("chunk", 0, most_chunks)) * (1 if isinstance(size, SymbolicSize) else size)
        first = place_text(begin + variable.low)
        if isinstance(size, SymbolicSize):
            low = "" if is_known(variable.low == 0) else f" + {factor_text(variable.low)}"
            first = f"chunk * {per_chunk}{low}"
            given.append(f"const long {per_chunk}")
        last = size_text(variable.high + 1)
        end = "end" if is_known(variable.extent % size == 0) else f"end < {last} ? end : {last}"
        given += ["uint8_t *memory", "const long threads"]
        body = [
            f"    const long begin = {first}, end = begin + {per_chunk};",
            f"    {function}({', '.join([*arguments, 'begin', end])});",
        ]
        shared = SharedLoop(f"{self.name}{number}", given, body)
        self.functions.append(f"{self.function(function, loop, parameters, parts)}\n{shared.function}")
        self.line(shared.call(count))
        if parts:
            with self.braces(f"for (long chunk = 0; chunk < {count}; chunk++)"):
                for accumulator, how in parts.items():
                    place = (
                        "chunk"
                        if accumulator.size is None
                        else f"{factor_text(accumulator.size)} * chunk + c"
                    )
                    self.merge(accumulator, gathering(accumulator), how, f"_parts{number}[{place}]")

    def outside(self, uses: Uses) -> tuple[list[str], list[str]]:
        """Parameters for what a chunk uses from outside, and the arguments for them."""
        parameters = size_parameters(self.sizes)
        arguments = list(map(size_variable, self.sizes))
        for buffer in uses.buffers:
            if isinstance(buffer, Row):
                continue
            const = "" if buffer in uses.written else "const "
            parameters.append(f"{const}{self.pointer(buffer)}")
            arguments.append(buffer.name)
        for name, local in uses.locals.items():
            parameters.append(f"const {c_type(local.dtype) if local else 'int64_t'} {name}")
            arguments.append(name)
        for accumulator in uses.results:
            how = gathering(accumulator)
            for part, name in zip(how.parts, variables(accumulator, how), strict=True):
                one = accumulator.size is None
                type = c_type(part.dtype) if one else f"{element_type(part.dtype)} *restrict"
                parameters.append(f"const {type} {name}")
                arguments.append(name)
        return parameters, arguments

    def copies(self, body: Block) -> None:
        """Memory for inputs in another order."""
        for buffer in used(body).buffers:
            if isinstance(buffer, Copy):
                self.part(buffer.dtype, buffer.name, buffer.size)

    def part(self, dtype: DType, name: str, size: int) -> None:
        """Memory for what the chunks accumulate or read."""
        nbytes, type = size * dtype.itemsize, element_type(dtype)
        if not isinstance(size, SymbolicSize) and nbytes <= STACK:
            self.line(f"{type} {name}[{size}];")
            return
        self.line(f"{type} *const {name} = ({type} *)(memory + {factor_text(self.memory)});")
        self.memory += aligned(nbytes)

    def row_of_chunk(self, row: Row, chunks: int) -> str:
        """Memory for values that loops in a chunk store for later ones; one chunk runs after another on a thread."""
        start, nbytes = self.memory, aligned(row.size * row.dtype.itemsize)
        self.memory += chunks * nbytes
        offset = "" if same(start, 0) else f"{factor_text(start)} + "
        return f"({element_type(row.dtype)} *)(memory + {offset}(threads > 1 ? chunk : 0) * {factor_text(nbytes)})"

    def chunk_counts(self, extent: int, size: int, number: str) -> tuple[str, int, str]:
        """The number of chunks, its maximum, and the length of each."""
        if not isinstance(extent, SymbolicSize) and not isinstance(size, SymbolicSize):
            known = -(-extent // size)
            return str(known), known, str(size)
        if not isinstance(size, SymbolicSize):
            most_chunks = quotient(extent + (size - 1), size)
            return size_text(most_chunks), most_chunks, str(size)
        per_chunk = f"per_chunk{number}"
        self.line(f"const long {per_chunk} = {size_text(size)};")
        count = f"({size_text(extent)} + {per_chunk} - 1) / {per_chunk}"
        return count, min_expr(extent, MOST_CHUNKS), per_chunk

    def function(
        self, name: str, loop: Loop, parameters: list[str], parts: dict[Accumulator, Gathering]
    ) -> str:
        """The text of the function that runs one chunk."""
        chunk = Writer(needs=self.needs, gathers=parts, shown=self.shown)
        for accumulator, how in parts.items():
            chunk.part_begins(accumulator, how)
        chunk.rows(loop)
        chunk.loop(loop, ("begin", "end"))
        for accumulator, how in parts.items():
            if accumulator.size is None:
                for variable in variables(accumulator, how):
                    chunk.line(f"*{variable}_part = {variable};")
        head = f"static void {name}({', '.join([*parameters, 'long begin', 'long end'])})"
        return "\n".join([head, "{", *chunk.lines, "}", ""])
