"""Orders: records of a word of the key and a position, as one number each, which are all different.

A row that fits is sorted by one program; longer ones are sorted in blocks, which `merging` merges.
"""

import math
from collections.abc import Mapping
from string import Template
from typing import Final

from .....ir import Call, Value
from .....params import flag_param, int_param
from .....symbolic_size import SymbolicSize, is_known
from ...kernels.assumed import LONGEST, bound_of, pieces, power_of_two
from ...kernels.kernel import TritonKernel
from ..places import Lines
from ..step_writer import StepWriter
from .keys import Word, words
from .merging import Blocks, long_rows, stored, up_to

BLOCK: Final = 2048
"""Rows with up to this many entries are sorted by one program; for keys of several words, proportionally fewer."""

SHORT: Final = 16
"""Rows with up to this many entries are sorted in the same way, if others may occur in another call."""

ROWS: Final = 1024
"""Several short rows are sorted at once: this many entries together."""

_RESIDENT = Template("""\
@triton.jit
def $name($parameters):
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
    keys = call.inputs[: int_param(call, "num_keys")]
    return _ordered(
        call,
        name,
        keys,
        int_param(call, "axis"),
        call.inputs[0].shape[int_param(call, "axis")],
        flag_param(call, "descending"),
    )


def top_k(call: Call, name: str) -> TritonKernel | None:
    """The kernel of a call of ``top_k``: everything is sorted, and the first few are kept."""
    return _ordered(call, name, call.inputs, int_param(call, "axis"), int_param(call, "k"), True)


def _ordered(
    call: Call, name: str, keys: tuple[Value, ...], axis: int, kept: int, descending: bool
) -> TritonKernel | None:
    shape = call.inputs[0].shape
    lines = Lines(math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]))
    if is_known(lines.length >= LONGEST):  # positions in a row are numbers of 32 bits
        return None
    by = list(words(keys, descending=descending))
    writer = StepWriter(call)
    block = bound_of(lines.length, SHORT, call.op, call.location)
    if block * len(by) > BLOCK:
        long_rows(writer, name, lines, by, kept, Blocks(BLOCK, block))
        return writer.kernel()
    rows = max(1, ROWS // block)
    rows = rows if isinstance(lines.count, SymbolicSize) else min(power_of_two(lines.count), rows)
    sizes = writer.sizes(lines.count * lines.length)
    texts = {
        "count": sizes.text(lines.count),
        "length": sizes.text(lines.length),
        "kept": sizes.text(kept),
        "rows": rows,
        "block": block,
        "wide": sizes.wide,
        "place": sizes.place(lines.place("row", "order")),
    }
    texts |= {
        "sorted": "\n".join(_sorted_by(word, texts, is_first=i == 0) for i, word in enumerate(by)),
        "stored": stored(writer, lines, kept, sizes),
    }
    text = _RESIDENT.substitute(texts, name=name, parameters=sizes.parameters(writer.pointers))
    writer.function(up_to(lines.length, block) + text)
    warps = 4 if rows * block <= ROWS else 8
    writer.launch(name, pieces(lines.count, rows), warps, writer.buffers, numbers=sizes.given)
    return writer.kernel()


def _sorted_by(word: Word, texts: Mapping[str, object], *, is_first: bool) -> str:
    return _BY_A_WORD.substitute(
        texts,
        pointer=f"x{word.operand}_ptr",
        word=word.of("entry"),
        order="place" if is_first else "tl.gather(order, place, 1)",
    )
