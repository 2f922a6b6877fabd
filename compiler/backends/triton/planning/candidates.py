"""The choices that are worth timing for a kernel: a few near those of the rules, for its type and a GPU."""

from collections.abc import Iterator, Sequence
from math import log2
from typing import Final

from ....errors import ArgumentValueError
from ....ir import Graph
from ..choice import MOST, RULES, Choice
from ..kernels.kernel import TritonKernel
from ..steps.attention.blocks import Attention
from ..steps.attention.tile import OF_QUERIES, AttentionTile, tile_of_queries
from ..steps.products.product import Product, has_product, product_in
from ..steps.products.products import Way, way_of
from ..steps.products.tile import LEAST, OF_ELEMENTS, OF_MATRICES, Tile, tile_of_elements, tile_of_matrices
from .module import attention_in, graph_kernel

OF_LOOPS: Final = ("elements", "columns", "warps", "programs")
"""The tunable parameters of loop nests."""

MANY: Final = 6
"""At most this many choices are timed, including that of the rules."""

SMALL: Final = 1 << 14
"""A kernel with fewer bytes takes as long as its launch."""

SHARED: Final = {"sm_80": 163, "sm_87": 163, "sm_90": 227, "sm_100": 227, "sm_103": 227}
"""KiB of shared memory that a program can have."""

COPYING: Final = {"sm_90": 132, "sm_100": 148, "sm_103": 148}
"""Processors of GPUs that copy blocks of matrices in hardware: each runs one program of a large tile."""

SHARED_OF_OTHERS: Final = 99
SHARED_OF_AMD: Final = 64

_TILES: Final = (
    (128, 256, 128, 8, 3),
    (256, 128, 128, 8, 3),
    (128, 128, 128, 8, 3),
    (128, 128, 128, 4, 4),
    (64, 256, 128, 4, 3),
    (128, 64, 128, 4, 4),
    (64, 128, 128, 4, 4),
    (64, 64, 128, 4, 5),
    (32, 64, 256, 4, 4),
)
"""Rows, columns, bytes of a row of operands, warps and stages of tiles that keep tensor cores busy."""

_REGISTERS: Final = 128
"""Registers of a thread for sums; half as many if its operands need some, because tensor cores do not read them."""


def fields_of(graph: Graph) -> tuple[str, ...]:
    """The tunable parameters of a kernel."""
    if attention_in(graph) is not None:
        return OF_QUERIES
    if not has_product(graph):
        return OF_LOOPS
    return {Way.SUMS: OF_LOOPS, Way.ELEMENTS: OF_ELEMENTS, Way.MATRICES: OF_MATRICES}[
        way_of(product_in(graph))
    ]


def check_choice(graph: Graph, choice: Choice) -> None:
    """Refuse a choice that a kernel cannot have.

    Raises:
        ArgumentValueError: it has no such block or tile, or none of that size.
    """
    known = fields_of(graph)
    for name in choice.fields:
        if name not in known:
            raise ArgumentValueError(
                f"{name} cannot be chosen of this kernel: what can is {', '.join(known)}"
            )
    if graph_kernel(graph, "kernel", choice) is None:
        raise ArgumentValueError("Triton has no kernel for this graph")


def candidates(graph: Graph, target: str) -> Sequence[Choice]:
    """The choices to time for a kernel on a GPU such as ``sm_90``, that of the rules first; only one if all are
    equal."""
    if sum(value.type.nbytes for value in (*graph.inputs, *graph.outputs)) < SMALL:
        return (RULES,)
    rules = graph_kernel(graph, "kernel")
    if rules is None or not rules.launches:
        return (RULES,)
    found, texts = [RULES], [(rules.functions, rules.launches)]
    for choice in _proposed(graph, rules, target):
        kernel = _kernel(graph, choice)
        if kernel is not None and (kernel.functions, kernel.launches) not in texts:
            found.append(choice)
            texts.append((kernel.functions, kernel.launches))
        if len(found) == MANY:
            break
    return tuple(found)


def _kernel(graph: Graph, choice: Choice) -> TritonKernel | None:
    try:
        return graph_kernel(graph, "kernel", choice)
    except ArgumentValueError:
        return None


def _proposed(graph: Graph, rules: TritonKernel, target: str) -> Iterator[Choice]:
    if (call := attention_in(graph)) is not None:
        known = Attention.of([value.type for value in call.inputs], call.params)
        return _of_queries(known, tile_of_queries(known), target)
    if has_product(graph):
        product = product_in(graph)
        way = way_of(product)
        if way is Way.MATRICES:
            return _of_matrices(product, tile_of_matrices(product), target)
        if way is Way.ELEMENTS:
            return _of_elements(tile_of_elements(product.batch, product.rows, product.columns))
    return _of_loops(rules)


def _of_loops(rules: TritonKernel) -> Iterator[Choice]:
    """More and fewer elements at once than the largest function computes."""
    largest = max(rules.launches, key=lambda launch: launch.programs * launch.elements)
    elements, warps = largest.elements, largest.warps
    yield Choice(elements=2 * elements)
    if elements > 32 * warps:
        yield Choice(elements=elements // 2)
    if warps < MOST["warps"]:
        yield Choice(warps=2 * warps)
    if warps > 1:
        yield Choice(warps=warps // 2)
    yield Choice(programs=132)
    yield Choice(columns=32)
    yield Choice(columns=128)
    yield Choice(elements=4 * elements, warps=min(2 * warps, MOST["warps"]))


def _of_elements(rules: Tile) -> Iterator[Choice]:
    yield Choice(rows=2 * rules.rows)
    yield Choice(rows=max(2, rules.rows // 2))
    yield Choice(columns=max(2, rules.columns // 2))
    yield Choice(warps=2 * rules.warps)
    yield Choice(warps=max(1, rules.warps // 2))


def _of_queries(known: Attention, rules: AttentionTile, target: str) -> Iterator[Choice]:
    """Higher and lower tiles, and other stages, whose keys and values fit into shared memory."""
    for rows, columns, warps, stages in (
        (rules.rows, rules.columns, rules.warps, rules.stages - 1),
        (rules.rows, rules.columns, rules.warps, rules.stages + 1),
        (rules.rows, rules.columns // 2, rules.warps, rules.stages),
        (rules.rows, 2 * rules.columns, rules.warps, rules.stages),
        (rules.rows // 2, rules.columns, max(4, rules.warps // 2), rules.stages),
        (2 * rules.rows, rules.columns, min(8, 2 * rules.warps), rules.stages),
        (rules.rows, rules.columns, 4 if rules.warps == 8 else 8, rules.stages),
    ):
        entry_bytes = max(known.entries, known.width) * known.dtype.itemsize
        is_small = (rows + 2 * columns * stages) * entry_bytes <= _shared_bytes(target)
        if min(rows, columns) >= LEAST and stages and is_small:
            yield Choice(rows=rows, columns=columns, warps=warps, stages=stages)


def _of_matrices(product: Product, rules: Tile, target: str) -> Iterator[Choice]:
    """One stage more and one less, sums in one piece, and the tiles closest in size."""
    size = product.dtype.itemsize
    if rules.parts > 1:
        yield Choice(parts=1)
    count = -(-product.rows // rules.rows) * -(-product.columns // rules.columns)
    if size == 2 and count > (programs := COPYING.get(target, count)):
        yield _persistent_programs(product, rules, programs, target)
    for stages in (rules.stages + 1, rules.stages - 1):
        if _fits(rules.rows, rules.columns, rules.depth * size, stages, target):
            yield Choice(stages=stages)
    tall, wide = 2 * max(rules.rows, product.rows), 2 * max(rules.columns, product.columns)
    registers = _REGISTERS if size == 2 else _REGISTERS // 2
    tiles = [
        (rows, columns, row_bytes, warps, stages)
        for rows, columns, row_bytes, warps, stages in _TILES
        if rows < tall
        and columns < wide
        and rows * columns * max(4, size) <= registers * 4 * 32 * warps
        and _fits(rows, columns, row_bytes, stages, target)
    ]
    area = rules.rows * rules.columns
    for rows, columns, row_bytes, warps, stages in sorted(tiles, key=lambda x: abs(log2(x[0] * x[1] / area))):
        yield Choice(rows=rows, columns=columns, depth=row_bytes // size, warps=warps, stages=stages)


def _persistent_programs(product: Product, rules: Tile, programs: int, target: str) -> Choice:
    """The number of programs, and tiles that fit into shared memory together with the operands loaded ahead."""
    row_bytes, stored = rules.depth * product.dtype.itemsize, product.tail.outputs[0].dtype.itemsize
    columns = rules.columns
    while not _fits(rules.rows, columns, row_bytes, rules.stages, target, rules.rows * columns * stored):
        columns //= 2
    return Choice(columns=columns if columns < rules.columns else None, programs=programs)


def _fits(rows: int, columns: int, row_bytes: int, stages: int, target: str, others: int = 0) -> bool:
    """Whether the operands of this many iterations fit into shared memory, beside other bytes."""
    return (rows + columns) * row_bytes * stages + others <= _shared_bytes(target)


def _shared_bytes(target: str) -> int:
    limit = SHARED_OF_AMD if target.startswith("gfx") else SHARED.get(target, SHARED_OF_OTHERS)
    return limit << 10
