"""Matrix products as Triton functions: each program computes a tile, and the values derived from its elements."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from .....affine import Affine, Variable, of
from .....dtypes import DType
from .....errors import ArgumentValueError
from .....ir import Graph
from .....loops.lower import lower
from .....loops.nest import Block, Buffer, Choose, Expression, Let, Load, Loop, Nest, Statement, Store
from .....loops.walk import at_value, expressions, places, statements
from .....symbolic_size import assume, is_known, is_one, quotient, remainder, typical
from ....python.text import wrapped
from ...kernels.assumed import pieces
from ...kernels.blocks import FAR, Rows
from ...kernels.elements import ALONG, INDENT, ROW, Guard
from ...kernels.kernel import Launch, TritonKernel
from ...kernels.numbers import Numbers
from ...kernels.reductions import gathered_dtype
from ...kernels.registers import held_words, words_of
from ...kernels.writer import Writer
from ...types import triton_type
from .matrix_in_memory import MatrixInMemory
from .product import Product, dot_text
from .reads import Reads
from .tile import Tile
from .windows import Windows

TOGETHER = 8
"""This many rows of tiles are computed column by column, so that programs that run at the same time share operands."""

_NAMES = "tl triton libdevice program part batch tile group row_tile column_tile row column k k_down step total product"


def by_matrices(product: Product, tile: Tile, name: str) -> TritonKernel | None:
    """Tiles of matrices, which tensor cores multiply if the GPU has them for the dtype.

    None if operands or outputs are not computed element by element.
    """
    writing = _Writing.of(product, tile, name)
    first, last = "0", writing.writer.numbers.text(product.length)
    if tile.parts > 1:
        size = -(-product.length // (tile.parts * tile.depth)) * tile.depth
        first, last = f"part * {size}", f"tl.minimum(part * {size} + {size}, {product.length})"
    before = len(writing.writer.lines)
    with writing.writer.indented(f"for step in range({first}, {last}, {tile.depth}):"):
        left, right = writing.copied_blocks() if tile.programs else writing.loaded_blocks()
        total = dot_text(product.dtype, f"{left}, {right}, total")
        writing.writer.line(f"total = {writing.writer.called(total)}")
        for move in writing.reads.moves:
            writing.writer.line(move)
    writing.writer.lines[before:before] = writing.reads.ahead
    return None if left is None or right is None else writing.kernel()


def by_elements(product: Product, tile: Tile, name: str) -> TritonKernel | None:
    """Products of a column and a row, added one after another: for integers, or for many small matrices.

    None if operands or outputs are not computed element by element.
    """
    writing = _Writing.of(product, tile, name)
    k, wide = Variable("k", 0, product.length - 1), gathered_dtype(product.dtype)
    length = writing.writer.numbers.text(product.length)
    with writing.writer.indented(f"for k in range(0, {length}):"):
        writing.writer.names_of[k], writing.writer.axes["k"] = "k", frozenset()
        left = writing.operand(product.left, writing.left(k), k)
        right = writing.operand(product.right, writing.right(k), k)
        widened = f".to({triton_type(wide)})" if product.dtype != wide else ""
        writing.writer.line(f"total += {left}{widened} * {right}{widened}")
    return None if left is None or right is None else writing.kernel()


@dataclass(frozen=True, slots=True)
class _Writing:
    """A function under construction, and the elements that its programs compute."""

    name: str
    product: Product
    tile: Tile
    writer: Writer
    tiles: int
    part: Affine
    batch: Affine
    row: Affine
    column: Affine
    reads: Reads
    ahead: list[str] = field(default_factory=list[str])
    """The lines before those of the writer."""
    nests: dict[Graph, Nest] = field(default_factory=dict[Graph, Nest])
    """The graphs of the product as loops."""

    @classmethod
    def of(cls, product: Product, tile: Tile, name: str) -> "_Writing":
        """Begin a function: find the program's tile, and set its sums to 0."""
        values = (*product.tail.inputs, *product.tail.outputs)
        sizes = sorted(dict.fromkeys(value.type.size for value in values), key=typical, reverse=True)
        rows = Rows(tile.rows, tile.columns, not all(assume(size < FAR) for size in sizes))
        is_by_axes, depth = product.is_symbolic and tile.depth > 1, 2 if tile.programs else 1
        writer = Writer(rows, numbers=Numbers.of(product.tail), is_by_axes=is_by_axes, depth=depth)
        writer.names.update(_NAMES.split(), (name,))
        rows_of_all = is_known(product.rows < tile.rows) and tile.depth == 1
        batch = 1 if rows_of_all else product.batch
        row = Variable("row", 0, product.rows * (product.batch if rows_of_all else 1) - 1)
        column = Variable("column", 0, product.columns - 1)
        down, across = pieces(row.extent, tile.rows), pieces(column.extent, tile.columns)
        if not tile.programs:
            writer.line(f"program = tl.program_id(0){writer.wide}")
        part = _program_coordinate(writer, "part", tile.parts, batch * down * across)
        matrix = _program_coordinate(writer, "batch", batch, down * across)
        writing = cls(
            name, product, tile, writer, tile.parts * batch * down * across, part,
            _block_of(row) // product.rows if rows_of_all else matrix,
            _block_of(row) % product.rows if rows_of_all else _block_of(row),
            _block_of(column), Reads(writer, tile.depth),
        )  # fmt: skip
        _find_tile(writer, down, across)
        writing.block(row, f"row_tile * {tile.rows} + tl.arange(0, {tile.rows})[:, None]", ROW, tile.rows)
        columns = f"column_tile * {tile.columns} + tl.arange(0, {tile.columns})[None, :]"
        writing.block(column, columns, ALONG, tile.columns)
        dtype = triton_type(gathered_dtype(product.dtype))
        writer.line(f"total = tl.zeros(({tile.rows}, {tile.columns}), {dtype})")
        return writing

    def left(self, k: Variable) -> Affine:
        """The place of an element of the left matrices."""
        return (self.batch * self.product.rows + self.row) * self.product.length + of(k)

    def right(self, k: Variable) -> Affine:
        """The place of an element of the right matrices."""
        return (self.batch * self.product.length + of(k)) * self.product.columns + self.column

    @property
    def programs(self) -> int:
        return min(self.tiles, self.tile.programs) if self.tile.programs else self.tiles

    @property
    def result(self) -> Affine:
        """The place of an element of the product."""
        if is_one(self.product.stacked):
            matrix = self.part * self.product.batch + self.batch
            if self.product.is_turned:
                return (matrix * self.product.columns + self.column) * self.product.rows + self.row
            return (matrix * self.product.rows + self.row) * self.product.columns + self.column
        columns: int = quotient(self.product.columns, self.product.stacked)
        stack = (self.part * self.product.batch + self.batch) * self.product.stacked + self.column // columns
        return (stack * self.product.rows + self.row) * columns + self.column % columns

    def block(self, variable: Variable, text: str, axis: str, size: int) -> None:
        """Assign a block of values to a variable; those beyond its range are masked."""
        name = self.writer.names_of[variable] = variable.name
        self.writer.axes[name] = frozenset({axis})
        self.writer.line(f"{name} = {text}")
        if not is_known(variable.extent % size == 0):
            self.writer.masks[variable] = f"{name}_in"
            self.mask(variable)

    def mask(self, variable: Variable) -> None:
        """Say which values of a block are within the variable's range, if not all values of every block are."""
        if variable in self.writer.masks:
            extent = self.writer.numbers.text(variable.extent)
            self.writer.line(f"{self.writer.masks[variable]} = {variable} < {extent}")

    def operand(
        self, given: Graph | Windows, place: Affine, k: Variable, shape: tuple[int, int] | None = None
    ) -> str | None:
        """The block of an operand, with zeros beyond the end of the sum."""
        if isinstance(given, Windows):
            found, text = self.entry(given, place)
        else:
            body = _elements(self.lowered(given), place, given.outputs[0].type.size)
            if not body or not isinstance(store := body[-1], Store):
                return None
            self.writer.statements(body[:-1])
            found, text = store.expression, self.writer.text(store.expression)
        axes = self.writer.axes_of(found)
        is_masked = isinstance(found, Load) and k in found.place.variables
        if k in self.writer.masks and not is_masked:
            text, axes = f"tl.where({self.writer.masks[k]}, {text}, 0)", axes | self.writer.axes[k.name]
        return text if shape is None or len(axes) == len(shape) else f"tl.broadcast_to({text}, {shape})"

    def loaded_blocks(self) -> tuple[str | None, str | None]:
        """The blocks of both operands, from what each thread loads."""
        tile, length = self.tile, self.product.length
        k, k_down = (Variable(name, 0, length - 1) for name in ("k", "k_down"))
        at_left, at_right = self.left(k), self.right(k_down)
        first, first_down = (f"tl.arange(0, {tile.depth}){index}" for index in ("[None, :]", "[:, None]"))
        if self.product.is_symbolic:
            at_left = self.moving(self.product.left, at_left, self.row, k, first)
            at_right = self.moving(self.product.right, at_right, self.column, k_down, first_down)
        self.count(self.product.left, at_left, k, first, ALONG)
        self.count(self.product.right, at_right, k_down, first_down, ROW)
        left = self.operand(self.product.left, at_left, k, (tile.rows, tile.depth))
        right = self.operand(self.product.right, at_right, k_down, (tile.depth, tile.columns))
        return left, right

    def moving(self, given: Graph | Windows, place: Affine, side: Affine, k: Variable, first: str) -> Affine:
        """The position of an element of an operand for existing rows or columns, with moving pointers."""
        (variable,) = side.variables
        blocks = [load for load in self.read(given, place)[0] if k in load.place.variables]
        inside = self.reads.inside(variable, blocks)
        place = place.at(variable, _block_of(inside))
        if self.product.is_copied:
            for load in self.read(given, place)[0]:
                self.reads.move(load, k, first)
        return place

    def count(self, given: Graph | Windows, place: Affine, k: Variable, first: str, axis: str) -> None:
        """Assign the values of this iteration to a variable; it gets a line unless only pointers depend on it."""
        moved = [pointer for _, pointer in self.writer.pointers]
        is_spelled = any(k in found.variables and found not in moved for found in self.read(given, place)[1])
        if is_spelled or not is_known(k.extent % self.tile.depth == 0):
            self.block(k, f"step + {first}", axis, self.tile.depth)
        else:
            self.writer.axes[k.name] = frozenset({axis})

    def read(self, given: Graph | Windows, place: Affine) -> tuple[list[Load], list[Affine]]:
        """The loads for an element of an operand, and all index expressions of the calls that compute it.

        Elements that may be in the padding are never loaded two at once: they are not among the loads.
        """
        if isinstance(given, Windows):
            load, conditions = given.entry(place, self.lowered(self.product.tail).inputs[given.number])
            return [] if conditions else [load], [load.place, *(condition.place for condition in conditions)]
        body = _elements(self.lowered(given), place, given.outputs[0].type.size) or ()
        loads = [e for s in statements(body) for e in expressions(s) if isinstance(e, Load)]
        spelled = (
            places(replace(s, place=Affine(0)) if isinstance(s, Store) else s) for s in statements(body)
        )
        return loads, [found for statement in spelled for found in statement]

    def copied_blocks(self) -> tuple[str | None, str | None]:
        """The blocks of both operands, which the hardware copies, and before all tiles the descriptions for it.

        Raises:
            ArgumentValueError: they do not lie in memory so that it can.
        """
        tile, k = self.tile, Variable("k", 0, self.product.length - 1)
        left = self.in_memory(self.product.left, self.left(k), self.row, of(k))
        right = self.in_memory(self.product.right, self.right(k), of(k), self.column)
        is_fixed = tile.parts == 1 and not self.writer.wide and not self.product.is_symbolic
        if left is None or right is None or not is_fixed:
            raise ArgumentValueError(
                "programs cannot be chosen of this product: that is for two matrices of numbers of two bytes, read as"
                " they lie in memory, with rows that begin at multiples of 16 bytes, and for sums in one part, of known"
                " sizes"
            )
        first_row, first_column = f"row_tile * {tile.rows}", f"column_tile * {tile.columns}"
        texts: list[str] = []
        for matrix, block, place in (
            (left, (tile.rows, tile.depth), (first_row, "step")),
            (right, (tile.depth, tile.columns), ("step", first_column)),
        ):
            name = matrix.buffer.name
            blocks = self.writer.claim(f"blocks_of_{name}")
            self.ahead.append(f"{INDENT}{blocks} = {matrix.described(*block)}")
            texts.append(self.writer.named(name, matrix.block(blocks, *place), frozenset({ROW, ALONG})))
            self.writer.buffers.add(matrix.buffer)
        self.ahead.append(
            f"{INDENT}for program in tl.range(tl.program_id(0), {self.tiles}, {self.programs}, flatten=True):"
        )
        first, second = texts
        return first, second

    def in_memory(
        self, given: Graph | Windows, place: Affine, row: Affine, column: Affine
    ) -> MatrixInMemory | None:
        """The memory of an operand, if it is a matrix in memory."""
        if isinstance(given, Windows) or self.product.batch > 1 or self.product.dtype.itemsize != 2:
            return None
        body = _elements(self.lowered(given), place, given.outputs[0].type.size)
        if body is None or len(body) != 1 or not isinstance(store := body[0], Store):
            return None
        (down,), (across,) = row.variables, column.variables
        load = store.expression
        return MatrixInMemory.of(load, down, across) if isinstance(load, Load) else None

    def entry(self, windows: Windows, place: Affine) -> tuple[Expression, str]:
        """The entries of windows, 0 if these are in the padding."""
        signal = self.lowered(self.product.tail).inputs[windows.number]
        load, conditions = windows.entry(place, signal)
        if not conditions:
            return load, self.writer.text(load)
        axes = frozenset[str]().union(*(self.writer.axes_of_place(c.place) for c in conditions))
        holds = self.writer.named("holds", " & ".join(map(self.writer.condition, conditions)), axes)
        self.writer.guards.append(Guard(conditions, holds))
        text = self.writer.text(load)
        self.writer.guards.pop()
        return load, text

    def lowered(self, graph: Graph) -> Nest:
        """A graph as loops whose names differ from those of the function."""
        if graph not in self.nests:
            taken = [*_NAMES.split(), *self.writer.numbers.names.values()]
            self.nests[graph] = lower(graph, taken, plain=True)
        return self.nests[graph]

    def kernel(self) -> TritonKernel | None:
        """The function, with its computations on the product after its sums."""
        nest = self.lowered(self.product.tail)
        *inputs, product = nest.inputs
        body = _elements(nest, self.result, product.size)
        if body is None or not all(map(self.is_here, _loads(body, product))):
            return None
        writer, total = self.writer, "total"
        if product.dtype != gathered_dtype(self.product.dtype):
            total = "product"
            writer.line(f"product = total.to({triton_type(product.dtype)})")
        with self.in_strips(total, product.dtype, held_words(body, ())) as sums:
            writer.known[writer.load(Load(product, self.result))] = sums
            writer.axes[sums] = frozenset({ROW, ALONG})
            writer.statements(body)
        buffers = [buffer.name for buffer in (*inputs, *nest.outputs)]
        used = {buffer.name for buffer in writer.buffers}
        arguments = tuple(number for number, buffer in enumerate(buffers) if buffer in used)
        numbers = writer.numbers.taken(is_wide=writer.rows.is_far)
        pointers = [f"{buffers[number]}_ptr" for number in arguments]
        head = wrapped(f"def {self.name}(", [*pointers, *(name for name, _ in numbers)], "):", indent=0)
        facts = [f"{INDENT}tl.assume({name} > 0)" for name in writer.numbers.above_none()]
        text = "\n".join(["@triton.jit", *head, *facts, *self.ahead, *writer.lines, ""])
        given = tuple(number for _, number in numbers)
        tile = self.tile
        launch = Launch(self.name, self.programs, tile.warps, arguments, tile.stages, numbers=given)
        tail = self.product.tail
        types = tuple(value.type for value in (*tail.inputs[:-1], *tail.outputs))
        return TritonKernel((text,), frozenset(writer.needs), (launch,), types, len(tail.outputs))

    @contextmanager
    def in_strips(self, sums: str, dtype: DType, words: int) -> Generator[str]:
        """Go over strips of columns if registers cannot hold the values for all of them at once.

        Returns the name of the sums of one strip, or of all. An element needs this many `words` of registers.
        """
        halvings = self.tile.halvings(words_of(dtype), words)
        if not halvings:
            yield sums
            return
        (variable,) = self.column.variables
        size = self.tile.columns >> halvings
        strip, taken = self.writer.claim("strip"), self.writer.claim("sums")
        with self.writer.indented(f"for {strip} in tl.static_range({1 << halvings}):"):
            self.writer.line(self.writer.called(f"{taken} = tm_strip({sums}, {strip}, {halvings})"))
            start = f"column_tile * {self.tile.columns} + {strip} * {size}"
            self.writer.line(f"{variable} = {start} + tl.arange(0, {size})[None, :]")
            self.mask(variable)
            yield taken

    def is_here(self, load: Load) -> bool:
        """Whether it loads the element of the product that the program has at that position."""
        return load.place == self.result


# ---- which tile ------------------------------------------------------------------------------------------


def _program_coordinate(writer: Writer, name: str, count: int, size: int) -> Affine:
    """The number of a program's part or matrix, each of which has `size` programs."""
    variable = Variable(name, 0, count - 1)
    if not is_known(count <= 1):
        shown = writer.numbers.factor(size)
        writer.line(f"{name} = program // {shown}")
        writer.line(f"program = program % {shown}")
        writer.names_of[variable], writer.axes[name] = name, frozenset()
    return of(variable)


def _block_of(variable: Variable) -> Affine:
    """The values of a variable, for which there is a block even if they are all the same."""
    return Affine(0, ((variable, 1),))


def _find_tile(writer: Writer, down: int, across: int) -> None:
    """The row and the column of a program's tile: column by column, a few rows at once."""
    is_row, is_column = is_known(down <= 1), is_known(across <= 1)
    if is_column or is_known(down <= TOGETHER):
        shown = writer.numbers.factor(down) if not (is_row and is_column) else ""
        writer.line("row_tile = 0" if is_row else f"row_tile = program % {shown}")
        writer.line("column_tile = 0" if is_column else f"column_tile = program // {shown}")
        return
    size, height = writer.numbers.factor(TOGETHER * across), str(TOGETHER)
    writer.line(f"group = program // {size}")
    if not is_known(down % TOGETHER == 0):
        height = "group_rows"
        shown = writer.numbers.text(down)
        writer.line(f"group_rows = tl.minimum({shown} - group * {TOGETHER}, {TOGETHER})")
    writer.line(f"row_tile = group * {TOGETHER} + program % {size} % {height}")
    writer.line(f"column_tile = program % {size} // {height}")


# ---- elements --------------------------------------------------------------------------------------------


def _elements(nest: Nest, place: Affine, size: int) -> Block | None:
    """The statements that compute the elements of outputs of this size at a position, in row-major order."""
    if nest.constants or not all(is_known(buffer.size == size) for buffer in nest.outputs):
        return None
    body = tuple(_at(nest.body, place, size))
    return body if all(isinstance(s, (Let, Choose, Store)) for s in body) else None


def _at(body: Block, place: Affine, size: int) -> Iterator[Statement]:
    """The statements of loops that count through `size` elements, for the one at a position; other loops unchanged."""
    for statement in body:
        if isinstance(statement, Loop) and _is_counted(statement.variable.extent, size):
            inner = quotient(size, statement.variable.extent)
            iteration = at_value(statement.body, statement.variable, place // inner)
            yield from _at(iteration, place % inner, inner)
        else:
            yield statement


def _is_counted(extent: int, size: int) -> bool:
    """Whether this many elements are a multiple of a loop's iterations."""
    has_some = not is_known(size <= 0) and not is_known(extent <= 0)
    return has_some and is_known(remainder(size, extent) == 0)


def _loads(body: Block, buffer: Buffer) -> Iterator[Load]:
    for statement in statements(body):
        for expression in expressions(statement):
            if isinstance(expression, Load) and expression.buffer is buffer:
                yield expression
