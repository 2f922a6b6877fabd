"""C functions of single calls compute what the op's NumPy definition gives, on one thread and on several."""

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import pytest

from c.compiling import Compiled, compiled
from samples.grouping import Case, in_groups
from samples.lazy import Lazy
from samples.sample import Sample
from samples.table import SAMPLES
from samples.thinning import some_of
from support.recording import assert_same
from tracemill.compiler.backends.c.function import CFunction
from tracemill.compiler.backends.c.steps import step_function
from tracemill.compiler.builder import as_tuple
from tracemill.compiler.op import lookup
from tracemill.runtime.machine.toolchain import Toolchain

# Shapes, contracted axes, batch axes.
PRODUCTS: tuple[Any, ...] = (
    (((16, 16), (16, 16)), (1,), (0,), (), ()),
    (((13, 7), (7, 11)), (1,), (0,), (), ()),
    (((9, 33), (33,)), (1,), (0,), (), ()),
    (((33, 9), (33,)), (0,), (0,), (), ()),
    (((500, 3, 5), (500, 5, 2)), (2,), (1,), (0,), (0,)),
    (((60, 12, 3), (3, 60, 7)), (2,), (0,), (0,), (1,)),
    (((6, 9), (15, 9)), (1,), (1,), (), ()),
    (((70, 40), (40, 90)), (1,), (0,), (), ()),
)
# Shapes, dtypes of the indices, axes. Some of the indices are out of bounds.
WRITES: tuple[Any, ...] = (
    (((5, 4, 9), (700, 5, 9), (700,)), ("i64",), (1,)),
    (((3, 7, 4), (6, 70, 4), (6, 1), (70,)), ("i32", "i8"), (1, 0)),
    (((3, 7, 4), (50,), (50,), (50,), ()), ("i64", "u8", "i64"), (0, 1, 2)),
)
LARGER = (
    *(
        Sample("random_bits", ((2,), (4,)), "u32", {"shape": (size,), "dtype": np.dtype(dtype)}, "special")
        for size in (63, 64, 65, 200_001)
        for dtype in (np.uint32, np.uint64)
    ),
    Sample(
        "random_bits", ((9_000, 2), (4,)), "u32", {"shape": (5,), "dtype": np.dtype(np.uint32)}, "special"
    ),
    *(
        Sample(op, (shape,), dtype, {"axis": axis, "reverse": reverse}, domain, signed_zeros=False)
        for op in ("cumsum", "cumprod", "cummax", "cummin")
        for shape, axis in (((41_000,), 0), ((67, 1_100), 1), ((3, 40, 2_500), 1))
        for reverse in (False, True)
        for dtype, domain in (("f64", "real"), ("f32", "special"), ("i16", "special"))
    ),
    *(
        Sample(
            "sort",
            (shape, shape),
            (key, "i64"),
            {"axis": axis, "num_keys": keys, "descending": descending},
            (domain, "real"),
        )
        for shape, axis in (
            ((100,), 0),
            ((700,), 0),
            ((3, 90, 2), 1),
            ((40, 600), 1),
        )
        for key, domain in (("f64", "special"), ("f32", "real"), ("i8", "special"))
        for keys, descending in ((1, False), (2, True))
    ),
    *(
        Sample("dot", shapes, dtype, {"contract_x": cx, "contract_y": cy, "batch_x": bx, "batch_y": by})
        for number, (shapes, cx, cy, bx, by) in enumerate(PRODUCTS)
        for dtype in ("f64", "f32", "u8" if number % 2 else "i64")
    ),
    *(
        Sample("scatter", shapes, ("f64", "f64", *index_dtypes), {"axes": axes, "mode": mode}, domain="real")
        for shapes, index_dtypes, axes in WRITES
        for mode in ("set", "add", "maximum")
    ),
    *(
        Sample("top_k", (shape,), dtype, {"k": k, "axis": axis}, domain)
        for shape, axis, k in (
            ((50,), 0, 6),
            ((900,), 0, 100),
            ((3, 400, 2), 1, 20),
            ((90, 900), 1, 1),
        )
        for dtype, domain in (("f64", "special"), ("f32", "real"), ("i16", "special"))
    ),
)
"""Long enough for every way in which a function works, and for several chunks."""


def function_of(sample: Sample, name: str) -> CFunction | None:
    (call,) = sample.graph().calls
    return step_function(call, name)


def meaning(sample: Sample, arrays: list[Any]) -> tuple[Any, ...]:
    with np.errstate(all="ignore"):
        return as_tuple(lookup(sample.op).numpy(*arrays, **sample.params))


Pairs: TypeAlias = list[tuple[Sample, CFunction]]


def with_c(samples: Sequence[Sample], stem: str) -> Pairs:
    """The samples that have a C function."""
    pairs = ((sample, function_of(sample, f"{stem}_{number}")) for number, sample in enumerate(samples))
    return [(sample, function) for sample, function in pairs if function is not None]


@cache
def small_and_larger() -> tuple[Pairs, Pairs]:
    return with_c(SAMPLES, "small"), with_c(LARGER, "larger")


CHOSEN = some_of(Lazy(lambda: (sample for pairs in small_and_larger() for sample, _ in pairs)), share=0.25)
"""The others run with ``--more``."""


def cases() -> list[Case]:
    small, larger = small_and_larger()
    return [
        Case(lookup(sample.op).family, sample.id, (sample, function), is_exhaustive=sample not in CHOSEN)
        for sample, function in (*small, *larger)
    ]


@pytest.fixture(scope="module")
def steps(c_toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory, more: int) -> dict[str, Compiled]:
    found: dict[str, Compiled] = {}
    for pairs, level in zip(small_and_larger(), (0, 1), strict=True):
        functions = [function for sample, function in pairs if more > 1 or sample in CHOSEN]
        made = compiled(functions, c_toolchain, tmp_path_factory.mktemp("steps"), level=level)
        found.update((function.name, run) for function, run in zip(functions, made, strict=True))
    return found


@pytest.mark.slow
@in_groups(cases, values=2)
def test_samples_give_what_the_meaning_gives(
    sample: Sample, function: CFunction, steps: dict[str, Compiled]
) -> None:
    arrays = sample.arrays()
    expected = meaning(sample, arrays)
    for threads in (1, 2, 4):
        actual = steps[function.name](*arrays, threads=threads)[: len(expected)]
        if sample.op == "dot" and sample.floating[0]:  # NumPy's products are summed in another order
            tolerance = 100 * np.finfo(expected[0].dtype).eps
            np.testing.assert_allclose(actual[0], expected[0], tolerance, tolerance)
        elif sample.signed_zeros:
            assert_same(actual, expected)
        else:
            assert_same(
                *([np.where(x == 0, np.abs(x), x) for x in outputs] for outputs in (actual, expected))
            )
