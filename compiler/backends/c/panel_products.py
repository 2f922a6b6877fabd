"""The functions of products by panels: one packs a panel of the smaller matrix, others multiply rows with panels.

A program has each of them once, however many products it computes.
"""

import re
from string import Template
from typing import Final

ROWS: Final = "tm_multiply_panels_"
"""The beginning of the names of those that multiply. The dtype follows, then how many vectors wide a panel is, and
whether the terms of a row are next to each other."""

HEIGHT: Final = 6
"""Rows of a tile."""

_TYPES: Final = {"f32": "float", "f64": "double"}

_SETTINGS: Final = """\
#ifndef TM_FUSING
#if defined(__GNUC__) && !defined(__clang__)
#define TM_FUSING __attribute__((optimize("fp-contract=fast")))  // multiplications with additions
#else
#define TM_FUSING
#endif
#endif
#ifdef __AVX512F__
enum { TM_PANEL_BYTES = 64 };  // of a vector
#else
enum { TM_PANEL_BYTES = 32 };
#endif
"""

_PACK: Final = Template("""\
typedef $type tm_panel_vector_$dtype __attribute__((vector_size(TM_PANEL_BYTES), aligned(sizeof($type)), may_alias));

// A panel in the order of reading, with zeros after the last column.
static void tm_pack_panel_$dtype(const $type *restrict from, long term_apart, long column_apart, long terms,
    long columns, long width, $type *restrict packed)
{
    for (long k = 0; k < terms; k++, packed += width) {
        for (long j = 0; j < columns; j++)
            packed[j] = from[k * term_apart + j * column_apart];
        for (long j = columns; j < width; j++)
            packed[j] = 0;
    }
}
""")

_ROWS: Final = Template("""\
// The product of up to $height rows and a panel, or what it adds to the sums so far.
TM_FUSING static inline void ${name}_tile(const $type *restrict rows, long row_apart, long term_apart,
    const $type *restrict panel, long terms, long count, $type *restrict out, long apart, bool adds)
{
#ifdef __clang__
#pragma clang fp contract(fast)
#endif
$pointers
    tm_panel_vector_$dtype $sums;
    for (long k = 0; k < terms; k++, panel += $width) {
$reads
$products
    }
$stores
}

// Rows from `begin` up to `end`, with all panels; `adds` says whether there are sums of earlier terms.
static void $name(const $type *restrict rows, long row_apart, long term_apart, const $type *restrict panel,
    long terms, long columns, long begin, long end, bool adds,
    $type *restrict out, long out_row_apart, long out_column_apart)
{
    for (long column = 0; column < columns; column += $width, panel += $width * terms) {
        const long width = columns - column < $width ? columns - column : $width;
        const bool is_whole = out_column_apart == 1 && width == $width;
        for (long start = begin; start < end; start += $height) {
            const long count = end - start < $height ? end - start : $height;
            $type *const to = out + start * out_row_apart + column * out_column_apart;
            $type sums[$height * $width];
            ${name}_tile(rows + start * row_apart, row_apart, $apart, panel, terms, count,
                         is_whole ? to : sums, is_whole ? out_row_apart : $width, is_whole && adds);
            for (long i = 0; i < count && !is_whole; i++)
                for (long j = 0; j < width; j++) {
                    $type *sum = to + i * out_row_apart + j * out_column_apart;
                    *sum = adds ? *sum + sums[$width * i + j] : sums[$width * i + j];
                }
        }
    }
}
""")

_STORE: Final = Template("""\
    if ($row < count) {
        tm_panel_vector_$dtype *$to;
        if (adds)
            $add;
        $store;
    }\
""")


def panel_products_text(text: str) -> str:
    """The functions of this kind that a text calls; empty for others."""
    calls = re.findall(rf"\b{ROWS}(f\d+)_(one|two)_(next|apart)\(", text)
    if not calls:
        return ""
    parts = [_SETTINGS]
    for dtype, type in _TYPES.items():
        kinds = sorted({(vectors, terms) for found, vectors, terms in calls if found == dtype})
        if kinds:
            parts.append(_PACK.substitute(dtype=dtype, type=type))
        parts += [_rows_text(dtype, type, vectors, terms) for vectors, terms in kinds]
    return "\n".join(parts)


def _rows_text(dtype: str, type: str, vectors: str, terms: str) -> str:
    lanes = f"TM_PANEL_BYTES / (long)sizeof({type})"
    sides = "ab" if vectors == "two" else "a"
    vector, places = f"tm_panel_vector_{dtype}", {"a": "", "b": f" + {lanes}"}
    rows = range(HEIGHT)
    stores = [
        _STORE.substitute(
            row=row,
            dtype=dtype,
            to=", *".join(f"to_{side} = ({vector} *)(out + {row} * apart{places[side]})" for side in sides),
            add=", ".join(f"sum{row}{side} += *to_{side}" for side in sides),
            store=", ".join(f"*to_{side} = sum{row}{side}" for side in sides),
        )
        for row in rows
    ]
    return _ROWS.substitute(
        name=f"{ROWS}{dtype}_{vectors}_{terms}",
        dtype=dtype,
        type=type,
        height=HEIGHT,
        width=f"({len(sides)} * {lanes})",
        apart="1" if terms == "next" else "term_apart",
        pointers="\n".join(
            f"    const {type} *restrict row{row} = rows + ({row} < count ? {row} : count - 1) * row_apart;"
            for row in rows
        ),
        sums=", ".join(f"sum{row}{side} = {{0}}" for row in rows for side in sides),
        reads="\n".join(
            f"        const {vector} {side} = *(const {vector} *)(panel{places[side]});" for side in sides
        ),
        products="\n".join(
            f"        sum{row}{side} += row{row}[k * term_apart] * {side};" for row in rows for side in sides
        ),
        stores="\n".join(stores),
    )
