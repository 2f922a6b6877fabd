"""Checks of indices, which have no result."""

from typing import Any

from samples.sample import Failure, Sample
from tracemill.compiler.errors import DTypeError, ShapeError


def _nothing(*inputs: Any, **params: Any) -> tuple[()]:
    return ()


SAMPLES: tuple[Sample, ...] = (
    Sample("check_index", ((4,),), "i64", {"length": 1 << 40, "axis": 0}, reference=_nothing),
    Sample("check_index", ((2, 3),), "i32", {"length": 1 << 40, "axis": 1}, reference=_nothing),
)  # fmt: skip
FAILURES: tuple[Failure, ...] = (
    Failure("check_index", ((2,),), "f64", DTypeError, "must have an integer dtype", {"length": 3, "axis": 0}),
    Failure("check_index", ((2,),), "i64", ShapeError, "cannot be", {"length": -1, "axis": 0}),
)  # fmt: skip
