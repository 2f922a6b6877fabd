"""Arrays out of nothing."""

from typing import Any

import numpy as np

from samples.sample import Failure, Sample
from tracemill.compiler.dtypes import dtype_named, dtype_names
from tracemill.compiler.errors import DTypeError, ShapeError


def _reference(length: int, dtype: Any) -> Any:
    return np.array(list(range(length))).astype(dtype)


def _size_reference(of: int) -> Any:
    return np.array(of)


SAMPLES: tuple[Sample, ...] = tuple(
    Sample("iota", (), (), {"length": length, "dtype": dtype_named(name)}, reference=_reference)
    for name in dtype_names()
    if name != "bool"
    for length in (0, 1, 5, 100)
) + tuple(Sample("size", (), (), {"of": of}, reference=_size_reference) for of in (-3, 0, 1, 100))
FAILURES = (
    Failure(
        "iota",
        (),
        (),
        ShapeError,
        "negative dimensions are not allowed",
        {"length": -1, "dtype": dtype_named("i64")},
    ),
    Failure(
        "iota",
        (),
        (),
        DTypeError,
        "iota is not defined for bool",
        {"length": 3, "dtype": dtype_named("bool")},
    ),
    Failure("size", (), (), DTypeError, "a size is an int, not 0.5", {"of": 0.5}),
)
