"""Loops that threads share, as C: a function of its own for a chunk of the turns, and what runs all chunks.

Each chunk gathers its part of a sum in variables of its own; the parts are added up in the order of the chunks.
"""

from dataclasses import dataclass, field

from ...affine import Variable, of
from ...dtypes import DType
from ...loops.nest import Accumulator, Block, Buffer, Copy, Loop, Row, Statement
from ...loops.walk import Uses, accumulated, used
from ...memory_plan import aligned
from .loops import Writer, variables
from .parameters import STACK
from .reductions import Gathering, gathering
from .types import c_type, element_type


@dataclass(slots=True)
class ChunkWriter(Writer):
    """Writes a function whose outermost loops may be shared between threads."""

    name: str = ""
    functions: list[str] = field(default_factory=list[str])
    """The texts of the functions for chunks."""
    memory: int = 0
    """Bytes that the caller gives."""
    aliased: frozenset[Buffer] = frozenset()
    """What may lie in the same memory as something else."""

    def pointer(self, buffer: Buffer) -> str:
        """The parameter for a buffer."""
        alone = "" if buffer in self.aliased else "restrict "
        return f"{element_type(buffer.dtype)} *{alone}{buffer.name}"

    def statement(self, statement: Statement) -> None:
        if isinstance(statement, Loop) and statement.chunk is not None:
            self.chunks(statement, statement.chunk)
        else:
            if isinstance(statement, Loop) and self.depth == 1:
                self.rows(statement)
            Writer.statement(self, statement)

    def chunks(self, loop: Loop, size: int) -> None:
        """A function for one chunk of the loop, the loop over all chunks, and the sum of their parts."""
        variable = loop.variable
        count = -(-variable.extent // size)
        number = f"_{len(self.functions) + 1}" if self.functions else ""
        function = f"{self.name}_chunk{number}"
        gathered = list(accumulated(loop.body))
        parts = {a: gathering(a, a.count // variable.extent * size) for a in gathered}
        uses = used((loop,))
        parameters, arguments = self.outside(uses)
        for accumulator, how in parts.items():
            names = variables(accumulator, how, "_part")
            step = accumulator.size or 1
            parameters += [
                f"{element_type(part.dtype)} *restrict {name}"
                for part, name in zip(how.parts, names, strict=True)
            ]
            for part, name in zip(how.parts, names, strict=True):
                self.part(part.dtype, f"{name}s{number}", count * step)
                arguments.append(f"{name}s{number} + {f'{step} * ' if step > 1 else ''}chunk")
        self.functions.append(self.function(function, loop, parameters, parts))
        begin = f"{of(Variable('chunk', 0, count)) * size + variable.low}"
        self.line("#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)")
        with self.braces(f"for (long chunk = 0; chunk < {count}; chunk++)"):
            self.line(f"const long begin = {begin}, end = begin + {size};")
            end = (
                "end"
                if variable.extent % size == 0
                else f"end < {variable.high + 1} ? end : {variable.high + 1}"
            )
            self.line(f"{function}({', '.join([*arguments, 'begin', end])});")
        if parts:
            with self.braces(f"for (long chunk = 0; chunk < {count}; chunk++)"):
                for accumulator, how in parts.items():
                    place = f"{accumulator.size} * chunk + c" if accumulator.size else "chunk"
                    self.merge(accumulator, gathering(accumulator), how, f"_parts{number}[{place}]")

    def outside(self, uses: Uses) -> tuple[list[str], list[str]]:
        """Parameters for what a chunk has from outside, and the arguments for them."""
        parameters: list[str] = []
        arguments: list[str] = []
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
        """Memory for what the chunks gather, or read."""
        nbytes = size * dtype.itemsize
        if nbytes <= STACK:
            self.line(f"{element_type(dtype)} {name}[{size}];")
            return
        self.line(f"{element_type(dtype)} *const {name} = ({element_type(dtype)} *)(memory + {self.memory});")
        self.memory += aligned(nbytes)

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
