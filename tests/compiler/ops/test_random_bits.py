"""Random bits: the published numbers, and streams that do not depend on how they are drawn."""

from typing import Any

import numpy as np
import pytest

from samples.arrays.random import philox
from tracemill.compiler.builder import Builder, bind, recording
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import ArrayType, Graph, Value
from tracemill.passes.transforms.jvp import jvp
from tracemill.passes.transforms.vmap import vmap

U32, U64 = np.dtype(np.uint32), np.dtype(np.uint64)

# Counter, key and result: the lines "philox4x32 10" of the file kat_vectors of Random123, the authors'
# implementation of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
PUBLISHED = (
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
)


def words(text: str) -> Any:
    return np.array([int(word, 16) for word in text.split()], U32)


def bits(shape: tuple[int, ...], dtype: Any = U32) -> Graph:
    key, counter = Value(ArrayType(U32, (2,))), Value(ArrayType(U32, (4,)))
    with recording(Builder()) as builder:
        out = bind("random_bits", key, counter, shape=shape, dtype=dtype)
    return Graph("bits", (key, counter), tuple(builder.calls), (out,))


@pytest.mark.parametrize(("counter", "key", "expected"), PUBLISHED)
def test_the_bits_are_the_published_ones(counter: str, key: str, expected: str) -> None:
    (out,) = evaluate(bits((4,)), words(key), words(counter))
    np.testing.assert_array_equal(out, words(expected))
    assert philox([int(w) for w in words(counter)], [int(w) for w in words(key)]) == out.tolist()


def test_a_short_draw_is_the_beginning_of_a_long_one() -> None:
    key, counter = words("1 2"), words("fffffffe ffffffff 3 4")
    (long,) = evaluate(bits((200, 300)), key, counter)  # more blocks than are made at a time
    for shape in ((1,), (7,), (3, 5)):
        (short,) = evaluate(bits(shape), key, counter)
        np.testing.assert_array_equal(short.reshape(-1), long.reshape(-1)[: short.size])
    (wide,) = evaluate(bits((30_000,), U64), key, counter)
    low, high = long.reshape(-1, 2).astype(U64).T
    np.testing.assert_array_equal(wide, low + high * 2**32)


def test_blocks_far_into_a_draw_count_on() -> None:
    key, counter = words("1 2"), words("0 0 3 4")
    (out,) = evaluate(bits((4 * 40_000,)), key, counter)
    for block in (8191, 8192, 39_999):
        np.testing.assert_array_equal(out[4 * block : 4 * block + 4], philox([block, 0, 3, 4], [1, 2]))


def test_a_mapped_key_gives_each_example_its_own_stream() -> None:
    keys, counter = np.arange(6, dtype=U32).reshape(3, 2), words("0 0 0 0")
    (out,) = evaluate(vmap(bits((5,)), in_axes=[0, None], size=3, out_axes=[0]), keys, counter)
    for row, key in zip(out, keys, strict=True):
        np.testing.assert_array_equal(row, evaluate(bits((5,)), key, counter)[0])
    assert len(np.unique(out)) == out.size


def test_random_bits_have_no_tangent() -> None:
    assert len(jvp(bits((3,))).outputs) == 1
