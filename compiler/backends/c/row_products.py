"""Products of a block of rows with a matrix that is read as it is: sums stay in registers, and nothing is packed.

The rows have their entries side by side, and so do those of the matrix. A panel of its columns, two vectors wide,
stays in the cache while it is multiplied with all rows.
"""

from collections.abc import Iterable
from string import Template
from typing import Final, NamedTuple

NAMES: Final = {"float32": "tm_multiply_rows_f32", "float64": "tm_multiply_rows_f64"}
"""The functions, by dtype: ``(rows, columns, length, x, y, out)``."""

_TYPES: Final = {"float32": ("float", "f32"), "float64": ("double", "f64")}

_SETTINGS: Final = """\
#ifndef TM_FUSING
#if defined(__GNUC__) && !defined(__clang__)
#define TM_FUSING __attribute__((optimize("fp-contract=fast")))  // multiplications with additions
#else
#define TM_FUSING
#endif
#endif
#ifdef __AVX512F__
enum { TM_ROW_BYTES = 64 };  // of a vector
#else
enum { TM_ROW_BYTES = 32 };
#endif
"""

_TILE: Final = Template("""\
TM_FUSING static void $name(long columns, long length, const $type *restrict x, const $type *restrict y,
    $type *restrict out)
{
#ifdef __clang__
#pragma clang fp contract(fast)
#endif
    $vector $sums;
    for (long k = 0; k < length; k++, y += columns) {
$reads
$products
    }
$stores
}
""")

_PANELS: Final = Template("""\
    for (; columns - j >= $width; j += $width) {
        long i = 0;
$rows
    }\
""")

_ROWS: Final = Template("""\
        for (; rows - i >= $height; i += $height)
            $tile(columns, length, x + i * length, y + j, out + i * columns + j);\
""")

_DRIVER: Final = Template("""\
// The product of rows [rows, length] and a matrix [length, columns]. Each sum has one order, wherever its row lies.
static void $name(long rows, long columns, long length, const $type *restrict x, const $type *restrict y,
    $type *restrict out)
{
    long j = 0;
$panels
}
""")


class _Width(NamedTuple):
    """The columns of a tile: some vectors of a type, whose lanes are a C expression."""

    vector: str
    vectors: int
    lanes: str


def row_products_text(text: str) -> str:
    """The functions that a text calls, for the beginning of a program; empty for others."""
    used = [dtype for dtype, name in NAMES.items() if f"{name}(" in text]
    return "".join([_SETTINGS * bool(used), *map(_functions, used)])


def _functions(dtype: str) -> str:
    type, suffix = _TYPES[dtype]
    wide, narrow = f"tm_row_{suffix}", f"tm_short_row_{suffix}"
    lines = [
        f"typedef {type} {name} __attribute__((vector_size({nbytes}), aligned(sizeof({type})), may_alias));\n"
        for name, nbytes in ((wide, "TM_ROW_BYTES"), (narrow, "16"))
    ]
    lanes = f"TM_ROW_BYTES / (long)sizeof({type})"
    widths = [
        _Width(wide, 2, lanes),
        _Width(wide, 1, lanes),
        _Width(narrow, 1, f"16 / (long)sizeof({type})"),
        _Width(type, 1, "1"),
    ]
    panels: list[str] = []
    for number, width in enumerate(widths):
        heights = (8, 4, 1) if width.vectors == 2 else (4, 1)
        names = {height: f"{NAMES[dtype]}_{height}_{'abcd'[number]}" for height in heights}
        for height, name in names.items():
            is_tall = height == 8  # for 32 registers
            lines += ["#ifdef __AVX512F__\n"] * is_tall
            lines += [_tile(name, type, width, height)]
            lines += ["#endif\n"] * is_tall
        panels.append(_panels(width, names))
    return "\n".join([*lines, _DRIVER.substitute(name=NAMES[dtype], type=type, panels="\n".join(panels))])


def _tile(name: str, type: str, width: _Width, height: int) -> str:
    parts = range(width.vectors)
    sums = [(row, part, f"sum{row}{'ab'[part]}") for row in range(height) for part in parts]
    read = f"*(const {width.vector} *)" if width.vector != type else "*"
    write = f"*({width.vector} *)" if width.vector != type else "*"

    def place(array: str, part: int) -> str:
        return f"({array}{f' + {width.lanes}' * part})"

    return _TILE.substitute(
        name=name,
        type=type,
        vector=width.vector,
        sums=", ".join(f"{one} = {'{0}' if width.vector != type else '0'}" for _, _, one in sums),
        reads=_joined(f"        const {width.vector} {'ab'[p]} = {read}{place('y', p)};" for p in parts),
        products=_joined(
            f"        {one} += x[{'k' if row == 0 else f'{row} * length + k'}] * {'ab'[part]};"
            for row, part, one in sums
        ),
        stores=_joined(
            f"    {write}{place('out' if row == 0 else f'out + {row} * columns', part)} = {one};"
            for row, part, one in sums
        ),
    )


def _panels(width: _Width, names: dict[int, str]) -> str:
    rows: list[str] = []
    for height, name in names.items():
        loop = _ROWS.substitute(height=height, tile=name)
        rows += ["#ifdef __AVX512F__", loop, "#endif"] if height == 8 else [loop]
    columns = f"{width.vectors} * ({width.lanes})" if width.vectors > 1 else width.lanes
    return _PANELS.substitute(width=columns, rows="\n".join(rows))


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(lines)
