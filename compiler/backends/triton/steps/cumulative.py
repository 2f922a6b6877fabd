"""Running sums, products, extrema and log-sums: rows that fit are scanned at once, others block by block.

Few long rows are cut into parts: a first function gathers each part, a second scans what those came to, and a third
scans the parts from there on (Blelloch, "Prefix sums and their applications", 1990). What is computed does not depend
on the order in which programs run. Entries are joined in another order than NumPy's, as those of a sum are.
"""

import math
from dataclasses import dataclass
from string import Template
from typing import Any, Final

import numpy as np

from ....dtypes import DType, kind
from ....ir import Call
from ..blocks import COLUMNS
from ..kernel import TritonKernel
from ..literals import triton_literal
from ..types import triton_type
from .joining import joining_dtype, narrowed, widened
from .places import counting, counting_block, place_text, wide
from .step_writer import StepWriter

BLOCK: Final = 4096
"""So many entries of a row are scanned at once."""

ROWS: Final = 2048
"""Short rows are scanned several at once: so many entries together."""

PROGRAMS: Final = 1024
"""Rows are cut into parts where they are fewer programs than this."""

_JOINED: Final = {
    "cumsum": "tm_sum_of",
    "cumprod": "tm_product_of",
    "cummax": "tm_larger_of",
    "cummin": "tm_smaller_of",
    "cumlogsumexp": "tm_logaddexp",
}

_RESIDENT = Template("""\
@triton.jit
def $name(x_ptr, out_ptr):
    row = tl.program_id(0)$wide * $rows + tl.arange(0, $rows)[:, None]
    along = tl.arange(0, $block)[None, :]
    place = $place
    inside = (row < $count) & (along < $length)
    x = tl.where(inside, tl.load(x_ptr + place, mask=inside)$widened, $neutral)
    tl.store(out_ptr + place, tl.associative_scan(x, 1, $joined)$narrowed, mask=inside)
""")

_IN_BLOCKS = Template("""\
@triton.jit
def $name($pointers):
    part = tl.program_id(0) % $parts
    row = tl.program_id(0)$wide // $parts * $rows + tl.arange(0, $rows)[:, None]
    before = tl.full(($rows, 1), $neutral, $type)
$begin
    for block in range($blocks):
        along = (part * $blocks + block) * $block + tl.arange(0, $block)[None, :]
        place = $place
        inside = (row < $count) & (along < $length)
        x = tl.where(inside, tl.load(x_ptr + place, mask=inside)$widened, $neutral)
$body
        before = $joined(before, tl.reduce(x, 1, $joined, keep_dims=True))
$end
""")

_TAKE = Template("""\
    begun = (row < $count) & (part > 0)
    before = tl.where(begun, tl.load(sums_ptr + $sum_before, mask=begun), before)""")
_SCAN = Template("""\
        scan = $joined(before, tl.associative_scan(x, 1, $joined))
        tl.store(out_ptr + place, scan$narrowed, mask=inside)""")
_KEEP = Template("""\
    tl.store(out_ptr + $sum_place, before, mask=row < $count)""")


def cumulative(call: Call, name: str) -> TritonKernel:
    """The kernel of a running sum, product, extremum or log-sum."""
    params: Any = call.params
    (x,) = call.inputs
    axis = params["axis"]
    rows = _Rows(math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :]), params["reverse"])
    scan = _Scan(call.op, x.dtype)
    writer = StepWriter(call)
    out = writer.output(0)
    if rows.parts == 1:
        writer.function(scan.text(name, rows))
        writer.launch(name, rows.groups, rows.warps, (0, out))
        return writer.kernel()
    parts = _Rows(rows.outer, rows.parts, rows.inner)
    gathered, begun = (writer.memory(scan.wide, parts.count * parts.length) for _ in range(2))
    writer.function(scan.text(f"{name}_1", rows, gathers=True))
    writer.launch(f"{name}_1", rows.groups * rows.parts, rows.warps, (0, gathered))
    writer.function(_Scan(call.op, scan.wide).text(f"{name}_2", parts, in_parts=False))
    writer.launch(f"{name}_2", parts.groups, parts.warps, (gathered, begun))
    writer.function(scan.text(f"{name}_3", rows))
    writer.launch(f"{name}_3", rows.groups * rows.parts, rows.warps, (0, begun, out))
    return writer.kernel()


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of an array along its middle axis, and how programs share them."""

    outer: int
    length: int
    inner: int
    reverse: bool = False

    @property
    def count(self) -> int:
        return self.outer * self.inner

    @property
    def together(self) -> int:
        """How many rows a program scans at once."""
        if self.inner > 1:  # neighbours in memory belong to different rows
            return min(COLUMNS, _power_of_two(self.count))
        return min(_power_of_two(self.count), max(1, ROWS // self.block))

    @property
    def block(self) -> int:
        """How many entries of each are scanned at once."""
        most = BLOCK if self.inner == 1 else max(1, ROWS // min(COLUMNS, _power_of_two(self.count)))
        return min(most, _power_of_two(self.length))

    @property
    def groups(self) -> int:
        """Rows that are scanned together are one group."""
        return -(-self.count // self.together)

    @property
    def blocks(self) -> int:
        """How many blocks a program scans one after another."""
        blocks = -(-self.length // self.block)
        return -(-blocks // max(1, PROGRAMS // self.groups))

    @property
    def parts(self) -> int:
        """Into how many parts each row is cut."""
        return -(-self.length // (self.block * self.blocks))

    @property
    def warps(self) -> int:
        return 4 if self.together * self.block <= ROWS else 8

    def place(self, along: Any) -> str:
        """Where the entries of the rows lie."""
        if self.reverse:
            along = along * -1 + (self.length - 1)
        row = counting_block("row", self.count)
        start = row // self.inner * (self.length * self.inner) + row % self.inner
        return place_text(start + along * self.inner)


@dataclass(frozen=True, slots=True)
class _Scan:
    """How entries of a dtype are joined."""

    op: str
    dtype: DType

    @property
    def wide(self) -> DType:
        """In which dtype they are joined."""
        return joining_dtype(self.dtype)

    @property
    def neutral(self) -> str:
        """An entry that changes nothing."""
        if self.op in ("cummax", "cummin") and kind(self.wide) != "f":
            limits = np.iinfo(self.wide)
            number: float = limits.min if self.op == "cummax" else limits.max
        else:
            number = {"cumsum": -0.0, "cumprod": 1.0, "cummin": np.inf}.get(self.op, -np.inf)
        return triton_literal(np.asarray(number).astype(self.wide))

    def text(self, name: str, rows: _Rows, *, gathers: bool = False, in_parts: bool = True) -> str:
        """A function that scans rows, or that gathers their parts.

        The third function of a call begins each part with what came before it.
        """
        parts = rows.parts if in_parts else 1
        blocks = rows.blocks if in_parts else -(-rows.length // rows.block)
        sums = _Rows(rows.outer, parts, rows.inner)
        part = counting("part", parts)
        texts = {
            "name": name,
            "wide": wide(rows.count * rows.length),
            "rows": rows.together,
            "block": rows.block,
            "blocks": blocks,
            "parts": parts,
            "count": rows.count,
            "length": rows.length,
            "place": rows.place(counting_block("along", rows.length)),
            "sum_place": sums.place(part),
            "sum_before": sums.place(part + -1),
            "neutral": self.neutral,
            "joined": _JOINED[self.op],
            "type": triton_type(self.wide),
            "widened": widened(self.dtype),
            "narrowed": narrowed(self.dtype),
        }
        if blocks == parts == 1:
            return _RESIDENT.substitute(texts)
        continues = parts > 1 and not gathers
        text = _IN_BLOCKS.substitute(
            texts,
            pointers="x_ptr, sums_ptr, out_ptr" if continues else "x_ptr, out_ptr",
            begin=_TAKE.substitute(texts) if continues else "",
            body="" if gathers else _SCAN.substitute(texts),
            end=_KEEP.substitute(texts) if gathers else "",
        )
        return "\n".join(line for line in text.splitlines() if line.strip()) + "\n"


def _power_of_two(count: int) -> int:
    """The least power of two that is not less."""
    return 1 << max(0, count - 1).bit_length()
