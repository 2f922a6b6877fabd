"""Orders of rows that are too long for a program: blocks are sorted, and neighbours merged until one is left.

A record finds its place in the merged run by a binary search of the other run. So a row of n entries takes log₂(n /
block) passes, each of which reads and writes all records: it is simple and always the same, but a sort by digits
would pass over them less often.
"""

import math
from collections.abc import Sequence
from string import Template

import numpy as np

from .keys import Word
from .places import Lines, place_text, wide
from .step_writer import StepWriter

_IN_BLOCKS = Template("""\
@triton.jit
def $name($pointers):
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
def $name(from_ptr, to_ptr):
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
def $name($pointers):
    program = tl.program_id(0)$wide
    row = program // $blocks
    number = program % $blocks * $block + tl.arange(0, $block)
    kept = number < $kept
    inside = kept
    order = number
$order
$stored
""")


def long_rows(writer: StepWriter, name: str, lines: Lines, by: Sequence[Word], kept: int, block: int) -> None:
    """Add the functions that sort long rows by words and store the first `kept` entries of each."""
    found = sorted_records(writer, name, lines, by, block)
    padded = -(-lines.length // block) * block
    blocks = -(-kept // block)
    gather = _GATHER.substitute(
        name=f"{name}_gather",
        pointers=", ".join([writer.pointers, *_sorted_pointers(found)]),
        wide=wide(lines.count * padded),
        blocks=blocks,
        block=block,
        kept=kept,
        order=_order(len(found), padded),
        stored=stored(writer, lines, kept),
    )
    writer.function(gather)
    writer.launch(f"{name}_gather", lines.count * blocks, 8, (*writer.buffers, *found))


def sorted_records(writer: StepWriter, name: str, lines: Lines, by: Sequence[Word], block: int) -> list[int]:
    """Add the functions that sort rows by words: for each word, which buffer holds the records that it sorted.

    A record is the word, and in its lower half the place that it had when it was sorted. Each row of records is as
    long as its blocks together.
    """
    blocks = -(-lines.length // block)
    padded = blocks * block
    passes = math.ceil(math.log2(blocks))
    texts = {
        "wide": wide(lines.count * padded),
        "blocks": blocks,
        "block": block,
        "padded": padded,
        "length": lines.length,
        "place": place_text(lines.place("row", "order")),
    }
    for place in range(passes):
        run = block << place
        merge = _MERGE.substitute(
            texts, name=f"{name}_merge_{place + 1}", run=run, two_runs=2 * run, steps=run.bit_length()
        )
        writer.function(merge)
    records = np.dtype(np.uint64)
    own = [writer.memory(records, lines.count * padded) for _ in by]
    spare = writer.memory(records, lines.count * padded) if passes else own[0]
    for number, word in enumerate(by):
        here, there = (own[number], spare) if passes % 2 == 0 else (spare, own[number])
        title = f"{name}_word_{number + 1}"
        text = _IN_BLOCKS.substitute(
            texts,
            name=title,
            pointers=", ".join(["x_ptr", *_sorted_pointers(own[:number]), "records_ptr"]),
            order=_order(number, padded),
            word=word.of("entry"),
        )
        writer.function(_without_blanks(text))
        writer.launch(title, lines.count * blocks, 8, (word.operand, *own[:number], here))
        for place in range(passes):
            writer.launch(f"{name}_merge_{place + 1}", lines.count * blocks, 8, (here, there))
            here, there = there, here
    return own


def stored(writer: StepWriter, lines: Lines, kept: int) -> str:
    """Lines that store the entries of the operands in their order; the last output of ``top_k`` is the order."""
    target = place_text(Lines(lines.outer, kept, lines.inner).place("row", "number"))
    source = place_text(lines.place("row", "order"))
    texts: list[str] = []
    for place in range(len(writer.call.outputs)):
        entry = f"tl.load(x{place}_ptr + {source}, mask=kept)" if place < len(writer.call.inputs) else "order"
        texts.append(f"    tl.store(out{place}_ptr + {target}, {entry}, mask=kept)")
    return "\n".join(texts)


def _sorted_pointers(sorted_by: Sequence[int]) -> list[str]:
    return [f"sorted_{place}_ptr" for place in range(len(sorted_by))]


def _order(count: int, padded: int) -> str:
    """From a place in the last order back to that in the array."""
    return "\n".join(
        f"    order = tl.load(sorted_{place}_ptr + row * {padded} + order, mask=inside, other=0)"
        ".to(tl.uint32).to(tl.int32)"
        for place in reversed(range(count))
    )


def _without_blanks(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line) + "\n"
