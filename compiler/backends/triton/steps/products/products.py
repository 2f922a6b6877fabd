"""Sums of products in Triton: by tensor cores, one after another, or as ordinary sums."""

from dataclasses import replace
from enum import Enum, auto
from typing import Final

from .....analysis.fusible_ops import PRODUCTS
from .....ir import Call, Graph
from .....symbolic_size import assume, is_known
from ...choice import RULES, Choice
from ...kernels.kernel import TritonKernel, is_in_triton, triton_kernel
from .product import WIDE, Product, graph_after_parts, in_parts, product_in, product_of, with_sums
from .tile import tile_of_elements, tile_of_matrices
from .tiled_product import by_elements, by_matrices
from .windows import Windows

SHORT: Final = 4
"""Sums of up to this many products are unrolled."""

SMALL: Final = 16
"""Matrices with at most this many rows and columns are multiplied several at once."""

FEW: Final = 4
"""Matrices with at most this many rows leave most of the smallest tile empty."""


class Way(Enum):
    """How a product is computed."""

    SUMS = auto()
    """As ordinary sums."""
    ELEMENTS = auto()
    """In tiles, one product after another."""
    MATRICES = auto()
    """In tiles, by tensor cores."""


def way_of(product: Product) -> Way:
    """How a product is computed."""
    sides = product.rows, product.columns
    is_thin = any(is_known(side == 1) for side in sides)  # and takes as long as reading it
    is_dot, is_short = not isinstance(product.right, Windows), is_known(product.length <= SHORT)
    if is_known(product.length * product.type.size == 0) or (is_dot and (is_thin or is_short)):
        return Way.SUMS
    is_small = all(is_known(side <= SMALL) for side in (*sides, product.length)) or is_known(
        product.rows <= FEW
    )
    return Way.ELEMENTS if product.dtype.kind in "iu" or is_small else Way.MATRICES


def multiplied(call: Call, name: str, choice: Choice = RULES) -> TritonKernel | None:
    """The Triton functions of a call of ``dot`` or ``conv``; None for complex numbers, which Triton lacks."""
    return product_kernel(product_of(call), name, choice)


def product_kernel(graph: Graph, name: str, choice: Choice = RULES) -> TritonKernel | None:
    """The Triton functions of a kernel with a product, and with computations on its operands and its elements.

    None if Triton lacks a dtype or an op.
    """
    others = tuple(call for call in graph.calls if call.op not in PRODUCTS)
    if not is_in_triton(replace(graph, calls=others)):
        return None
    if any(call.op == "conv" and call.inputs[0] not in graph.inputs for call in graph.calls):
        return None
    product = product_in(graph)
    way = way_of(product)
    if way is Way.SUMS:
        return triton_kernel(with_sums(graph), name, choice)
    parts = 1
    if way is Way.ELEMENTS:
        tile, make = tile_of_elements(product.batch, product.rows, product.columns, choice), by_elements
    else:
        tile, make = tile_of_matrices(product, choice), by_matrices
        parts = tile.parts
        if is_known(product.length % (WIDE // product.dtype.itemsize) == 0):
            assume(product.length % tile.depth == 0)  # no step needs a mask then
    whole = make(product, tile, name) if parts == 1 else None
    if whole is not None:
        return whole
    sums = make(in_parts(product, parts), tile, f"{name}_1")
    if sums is None:
        return None if isinstance(product.right, Windows) else triton_kernel(with_sums(graph), name)
    return _one_after_another(sums, triton_kernel(graph_after_parts(product, parts), f"{name}_2"))


def _one_after_another(first: TritonKernel, second: TritonKernel) -> TritonKernel:
    """Both, where the output of the first is the last input of the second, and they share the others."""
    inputs, outputs = len(first.buffers) - 1, second.outputs
    places = (*range(inputs), inputs + outputs, *range(inputs, inputs + outputs))
    places = (*places, *range(len(places), len(second.buffers)))
    launches = (
        *(replace(x, buffers=tuple(places[number] for number in x.buffers)) for x in first.launches),
        *(replace(x, buffers=tuple(places[number] for number in x.buffers)) for x in second.launches),
    )
    buffers = tuple(second.buffers[places.index(number)] for number in range(len(places)))
    return TritonKernel(
        first.functions + second.functions, first.needs | second.needs, launches, buffers, outputs
    )
