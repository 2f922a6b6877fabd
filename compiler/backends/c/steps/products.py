"""Sums of products in C: by loops for tiny matrices and for integers, by panels, and by blocks for large ones."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from string import Template

from ....dtypes import FLOAT32, FLOAT64
from ....ir import Call, Extent
from ....params import ints_param
from ....symbolic_size import SymbolicSize, is_known, is_one
from ..function import CFunction
from ..parameters import memory_type, parameters
from ..sizes import factor_text, names_in_call, scaled
from ..threads.shared_loop import names
from ..types import element_type
from . import blocks, panels
from .chunks import chunk_size, over_chunks
from .product_loops import Product, Side

FLOATS = (FLOAT32, FLOAT64)

SMALL = 16
"""Products of matrices with at most this many rows and columns are loops without memory of their own."""

TINY = 4
"""The same if the rows of the right matrix have to be collected from its columns."""

AT_RUN_TIME = 64
"""The same for sizes that are not known before."""

_BY_SIZE = Template("""\
static void $name($parameters, long threads)
{
    if ($small)
        $here($taken, threads);
    else
        $blocked($given, threads);
}
""")


def dot(call: Call, name: str) -> CFunction | None:
    """The C function of a call of ``dot``; None for complex and two-byte numbers."""
    x, y = call.inputs
    dtype = x.dtype
    left = Side(0, x.shape, ints_param(call, "batch_x", ()), ints_param(call, "contract_x"))
    right = Side(1, y.shape, ints_param(call, "batch_y", ()), ints_param(call, "contract_y"))
    length = math.prod(x.shape[axis] for axis in left.contract)
    flops = left.entries * right.entries * length
    is_small = is_known(flops <= (SMALL if right.is_dense else TINY) ** 3)
    if dtype.kind in "iu" or (dtype in FLOATS and is_small):
        return _by_loops(call, name, left, right, length)
    if dtype not in FLOATS:
        return None
    large, small = (right, left) if _is_better_turned(left, right, length) else (left, right)
    if panels.is_for_panels(large, small, length, dtype.itemsize):
        return _by_panels(call, name, large, small, length)
    if not isinstance(flops, SymbolicSize):
        return _by_blocks(call, name, left, right, length)
    here = _by_loops(call, f"{name}_here", left, right, length)
    return _by_size(name, here, _by_blocks(call, f"{name}_blocked", left, right, length), left, right, length)


def _is_better_turned(left: Side, right: Side, length: Extent) -> bool:
    """Whether to compute the transposed product, since its right matrix is smaller. Its entries are then stored apart
    from each other, which matters if their sums are short."""
    return is_known(left.entries < right.entries) and is_known(left.entries < length)


def _by_loops(call: Call, name: str, left: Side, right: Side, length: Extent) -> CFunction:
    """The C function of a product by loops over its entries, or over tiles of them."""
    if is_one(right.entries):  # one column: the transposed product has all entries in one row
        left, right = right, left
    dtype, out = call.inputs[0].dtype, call.outputs[0].type
    product = Product(name, element_type(dtype), dtype.itemsize, left, right, length)
    inputs, outputs = tuple(value.type for value in call.inputs), (out,)
    sizes = names_in_call(call)
    declared = parameters(inputs, outputs, sizes=sizes)
    along_both = left.offset(left.contract, "k") == right.offset(right.contract, "k") == "k"
    by_entries = along_both and not is_known(length < 4) and right.offset(right.free, "j") != "j"
    height = 1 if by_entries else product.height
    batches = math.prod(left.shape[axis] for axis in left.batch)
    items = batches * ((left.entries + (height - 1)) // height)
    work = 1 + scaled(out.size * length, dtype.itemsize / 64) + batches * left.entries
    text = (product.by_entries if by_entries else product.by_tiles)(", ".join(declared))
    text += over_chunks(name, declared, items, chunk_size(items, work), out.size)
    return CFunction(name, text, inputs, outputs, frozenset(), work, sizes=sizes)


def _by_panels(call: Call, name: str, large: Side, small: Side, length: Extent) -> CFunction:
    """The C function of a product whose smaller matrix is narrow or small."""
    itemsize = call.inputs[0].dtype.itemsize
    batches = math.prod(large.shape[axis] for axis in large.batch)
    nbytes = panels.memory_bytes(batches, small.entries, length, itemsize)

    def text(product: Product, declared: Sequence[str], memory: str) -> str:
        texts = product.texts(", ".join(declared))
        return panels.panels_text(texts, declared, large, small, length, memory, itemsize)

    return _with_memory(call, name, large, small, length, nbytes, text)


def _by_blocks(call: Call, name: str, left: Side, right: Side, length: Extent) -> CFunction:
    """The C function of a large product."""
    itemsize = call.inputs[0].dtype.itemsize
    behind, nbytes = blocks.memory_bytes(left.entries, right.entries, length, itemsize)
    batches = math.prod(left.shape[axis] for axis in left.batch)

    def text(product: Product, declared: Sequence[str], memory: str) -> str:
        texts, sizes = product.texts(", ".join(declared)), names_in_call(call)
        return blocks.blocked_text(
            texts, declared, left.entries, length, memory, behind, batches, itemsize, sizes
        )

    return _with_memory(call, name, left, right, length, nbytes, text)


def _with_memory(
    call: Call,
    name: str,
    left: Side,
    right: Side,
    length: Extent,
    nbytes: Extent,
    text: Callable[[Product, Sequence[str], str], str],
) -> CFunction:
    """A C function that packs matrices into this many bytes."""
    dtype, out = call.inputs[0].dtype, call.outputs[0].type
    inputs, outputs = tuple(value.type for value in call.inputs), (out, memory_type(nbytes))
    sizes = names_in_call(call)
    declared = parameters(inputs, outputs, sizes=sizes)
    product = Product(name, element_type(dtype), dtype.itemsize, left, right, length)
    work = 1 + scaled(out.size * length, dtype.itemsize / 256)
    return CFunction(name, text(product, declared, "out1"), inputs, outputs, frozenset(), work, sizes=sizes)


def _by_size(
    name: str, here: CFunction, blocked: CFunction, left: Side, right: Side, length: Extent
) -> CFunction:
    """The function of a product that is large for some sizes, and for others small or as thin as a vector."""
    counts = [left.entries, right.entries, length]
    small = [f"{' * '.join(map(factor_text, counts))} <= {AT_RUN_TIME**3}"]
    small += [f"{factor_text(count)} == 1" for count in counts if isinstance(count, SymbolicSize)]
    declared = parameters(blocked.inputs, blocked.outputs, sizes=blocked.sizes)
    text = _BY_SIZE.substitute(
        name=name,
        parameters=", ".join(declared),
        small=" || ".join(small),
        here=here.name,
        taken=", ".join(names(parameters(here.inputs, here.outputs, sizes=here.sizes))),
        blocked=blocked.name,
        given=", ".join(names(declared)),
    )
    return replace(blocked, name=name, text="\n".join([here.text, blocked.text, text]), work=here.work)
