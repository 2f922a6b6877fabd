"""Seeds: from integers to the key of a generator, so that similar seeds give unrelated numbers."""

import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...compiler.callers.user_code import user_location
from ...compiler.errors import ArgumentTypeError, ArgumentValueError, RandomStateError
from ...compiler.nesting import shown
from ...compiler.tracing.trace import current_trace
from ...compiler.tracing.traced_memory import is_traced
from .stream import random_bits, stack_words

WORD = 0xFFFFFFFF


def key_from(seed: Any) -> Any:
    """The key u32[2] for a seed.

    The words of the seed, 32 bits each and low ones first, are absorbed two at a time: they are the key with which
    Philox encrypts the state so far, to which the result is added by exclusive or (Davies and Meyer's construction).
    An integer has at least two words, a sequence of integers is the words of each after their number.
    """
    if seed is None:
        if current_trace() is not None:
            raise RandomStateError(
                "default_rng() without a seed was called while tracing: its state would be frozen into the graph. "
                "Make the generator outside, or give a seed",
                user_location(),
            )
        seed = secrets.randbits(128)
    state = np.zeros(4, np.uint32)
    is_sequence = isinstance(seed, (list, tuple)) or (isinstance(seed, np.ndarray) and seed.ndim == 1)
    numbers = list(seed) if is_sequence else [seed]
    parts = [words_of(number) for number in numbers]
    lengths = [[len(parts) if is_sequence else 0, len(part)] for part in parts]
    for length, words in zip(lengths, parts, strict=True):
        for pair in (length, *zip(words[0::2], words[1::2], strict=True)):
            state = _absorbed(state, pair)
    return _absorbed(state, (0, 0))[:2]


def _absorbed(state: Any, pair: Sequence[Any]) -> Any:
    return state ^ random_bits(stack_words(*pair), state, (4,), np.uint32)


def words_of(number: Any) -> list[Any]:
    """The words of an integer, an even number of them."""
    dtype = getattr(number, "dtype", None)
    if is_traced(number) and number.shape == () and dtype is not None and dtype.kind in "iu":
        wide = number.astype(np.uint64)
        return [wide & np.uint64(WORD), wide >> np.uint64(32)]
    if (
        isinstance(number, bool)
        or not isinstance(number, (int, np.integer, np.ndarray))
        or (isinstance(number, np.ndarray) and (number.ndim or number.dtype.kind not in "iu"))
    ):
        raise ArgumentTypeError(
            f"a seed is None, an integer, or a sequence of integers, not {type(number).__name__}: {shown(number)}"
        )
    whole = int(number)
    if whole < 0:
        raise ArgumentValueError(f"a seed must be at least 0, not {whole}")
    count = max(2, -(-whole.bit_length() // 32))
    return [(whole >> 32 * i) & WORD for i in range(count + count % 2)]
