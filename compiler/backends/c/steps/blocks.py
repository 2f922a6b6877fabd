"""Large matrix products in C without BLAS: blocks stay in the caches, tiles in registers.

The right matrix is packed in panels as wide as a tile, the left one in tiles. One panel after another is multiplied
by all tiles of a block of rows (Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", TOMS 34,
2008).
"""

from collections.abc import Mapping, Sequence
from string import Template
from typing import Final

from ....analysis.memory_plan import aligned
from ....ir import Extent
from ....symbolic_size import SymbolicSize, max_expr, min_expr
from ..sizes import factor_text, size_parameters, size_variable
from ..threads.shared_loop import SharedLoop

HEIGHT: Final = 6
"""Rows of a tile."""

DEPTH: Final = 256
"""Terms of a sum that are added before the next block."""

ROWS: Final = 72
"""Rows of a block."""

LEAST_BLOCKS: Final = 8
"""The number of blocks that threads can share, if there are enough rows."""

VECTOR: Final = 64
"""Bytes of the widest vector register: a tile is as wide as two."""

_TEXT: Final = Template("""\
#if defined(__GNUC__) && !defined(__clang__)
#define TM_FUSING __attribute__((optimize("fp-contract=fast")))  // multiplications with additions
#else
#define TM_FUSING
#endif
#ifdef __AVX512F__
enum { ${name}_lanes = 64 / sizeof($type) };
#else
enum { ${name}_lanes = 32 / sizeof($type) };
#endif
enum { ${name}_width = 2 * ${name}_lanes$counted };
typedef $type ${name}_vector __attribute__((vector_size(${name}_lanes * sizeof($type)), aligned($size), may_alias));

// A panel of the right matrix, from one row on, in the order of reading, padded with zeros after the last column.
static void ${name}_pack(${taken}const $type *restrict x$right, $type *restrict packed, long batch, \
long first, long depth,
    long panel)
{
    const long start = panel * ${name}_width, left = $columns - start;
    const long width = left < ${name}_width ? left : ${name}_width;
    for (long row = 0; row < depth; row++, packed += ${name}_width) {
        const long k = first + row;
        const $type *restrict from = x$right + ($right_batch) + ($right_k);
        for (long lane = 0; lane < width; lane++) {
            const long j = start + lane;
            packed[lane] = from[$right_j];
        }
        for (long lane = width; lane < ${name}_width; lane++)
            packed[lane] = 0;
    }
}

// The product of a packed tile and a packed panel.
TM_FUSING static void ${name}_tile(const $type *restrict left, const $type *restrict right, long depth,
    $type *restrict sums)
{
#ifdef __clang__
#pragma clang fp contract(fast)
#endif
    ${name}_vector $sums;
    for (long k = 0; k < depth; k++, left += $height, right += ${name}_width) {
        const ${name}_vector a = *(const ${name}_vector *)right;
        const ${name}_vector b = *(const ${name}_vector *)(right + ${name}_lanes);
$products
    }
$stores
}

// A block of rows: `room` holds its tiles.
static void ${name}_block(${taken}const $type *restrict x$left, const $type *restrict packed, $type *restrict out0,
    $type *restrict room, long batch, long first, long depth, long begin)
{
    const long end = begin + $block < $rows ? begin + $block : $rows;
    $type *restrict tile = room;
    for (long start = begin; start < end; start += $height)
        for (long entry = 0; entry < depth; entry++, tile += $height)
            for (long row = 0; row < $height; row++) {
                const long i0 = $tile_row, k = first + entry;
                tile[row] = ${whole_tile}x$left[($left_batch) + ($left_row) + ($left_k)]$else_zero;
            }
    for (long panel = 0; panel < $panels; panel++) {
        const long column = panel * ${name}_width, beside = $columns - column;
        const long width = beside < ${name}_width ? beside : ${name}_width;
        for (long start = begin; start < end; start += $height) {
            $type sums[$height * ${name}_width];
            ${name}_tile(room + (start - begin) * depth, packed + panel * ${name}_width * depth, depth, sums);
            for (long row = 0; row < $height && start + row < end; row++) {
                $type *restrict out = out0 + (batch * $rows + start + row) * $columns + column;
                const $type *restrict sum = sums + row * ${name}_width;
                if (first)
                    for (long lane = 0; lane < width; lane++)
                        out[lane] += sum[lane];
                else
                    for (long lane = 0; lane < width; lane++)
                        out[lane] = sum[lane];
            }
        }
    }
}

$pack_all
$multiply_all
static void $name($parameters, long threads)
{
    $type *const packed = ($type *)$memory, *const rooms = ($type *)($memory + $behind);
    for (long batch = 0; batch < $batches; batch++)
        for (long first = 0; first < $length; first += $depth) {
            const long depth = first + $depth < $length ? $depth : $length - first;
            $pack
            $multiply
        }
}
""")

_PACK: Final = """\
    $type *const to = packed + panel * ${name}_width * depth;
    ${name}_pack(${given}x$right, to, batch, first, depth, panel);\
"""

_MULTIPLY: Final = """\
    const long begin = block * $block;
    ${name}_block(${given}x$left, packed, out0, rooms + begin * $room, batch, first, depth, begin);\
"""


def block_rows(rows: Extent) -> Extent:
    """The rows of a block: whole tiles, and several blocks if there are enough rows."""
    tiles = (rows + (HEIGHT * LEAST_BLOCKS - 1)) // (HEIGHT * LEAST_BLOCKS)
    return min_expr(ROWS, HEIGHT * max_expr(1, tiles))  # type: ignore[no-any-return]


def memory_bytes(rows: Extent, columns: Extent, length: Extent, itemsize: int) -> tuple[Extent, Extent]:
    """The parameters of the panels, and the code of panels and tiles."""
    widest = 2 * VECTOR // itemsize
    depth = min_expr(DEPTH, length)
    panels = aligned((columns + (widest - 1)) // widest * widest * depth * itemsize)
    if isinstance(rows, SymbolicSize):  # at least what whole blocks take
        return panels, panels + aligned((rows + block_rows(rows)) * depth * itemsize)
    blocks = -(-rows // block_rows(rows))
    return panels, panels + aligned(blocks * block_rows(rows) * depth * itemsize)


def blocked_text(
    texts: Mapping[str, object],
    declared: Sequence[str],
    rows: Extent,
    length: Extent,
    memory: str,
    behind: Extent,
    batches: Extent,
    itemsize: int,
    sizes: Sequence[str],
) -> str:
    """The function of a product with this many `rows`, and sums of this `length`.

    `declared` are its parameters, `sizes` its named sizes, and `texts` those of `products.Product`.
    """
    panels = f"({texts['columns']} + {texts['name']}_width - 1) / {texts['name']}_width"
    names = [f"sum{row}{side}" for row in range(HEIGHT) for side in "ab"]
    products = [f"        sum{row}{side} += left[{row}] * {side};" for row in range(HEIGHT) for side in "ab"]
    stores = [
        f"    *({texts['name']}_vector *)(sums + {row} * {texts['name']}_width{place}) = sum{row}{side};"
        for row in range(HEIGHT)
        for side, place in (("a", ""), ("b", f" + {texts['name']}_lanes"))
    ]
    block = factor_text(block_rows(rows))
    taken = "".join(f"{size_variable(size)}, " for size in sizes)
    inside = {
        **texts,
        "given": taken,
        "block": block,
        "depth": DEPTH,
        "room": factor_text(min_expr(DEPTH, length)),
    }
    type = texts["type"]
    given = [*declared, f"{type} *packed", f"{type} *rooms"]
    given += [f"const long {one}" for one in ("batch", "first", "depth")]
    pack, multiply = (
        SharedLoop(f"{texts['name']}_{verb}", given, Template(body).substitute(inside).splitlines(), item)
        for verb, item, body in (("packing", "panel", _PACK), ("multiplying", "block", _MULTIPLY))
    )
    all_panels = f"({panels})" if sizes else f"{texts['name']}_panels"
    return _TEXT.substitute(
        texts,
        pack_all=pack.function,
        multiply_all=multiply.function,
        pack=pack.call(all_panels),
        multiply=multiply.call(f"({texts['rows']} + {block} - 1) / {block}"),
        memory=memory,
        behind=factor_text(behind),
        batches=factor_text(batches),
        counted="" if sizes else f", {texts['name']}_panels = {panels}",
        panels=all_panels,
        taken="".join(f"{parameter}, " for parameter in size_parameters(sizes)),
        # Rows beyond the last are not stored. Otherwise gcc would write separate loops for each possible number of
        # rows.
        tile_row="start + row < end ? start + row : end - 1" if sizes else "start + row",
        whole_tile="" if sizes else "i0 < end ? ",
        else_zero="" if sizes else " : 0",
        size=itemsize,
        height=HEIGHT,
        depth=DEPTH,
        block=block,
        sums=", ".join(f"{name} = {{0}}" for name in names),
        products="\n".join(products),
        stores="\n".join(stores),
    )
