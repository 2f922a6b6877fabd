"""Linear systems with few diagonals."""

from typing import Any

import numpy as np

from samples.sample import Failure, Interval, Sample
from tracemill.compiler.errors import MatrixShapeError


def _dense(ab: Any, b: Any, lower: int, upper: int) -> Any:
    matrices = np.zeros((*ab.shape[:-2], ab.shape[-1], ab.shape[-1]), ab.dtype)
    for i in range(ab.shape[-1]):
        for j in range(max(i - lower, 0), min(i + upper + 1, ab.shape[-1])):
            matrices[..., i, j] = ab[..., upper + i - j, j]
    return np.linalg.solve(matrices, b)


def _sample(lower: int, upper: int, lead: tuple[int, ...], size: int, sides: int, dtype: str) -> Sample:
    shapes = ((*lead, lower + upper + 1, size), (*lead, size, sides))
    return Sample(
        "solve_banded", shapes, dtype, {"lower": lower, "upper": upper}, (Interval(0.5, 1.5), "real"),
        reference=_dense, widened=False, ulps=4096, signed_zeros=False,
    )  # fmt: skip


SAMPLES: tuple[Sample, ...] = (
    *(_sample(lower, upper, (), 4, 2, "f64") for lower, upper in ((0, 0), (1, 1), (2, 0), (0, 1), (2, 1))),
    _sample(1, 1, (2,), 3, 1, "f64"),
    _sample(1, 0, (), 3, 2, "c128"),
    _sample(1, 0, (), 3, 2, "f32"),
    _sample(2, 1, (), 1, 2, "f64"),
    _sample(1, 1, (0,), 3, 2, "f64"),
)
FAILURES: tuple[Failure, ...] = (
    Failure(
        "solve_banded", ((2, 3), (3, 1)), "f64", MatrixShapeError, "3 diagonals", {"lower": 1, "upper": 1}
    ),
    Failure(
        "solve_banded", ((3, 3), (2, 1)), "f64", MatrixShapeError, "do not fit", {"lower": 1, "upper": 1}
    ),
)
