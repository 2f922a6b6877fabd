"""The gradient of attention without its matrix of weights: these are recomputed, block by block, from their sums.

One function goes over the queries for a block of keys, the other over the keys for a block of queries, so that each
number has one writer, and results are the same in every run. T. Dao, "FlashAttention-2" (2023).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from textwrap import indent
from typing import TypeAlias

from .....ir import ArrayType, Call, Param, Value
from .....symbolic_size import same_shape
from ...kernels.kernel import TritonKernel
from ...types import triton_type
from ..step_writer import StepWriter
from .blocks import Attention, Blocks
from .forward import OPERANDS, function_text
from .tile import tile_of_gradient


def attention_gradient(call: Call, name: str) -> TritonKernel | None:
    """The Triton functions of a call of ``attention_gradient_by_sums``; None if its blocks would be too large."""
    ct, *operands, _, _, _ = (value.type for value in call.inputs)
    known = Attention.of(operands, call.params)
    if not has_gradient_kernels(known):
        return None
    writer = StepWriter(call)
    moved = writer.memory(known.sum_dtype, known.matrices * known.rows)
    names = [
        "ct",
        *OPERANDS[: len(operands)],
        "out",
        "largest",
        "total",
        "query_ct",
        "key_ct",
        "value_ct",
        "moved",
    ]
    buffers = (*writer.buffers, moved)
    tile = tile_of_gradient(known)

    def add(title: str, write: _Lines, unused: tuple[str, ...]) -> None:
        blocks = Blocks(known, tile.rows, tile.columns, writer.sizes(*known.counts))
        lines, programs = write(blocks, ct)
        used = [number for number, one in enumerate(names) if one not in unused]
        writer.function(function_text(title, [names[number] for number in used], blocks.sizes, lines))
        given = [buffers[number] for number in used]
        writer.launch(title, programs, tile.warps, given, tile.stages, blocks.sizes.given)

    add(f"{name}_queries", _of_queries, ("key_ct", "value_ct"))
    add(f"{name}_keys", _of_keys, ("out", "query_ct"))
    return writer.kernel()


_Lines: TypeAlias = Callable[[Blocks, ArrayType], tuple[list[str], int]]
"""Returns the lines of a function, and how many programs run it."""


def has_kernel(op: str, inputs: Sequence[Value], params: Mapping[str, Param]) -> bool:
    """Whether a call of a composite op has its own kernel."""
    types = [value.type for value in inputs]
    match op:
        case "attention":
            return Attention.of(types, params).has_kernels()
        case "attention_with_sums":  # which is for the gradient
            return has_gradient_kernels(Attention.of(types, params))
        case "attention_gradient_by_sums":
            return has_gradient_kernels(Attention.of(types[1:-3], params))
        case _:
            return False


def has_gradient_kernels(known: Attention) -> bool:
    """Whether each block of queries, and each of keys, belongs to one program."""
    lead, keys, values = (t.shape[:-2] for t in (known.query, known.key, known.value))
    return known.has_kernels() and same_shape(lead, known.batch) and same_shape(keys, values)


def _of_queries(blocks: Blocks, ct: ArrayType) -> tuple[list[str], int]:
    known, rows, size, sizes = blocks.attention, blocks.row_count, blocks.column_count, blocks.sizes
    tiles = sizes.factor(blocks.tiles)
    lines = [
        f"program = tl.program_id(0){sizes.wide}",
        f"matrix = program // {tiles}",
        f"first = program % {tiles} * {rows}",
        f"row = first + tl.arange(0, {rows})",
        f"entry = tl.arange(0, {blocks.entries})",
        f"part = tl.arange(0, {blocks.width})",
        f"query = {blocks.load('query', known.query, 'row', 'entry', checked=blocks.rows_end)}",
        f"ct = {blocks.load('ct', ct, 'row', 'part', checked=blocks.rows_end)}",
        f"out = {blocks.load('out', ct, 'row', 'part', checked=blocks.rows_end)}",
        f"moved = tl.sum(ct.to({blocks.sums}) * out.to({blocks.sums}), 1)",
        *(f"{name} = {blocks.load_row(name)}" for name in ("largest", "total")),
        blocks.store_row("moved", "moved"),
        *_in_units(blocks),
        f"query_ct = tl.zeros(({rows}, {blocks.entries}), {blocks.sums})",
    ]

    body = [
        f"column = start + tl.arange(0, {size})",
        f"key = {blocks.load('key', known.key, 'column', 'entry', checked=blocks.columns_end)}",
        *_weights(blocks),
        f"value = {blocks.load('value', known.value, 'column', 'part', checked=blocks.columns_end)}",
        f"change = {blocks.dot('ct, tl.trans(value)')}",
        f"change = (weights * (change - moved[:, None])).to({triton_type(known.dtype)})",
        f"query_ct = {blocks.dot('change, key, query_ct')}",
    ]
    end = sizes.text(known.columns)
    end = f"tl.minimum(first + {rows}, {end})" if known.causal else end
    scaled = f"query_ct * {blocks.number(known.scale)}"
    lines = [
        *lines,
        f"for start in range(0, {end}, {size}):",
        *_indented(body),
        blocks.store("query_ct", known.query, "row", "entry", scaled, checked=blocks.rows_end),
    ]
    return lines, known.matrices * blocks.tiles


def _of_keys(blocks: Blocks, ct: ArrayType) -> tuple[list[str], int]:
    """Over the queries of all matrices that share the keys."""
    known, rows, size, sizes = blocks.attention, blocks.row_count, blocks.column_count, blocks.sizes
    tiles = sizes.factor(blocks.column_tiles)
    narrow = triton_type(known.dtype)
    first = f"first // {rows} * {rows}" if known.causal else "0"
    body = [
        f"row = (start + tl.arange(0, {rows})){sizes.wide}",
        f"query = {blocks.load('query', known.query, 'row', 'entry', checked=blocks.rows_end)}",
        f"ct = {blocks.load('ct', ct, 'row', 'part', checked=blocks.rows_end)}",
        *(f"{name} = {blocks.load_row(name)}" for name in ("largest", "total", "moved")),
        *_in_units(blocks),
        *_weights(blocks),
        f"value_ct = {blocks.dot(f'tl.trans(weights.to({narrow})), ct, value_ct')}",
        f"change = {blocks.dot('ct, tl.trans(value)')}",
        f"change = (weights * (change - moved[:, None])).to({narrow})",
        f"key_ct = {blocks.dot('tl.trans(change), query, key_ct')}",
    ]
    loop = [f"for start in range({first}, {sizes.text(known.rows)}, {rows}):", *_indented(body)]
    lines = [
        f"program = tl.program_id(0){sizes.wide}",
        f"shared = program // {tiles}",
        f"first = program % {tiles} * {size}",
        f"column = first + tl.arange(0, {size})",
        f"entry = tl.arange(0, {blocks.entries})",
        f"part = tl.arange(0, {blocks.width})",
        f"matrix = {blocks.first_matrix}",
        f"key = {blocks.load('key', known.key, 'column', 'entry', checked=blocks.columns_end)}",
        f"value = {blocks.load('value', known.value, 'column', 'part', checked=blocks.columns_end)}",
        f"key_ct = tl.zeros(({size}, {blocks.entries}), {blocks.sums})",
        f"value_ct = tl.zeros(({size}, {blocks.width}), {blocks.sums})",
        *blocks.over_sharing(loop),
        f"matrix = {blocks.first_matrix}",
        blocks.store("key_ct", known.key, "column", "entry", f"key_ct * {blocks.number(known.scale)}",
                     checked=blocks.columns_end),
        blocks.store("value_ct", known.value, "column", "part", "value_ct", checked=blocks.columns_end),
    ]  # fmt: skip
    return lines, known.key_matrices * blocks.column_tiles


def _in_units(blocks: Blocks) -> list[str]:
    """The sums in the form in which they are used: the largest score in the unit of scores, and the factor of
    weights."""
    bits = [f"largest = largest * {blocks.number(math.log2(math.e))}"] if blocks.in_base_two else []
    return [*bits, "one_of_all = tm_divide(tl.full(total.shape, 1, total.dtype), total)"]


def _weights(blocks: Blocks) -> list[str]:
    product = blocks.dot("query, tl.trans(key)")
    return [
        *blocks.scores(product, ends=blocks.columns_end, diagonal=blocks.attention.causal),
        f"weights = {blocks.exp}(scores - largest[:, None]) * one_of_all[:, None]",
    ]


def _indented(lines: list[str]) -> list[str]:
    return [indent(line, "    ") for line in lines]
