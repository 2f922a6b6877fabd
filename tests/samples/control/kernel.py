"""Kernels: the graphs that fused calls hold."""

from typing import Any

import numpy as np

from samples.sample import Failure, Sample
from tracemill.compiler import value_ops as fn
from tracemill.compiler.builder import Builder, recording
from tracemill.compiler.dtypes import dtype_named
from tracemill.compiler.errors import ShapeError
from tracemill.compiler.ir import ArrayType, Graph, Value

F64 = dtype_named("f64")
SHAPES = ((2, 3), (3,))


def weighted_rows() -> Graph:
    """``x, w -> sin(x) * w, its sums over rows`` for f64[2, 3], f64[3]."""
    x, w = (Value(ArrayType(F64, shape)) for shape in SHAPES)
    with recording(Builder()) as builder:
        weighted = fn.multiply(fn.sin(x), w)
        sums = fn.sum_(weighted, (1,))
    return Graph("weighted_rows", (x, w), tuple(builder.calls), (weighted, sums), ("x", "w"))


def _weighted_rows(x: Any, w: Any, graph: Graph) -> Any:
    return np.sin(x) * w, np.sum(np.sin(x) * w, 1)


SAMPLES: tuple[Sample, ...] = (
    Sample("kernel", SHAPES, "f64", {"graph": weighted_rows()}, reference=_weighted_rows),
)
FAILURES: tuple[Failure, ...] = (
    Failure(
        "kernel",
        SHAPES,
        "f32",
        ShapeError,
        r"kernel of weighted_rows\(f64\[2, 3\]",
        {"graph": weighted_rows()},
    ),
)
