"""Tiles: the graph of one part of the inputs, and of a shorter last one."""

from typing import Any

import numpy as np

from samples.sample import Failure, Sample
from tracemill.compiler import value_ops as fn
from tracemill.compiler.builder import Builder, recording
from tracemill.compiler.dtypes import dtype_named
from tracemill.compiler.errors import ShapeError
from tracemill.compiler.ir import ArrayType, Graph, Value

F64 = dtype_named("f64")


def weighted_columns(rows: int, columns: int = 3) -> Graph:
    """``x, w -> sin(x) * w, its sums down the columns`` for f64[rows, columns], f64[columns], as one row."""
    x, w = (Value(ArrayType(F64, shape)) for shape in ((rows, columns), (columns,)))
    with recording(Builder()) as builder:
        weighted = fn.multiply(fn.sin(x), w)
        sums = fn.reshape(fn.sum_(weighted, (0,)), (1, columns))
    return Graph("weighted_columns", (x, w), tuple(builder.calls), (weighted, sums), ("x", "w"))


ROWS = {
    "graph": weighted_columns(2),
    "rest": weighted_columns(1),
    "cuts": (0, None),
    "joins": (0, 0),
    "count": 2,
}
"""Five rows, two at a time."""
COLUMNS = {"graph": weighted_columns(4, 1), "cuts": (1, 0), "joins": (1, 1), "count": 3}


def _tiled_rows(x: Any, w: Any, **params: Any) -> Any:
    weighted = np.sin(x) * w
    return weighted, np.stack([weighted[:2].sum(0), weighted[2:4].sum(0), weighted[4]])


def _tiled_columns(x: Any, w: Any, **params: Any) -> Any:
    weighted = np.sin(x) * w
    return weighted, weighted.sum(0, keepdims=True)


SAMPLES: tuple[Sample, ...] = (
    Sample("tiled", ((5, 3), (3,)), "f64", ROWS, reference=_tiled_rows, ulps=8, label="rows"),
    Sample(
        "tiled",
        ((5, 3), (3,)),
        "f64",
        {**ROWS, "whole": weighted_columns(5)},
        reference=_tiled_rows,
        ulps=8,
        label="rows-or-all",
    ),
    Sample("tiled", ((4, 3), (3,)), "f64", COLUMNS, reference=_tiled_columns, ulps=8, label="columns"),
)
FAILURES: tuple[Failure, ...] = (
    Failure("tiled", ((5, 3), (3,)), "f64", ShapeError, "parts of", {**ROWS, "whole": weighted_columns(4)}),
    Failure(
        "tiled", ((6, 3), (3,)), "f64", ShapeError, r"parts of \(f64\[6, 3\].* are no \(f64\[2, 3\]", ROWS
    ),
    Failure("tiled", ((4, 0), (0,)), "f64", ShapeError, "0 tiles of 2 inputs", {**COLUMNS, "count": 0}),
)
