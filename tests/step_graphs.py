"""Graphs of one call that is no loop nest: of sizes at which programs are full, or none is, and parts meet."""

import numpy as np

from recording import recorded
from tracemill.compiler.dtypes import DType
from tracemill.compiler.ir import Graph, Shape
from tracemill.compiler.trace import bind

U32, U64 = np.dtype(np.uint32), np.dtype(np.uint64)


def bits(shape: Shape, dtype: DType, *types: str) -> Graph:
    return recorded(lambda key, counter: bind("random_bits", key, counter, shape=shape, dtype=dtype), *types)


STEPS: dict[str, Graph] = {
    "random words": bits((9001,), U32, "u32[2]", "u32[4]"),
    "random pairs": bits((83, 7), U64, "u32[3, 1, 2]", "u32[5, 4]"),
    "random streams": bits((3,), U32, "u32[1999, 2]", "u32[4]"),
}
