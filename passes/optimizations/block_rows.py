"""Compute chains of matrix products in blocks of rows: what lies between two products stays in the cache."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ...compiler.analysis.row_products import is_in_one_piece
from ...compiler.builder import Builder, recording
from ...compiler.ir import Call, Graph, Param, Value
from ...compiler.ops.nested_graphs import graph_of
from ...compiler.value_ops import transpose
from ..blocking.chains import Chain, Uses, chain_to
from ..blocking.parts import Operand, Use, chain_graph, part_of
from ..rewrite import Rewriter

BLOCK_BYTES: Final = 1 << 17
"""The bytes of the largest value of a block: a few of them fit into the cache of a core."""

LEAST_ROWS: Final = 16
"""Blocks of fewer rows would read the matrices too often."""

MOST_BYTES: Final = 1 << 19
"""The same for a block of so few rows."""

LEAST_BLOCKS: Final = 16
"""The fewest blocks, which threads share, if there are enough rows."""

TILE: Final = 8
"""The rows of a tile in registers."""


def block_rows(graph: Graph) -> Graph:
    """Compute the rows of a product of products block by block, from the first product to the last.

    Before, for attention::

        dot_1: f32[8, 512, 512] = dot(q, k, contract_x=(2,), contract_y=(2,), batch_x=(0,), batch_y=(0,))
        …                                                   # softmax of the rows
        dot_2: f32[8, 512, 64] = dot(divide_1, v, contract_x=(2,), contract_y=(1,), batch_x=(0,), batch_y=(0,))

    after::

        def rows_dot_exp(x: f32[1, 512, 64], y: f32[1, 64, 512], z: f32[1, 512, 64]) -> f32[1, 512, 64]:
            def rows_dot_exp_2(x: f32[1, 64, 64], y: f32[1, 64, 512], z: f32[1, 512, 64]) -> f32[1, 64, 64]:
                dot_1: f32[1, 64, 512] = dot(x, y, contract_x=(2,), contract_y=(1,), batch_x=(0,), batch_y=(0,))
                …                                                           # softmax of 64 rows
                return dot_2
            tiled_1: f32[1, 512, 64] = tiled(x, y, z, graph=rows_dot_exp_2, cuts=(1, None, None), …, count=8)
            return tiled_1
        tiled_1: f32[8, 512, 64] = tiled(q, kernel_1, v, graph=rows_dot_exp, cuts=(0, 0, 0), …, count=8)

    where ``kernel_1`` is `k` with its last axes exchanged. The scores of a block are read while they are in the cache,
    and the threads share the blocks, which depend only on the shapes. Chains are left alone if the values between
    their products are small, if fewer than 16 rows fit into a block, if sums are longer than 4,096 terms, if sizes
    are symbolic, or if more must be written for other calls than is not stored. Nested graphs are changed, too.
    """
    if any(call.op != "kernel" for call in graph.calls):
        graph = _Nested(graph).run()
    done: set[Value] = set()
    while (found := _first_chain(graph, done)) is not None:
        graph = found
    return graph


class _Nested(Rewriter):
    """Rewrites nested graphs."""

    def nested(self, graph: Graph) -> Graph:
        return block_rows(graph)

    def replace(
        self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]
    ) -> tuple[Value, ...] | None:
        return None


def _first_chain(graph: Graph, done: set[Value]) -> Graph | None:
    """The graph with the last chain in blocks; None if there is none. Values in `done` end no chain."""
    uses: Uses | None = None
    for call in reversed(graph.calls):
        if call.op != "dot" or call.outputs[0] in done:
            continue
        done.add(call.outputs[0])
        uses = uses or Uses(graph)
        chain = chain_to(call, uses)
        blocks = None if chain is None else _blocks_of(chain)
        if blocks is not None:
            assert chain is not None
            return _replaced(graph, chain, blocks)
    return None


def _replaced(graph: Graph, chain: Chain, blocks: "_Blocks") -> Graph:
    """The graph with the blocks in place of the last call of the chain. What needs their results comes after them."""
    members = set(chain.calls)
    late: list[Call] = []
    missing = set(chain.outputs)
    calls: list[Call] = []
    for call in graph.calls:
        if call is chain.calls[-1]:
            calls += [*blocks.calls(chain), *late]
            missing = set()
        elif call in members:
            continue
        elif any(value in missing for value in call.inputs):
            late.append(call)
            missing.update(call.outputs)
        else:
            calls.append(call)
    return replace(graph, calls=tuple(calls))


@dataclass(frozen=True, slots=True)
class _Blocks:
    """A chain in blocks."""

    graph: Graph
    """All blocks, of the operands."""
    operands: Sequence[Operand]

    def calls(self, chain: Chain) -> list[Call]:
        """The calls that make the results of the chain."""
        calls: list[Call] = []
        given: dict[Value, Value] = {}
        location = chain.calls[-1].location
        for (value, use), inner in zip(self.operands, self.graph.inputs, strict=True):
            given[inner] = value
            if use == Use.TURNED:
                given[inner] = Value(inner.type)
                turned = graph_of("kernel_transpose", [value.type], lambda x: (_turned(x),))
                calls.append(Call("kernel", (value,), {"graph": turned}, (given[inner],), location))
        (call,) = self.graph.calls
        inputs = tuple(given[value] for value in call.inputs)
        return [*calls, Call(call.op, inputs, call.params, chain.outputs, location)]


def _turned(x: Value) -> Value:
    """With the last two axes exchanged."""
    return transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def _blocks_of(chain: Chain) -> _Blocks | None:
    """The chain in blocks, if its rows can be computed one by one."""
    rows = _rows(chain)
    found = None if rows is None else chain_graph(chain)
    if found is None or rows is None:
        return None
    graph, operands = found
    *lead, length, _ = chain.outputs[0].shape
    levels = [(axis, 1) for axis, size in enumerate(lead) if size > 1]
    if rows < length:
        levels.append((len(lead), rows))
    blocks = _in_tiles(graph, levels)
    return None if blocks is None or blocks is graph else _Blocks(blocks, operands)


def _rows(chain: Chain) -> int | None:
    """The rows of a block, if enough of them stay in the cache."""
    length = chain.outputs[0].shape[-2]
    total = math.prod(chain.outputs[0].shape[:-1])
    row_bytes = max(value.type.nbytes for call in chain.calls for value in call.outputs) // total
    most = max(min(BLOCK_BYTES // row_bytes, total // LEAST_BLOCKS) // TILE * TILE, LEAST_ROWS)
    if length < LEAST_ROWS or most * row_bytes > MOST_BYTES:
        return None
    divisors = (rows for rows in range(most, most // 2, -TILE) if length % rows == 0)
    return next(divisors, min(most, length))


def _in_tiles(graph: Graph, levels: Sequence[tuple[int, int]]) -> Graph | None:
    """The graph as tiles, along one axis after another, each of some rows; None if tiles cannot be computed alone or
    are scattered in memory."""
    if not levels:
        return graph
    (axis, rows), *others = levels
    part = part_of(graph, axis, rows)
    if part is None:
        return None
    inner = _in_tiles(part.graph, others)
    if inner is None or not all(map(_is_in_one_piece, part.graph.inputs, graph.inputs)):
        return None
    count, left = divmod(graph.outputs[0].shape[axis], rows)
    params: dict[str, Param] = {
        "graph": inner,
        "cuts": part.cuts,
        "joins": (axis,) * len(graph.outputs),
        "count": count,
    }
    if left:
        rest = part_of(graph, axis, left)
        assert rest is not None, "a part of other rows is computed in the same way"
        params["rest"] = rest.graph
    with recording(Builder()) as builder:
        builder.location = graph.calls[-1].location
        outputs = builder.emit("tiled", graph.inputs, params)
    return replace(graph, calls=tuple(builder.calls), outputs=outputs)


def _is_in_one_piece(part: Value, whole: Value) -> bool:
    return is_in_one_piece(part.shape, whole.shape)
