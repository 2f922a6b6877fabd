"""Sums of products in C: matrices too small for a call of BLAS, and integers, which BLAS does not support."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from string import Template

from ....affine import same
from ....ir import Call, Dim, Shape
from ....params import ints_param
from ....symbolic_size import SymbolicSize, is_known, is_one, max_expr
from ..blas import OF_DTYPE
from ..function import CFunction, COptions
from ..parameters import memory_type, parameters
from ..sizes import factor_text, names_in_call, scaled
from ..types import element_type
from .blocks import blocked_text, memory_bytes
from .chunks import chunk_size, names, over_chunks
from .offsets import even_distance, offset_along
from .stacks import is_for_threads, stack_text

HEIGHT, VECTOR = 4, 64
"""Rows that are computed at once, and bytes of a vector register."""

SMALL = 16
"""Matrix products with at most this many rows and columns are computed in C."""

_BY_ENTRIES = Template("""\
$vectors
static inline $type ${name}_total($vector sums)
{
    for (int half = $lanes / 2; half; half /= 2)
        for (int lane = 0; lane < half; lane++)
            sums[lane] += sums[lane + half];
    return sums[0];
}

static void ${name}_chunk($parameters, long begin, long end)
{
    for (long row = begin; row < end; row++) {
        const long batch = row / $rows, i0 = row % $rows;
        const $type *restrict right = x$right + ($right_batch);
        const $type *restrict left0 = x$left + ($left_batch) + ($left_row);
$loops
    }
}
""")

_ENTRIES = Template("""\
        for (long first = $first; first < $last; first += $count) {
$pointers
            $sums
            for (long k = 0; k < $whole; k += $lanes) {
                const $vector factor = *(const $vector *)(left0 + k);
$products
            }
$totals
            for (long k = $whole; k < $length; k++) {
$rest
            }
$stores
        }\
""")

_BY_TILES = Template("""\
$vectors
static void ${name}_chunk($parameters, long begin, long end)
{
$loops
}
""")

_TILE_LOOP = Template("""\
    for (long first = $first; first < $last; first += $width)
        for (long group = begin; group < end; group++) {
            const long batch = group / $groups, i = group % $groups * $height;
            $type *restrict out = out0 + (batch * $rows + i) * $columns + first;
$tiles
        }\
""")

_OVERLAPPING_LOOP = Template("""\
    for (long next = 0; $condition && next < $columns; next += $width)
        for (long group = begin; group < end; group++) {
            const long first = next + $width < $columns ? next : $columns - $width;
            const long batch = group / $groups, i = group % $groups * $height;
            $type *restrict out = out0 + (batch * $rows + i) * $columns + first;
$tiles
        }\
""")

_TILE = Template("""\
            $condition{
$pointers
                $sums
                for (long k = 0; k < $length; k++) {
$products
                }
$stores
            }\
""")

_BY_SIZE = Template("""\
static void $name($parameters, long threads)
{
    if ($small)
        $here($taken, threads);
    else
        $blocked($given, threads);
}
""")

IN_LOOP = 64
"""In a C loop, a NumPy call would turn it into a Python loop, so that larger products pay off in C. Above this, C
calls BLAS if possible."""

_BY_BLAS = Template("""\
static void $name($parameters, long threads)
{
    if (!tm_blas$without) {
        ${name}_here($arguments, threads);
        return;
    }
    for (long batch = 0; batch < $count; batch++)
        $multiply($turned, $right_turned, $rows, $columns, $length, x$left + ($left_batch), $left_apart,
                  x$right + ($right_batch), $right_apart, out0 + batch * $size);
}
""")


DEFAULT = COptions()


def dot(call: Call, name: str, *, in_loop: bool = False, options: COptions = DEFAULT) -> CFunction | None:
    """The C function of a call of ``dot``, which calls BLAS for large products in a loop if possible."""
    x, y = call.inputs
    dtype = x.dtype
    batch = [x.shape[axis] for axis in ints_param(call, "batch_x", ())]
    sides = [
        Side(0, x.shape, ints_param(call, "batch_x", ()), ints_param(call, "contract_x")),
        Side(1, y.shape, ints_param(call, "batch_y", ()), ints_param(call, "contract_y")),
    ]
    if is_one(sides[1].entries):  # one column: the transposed product has all entries in one row
        sides.reverse()
    left, right = sides
    length = math.prod(x.shape[axis] for axis in ints_param(call, "contract_x"))
    flops = left.entries * right.entries * length
    if dtype.kind not in "iu" and dtype.name not in OF_DTYPE:
        return None
    is_thin = any(
        map(is_one, (left.entries, right.entries, length))
    )  # it takes as long as reading it, with or without BLAS
    is_small = is_known(flops <= (IN_LOOP if in_loop else SMALL) ** 3)
    is_large = dtype.kind == "f" and not is_small and not (in_loop and is_thin)
    has_sizes = isinstance(math.prod(batch) * flops, SymbolicSize)
    is_blas = is_large and left.is_even and right.is_even
    by_threads = (
        is_blas
        and options.blas_on_thread
        and not (is_thin or is_known(math.prod(batch) <= 1))
        and is_for_threads(left.entries, right.entries, length)
    )
    by_blas = by_threads or (is_blas and in_loop and options.blas)
    if is_large and not by_blas and not options.alone:
        return None
    by_blocks = is_large and not is_thin and not by_blas
    if by_blocks and not has_sizes:
        return _blocked(call, name, left, right, length)
    whole, name = name, f"{name}_here" if by_blas or by_blocks else name
    product = Product(name, element_type(dtype), dtype.itemsize, left, right, length)
    inputs, outputs = tuple(value.type for value in call.inputs), (call.outputs[0].type,)
    sizes = names_in_call(call)
    declared = parameters(inputs, outputs, sizes=sizes)
    along_both = left.offset(left.contract, "k") == right.offset(right.contract, "k") == "k"
    by_entries = along_both and not is_known(length < 4) and right.offset(right.free, "j") != "j"
    height = 1 if by_entries else product.height
    items = math.prod(batch) * ((left.entries + (height - 1)) // height)
    work = 1 + scaled(math.prod(batch) * flops, dtype.itemsize / 64) + math.prod(batch) * left.entries
    text = (product.by_entries if by_entries else product.by_tiles)(", ".join(declared))
    text += over_chunks(name, declared, items, chunk_size(items, work), outputs[0].size)
    if by_blas:
        texts = product.texts(", ".join(declared)) | {
            "name": whole,
            "arguments": ", ".join(names(declared)),
            "turned": left.text_of_turn(left.contract),
            "left_apart": factor_text(left.apart),
            "right_turned": right.text_of_turn(right.free),
            "right_apart": factor_text(right.apart),
            "size": factor_text(left.entries * right.entries),
        }
        if by_threads:
            text += "\n" + stack_text(texts, math.prod(batch), math.prod(batch) * flops, dtype.name)
            work = 1 + scaled(math.prod(batch) * flops, dtype.itemsize / 256)
        else:
            text += "\n" + _BY_BLAS.substitute(
                texts,
                count=factor_text(math.prod(batch)),
                without="" if is_known(flops >= 1) else f" || {factor_text(flops)} == 0",
                multiply=OF_DTYPE[dtype.name],
            )
    here = CFunction(name, text, inputs, outputs, frozenset(), work, sizes=sizes)
    if not by_blocks:
        return replace(here, name=whole)
    return _by_size(whole, here, _blocked(call, f"{whole}_blocked", left, right, length), left, right, length)


def _by_size(
    name: str, here: CFunction, blocked: CFunction, left: "Side", right: "Side", length: Dim
) -> CFunction:
    """The function of a product that is large for some sizes, and for others small or as thin as a vector."""
    counts = [left.entries, right.entries, length]
    small = [f"{' * '.join(map(factor_text, counts))} <= {IN_LOOP**3}"]
    small += [f"{factor_text(count)} == 1" for count in counts if isinstance(count, SymbolicSize)]
    declared = parameters(blocked.inputs, blocked.outputs, sizes=blocked.sizes)
    text = _BY_SIZE.substitute(
        name=name,
        parameters=", ".join(declared),
        small=" || ".join(small),
        here=here.name,
        taken=", ".join(names(parameters(here.inputs, here.outputs, sizes=here.sizes))),
        blocked=blocked.name,
        given=", ".join(names(declared)),
    )
    return replace(blocked, name=name, text="\n".join([here.text, blocked.text, text]), work=here.work)


def _blocked(call: Call, name: str, left: "Side", right: "Side", length: int) -> CFunction:
    """The C function of a large product without BLAS."""
    dtype, out = call.inputs[0].dtype, call.outputs[0].type
    product = Product(name, element_type(dtype), dtype.itemsize, left, right, length)
    inputs = tuple(value.type for value in call.inputs)
    behind, nbytes = memory_bytes(left.entries, right.entries, length, dtype.itemsize)
    outputs = (out, memory_type(nbytes))
    batches = math.prod(left.shape[axis] for axis in left.batch)
    sizes = names_in_call(call)
    texts = product.texts(", ".join(parameters(inputs, outputs, sizes=sizes)))
    text = blocked_text(texts, left.entries, "out1", behind, batches, dtype.itemsize, sizes)
    work = 1 + scaled(batches * left.entries * right.entries * length, dtype.itemsize / 256)
    return CFunction(name, text, inputs, outputs, frozenset(), work, sizes=sizes)


@dataclass(frozen=True, slots=True)
class Side:
    """An operand of a product: its axes by their role."""

    place: int
    """Which operand of the call it is."""
    shape: Shape
    batch: tuple[int, ...]
    contract: tuple[int, ...]

    @property
    def free(self) -> tuple[int, ...]:
        return tuple(axis for axis in range(len(self.shape)) if axis not in (*self.batch, *self.contract))

    @property
    def entries(self) -> int:
        """The number of vectors that are multiplied with each vector of the other side."""
        return math.prod(self.shape[axis] for axis in self.free)

    def offset(self, axes: tuple[int, ...], number: str) -> str:
        return offset_along(self.shape, axes, number)

    @property
    def distances(self) -> tuple[int | None, int | None]:
        """The distance of its vectors, and of the entries of each; None if it is not constant."""
        return even_distance(self.shape, self.free), even_distance(self.shape, self.contract)

    @property
    def is_even(self) -> bool:
        """Whether it is a matrix for BLAS: with rows or columns whose entries are adjacent."""
        known = [distance for distance in self.distances if distance is not None]
        return len(known) == 2 and any(map(is_one, known))

    @property
    def apart(self) -> int:
        """The distance of its rows, or of its columns if those are contiguous."""
        apart: int = reduce(max_expr, (distance for distance in self.distances if distance is not None), 0)
        return apart

    def text_of_turn(self, axes: tuple[int, ...]) -> str:
        """``true`` for BLAS if these axes are not the contiguous ones."""
        distance = even_distance(self.shape, axes)
        return "false" if distance is not None and is_one(distance) else "true"


@dataclass(frozen=True, slots=True)
class Product:
    """The product of two matrices, or of stacks of them: `left` has the rows of the result, `right` its columns."""

    name: str
    type: str
    itemsize: int
    left: Side
    right: Side
    length: int

    @property
    def height(self) -> int:
        """How many rows are computed at once."""
        return HEIGHT if isinstance(self.left.entries, SymbolicSize) else min(HEIGHT, self.left.entries)

    def texts(self, declared: str) -> dict[str, object]:
        return {
            "name": self.name,
            "parameters": declared,
            "type": self.type,
            "rows": factor_text(self.left.entries),
            "columns": factor_text(self.right.entries),
            "length": factor_text(self.length),
            "left": self.left.place,
            "left_batch": self.left.offset(self.left.batch, "batch"),
            "left_row": self.left.offset(self.left.free, "i0"),
            "left_k": self.left.offset(self.left.contract, "k"),
            "right": self.right.place,
            "right_batch": self.right.offset(self.right.batch, "batch"),
            "right_k": self.right.offset(self.right.contract, "k"),
            "right_j": self.right.offset(self.right.free, "j"),
        }

    def by_entries(self, declared: str) -> str:
        """A few entries at once, which are sums along contiguous vectors."""
        columns = self.right.entries
        lanes = VECTOR // self.itemsize
        if not isinstance(self.length, SymbolicSize):
            lanes = _pieces(self.length, lanes)[0]
        whole = columns // HEIGHT * HEIGHT
        left_over = 1 if isinstance(columns, SymbolicSize) else columns - whole
        loops = [
            self._entries(first, last, count, lanes)
            for first, last, count in ((0, whole, HEIGHT), (whole, columns, left_over))
            if not is_known(first >= last)
        ]
        return _BY_ENTRIES.substitute(
            self.texts(declared),
            vectors=self._vector_types([lanes]),
            vector=self._vector(lanes),
            lanes=lanes,
            loops="\n".join(loops),
        )

    def _entries(self, first: int, last: int, count: int, lanes: int) -> str:
        """The entries of `count` columns, starting at `first`."""
        vector, each = self._vector(lanes), range(count)
        lines = {
            "pointers": [
                f"            const long j{c} = first + {c};\n"
                f"            const {self.type} *restrict right{c} = right"
                f" + {self.right.offset(self.right.free, f'j{c}')};"
                for c in each
            ],
            "products": [
                f"                sums{c} += factor * *(const {vector} *)(right{c} + k);" for c in each
            ],
            "totals": [f"            {self.type} sum{c} = {self.name}_total(sums{c});" for c in each],
            "rest": [f"                sum{c} += left0[k] * right{c}[k];" for c in each],
            "stores": [
                f"            out0[row * {factor_text(self.right.entries)} + j{c}] = sum{c};" for c in each
            ],
        }
        return _ENTRIES.substitute(
            {name: "\n".join(texts) for name, texts in lines.items()},
            first=factor_text(first),
            last=factor_text(last),
            count=count,
            vector=vector,
            lanes=lanes,
            whole=factor_text(self.length // lanes * lanes),
            length=factor_text(self.length),
            sums=" ".join(f"{vector} sums{c} = {{0}};" for c in each),
        )

    def _vector_types(self, sizes: Iterable[int]) -> str:
        """Vectors of these sizes, anywhere in an array."""
        return "\n".join(
            f"typedef {self.type} {self.name}_x{size} "
            f"__attribute__((vector_size({size * self.itemsize}), aligned({self.itemsize}), may_alias));"
            for size in sorted(set(sizes) - {1})
        )

    def by_tiles(self, declared: str) -> str:
        """A few rows and columns of the result at once, in registers."""
        lanes = max(1, VECTOR // self.itemsize) if self.is_dense else 1
        columns = self.right.entries
        if isinstance(columns, SymbolicSize):
            widths = sorted({2 * lanes, max(1, lanes // 2), 1}, reverse=True)
            loops = [
                self._overlapping_loop(_pieces(width, lanes), wider, declared)
                for wider, width in zip((None, *widths), widths, strict=False)
            ]
            used = [piece for width in widths for piece in _pieces(width, lanes)]
        else:
            width = min(2 * lanes, columns)
            whole = columns // width * width
            loops = [self._loop(0, whole, _pieces(width, lanes), declared)]
            left_over = _pieces(columns - whole, lanes)
            if whole != columns:
                loops.append(self._loop(whole, columns, left_over, declared))
            used = _pieces(width, lanes) + left_over
        return _BY_TILES.substitute(
            self.texts(declared), vectors=self._vector_types(used), loops="\n".join(loops)
        )

    @property
    def is_dense(self) -> bool:
        """Whether the entries of a row of the right matrix are adjacent."""
        return self.right.offset(self.right.free, "j") == "j"

    def _loop(self, first: int, last: int, pieces: list[int], declared: str) -> str:
        return _TILE_LOOP.substitute(
            self._of_loop(pieces, declared),
            first=factor_text(first),
            last=factor_text(last),
        )

    def _overlapping_loop(self, pieces: list[int], wider: int | None, declared: str) -> str:
        """All columns, if there are enough for a tile but not for a `wider` one: the last tile may overlap another."""
        columns, width = factor_text(self.right.entries), sum(pieces)
        conditions = [f"{columns} >= {width}"] * (width > 1) + [f"{columns} < {wider}"] * (wider is not None)
        return _OVERLAPPING_LOOP.substitute(
            self._of_loop(pieces, declared), condition=" && ".join(conditions)
        )

    def _of_loop(self, pieces: list[int], declared: str) -> dict[str, object]:
        """The parameters of the text of a loop over tiles."""
        rows = self.left.entries
        groups = (rows + (self.height - 1)) // self.height
        tiles = [self._tile(self.height, pieces, "", declared)]
        rest = rows % self.height
        if not same(rest, 0):
            whole = f"if (i + {self.height} <= {factor_text(rows)}) "
            tiles = [self._tile(self.height, pieces, whole, declared)]
            if isinstance(rest, SymbolicSize):
                turns = f"else for (long beside = 0; i + beside < {factor_text(rows)}; beside++) "
                tiles.append(self._tile(1, pieces, turns, declared, beside=True))
            else:
                tiles.append(self._tile(rest, pieces, "else ", declared))
        return self.texts(declared) | {
            "width": sum(pieces),
            "groups": factor_text(groups),
            "height": self.height,
            "tiles": "\n".join(tiles),
        }

    def _tile(
        self, height: int, pieces: list[int], condition: str, declared: str, *, beside: bool = False
    ) -> str:
        """The statements of one tile; `beside` is a number of rows by which it is shifted down."""
        columns, lower = self.right.entries, " + beside" if beside else ""
        texts = self.texts(declared)
        starts = [sum(pieces[:place]) for place in range(len(pieces))]
        tiles = [(r, p) for r in range(height) for p in range(len(pieces))]
        pointers = [
            f"                const long i{r} = i + {r}{lower};\n"
            f"                const {self.type} *restrict left{r} = x{self.left.place} + ({texts['left_batch']}) + "
            f"({self.left.offset(self.left.free, f'i{r}')});"
            for r in range(height)
        ]
        pointers += [
            f"                const long j{p} = first + {start};\n"
            f"                const {self.type} *restrict right{p} = x{self.right.place} + ({texts['right_batch']}) + "
            f"({self.right.offset(self.right.free, f'j{p}')});"
            for p, start in enumerate(starts)
        ]
        sums = [f"{self._vector(pieces[p])} sum{r}_{p} = {{0}};" for r, p in tiles]
        entries = [
            f"                    const {self._vector(size)} entry{p} = "
            f"*(const {self._vector(size)} *)(right{p} + {texts['right_k']});"
            for p, size in enumerate(pieces)
        ]
        products = [
            f"                    sum{r}_{p} += left{r}[{texts['left_k']}] * entry{p};" for r, p in tiles
        ]

        def place(row: int, piece: int) -> str:
            text = factor_text(row * columns + starts[piece])
            return f"{text} + beside * {factor_text(columns)}" if beside else text

        stores = [
            f"                *({self._vector(pieces[p])} *)(out + {place(r, p)}) = sum{r}_{p};"
            for r, p in tiles
        ]
        return _TILE.substitute(
            texts,
            condition=condition,
            pointers="\n".join(pointers),
            sums=" ".join(sums),
            products="\n".join(entries + products),
            stores="\n".join(stores),
        )

    def _vector(self, size: int) -> str:
        return f"{self.name}_x{size}" if size > 1 else self.type


def _pieces(count: int, most: int) -> list[int]:
    """`count` as a sum of powers of two, the largest first, none above `most`."""
    pieces: list[int] = []
    while count:
        pieces.append(min(most, 1 << (count.bit_length() - 1)))
        count -= pieces[-1]
    return pieces
