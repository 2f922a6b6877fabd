"""`Product`: the loops of a product of matrices, over entries one by one or over tiles in registers."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from string import Template

from ....affine import same
from ....ir import Shape
from ....symbolic_size import SymbolicSize, is_known
from ..sizes import factor_text
from .offsets import even_distance, offset_along

HEIGHT, VECTOR = 4, 64
"""Rows that are computed at once, and bytes of a vector register."""

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
    def is_dense(self) -> bool:
        """Whether its vectors begin next to each other."""
        return self.offset(self.free, "j") == "j"

    @property
    def distances(self) -> tuple[int | None, int | None]:
        """The distance of its vectors, and of the entries of each; None if it is not constant."""
        return even_distance(self.shape, self.free), even_distance(self.shape, self.contract)


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
        lanes = max(1, VECTOR // self.itemsize) if self.right.is_dense else 1
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
                for_rest = f"else for (long beside = 0; i + beside < {factor_text(rows)}; beside++) "
                tiles.append(self._tile(1, pieces, for_rest, declared, beside=True))
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
