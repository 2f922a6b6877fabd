"""Random bits that are a pure function of a key and a counter: Philox 4×32 with 10 rounds.

Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. The same key and
counter give the same bits on every backend and in every order of computation.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...builder import bind
from ...dtypes import DType
from ...errors import DTypeError, ShapeError
from ...ir import ArrayType, Shape, Value
from ...op import Op, not_linear, register, zero_derivative
from ..batch_axes import align_ranks, in_front
from ..elementwise.broadcasting import broadcast_shapes

FAMILY = "random"
UINT32, UINT64 = np.dtype(np.uint32), np.dtype(np.uint64)


def _random_bits_type(key: ArrayType, counter: ArrayType, shape: Shape, dtype: DType) -> ArrayType:
    if key.dtype != UINT32 or counter.dtype != UINT32 or dtype not in (UINT32, UINT64):
        raise DTypeError(
            f"random_bits is not defined for ({key}, {counter}) and results of {dtype}: it makes u32 or u64"
        )
    if key.shape[-1:] != (2,) or counter.shape[-1:] != (4,):
        raise ShapeError(f"random_bits: a key has 2 words, a counter 4; these are {key} and {counter}")
    if any(dim < 0 for dim in shape):
        raise ShapeError(f"random_bits of the shape {list(shape)}")
    streams = [ArrayType(UINT32, words.shape[:-1]) for words in (key, counter)]
    return ArrayType(dtype, (*broadcast_shapes("random_bits, keys and counters", streams), *shape))


def _random_bits_numpy(key: Any, counter: Any, shape: Any, dtype: Any) -> Any:
    size = int(np.prod(shape, dtype=int))
    words = size * (dtype.itemsize // 4)
    blocks = -(-words // 4)
    low, by_32 = np.uint64(0xFFFFFFFF), np.uint64(32)
    lead = np.broadcast_shapes(key.shape[:-1], counter.shape[:-1])
    k0, k1 = (key[..., i, None].astype(np.uint64) for i in range(2))
    c0, c1, c2, c3 = (counter[..., i, None].astype(np.uint64) for i in range(4))

    out = np.empty((*lead, blocks, 4), np.uint32)
    chunk = 8192  # what fits into a core's cache
    for first in range(0, blocks, chunk):
        last = min(first + chunk, blocks)
        count = (c0 | (c1 << by_32)) + np.arange(first, last, dtype=np.uint64)
        x0, x1, x2, x3 = count & low, count >> by_32, c2, c3
        for step in range(10):
            key0, key1 = (k0 + np.uint64(step * 0x9E3779B9)) & low, (k1 + np.uint64(step * 0xBB67AE85)) & low
            p0, p1 = x0 * np.uint64(0xD2511F53), x2 * np.uint64(0xCD9E8D57)
            x0, x1, x2, x3 = (p1 >> by_32) ^ x1 ^ key0, p1 & low, (p0 >> by_32) ^ x3 ^ key1, p0 & low
        for place, word in enumerate((x0, x1, x2, x3)):
            out[..., first:last, place] = word

    flat = out.reshape((*lead, blocks * 4))[..., :words]
    if dtype.itemsize == 8:
        flat = flat[..., 0::2].astype(np.uint64) | (flat[..., 1::2].astype(np.uint64) << by_32)
    return flat.reshape((*lead, *shape))


@in_front
def _random_bits_batch(
    inputs: tuple[Value, ...], mapped: Sequence[bool], size: int, shape: Shape, dtype: DType
) -> Value:
    """Keys and counters may have leading axes; an unmapped one serves all examples."""
    return bind("random_bits", *align_ranks(inputs, mapped), shape=shape, dtype=dtype)


register(
    Op(
        "random_bits",
        FAMILY,
        _random_bits_type,
        _random_bits_numpy,
        zero_derivative,
        not_linear,
        _random_bits_batch,
        spelling=None,
        effect=None,
        doc="Random u32 or u64 numbers of `shape`, per key u32[…, 2] and counter u32[…, 4]. Block i of four "
        "words is Philox 4×32-10 of the counter with i added to its first two words (one 64-bit number, low "
        "word first); a u64 is two words, the low one first.",
    )
)
