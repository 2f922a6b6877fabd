"""Many graphs as one program of the C backend, so that the compiler is called once for all of them."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from tracemill.compiler.builder import Builder, inline, recording
from tracemill.compiler.dtypes import Array, is_inexact, real_dtype
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph, Value
from tracemill.runtime.builder.build import build
from tracemill.runtime.machine.target import target_of


class Run(NamedTuple):
    """A graph, what to call it with, and its name in a report."""

    graph: Graph
    inputs: Sequence[Array]
    note: str


def assert_means_the_same_through_c(runs: Sequence[Run], *, ulps: float = 50) -> None:
    """That all graphs give through C what their calls mean, and write to no input."""
    given = [[np.array(x) for x in run.inputs] for run in runs]
    program = build(merged([run.graph for run in runs]), target_of("c", fast_math=False))
    outputs = iter(program.function(*chain.from_iterable(run.inputs for run in runs)))
    for run, copies in zip(runs, given, strict=True):
        for x, copy in zip(run.inputs, copies, strict=True):
            assert np.asarray(x).tobytes() == copy.tobytes(), f"an input of {run.note} is written to"
        with np.errstate(all="ignore"):
            expected = evaluate(run.graph, *copies)
        for value in expected:
            assert_close(next(outputs), value, run.note, ulps)


def merged(graphs: Sequence[Graph]) -> Graph:
    """One graph that makes the calls of all, each on inputs of its own."""
    inputs = [tuple(Value(value.type) for value in graph.inputs) for graph in graphs]
    with recording(Builder()) as builder:
        outputs = [inline(graph, values) for graph, values in zip(graphs, inputs, strict=True)]
    calls = tuple(builder.calls)
    return Graph("merged", tuple(chain.from_iterable(inputs)), calls, tuple(chain.from_iterable(outputs)))


def assert_close(actual: Any, expected: Any, note: str, ulps: float) -> None:
    """Equal but for rounding in another order."""
    x, y = np.asarray(actual), np.asarray(expected)
    assert (x.dtype, x.shape) == (y.dtype, y.shape), note
    if not is_inexact(y.dtype):
        np.testing.assert_array_equal(x, y, note)
        return
    eps = 2.0**-7 if y.dtype.name == "bfloat16" else float(np.finfo(real_dtype(y.dtype)).eps)
    wide = np.complex128 if y.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(x.astype(wide), y.astype(wide), rtol=ulps * eps, atol=ulps * eps, err_msg=note)
