"""Sums, extremes and exchanges over the examples of a batch, as one example sees them if all are alike."""

from typing import Any

import numpy as np

from samples.sample import Failure, Points, Sample
from tracemill.compiler.errors import DTypeError, ShapeError
from tracemill.compiler.ir import Shape

COUNT = 3
AXIS = {"axis": "i", "count": COUNT}
INDEX = Points((1,))
CYCLE = {"sources": (2, 0, 1)}
SHIFT = {"sources": (-1, 0, 1)}


def _gathered(index: Any, x: Any, axis: str, count: int) -> Any:
    return np.stack([x] * count)


def _scattered(index: Any, x: Any, axis: str, count: int) -> Any:
    return np.sum([x] * count, axis=0)[int(index)]


def collective(op: str, dtypes: str, *shapes: Shape, reference: Any, **params: Any) -> list[Sample]:
    return [
        Sample(
            op,
            ((), shape),
            ("i64", dtype),
            {**AXIS, **params},
            (INDEX, "real"),
            reference=reference,
            widened=False,
            ulps=4,
            coupled=True,
        )
        for shape in shapes
        for dtype in dtypes.split()
    ]


def _refusals(op: str, **params: Any) -> list[Failure]:
    return [
        Failure(
            op,
            ((), (3,)),
            ("f64", "f64"),
            DTypeError,
            f"{op} over 'i' is not defined for",
            {**AXIS, **params},
        ),
        Failure(op, ((2,), (3,)), ("i64", "f64"), DTypeError, "is not defined for", {**AXIS, **params}),
    ]


NUMBERS = "f64 f32 c128 i64"
SAMPLES: tuple[Sample, ...] = (
    *collective(
        "psum", NUMBERS, (), (2, 4), reference=lambda index, x, axis, count: np.sum([x] * count, axis=0)
    ),
    *collective("pmax", "f64 f32 i64 bool", (), (2, 4), reference=lambda index, x, axis, count: x),
    *collective("pmin", "f64 f32 i64 bool", (), (2, 4), reference=lambda index, x, axis, count: x),
    *collective("all_gather", f"{NUMBERS} bool", (), (2,), reference=_gathered),
    *collective("psum_scatter", NUMBERS, (3,), (3, 2), reference=_scattered),
    *collective("ppermute", f"{NUMBERS} bool", (), (2,), reference=lambda index, x, **params: x, **CYCLE),
    *collective("ppermute", NUMBERS, (2,), reference=lambda index, x, **params: x, **SHIFT),
)
FAILURES: tuple[Failure, ...] = (
    *(failure for op in ("psum", "pmax", "pmin", "all_gather", "psum_scatter") for failure in _refusals(op)),
    *_refusals("ppermute", **CYCLE),
    Failure("psum", ((), (3,)), ("i64", "bool"), DTypeError, "psum over 'i' is not defined for", AXIS),
    Failure("psum_scatter", ((), (2,)), ("i64", "f64"), ShapeError, "needs an entry for each in front", AXIS),
    Failure(
        "ppermute", ((), (2,)), ("i64", "f64"), ShapeError, "not different", {**AXIS, "sources": (0, 0, 1)}
    ),
    Failure(
        "ppermute", ((), (2,)), ("i64", "f64"), ShapeError, "not different", {**AXIS, "sources": (0, 3, 1)}
    ),
)
