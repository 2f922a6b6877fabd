"""Orders: records of a word of the key and of a place, as one number each, which are all different.

A row that fits is sorted by one program; longer ones are sorted in blocks, and these merged in `merging`.
"""

import math
from string import Template
from typing import Any, Final

from ....ir import Call, Value
from ..kernel import TritonKernel
from .keys import Word, words
from .merging import long_rows, stored
from .places import Lines, place_text, wide
from .step_writer import StepWriter

BLOCK: Final = 2048
"""Rows of up to so many entries are sorted by one program; by keys of several words, of that many fewer."""

ROWS: Final = 1024
"""Short rows are sorted several at once: so many entries together."""

LONGEST: Final = 1 << 31
"""Places in a row are numbers of 32 bits."""

_RESIDENT = Template("""\
@triton.jit
def $name($pointers):
    row = tl.program_id(0)$wide * $rows + tl.arange(0, $rows)[:, None]
    number = tl.arange(0, $block)[None, :]
    order = tl.broadcast_to(number, ($rows, $block))
$sorted
    kept = (row < $count) & (number < $kept)
$stored
""")

_BY_A_WORD = Template("""\
    inside = (row < $count) & (order < $length)
    entry = tl.load($pointer + $place, mask=inside, other=0)
    word = tl.where(inside, $word, 0xFFFFFFFF)
    place = tl.sort((word.to(tl.uint64) << 32) | number.to(tl.uint64), 1).to(tl.uint32).to(tl.int32)
    order = $order""")


def sort(call: Call, name: str) -> TritonKernel | None:
    """The kernel of a call of ``sort``."""
    params: Any = call.params
    keys = call.inputs[: params["num_keys"]]
    return _ordered(
        call, name, keys, params["axis"], call.inputs[0].shape[params["axis"]], params["descending"]
    )


def top_k(call: Call, name: str) -> TritonKernel | None:
    """The kernel of a call of ``top_k``: all is sorted, and the first few are kept."""
    params: Any = call.params
    return _ordered(call, name, call.inputs, params["axis"], params["k"], True)


def _ordered(
    call: Call, name: str, keys: tuple[Value, ...], axis: int, kept: int, descending: bool
) -> TritonKernel | None:
    shape = call.inputs[0].shape
    lines = Lines(math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]))
    if lines.length >= LONGEST:
        return None
    by = list(words(keys, descending=descending))
    writer = StepWriter(call)
    block = 1 << max(0, lines.length - 1).bit_length()
    if block * len(by) > BLOCK:
        long_rows(writer, name, lines, by, kept, BLOCK)
        return writer.kernel()
    rows = min(1 << max(0, lines.count - 1).bit_length(), max(1, ROWS // block))
    texts = {"count": lines.count, "length": lines.length, "rows": rows, "block": block, "kept": kept}
    text = _RESIDENT.substitute(
        texts,
        name=name,
        pointers=writer.pointers,
        wide=wide(lines.count * lines.length),
        sorted="\n".join(_sorted_by(word, lines, texts, is_first=i == 0) for i, word in enumerate(by)),
        stored=stored(writer, lines, kept),
    )
    writer.function(text)
    writer.launch(name, -(-lines.count // rows), 4 if rows * block <= ROWS else 8, writer.buffers)
    return writer.kernel()


def _sorted_by(word: Word, lines: Lines, texts: dict[str, int], *, is_first: bool) -> str:
    return _BY_A_WORD.substitute(
        texts,
        pointer=f"x{word.operand}_ptr",
        place=place_text(lines.place("row", "order")),
        word=word.of("entry"),
        order="place" if is_first else "tl.gather(order, place, 1)",
    )
