"""`Stream`: the random bits of one draw, and uniform numbers made from them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...compiler.numpy_surface.ufuncs.eager_ops import apply_op
from ...compiler.tracing.traced_memory import is_traced

Size = tuple[int, ...]

BYTES_PER_BLOCK = 16


def random_bits(key: Any, counter: Any, shape: Size, dtype: Any) -> Any:
    """The op with that name, for NumPy arrays and traced arrays."""
    (bits,) = apply_op("random_bits", key, counter, shape=shape, dtype=np.dtype(dtype))
    return bits


def stack_words(*words: Any) -> Any:
    """Integers, traced or not, as an array of u32."""
    return np.stack([word.astype(np.uint32) if is_traced(word) else np.uint32(word) for word in words])


def blocks(count: int, dtype: Any) -> int:
    """How many blocks of the generator `count` numbers of random bits with this dtype take."""
    size = int(np.dtype(dtype).itemsize)
    return -(-count * size // BYTES_PER_BLOCK)


def bits_of(dtype: Any) -> Any:
    """The dtype of the random bits for a number of this dtype: as wide, and at least 32."""
    return np.uint64 if np.dtype(dtype).itemsize == 8 else np.uint32


@dataclass(frozen=True, slots=True)
class Stream:
    """The position of one draw in the numbers of a generator.

    The four words of Philox's counter are the number of the block (64 bits), the index of the example for which a
    mapped function draws (0 if there is none), and the attempt, which a rejection sampler counts from 0. So a draw's
    use of the stream never depends on values.
    """

    key: Any
    start: Any
    """The number of the first block: u64."""
    index: Any
    attempt: Any = 0

    def bits(self, shape: Size, dtype: Any) -> Any:
        """Random bits from the start of the stream."""
        low, high = self.start & np.uint64(0xFFFFFFFF), self.start >> np.uint64(32)
        return random_bits(self.key, stack_words(low, high, self.index, self.attempt), shape, dtype)

    def uniform(self, shape: Size, dtype: Any) -> Any:
        """Multiples of 2⁻⁵³, or of 2⁻²⁴ for float32, in [0, 1)."""
        bits = self.bits(shape, bits_of(dtype))
        shift, step = (11, 2.0**-53) if bits.dtype == np.uint64 else (8, 2.0**-24)
        return (bits >> bits.dtype.type(shift)).astype(dtype) * np.dtype(dtype).type(step)

    def between(self, shape: Size, dtype: Any) -> Any:
        """The midpoints of 2⁵² intervals, or of 2²³ for float32: in (0, 1), symmetric about 1/2."""
        return between(self.bits(shape, bits_of(dtype)), dtype)

    def trying(self, attempt: Any) -> "Stream":
        """The same position in the stream, for another attempt."""
        return Stream(self.key, self.start, self.index, attempt)


def between(bits: Any, dtype: Any) -> Any:
    """Random bits as numbers in (0, 1)."""
    shift, step = (12, 2.0**-52) if bits.dtype == np.uint64 else (9, 2.0**-23)
    one = np.dtype(dtype).type
    return ((bits >> bits.dtype.type(shift)).astype(dtype) + one(0.5)) * one(step)
