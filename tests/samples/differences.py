"""Derivatives by differences: what the tests of derivative rules compare with."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracemill.compiler.dtypes import Array, is_inexact
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph

STEP = 1e-4


def rate_of_change(graph: Graph, arrays: Sequence[Array], directions: Sequence[Array | None]) -> list[Array]:
    """The derivative of the floating outputs along `directions` (None: held fixed), to some ten digits.

    Central differences of fourth order: (8 (f(h) − f(−h)) − (f(2h) − f(−2h))) / 12 h.
    """

    def at(distance: float) -> list[Any]:
        moved = [x if d is None else x + distance * d for x, d in zip(arrays, directions, strict=True)]
        return [out for out in evaluate(graph, *moved) if is_inexact(out.dtype)]

    values = zip(at(STEP), at(-STEP), at(2 * STEP), at(-2 * STEP), strict=True)
    return [np.asarray((8 * (a - b) - (c - d)) / (12 * STEP)) for a, b, c, d in values]


def random_like(arrays: Sequence[Array], seed: int = 1) -> list[Array]:
    """Normal numbers of the arrays' shapes and (floating) dtypes; both parts of complex ones."""
    rng = np.random.default_rng(seed)
    out = []
    for x in arrays:
        drawn = rng.standard_normal(x.shape)
        if x.dtype.kind == "c":
            drawn = drawn + 1j * rng.standard_normal(x.shape)
        out.append(np.asarray(drawn).astype(x.dtype))
    return out


def pairing(left: Sequence[Array], right: Sequence[Array]) -> float:
    """The sum of Re(a · b): what a transpose keeps."""
    return float(sum(np.sum(np.real(a * b)) for a, b in zip(left, right, strict=True)))
