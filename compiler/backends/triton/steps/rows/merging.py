"""Orders of rows that are too long for a program: blocks are sorted, and neighbours merged until one is left.

A record finds its position in the merged run by a binary search in the other run. So a row of n entries takes log₂(n
/ block) passes, each of which reads and writes all records. This is simple and deterministic, but a radix sort would
need fewer passes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from string import Template

import numpy as np

from .....symbolic_size import SymbolicSize
from ...kernels.assumed import pieces
from ...plan import Number
from ..places import Lines
from ..step_sizes import StepSizes
from ..step_writer import StepWriter
from .keys import Word


@dataclass(frozen=True, slots=True)
class Blocks:
    """How rows with up to `most` entries, a power of two, are sorted: in blocks, and neighbouring blocks are merged."""

    block: int
    most: int

    @property
    def passes(self) -> int:
        """How often runs are merged until only one can be left."""
        return max(0, (pieces(self.most, self.block) - 1).bit_length())


_IN_BLOCKS = Template("""\
@triton.jit
def $name($parameters):
    program = tl.program_id(0)$wide
    row = program // $blocks
    number = program % $blocks * $block + tl.arange(0, $block)
    inside = number < $length
    order = number
$order
    entry = tl.load(x_ptr + $place, mask=inside, other=0)
    word = tl.where(inside, $word, 0xFFFFFFFF)
    records = tl.sort((word.to(tl.uint64) << 32) | number.to(tl.uint64), 0)
    tl.store(records_ptr + row * $padded + number, records)
""")

_MERGE = Template("""\
@triton.jit
def $name($parameters):
    program = tl.program_id(0)$wide
    start = program // $blocks * $padded
    number = program % $blocks * $block + tl.arange(0, $block)
    record = tl.load(from_ptr + start + number)
    pair = number // $two_runs * $two_runs
    first = tl.minimum(tl.where(number - pair < $run, pair + $run, pair), $padded)  # of the other run
    low = first
    high = tl.minimum(first + $run, $padded)
    for _ in range($steps):
        middle = (low + high) // 2
        is_open = low < high
        earlier = tl.load(from_ptr + start + middle, mask=is_open, other=0) < record
        low = tl.where(is_open & earlier, middle + 1, low)
        high = tl.where(is_open & (earlier == 0), middle, high)
    tl.store(to_ptr + start + pair + number % $run + (low - first), record)
""")

_GATHER = Template("""\
@triton.jit
def $name($parameters):
    program = tl.program_id(0)$wide
    row = program // $blocks
    number = program % $blocks * $block + tl.arange(0, $block)
    kept = number < $kept
    inside = kept
    order = number
$order
$stored
""")


def long_rows(
    writer: StepWriter, name: str, lines: Lines, by: Sequence[Word], kept: int, rows: Blocks
) -> None:
    """Add the functions that sort long rows by words and store the first `kept` entries of each."""
    found = sorted_records(writer, name, lines, by, rows)
    padded = pieces(lines.length, rows.block) * rows.block
    blocks = pieces(kept, rows.block)
    sizes = writer.sizes(lines.count * padded)
    texts = {
        "name": f"{name}_gather",
        "wide": sizes.wide,
        "blocks": sizes.factor(blocks),
        "block": rows.block,
        "kept": sizes.text(kept),
        "order": _order(len(found), sizes.factor(padded)),
        "stored": stored(writer, lines, kept, sizes),
    }
    parameters = sizes.parameters(", ".join([writer.pointers, *_sorted_pointers(found)]))
    writer.function(_GATHER.substitute(texts, parameters=parameters))
    buffers = (*writer.buffers, *found)
    writer.launch(f"{name}_gather", lines.count * blocks, 8, buffers, numbers=sizes.given)


def sorted_records(
    writer: StepWriter, name: str, lines: Lines, by: Sequence[Word], rows: Blocks
) -> list[int]:
    """Add the functions that sort rows by words: for each word, the buffer with the records that it sorted.

    A record is the word, and in its lower half the position that it had when it was sorted. Each row of records is as
    long as its blocks together.
    """
    block, passes = rows.block, rows.passes
    blocks = pieces(lines.length, block)
    padded = blocks * block
    merging: tuple[Number, ...] = ()
    for place in range(passes):
        run, sizes = block << place, writer.sizes(lines.count * padded)
        texts = {
            "wide": sizes.wide,
            "blocks": sizes.factor(blocks),
            "block": block,
            "padded": sizes.factor(padded),
            "run": run,
            "two_runs": 2 * run,
            "steps": run.bit_length(),
        }
        parameters = sizes.parameters("from_ptr, to_ptr")
        writer.function(_MERGE.substitute(texts, name=f"{name}_merge_{place + 1}", parameters=parameters))
        merging = sizes.given
    records = np.dtype(np.uint64)
    own = [writer.memory(records, lines.count * padded) for _ in by]
    spare = writer.memory(records, lines.count * padded) if passes else own[0]
    for number, word in enumerate(by):
        here, there = (own[number], spare) if passes % 2 == 0 else (spare, own[number])
        title, sizes = f"{name}_word_{number + 1}", writer.sizes(lines.count * padded)
        texts = {
            "name": title,
            "wide": sizes.wide,
            "blocks": sizes.factor(blocks),
            "block": block,
            "padded": sizes.factor(padded),
            "length": sizes.text(lines.length),
            "place": sizes.place(lines.place("row", "order")),
            "order": _order(number, sizes.factor(padded)),
            "word": word.of("entry"),
        }
        parameters = sizes.parameters(", ".join(["x_ptr", *_sorted_pointers(own[:number]), "records_ptr"]))
        text = _without_blanks(_IN_BLOCKS.substitute(texts, parameters=parameters))
        writer.function(up_to(lines.length, rows.most) + text)
        buffers = (word.operand, *own[:number], here)
        writer.launch(title, lines.count * blocks, 8, buffers, numbers=sizes.given)
        for place in range(passes):
            function = f"{name}_merge_{place + 1}"
            writer.launch(function, lines.count * blocks, 8, (here, there), numbers=merging)
            here, there = there, here
    return own


def up_to(length: int, most: int) -> str:
    """A line above a function that sorts rows of many lengths."""
    return f"# For rows of up to {most:_} entries.\n" if isinstance(length, SymbolicSize) else ""


def stored(writer: StepWriter, lines: Lines, kept: int, sizes: StepSizes) -> str:
    """Lines that store the entries of the operands in order; the last output of ``top_k`` is the order."""
    target = sizes.place(Lines(lines.outer, kept, lines.inner).place("row", "number"))
    source = sizes.place(lines.place("row", "order"))
    texts: list[str] = []
    for place in range(len(writer.call.outputs)):
        entry = f"tl.load(x{place}_ptr + {source}, mask=kept)" if place < len(writer.call.inputs) else "order"
        texts.append(f"    tl.store(out{place}_ptr + {target}, {entry}, mask=kept)")
    return "\n".join(texts)


def _sorted_pointers(sorted_by: Sequence[int]) -> list[str]:
    return [f"sorted_{place}_ptr" for place in range(len(sorted_by))]


def _order(count: int, padded: str) -> str:
    """From a position in the last order back to that in the array."""
    return "\n".join(
        f"    order = tl.load(sorted_{place}_ptr + row * {padded} + order, mask=inside, other=0)"
        ".to(tl.uint32).to(tl.int32)"
        for place in reversed(range(count))
    )


def _without_blanks(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line) + "\n"
