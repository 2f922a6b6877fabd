"""Products in C of a matrix with a smaller one: the smaller one is packed in panels, the other is read where it is.

Packing the larger one, too, as in `blocks`, takes longer than it saves until both are large.
"""

import math
from collections.abc import Mapping, Sequence
from string import Template
from typing import Final

from ....analysis.memory_plan import aligned
from ....ir import Extent
from ....symbolic_size import SymbolicSize, is_known, max_expr, min_expr
from ..sizes import factor_text, size_parameters, size_variable
from ..threads.shared_loop import SharedLoop
from .chunks import chunk_size
from .product_loops import VECTOR, Side

NARROW: Final = 4 * VECTOR
"""Bytes of a row of a matrix that is narrow, however long it is."""

FEW: Final = 1 << 21
"""Multiplications of a product that is in the caches as a whole."""

HEIGHT: Final = 6
"""Rows of a tile, which is as wide as one or two vectors."""

DEPTH: Final = 512
"""Terms of a sum that are added before the next block."""

PACKED: Final = 1 << 14
"""Numbers that are worth a chunk of their own when they are packed."""

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
enum { ${name}_width = $columns > ${name}_lanes ? 2 * ${name}_lanes : ${name}_lanes };
enum { ${name}_panels = ($columns + ${name}_width - 1) / ${name}_width };
typedef $type ${name}_vector __attribute__((vector_size(${name}_lanes * sizeof($type)), aligned($size), may_alias));

// A panel of the smaller matrix, from one term on, in the order of reading, padded with zeros after the last column.
static void ${name}_pack(${taken}const $type *restrict x$right, $type *restrict packed, long batch, \
long first, long depth,
    long panel)
{
    for (long term = 0; term < depth; term++)
        for (long lane = 0; lane < ${name}_width; lane++, packed++) {
            const long k = first + term, j = panel * ${name}_width + lane;
            *packed = j < $columns ? x$right[($right_batch) + ($right_k) + ($right_j)] : 0;
        }
}

// The product of up to $height rows and a panel, or what it adds to the sums so far.
TM_FUSING static void ${name}_tile(${taken}const $type *restrict rows, const $type *restrict panel, long depth,
    long count, $type *restrict out, long apart, bool adds)
{
#ifdef __clang__
#pragma clang fp contract(fast)
#endif
$pointers
    ${name}_vector $sums;
    for (long k = 0; k < depth; k++, panel += ${name}_width) {
        const ${name}_vector a = *(const ${name}_vector *)panel;
        const ${name}_vector b = *(const ${name}_vector *)(panel + ${name}_width - ${name}_lanes);
$products
    }
$stores
}

static void ${name}_rows(${taken}const $type *restrict x$left, const $type *restrict packed, $type *restrict out0,
    long batch, long first, long depth, long begin, long end)
{
    const $type *restrict left = x$left + ($left_batch) + first * $term_apart;
    for (long panel = 0; panel < ${name}_panels; panel++) {
        const long column = panel * ${name}_width, beside = $columns - column;
        const long width = beside < ${name}_width ? beside : ${name}_width;
        for (long start = begin; start < end; start += $height) {
            const long count = end - start < $height ? end - start : $height;
            $type *restrict out = out0 + batch * $entries + $place;
            $type sums[$height * ${name}_width];
            const bool is_whole = $is_in_rows && width == ${name}_width;
            ${name}_tile(${given}left + start * $row_apart, packed + column * depth, depth, count,
                         is_whole ? out : sums, is_whole ? $columns : ${name}_width, is_whole && first);
            if (!is_whole)
                for (long row = 0; row < count; row++)
                    for (long lane = 0; lane < width; lane++) {
                        $type *restrict sum = out + row * $out_row_apart + lane * $out_column_apart;
                        *sum = first ? *sum + sums[row * ${name}_width + lane] : sums[row * ${name}_width + lane];
                    }
        }
    }
}

$pack_all
$multiply_all
static void $name($parameters, long threads)
{
    $type *const packed = ($type *)$memory;
    const long per_chunk = $per_chunk, chunks = ($rows + per_chunk - 1) / per_chunk;
    long first = 0;
    do {  // also without any terms: the sums are zeros
        const long depth = first + $depth < $length ? $depth : $length - first;
        $pack
        $multiply
        first += $depth;
    } while (first < $length);
}
""")

_PACK: Final = """\
    const long last = $per_pack * chunk + $per_pack, parts = $batches * ${name}_panels;
    for (long part = $per_pack * chunk; part < (last < parts ? last : parts); part++)
        ${name}_pack(${given}x$right, packed + part * ${name}_width * depth, part / ${name}_panels, first, depth,
                     part % ${name}_panels);\
"""

_MULTIPLY: Final = """\
    const long batch = chunk / chunks, begin = chunk % chunks * per_chunk;
    const long end = begin + per_chunk < $rows ? begin + per_chunk : $rows;
    ${name}_rows(${given}x$left, packed + batch * ${name}_panels * ${name}_width * depth, out0, batch, first, depth,
                 begin, end);\
"""


def is_for_panels(large: Side, small: Side, length: Extent, itemsize: int) -> bool:
    """Whether the rows of the larger matrix are evenly apart, and the smaller one is narrow or small."""
    columns = small.entries
    if isinstance(columns, SymbolicSize) or None in large.distances:
        return False
    return columns * itemsize <= NARROW or is_known(large.entries * columns * length <= FEW)


def memory_bytes(batches: Extent, columns: int, length: Extent, itemsize: int) -> Extent:
    """What the panels take, which are at most two vectors wide."""
    panels = math.ceil(columns * itemsize / (2 * VECTOR))
    return aligned(batches * panels * 2 * VECTOR * min_expr(DEPTH, length))


def panels_text(
    texts: Mapping[str, object],
    declared: Sequence[str],
    large: Side,
    small: Side,
    length: Extent,
    memory: str,
    itemsize: int,
    sizes: Sequence[str],
) -> str:
    """The function of a product. `declared` are its parameters, `sizes` its named sizes, and `texts` those of
    `products.Product` with the larger matrix on the left."""
    name, type, columns = texts["name"], texts["type"], small.entries
    row_apart, term_apart = map(factor_text, large.distances)
    is_in_rows = large.place < small.place
    batches = math.prod(large.shape[axis] for axis in large.batch)
    work = 1 + batches * large.entries * columns * length * itemsize // 256
    each = max_expr(1, min_expr(large.entries, chunk_size(batches * large.entries, work)))
    inside = {
        **texts,
        "given": "".join(f"{size_variable(size)}, " for size in sizes),
        "batches": factor_text(batches),
        "per_pack": _per_pack(length, itemsize),
    }
    given = [*declared, f"{type} *packed"]
    given += [f"const long {one}" for one in ("first", "depth", "per_chunk", "chunks")]
    pack, multiply = (
        SharedLoop(f"{name}_{verb}", given, Template(body).substitute(inside).splitlines())
        for verb, body in (("packing", _PACK), ("multiplying", _MULTIPLY))
    )
    parts = f"({inside['batches']} * {name}_panels + {inside['per_pack']} - 1) / {inside['per_pack']}"
    rows = range(HEIGHT)
    return _TEXT.substitute(
        inside,
        taken="".join(f"{parameter}, " for parameter in size_parameters(sizes)),
        memory=memory,
        size=itemsize,
        height=HEIGHT,
        depth=DEPTH,
        row_apart=row_apart,
        term_apart=term_apart,
        entries=factor_text(large.entries * columns),
        place=f"start * {columns} + column" if is_in_rows else f"column * {texts['rows']} + start",
        is_in_rows="true" if is_in_rows else "false",
        out_row_apart=columns if is_in_rows else 1,
        out_column_apart=1 if is_in_rows else texts["rows"],
        pack_all=pack.function,
        multiply_all=multiply.function,
        pack=pack.call(parts),
        multiply=multiply.call(f"{inside['batches']} * chunks"),
        per_chunk=factor_text((each + (HEIGHT - 1)) // HEIGHT * HEIGHT),
        pointers="\n".join(
            f"    const {type} *restrict row{row} = rows + ({row} < count ? {row} : count - 1) * {row_apart};"
            for row in rows
        ),
        sums=", ".join(f"sum{row}{side} = {{0}}" for row in rows for side in "ab"),
        products="\n".join(
            f"        sum{row}{side} += row{row}[k * {term_apart}] * {side};" for row in rows for side in "ab"
        ),
        stores="\n".join(_STORE.substitute(name=name, row=row) for row in rows),
    )


_STORE: Final = Template("""\
    if ($row < count) {
        ${name}_vector *to = (${name}_vector *)(out + $row * apart);
        ${name}_vector *beside = (${name}_vector *)(out + $row * apart + ${name}_width - ${name}_lanes);
        if (adds)
            sum${row}a += *to, sum${row}b += *beside;
        *to = sum${row}a, *beside = sum${row}b;
    }\
""")
"""A panel of one vector stores it twice."""


def _per_pack(length: Extent, itemsize: int) -> int:
    """How many panels one chunk packs."""
    if isinstance(length, SymbolicSize):
        return 1
    return max(1, PACKED * itemsize // (2 * VECTOR * max(1, min(DEPTH, length))))
