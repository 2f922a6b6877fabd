"""Attention without its matrix of weights: each program goes over the keys once, for a block of queries.

T. Dao et al., "FlashAttention" (2022); M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax"
(2018).
"""

import math
from collections.abc import Sequence
from textwrap import indent

from .....ir import ArrayType, Call
from .....symbolic_size import is_none
from ....python.text import wrapped
from ...choice import RULES, Choice
from ...kernels.kernel import TritonKernel
from ...types import triton_type
from ..step_sizes import StepSizes
from ..step_writer import StepWriter
from .blocks import Attention, Blocks
from .tile import tile_of_queries

OPERANDS = ("query", "key", "value", "mask")


def attention(call: Call, name: str, choice: Choice = RULES) -> TritonKernel | None:
    """The Triton function of a call of ``attention``; None if its blocks would be too large."""
    types = [value.type for value in call.inputs]
    known = Attention.of(types, call.params)
    if not known.has_kernels():
        return None
    tile = tile_of_queries(known, choice)
    writer = StepWriter(call)
    blocks = Blocks(known, tile.rows, tile.columns, writer.sizes(*known.counts))
    results = ("out", "largest", "total")[: len(call.outputs)]
    operands = [*OPERANDS[: len(types)], *results]
    lines = _lines(blocks, call.outputs[0].type, keeps_sums=len(results) > 1)
    writer.function(function_text(name, operands, blocks.sizes, lines))
    programs, numbers = known.matrices * blocks.tiles, blocks.sizes.given
    writer.launch(name, programs, tile.warps, writer.buffers, tile.stages, numbers)
    return writer.kernel()


def function_text(name: str, arrays: Sequence[str], sizes: StepSizes, lines: Sequence[str]) -> str:
    """A Triton function with these lines, on arrays with these names."""
    parameters = [*(f"{array}_ptr" for array in arrays), *sizes.names]
    head = wrapped(f"def {name}(", parameters, "):", indent=0)
    return "\n".join(["@triton.jit", *head, *(indent(line, "    ") for line in lines), ""])


def _lines(blocks: Blocks, out: ArrayType, *, keeps_sums: bool) -> list[str]:
    known, rows, sizes = blocks.attention, blocks.row_count, blocks.sizes
    tiles = sizes.factor(blocks.tiles)
    tile = f"program % {tiles}"
    if known.causal:  # the longest work first
        tile = f"({sizes.text(blocks.tiles - 1)} - {tile})"
    lines = [
        f"program = tl.program_id(0){sizes.wide}",
        f"matrix = program // {tiles}",
        f"first = {tile} * {rows}",
        f"row = first + tl.arange(0, {rows})",
        f"entry = tl.arange(0, {blocks.entries})",
        f"part = tl.arange(0, {blocks.width})",
        f"query = {blocks.load('query', known.query, 'row', 'entry', checked=blocks.rows_end)}",
        f'largest = tl.full(({rows},), -float("inf"), {blocks.sums})',
        f"total = tl.zeros(({rows},), {blocks.sums})",
        f"out = tl.zeros(({rows}, {blocks.width}), {blocks.sums})",
        *_loops(blocks),
    ]
    if known.mask is not None:
        lines.append("total = tl.where(total == 0, 1, total)  # of a query that sees no key")
    result = "tm_divide(out, total[:, None])"
    lines.append(blocks.store("out", out, "row", "part", result, checked=blocks.rows_end))
    if keeps_sums:
        nats = f" * {blocks.number(math.log(2))}" if blocks.in_base_two else ""
        lines += [
            f'largest = tl.where(largest == -float("inf"), 0, largest){nats}',
            *(blocks.store_row(name, name) for name in ("largest", "total")),
        ]
    return lines


def _loops(blocks: Blocks) -> list[str]:
    """Over the keys that all queries of the block see, and over those that must be compared with them."""
    known, size = blocks.attention, blocks.column_count
    count = known.columns // size * size
    whole, end = blocks.sizes.text(count), blocks.sizes.text(known.columns)
    if known.causal:
        return [
            f"seen_by_all = tl.minimum(first // {size} * {size}, {whole})",
            f"for start in range(0, seen_by_all, {size}):",
            *_key_block(blocks),
            f"for start in range(seen_by_all, tl.minimum(first + {blocks.row_count}, {end}), {size}):",
            *_key_block(blocks, ends=blocks.columns_end, diagonal=True),
        ]
    lines = [] if is_none(count) else [f"for start in range(0, {whole}, {size}):", *_key_block(blocks)]
    if blocks.columns_end:
        lines += [f"for start in range({whole}, {end}, {size}):", *_key_block(blocks, ends=True)]
    return lines


def _key_block(blocks: Blocks, *, ends: bool = False, diagonal: bool = False) -> list[str]:
    """The contribution of a block of keys; at `ends` it may reach beyond the last one."""
    known = blocks.attention
    product = blocks.dot("query, tl.trans(key)")
    lines = [
        f"column = start + tl.arange(0, {blocks.column_count})",
        f"key = {blocks.load('key', known.key, 'column', 'entry', checked=ends)}",
        *blocks.scores(product, ends=ends, diagonal=diagonal),
        "top = tl.maximum(largest, tl.max(scores, 1))",
        'base = tl.where(top == -float("inf"), 0, top)',
        f"weights = {blocks.exp}(scores - base[:, None])",
        f"share = {blocks.exp}(largest - base)",
        "total = total * share + tl.sum(weights, 1)",
        "largest = top",
        f"value = {blocks.load('value', known.value, 'column', 'part', checked=ends)}",
        f"out = {blocks.dot(f'weights.to({triton_type(known.dtype)}), value, out * share[:, None]')}",
    ]
    return [indent(line, "    ") for line in lines]
