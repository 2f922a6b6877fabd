"""Random bits of a key and a counter."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from samples.sample import Failure, Points, Sample
from tracemill.compiler.dtypes import dtype_named
from tracemill.compiler.errors import DTypeError, ShapeError
from tracemill.compiler.ir import Shape

WORD = 2**32


def philox(counter: list[int], key: list[int]) -> list[int]:
    """Philox 4×32-10 in Python's integers, as in section 4.3 of Salmon et al., SC 2011."""
    c, k = list(counter), list(key)
    for _ in range(10):
        high_0, low_0 = divmod(0xD2511F53 * c[0], WORD)
        high_1, low_1 = divmod(0xCD9E8D57 * c[2], WORD)
        c = [high_1 ^ c[1] ^ k[0], low_1, high_0 ^ c[3] ^ k[1], low_0]
        k = [(k[0] + 0x9E3779B9) % WORD, (k[1] + 0xBB67AE85) % WORD]
    return c


def _words(counter: list[int], key: list[int]) -> Iterator[int]:
    block = counter[0] + WORD * counter[1]
    while True:
        yield from philox([block % WORD, block // WORD % WORD, *counter[2:]], key)
        block += 1


def _random_bits(key: Any, counter: Any, shape: Shape, dtype: Any) -> Any:
    lead = np.broadcast_shapes(key.shape[:-1], counter.shape[:-1])
    keys, counters = np.broadcast_to(key, (*lead, 2)), np.broadcast_to(counter, (*lead, 4))
    out = np.empty((*lead, *shape), dtype)
    for at in np.ndindex(*lead):
        words = _words([int(c) for c in counters[at]], [int(k) for k in keys[at]])
        numbers = []
        for _ in range(int(np.prod(shape, dtype=int))):
            low = next(words)
            numbers.append(low + WORD * next(words) if dtype.itemsize == 8 else low)
        out[at] = np.array(numbers, dtype).reshape(shape)
    return out


U32, U64 = dtype_named("u32"), dtype_named("u64")
KEY = Points((0xA4093822, 0x299F31D0, 7, 0, 1, 2))
COUNTER = Points((0xFFFFFFFF, 0, 5, 0, 0xFFFFFFFF, 0xFFFFFFFF, 1, 2))  # the next block carries


def _sample(shape: Shape, dtype: Any, key: Shape = (2,), counter: Shape = (4,), **more: Any) -> Sample:
    params = {"shape": shape, "dtype": dtype}
    domain = more.pop("domain", (KEY, COUNTER))
    return Sample("random_bits", (key, counter), "u32", params, domain, reference=_random_bits, **more)


SAMPLES: tuple[Sample, ...] = (
    *(_sample(shape, dtype) for shape in ((), (1,), (4,), (9,), (2, 3), (0, 2)) for dtype in (U32, U64)),
    _sample((3,), U32, domain="real"),
    _sample((5,), U32, (3, 2)),
    _sample((5,), U64, (2,), (2, 4)),
    _sample((2, 2), U32, (3, 1, 2), (2, 4)),
    _sample((3,), U32, (0, 2)),
    *(_sample((6,), U32, (3, 2), (3, 4), layout=layout) for layout in ("reversed", "strided", "fortran")),
)
FOUR = {"shape": (4,), "dtype": U32}
FAILURES: tuple[Failure, ...] = (
    Failure("random_bits", ((2,), (4,)), "u64", DTypeError, "not defined for", FOUR),
    Failure(
        "random_bits",
        ((2,), (4,)),
        "u32",
        DTypeError,
        "it makes u32 or u64",
        {**FOUR, "dtype": dtype_named("f64")},
    ),
    Failure("random_bits", ((3,), (4,)), "u32", ShapeError, "a key has 2 words", FOUR),
    Failure("random_bits", ((2,), ()), "u32", ShapeError, "a counter 4", FOUR),
    Failure("random_bits", ((2, 2), (3, 4)), "u32", ShapeError, "do not broadcast", FOUR),
    Failure(
        "random_bits", ((2,), (4,)), "u32", ShapeError, "random_bits of the shape", {**FOUR, "shape": (-1,)}
    ),
)
