"""Products in C of a matrix with a smaller one: the smaller one is packed in panels, the other is read where it is.

Packing the larger one, too, as in `blocks`, takes longer than it saves until both are large.
"""

import math
from collections.abc import Mapping, Sequence
from string import Template
from typing import Final

from ....analysis.memory_plan import aligned
from ....ir import Extent
from ....symbolic_size import SymbolicSize, is_known, is_one, max_expr, min_expr
from ..panel_products import HEIGHT
from ..sizes import factor_text
from ..threads.shared_loop import SharedLoop
from .chunks import chunk_size
from .product_loops import VECTOR, Side

NARROW: Final = 4 * VECTOR
"""Bytes of a row of a matrix that is narrow, however long it is."""

FEW: Final = 1 << 21
"""Multiplications of a product that is in the caches as a whole."""

IN_CACHE: Final = 1 << 20
"""Bytes of a matrix that may be read in any order."""

DEPTH: Final = 512
"""Terms of a sum that are added before the next block."""

PACKED: Final = 1 << 14
"""Numbers that are worth a chunk of their own when they are packed."""

_TEXT: Final = Template("""\
enum {
    ${name}_lanes = TM_PANEL_BYTES / (long)sizeof($type),
    ${name}_width = $columns > ${name}_lanes ? 2 * ${name}_lanes : ${name}_lanes,
    ${name}_panels = ($columns + ${name}_width - 1) / ${name}_width
};

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
    for (long part = $per_pack * chunk; part < (last < parts ? last : parts); part++) {
        const long batch = part / ${name}_panels, column = part % ${name}_panels * ${name}_width;
        const long columns = $columns - column < ${name}_width ? $columns - column : ${name}_width;
        tm_pack_panel_$dtype(x$right + ($right_batch) + first * $packed_term_apart + column * $packed_column_apart,
                             $packed_term_apart, $packed_column_apart, depth, columns, ${name}_width,
                             packed + part * ${name}_width * depth);
    }\
"""

_MULTIPLY: Final = """\
    const long batch = chunk / chunks, begin = chunk % chunks * per_chunk;
    const long end = begin + per_chunk < $rows ? begin + per_chunk : $rows;
    const $type *const left = x$left + ($left_batch) + first * $term_apart;
    const $type *const panels = packed + batch * ${name}_panels * ${name}_width * depth;
    if (${name}_width == ${name}_lanes)
        tm_multiply_panels_${dtype}_one_$terms(left, $row_apart, $term_apart, panels, depth, $columns, begin, end,
            first, out0 + batch * $entries, $out_row_apart, $out_column_apart);
    else
        tm_multiply_panels_${dtype}_two_$terms(left, $row_apart, $term_apart, panels, depth, $columns, begin, end,
            first, out0 + batch * $entries, $out_row_apart, $out_column_apart);\
"""


def is_for_panels(large: Side, small: Side, length: Extent, itemsize: int) -> bool:
    """Whether the entries of both matrices are evenly apart, and the smaller one is narrow or small."""
    columns = small.entries
    if isinstance(columns, SymbolicSize) or None in (*large.distances, *small.distances):
        return False
    is_turned = large.place > small.place and not is_one(large.distances[1] or 0)
    if (
        is_turned
        and columns * itemsize > VECTOR
        and not is_known(large.entries * length * itemsize < IN_CACHE)
    ):
        return False  # neither its terms nor the sums are next to each other
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
) -> str:
    """The function of a product. `declared` are its parameters, and `texts` those of `products.Product` with the larger
    matrix on the left."""
    name, type, columns = texts["name"], texts["type"], small.entries
    row_apart, term_apart = large.distances
    column_apart, packed_term_apart = small.distances
    assert row_apart is not None
    assert term_apart is not None
    assert column_apart is not None
    assert packed_term_apart is not None
    is_in_rows = large.place < small.place
    batches = math.prod(large.shape[axis] for axis in large.batch)
    work = 1 + batches * large.entries * columns * length * itemsize // 256
    each = max_expr(1, min_expr(large.entries, chunk_size(batches * large.entries, work)))
    inside = {
        **texts,
        "dtype": f"f{8 * itemsize}",
        "terms": "next" if is_one(term_apart) else "apart",
        "batches": factor_text(batches),
        "entries": factor_text(large.entries * columns),
        "row_apart": factor_text(row_apart),
        "term_apart": factor_text(term_apart),
        "packed_column_apart": factor_text(column_apart),
        "packed_term_apart": factor_text(packed_term_apart),
        "out_row_apart": columns if is_in_rows else 1,
        "out_column_apart": 1 if is_in_rows else texts["rows"],
        "per_pack": _per_pack(length, itemsize),
    }
    given = [*declared, f"{type} *packed"]
    given += [f"const long {one}" for one in ("first", "depth", "per_chunk", "chunks")]
    pack, multiply = (
        SharedLoop(f"{name}_{verb}", given, Template(body).substitute(inside).splitlines())
        for verb, body in (("packing", _PACK), ("multiplying", _MULTIPLY))
    )
    parts = f"({inside['batches']} * {name}_panels + {inside['per_pack']} - 1) / {inside['per_pack']}"
    return _TEXT.substitute(
        inside,
        memory=memory,
        depth=DEPTH,
        pack_all=pack.function,
        multiply_all=multiply.function,
        pack=pack.call(parts),
        multiply=multiply.call(f"{inside['batches']} * chunks"),
        per_chunk=factor_text((each + (HEIGHT - 1)) // HEIGHT * HEIGHT),
    )


def _per_pack(length: Extent, itemsize: int) -> int:
    """How many panels one chunk packs."""
    if isinstance(length, SymbolicSize):
        return 1
    return max(1, PACKED * itemsize // (2 * VECTOR * max(1, min(DEPTH, length))))
