"""Cumulative sums, products, extrema and log-sums: rows that fit are scanned at once, others block by block.

A few long rows are split into parts: a first function reduces each part, a second scans these results, and a third
scans the parts from there (Blelloch, "Prefix sums and their applications", 1990). The result does not depend on the
order in which programs run. Entries are combined in another order than NumPy's, like those of a sum.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from string import Template
from typing import Final

import numpy as np

from .....affine import Affine
from .....dtypes import DType, kind
from .....ir import Call
from .....params import flag_param, int_param
from .....symbolic_size import SymbolicSize, is_known, is_one, typical
from ...kernels.assumed import assumed, block_of, pieces, power_of_two
from ...kernels.blocks import COLUMNS, VECTOR
from ...kernels.kernel import TritonKernel
from ...literals import triton_literal
from ...types import triton_type
from ..places import counting, counting_block
from ..step_writer import StepWriter
from .joining import joining_dtype, narrowed, widened

BLOCK: Final = 4096
"""This many entries of a row are scanned at once."""

ROWS: Final = 2048
"""Several short rows are scanned at once: this many entries together."""

SHORT: Final = 64
"""Rows with up to this many entries are scanned in the same way, if others may occur in another call."""

SMALLEST_BLOCK: Final = 256
"""For rows of any length, at least this many entries are scanned at once."""

PROGRAMS: Final = 1024
"""Rows are split into parts if they are fewer programs than this."""

_JOINED: Final = {
    "cumsum": "tm_sum_of",
    "cumprod": "tm_product_of",
    "cummax": "tm_larger_of",
    "cummin": "tm_smaller_of",
    "cumlogsumexp": "tm_logaddexp",
}

_RESIDENT = Template("""\
@triton.jit
def $name($parameters):
    row = tl.program_id(0)$wide * $rows + tl.arange(0, $rows)[:, None]
    along = tl.arange(0, $block)[None, :]
    place = $place
    inside = (row < $count) & (along < $length)
    x = tl.where(inside, tl.load(x_ptr + place, mask=inside)$widened, $neutral)
    tl.store(out_ptr + place, tl.associative_scan(x, 1, $joined)$narrowed, mask=inside)
""")

_IN_BLOCKS = Template("""\
@triton.jit
def $name($parameters):
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
    """The kernel of a cumulative sum, product, extremum or log-sum."""
    (x,) = call.inputs
    axis, lengths = int_param(call, "axis"), x.shape
    rows = _Rows.of(math.prod(lengths[:axis]), lengths[axis], math.prod(lengths[axis + 1 :]))
    rows = replace(rows, reverse=flag_param(call, "reverse"))
    scan = _Scan(call.op, x.dtype)
    lying = rows.length if is_one(rows.inner) else rows.inner  # adjacent in memory
    if isinstance(lying, SymbolicSize):
        assumed(lying % (VECTOR // x.dtype.itemsize) == 0)
    writer = StepWriter(call)
    out = writer.output(0)
    if is_one(rows.parts):
        scan.add(writer, name, rows, (0, out))
        return writer.kernel()
    parts = _Rows.of(rows.outer, rows.parts, rows.inner, in_parts=False)
    gathered, begun = (writer.memory(scan.wide, parts.count * parts.length) for _ in range(2))
    scan.add(writer, f"{name}_1", rows, (0, gathered), gathers=True)
    _Scan(call.op, scan.wide).add(writer, f"{name}_2", parts, (gathered, begun))
    scan.add(writer, f"{name}_3", rows, (0, begun, out))
    return writer.kernel()


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of an array along its middle axis, and how programs share them."""

    outer: int
    length: int
    inner: int
    together: int
    """How many rows a program scans at once."""
    block: int
    """How many entries of each are scanned at once."""
    blocks: int
    """How many blocks a program scans one after another."""
    parts: int
    """The number of parts of each row."""
    reverse: bool = False

    @classmethod
    def of(cls, outer: int, length: int, inner: int, *, in_parts: bool = True) -> "_Rows":
        """Rows that are split into parts if there are few, if that is allowed.

        A program for many sizes is tuned for the typical ones: blocks of short rows hold all entries, by a guard, and
        longer rows have different numbers of blocks, or of parts.
        """
        count, are_neighbours = outer * inner, not is_one(inner)  # in memory, those of different rows
        many = None if isinstance(count, SymbolicSize) else power_of_two(count)
        columns = min(COLUMNS, many or COLUMNS)
        most = max(1, ROWS // columns) if are_neighbours else BLOCK
        block = block_of(length, SHORT, most) if in_parts or not isinstance(length, SymbolicSize) else None
        block = min(most, max(SMALLEST_BLOCK, power_of_two(length)) if block is None else block)
        rows = max(1, ROWS // block)
        together = columns if are_neighbours else min(many or rows, rows)
        blocks = pieces(length, block)
        if not in_parts or is_known(length <= block):
            return cls(outer, length, inner, together, block, blocks, 1)
        programs = max(1, PROGRAMS // typical(pieces(count, together)))
        blocks_each = pieces(typical(blocks), programs)
        if blocks_each >= typical(blocks):
            return cls(outer, length, inner, together, block, blocks, 1)
        return cls(outer, length, inner, together, block, blocks_each, pieces(length, block * blocks_each))

    @property
    def count(self) -> int:
        return self.outer * self.inner

    @property
    def groups(self) -> int:
        """Rows that are scanned together are one group."""
        return pieces(self.count, self.together)

    @property
    def warps(self) -> int:
        return 4 if self.together * self.block <= ROWS else 8

    def place(self, along: Affine) -> Affine:
        """The offsets of the entries of the rows."""
        if self.reverse:
            along = along * -1 + (self.length - 1)
        row = counting_block("row", self.count)
        start = row // self.inner * (self.length * self.inner) + row % self.inner
        return start + along * self.inner


@dataclass(frozen=True, slots=True)
class _Scan:
    """How entries of a dtype are combined."""

    op: str
    dtype: DType

    @property
    def wide(self) -> DType:
        """The dtype in which they are combined."""
        return joining_dtype(self.dtype)

    @property
    def neutral(self) -> str:
        """A neutral entry."""
        if self.op in ("cummax", "cummin") and kind(self.wide) != "f":
            limits = np.iinfo(self.wide)
            number: float = limits.min if self.op == "cummax" else limits.max
        else:
            number = {"cumsum": -0.0, "cumprod": 1.0, "cummin": np.inf}.get(self.op, -np.inf)
        return triton_literal(np.asarray(number).astype(self.wide))

    def add(
        self, writer: StepWriter, name: str, rows: _Rows, buffers: Sequence[int], *, gathers: bool = False
    ) -> None:
        """Add a function that scans rows, or that reduces their parts.

        The third function of a call starts each part with the result of what came before it.
        """
        sizes = writer.sizes(rows.count * rows.length)
        sums = replace(rows, length=rows.parts, reverse=False)
        part, place = counting("part", rows.parts), rows.place(counting_block("along", rows.length))
        texts = {
            "name": name,
            "wide": sizes.wide,
            "rows": rows.together,
            "block": rows.block,
            "count": sizes.text(rows.count),
            "length": sizes.text(rows.length),
            "place": sizes.place(place),
            "neutral": self.neutral,
            "joined": _JOINED[self.op],
            "type": triton_type(self.wide),
            "widened": widened(self.dtype),
            "narrowed": narrowed(self.dtype),
        }
        continues = not is_one(rows.parts) and not gathers
        if is_known(rows.length <= rows.block):
            text = _RESIDENT.substitute(texts, parameters=sizes.parameters("x_ptr, out_ptr"))
        else:
            texts |= {"blocks": sizes.factor(rows.blocks), "parts": sizes.factor(rows.parts)}
            if gathers or continues:
                texts |= {"sum_place": sizes.place(sums.place(part))}
                texts |= {"sum_before": sizes.place(sums.place(part + -1))}
            begin = _TAKE.substitute(texts) if continues else ""
            body = "" if gathers else _SCAN.substitute(texts)
            end = _KEEP.substitute(texts) if gathers else ""
            parameters = sizes.parameters("x_ptr, sums_ptr, out_ptr" if continues else "x_ptr, out_ptr")
            text = _IN_BLOCKS.substitute(texts, parameters=parameters, begin=begin, body=body, end=end)
            text = "\n".join(line for line in text.splitlines() if line.strip()) + "\n"
        writer.function(text)
        writer.launch(name, rows.groups * rows.parts, rows.warps, buffers, numbers=sizes.given)
