"""Random bits in C: sixteen blocks of Philox 4×32-10 at a time, in the lanes of vector registers."""

import math
from string import Template

from ....ir import Call
from ....params import dtype_param, ints_param
from ....symbolic_size import is_known, is_one
from ..function import CFunction
from ..parameters import parameters
from ..sizes import factor_text, names_in_call
from .chunks import chunk_size, over_chunks
from .offsets import broadcast_offset

LANES = 16

_ROUNDS = Template("""\
#pragma omp simd
        for (int lane = 0; lane < $lanes; lane++) {
            const uint64_t count = $count;
            uint64_t a = (uint32_t)count, b = count >> 32, c = $c, d = $d;
            uint32_t key0 = $key0, key1 = $key1;
#pragma GCC unroll 10
            for (int cipher_round = 0; cipher_round < 10; cipher_round++) {
                const uint64_t p = (a & 0xFFFFFFFFu) * 0xD2511F53u, q = (c & 0xFFFFFFFFu) * 0xCD9E8D57u;
                a = (q >> 32) ^ b ^ key0, b = q & 0xFFFFFFFFu;
                c = (p >> 32) ^ d ^ key1, d = p & 0xFFFFFFFFu;
                key0 += 0x9E3779B9u, key1 += 0xBB67AE85u;
            }
            words[2 * lane] = a | b << 32, words[2 * lane + 1] = c | d << 32;
        }
""")

_LONG = Template("""\
// Philox 4x32-10: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
static void ${name}_chunk($parameters, long begin, long end)
{
    for (long group = begin; group < end; group++) {
        const long stream = group / $groups, first = group % $groups * $lanes;
        const uint32_t *key = x0 + 2 * ($key), *counter = x1 + 4 * ($counter);
        const uint64_t start = (counter[0] | (uint64_t)counter[1] << 32) + (uint64_t)first;
        uint64_t words[2 * $lanes];
$rounds
        const long left = $size - first * $per_block;
        $type *out = out0 + stream * $size + first * $per_block;
        if (left >= $per_block * $lanes)
            for (int i = 0; i < 2 * $lanes; i++)
                $whole;
        else
            for (int i = 0; i < left; i++)
                out[i] = $word;
    }
}
""")

_SHORT = Template("""\
// Philox 4x32-10: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
static void ${name}_chunk($parameters, long begin, long end)
{
    for (long group = begin; group < end; group++) {
        const long first = group * $lanes, lanes = first + $lanes < $blocks ? $lanes : $blocks - first;
        uint64_t counts[$lanes] = {0}, words[2 * $lanes];
        uint32_t keys[2][$lanes] = {{0}}, tops[2][$lanes] = {{0}};
        for (int lane = 0; lane < lanes; lane++) {
            const long stream = (first + lane) / $per_stream;
            const uint32_t *key = x0 + 2 * ($key), *counter = x1 + 4 * ($counter);
            counts[lane] = (counter[0] | (uint64_t)counter[1] << 32) + (uint64_t)((first + lane) % $per_stream);
            tops[0][lane] = counter[2], tops[1][lane] = counter[3];
            keys[0][lane] = key[0], keys[1][lane] = key[1];
        }
$rounds
        for (int lane = 0; lane < lanes; lane++) {
            const long stream = (first + lane) / $per_stream, block = (first + lane) % $per_stream;
            $type *out = out0 + stream * $size + block * $per_block;
            for (int at = 0; at < $per_block && block * $per_block + at < $size; at++) {
                const int i = lane * $per_block + at;
                out[at] = $word;
            }
        }
    }
}
""")


def random_bits(call: Call, name: str) -> CFunction | None:
    """The C function of a call of ``random_bits``.

    The lanes are blocks of one stream, or of several if streams are shorter.
    """
    wide = dtype_param(call).itemsize == 8
    size = math.prod(ints_param(call, "shape"))
    per_block = 2 if wide else 4
    per_stream = (size + (per_block - 1)) // per_block
    inputs, outputs = tuple(value.type for value in call.inputs), (call.outputs[0].type,)
    lead = outputs[0].shape[: outputs[0].ndim - len(ints_param(call, "shape"))]
    streams = math.prod(lead)
    groups = (per_stream + (LANES - 1)) // LANES
    long = not is_known(per_stream < LANES) or is_one(streams)
    items = streams * groups if long else (streams * per_stream + (LANES - 1)) // LANES
    work = 1 + (32 if long else 70) * items
    sizes = names_in_call(call)
    declared = parameters(inputs, outputs, sizes=sizes)
    text = (_LONG if long else _SHORT).substitute(
        name=name,
        parameters=", ".join(declared),
        rounds=_ROUNDS.substitute(_SHARED if long else _OWN, lanes=LANES),
        lanes=LANES,
        groups=factor_text(groups),
        blocks=factor_text(streams * per_stream),
        per_stream=factor_text(per_stream),
        per_block=per_block,
        size=factor_text(size),
        key=broadcast_offset(inputs[0].shape[:-1], lead, "stream"),
        counter=broadcast_offset(inputs[1].shape[:-1], lead, "stream"),
        type="uint64_t" if wide else "uint32_t",
        word="words[i]" if wide else "(uint32_t)(words[i / 2] >> i % 2 * 32)",
        whole="out[i] = words[i]" if wide else _HALVES,
    )
    driver = over_chunks(name, declared, items, chunk_size(items, work), outputs[0].size)
    return CFunction(name, text + driver, inputs, outputs, frozenset(), work, sizes=sizes)


_SHARED = {
    "count": "start + (uint64_t)lane",
    "c": "counter[2]",
    "d": "counter[3]",
    "key0": "key[0]",
    "key1": "key[1]",
}
_OWN = {
    "count": "counts[lane]",
    "c": "tops[0][lane]",
    "d": "tops[1][lane]",
    "key0": "keys[0][lane]",
    "key1": "keys[1][lane]",
}
_HALVES = "out[2 * i] = (uint32_t)words[i], out[2 * i + 1] = (uint32_t)(words[i] >> 32)"
