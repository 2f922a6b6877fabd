"""Sums of products in C: matrices too small for a call of BLAS, and integers, which BLAS does not support."""

import math
from dataclasses import replace
from string import Template

from ....ir import Call, Extent
from ....params import ints_param
from ....symbolic_size import SymbolicSize, is_known, is_one
from ..blas import OF_DTYPE
from ..function import CFunction, COptions
from ..parameters import memory_type, parameters
from ..sizes import factor_text, names_in_call, scaled
from ..threads.shared_loop import names
from ..types import element_type
from .blocks import blocked_text, memory_bytes
from .chunks import chunk_size, over_chunks
from .product_loops import Product, Side
from .stacks import is_for_threads, stack_text

SMALL = 16
"""Matrix products with at most this many rows and columns are computed in C."""

LARGE = 1 << 20
"""Multiplications of a product for which blocks in C are faster than a BLAS with vectors of half the size."""

PER_PACKED = 16
"""Blocks are packed first: with fewer multiplications per packed number, that takes longer than wide vectors save."""

_BY_SIZE = Template("""\
static void $name($parameters, long threads)
{
    if ($small)
        $here($taken, threads);
    else
        $blocked($given, threads);
}
""")

IN_LOOP = 64
"""In a C loop, a NumPy call would turn it into a Python loop, so that larger products pay off in C. Above this, C
calls BLAS if possible."""

_BY_BLAS = Template("""\
static void $name($parameters, long threads)
{
    if (!tm_blas$without) {
        ${name}_here($arguments, threads);
        return;
    }
    for (long batch = 0; batch < $count; batch++)
        $multiply($turned, $right_turned, $rows, $columns, $length, x$left + ($left_batch), $left_apart,
                  x$right + ($right_batch), $right_apart, out0 + batch * $size);
}
""")


DEFAULT = COptions()


def dot(call: Call, name: str, *, in_loop: bool = False, options: COptions = DEFAULT) -> CFunction | None:
    """The C function of a call of ``dot``, which calls BLAS for large products in a loop if possible."""
    x, y = call.inputs
    dtype = x.dtype
    batch = [x.shape[axis] for axis in ints_param(call, "batch_x", ())]
    sides = [
        Side(0, x.shape, ints_param(call, "batch_x", ()), ints_param(call, "contract_x")),
        Side(1, y.shape, ints_param(call, "batch_y", ()), ints_param(call, "contract_y")),
    ]
    if is_one(sides[1].entries):  # one column: the transposed product has all entries in one row
        sides.reverse()
    left, right = sides
    length = math.prod(x.shape[axis] for axis in ints_param(call, "contract_x"))
    flops = left.entries * right.entries * length
    if dtype.kind not in "iu" and dtype.name not in OF_DTYPE:
        return None
    is_thin = any(
        map(is_one, (left.entries, right.entries, length))
    )  # it takes as long as reading it, with or without BLAS
    is_small = is_known(flops <= (IN_LOOP if in_loop else SMALL) ** 3)
    is_large = dtype.kind == "f" and not is_small and not (in_loop and is_thin)
    has_sizes = isinstance(math.prod(batch) * flops, SymbolicSize)
    by_own = options.wider_than_blas and is_large and is_faster_in_blocks(left.entries, right.entries, length)
    is_blas = is_large and not by_own and left.is_even and right.is_even
    by_threads = (
        is_blas
        and options.blas_on_thread
        and not (is_thin or is_known(math.prod(batch) <= 1))
        and is_for_threads(left.entries, right.entries, length)
    )
    by_blas = by_threads or (is_blas and in_loop and options.blas)
    if is_large and not by_blas and not by_own and not options.alone:
        return None
    by_blocks = is_large and not is_thin and not by_blas
    if by_blocks and not has_sizes:
        return _blocked(call, name, left, right, length)
    whole, name = name, f"{name}_here" if by_blas or by_blocks else name
    product = Product(name, element_type(dtype), dtype.itemsize, left, right, length)
    inputs, outputs = tuple(value.type for value in call.inputs), (call.outputs[0].type,)
    sizes = names_in_call(call)
    declared = parameters(inputs, outputs, sizes=sizes)
    along_both = left.offset(left.contract, "k") == right.offset(right.contract, "k") == "k"
    by_entries = along_both and not is_known(length < 4) and right.offset(right.free, "j") != "j"
    height = 1 if by_entries else product.height
    items = math.prod(batch) * ((left.entries + (height - 1)) // height)
    work = 1 + scaled(math.prod(batch) * flops, dtype.itemsize / 64) + math.prod(batch) * left.entries
    text = (product.by_entries if by_entries else product.by_tiles)(", ".join(declared))
    text += over_chunks(name, declared, items, chunk_size(items, work), outputs[0].size)
    if by_blas:
        texts = product.texts(", ".join(declared)) | {
            "name": whole,
            "arguments": ", ".join(names(declared)),
            "turned": left.text_of_transposed(left.contract),
            "left_apart": factor_text(left.apart),
            "right_turned": right.text_of_transposed(right.free),
            "right_apart": factor_text(right.apart),
            "size": factor_text(left.entries * right.entries),
        }
        if by_threads:
            text += "\n" + stack_text(texts, declared, math.prod(batch), math.prod(batch) * flops, dtype.name)
            work = 1 + scaled(math.prod(batch) * flops, dtype.itemsize / 256)
        else:
            text += "\n" + _BY_BLAS.substitute(
                texts,
                count=factor_text(math.prod(batch)),
                without="" if is_known(flops >= 1) else f" || {factor_text(flops)} == 0",
                multiply=OF_DTYPE[dtype.name],
            )
    here = CFunction(name, text, inputs, outputs, frozenset(), work, sizes=sizes)
    if not by_blocks:
        return replace(here, name=whole)
    return _by_size(whole, here, _blocked(call, f"{whole}_blocked", left, right, length), left, right, length)


def is_faster_in_blocks(rows: Extent, columns: Extent, length: Extent) -> bool:
    """Whether a product in C takes less time than in a BLAS with vectors of half the size. Unknown sizes may be too
    short for that."""
    has_sizes = isinstance(rows * columns * length, SymbolicSize)
    is_large = not has_sizes and rows * columns * length >= LARGE
    return is_large and rows * columns >= PER_PACKED * (rows + columns)


def _by_size(
    name: str, here: CFunction, blocked: CFunction, left: Side, right: Side, length: Extent
) -> CFunction:
    """The function of a product that is large for some sizes, and for others small or as thin as a vector."""
    counts = [left.entries, right.entries, length]
    small = [f"{' * '.join(map(factor_text, counts))} <= {IN_LOOP**3}"]
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


def _blocked(call: Call, name: str, left: Side, right: Side, length: int) -> CFunction:
    """The C function of a large product without BLAS."""
    dtype, out = call.inputs[0].dtype, call.outputs[0].type
    product = Product(name, element_type(dtype), dtype.itemsize, left, right, length)
    inputs = tuple(value.type for value in call.inputs)
    behind, nbytes = memory_bytes(left.entries, right.entries, length, dtype.itemsize)
    outputs = (out, memory_type(nbytes))
    batches = math.prod(left.shape[axis] for axis in left.batch)
    sizes = names_in_call(call)
    declared = parameters(inputs, outputs, sizes=sizes)
    texts = product.texts(", ".join(declared))
    text = blocked_text(texts, declared, left.entries, "out1", behind, batches, dtype.itemsize, sizes)
    work = 1 + scaled(batches * left.entries * right.entries * length, dtype.itemsize / 256)
    return CFunction(name, text, inputs, outputs, frozenset(), work, sizes=sizes)
