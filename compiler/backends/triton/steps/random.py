"""Random bits: each program computes blocks of Philox 4×32-10, which give four words each."""

import math
from string import Template

from ....ir import Call
from ....params import dtype_param, ints_param
from ....symbolic_size import assume, is_known, is_one, is_symbolic_shape, quotient
from ..kernels.assumed import pieces
from ..kernels.kernel import TritonKernel
from .places import broadcast_place, counting
from .step_writer import StepWriter

BLOCKS = 512
"""A program computes this many blocks of four words."""

_RANDOM_BITS = Template("""\
@triton.jit
def $name($parameters):
    first = tl.program_id(0)$wide * $blocks
    block = tl.minimum(first + tl.arange(0, $blocks), $last_block)
    stream = $stream
    key = key_ptr + $key
    counter = counter_ptr + $counter
    start = tl.load(counter).to(tl.uint64) | (tl.load(counter + 1).to(tl.uint64) << 32)
    count = start + ($number).to(tl.uint64)
    top0 = tl.broadcast_to(tl.load(counter + 2), ($blocks,))
    top1 = tl.broadcast_to(tl.load(counter + 3), ($blocks,))
    key0 = tl.load(key)
    key1 = tl.load(key + 1)
    a, b, c, d = tm_philox(count.to(tl.uint32), (count >> 32).to(tl.uint32), top0, top1, key0, key1)
$joined
    at = first * $per_block + tl.arange(0, $numbers)
$stored
""")

_WORDS = f"    numbers = tl.reshape(tl.join(tl.join(a, c), tl.join(b, d)), ({4 * BLOCKS},))"
_PAIRS = f"""\
    low = a.to(tl.uint64) | (b.to(tl.uint64) << 32)
    high = c.to(tl.uint64) | (d.to(tl.uint64) << 32)
    numbers = tl.reshape(tl.join(low, high), ({2 * BLOCKS},))"""

_IN_STREAMS = Template("""\
    within = at % $padded
    tl.store(out_ptr + at // $padded * $size + within, numbers, mask=(at < $total) & (within < $size))""")
_IN_A_ROW = Template("""\
    if first + $blocks <= $full_blocks:  # without a mask several numbers are stored at once
        tl.store(out_ptr + at, numbers)
    else:
        tl.store(out_ptr + at, numbers, mask=at < $size)""")


def random_bits(call: Call, name: str) -> TritonKernel:
    """The kernel of a call of ``random_bits``."""
    key, counter = call.inputs
    (out,) = call.outputs
    is_wide = dtype_param(call).itemsize == 8
    size, per_block = math.prod(ints_param(call, "shape")), 2 if is_wide else 4
    lead = out.shape[: out.ndim - len(ints_param(call, "shape"))]
    streams = math.prod(lead)
    is_in_a_row = is_one(streams) or assume(size % per_block == 0)
    is_full = is_known(size % per_block == 0)
    per_stream = quotient(size, per_block) if is_full else pieces(size, per_block)
    blocks, stream = streams * per_stream, counting("stream", streams)
    writer = StepWriter(call)
    sizes = writer.sizes(blocks * per_block)
    shown = sizes.factor(per_stream)
    # Compilers can prove that the only stream has all blocks if they know how many there are.
    is_alone = is_one(streams) and is_symbolic_shape((per_stream,))
    texts = {
        "name": name,
        "wide": sizes.wide,
        "blocks": BLOCKS,
        "last_block": sizes.text(blocks - 1),
        "stream": "0" if is_alone else f"block // {shown}",
        "number": "block" if is_alone else f"block % {shown}",
        "key": sizes.place(broadcast_place(key.shape[:-1], lead, stream) * 2),
        "counter": sizes.place(broadcast_place(counter.shape[:-1], lead, stream) * 4),
        "joined": _PAIRS if is_wide else _WORDS,
        "numbers": per_block * BLOCKS,
        "per_block": per_block,
    }
    if is_in_a_row:
        full_blocks = sizes.text(quotient(streams * size, per_block))
        stored = _IN_A_ROW.substitute(blocks=BLOCKS, full_blocks=full_blocks, size=sizes.text(streams * size))
    else:
        places = {"padded": per_block * per_stream, "size": size, "total": blocks * per_block}
        stored = _IN_STREAMS.substitute({key: sizes.factor(place) for key, place in places.items()})
    parameters = sizes.parameters("key_ptr, counter_ptr, out_ptr")
    writer.function(_RANDOM_BITS.substitute(texts, stored=stored, parameters=parameters))
    writer.launch(name, pieces(blocks, BLOCKS), 4, (0, 1, writer.output(0)), numbers=sizes.given)
    return writer.kernel()
