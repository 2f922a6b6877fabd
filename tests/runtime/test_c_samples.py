"""Every op gives through C what it means. A family is one program, so that the compiler is called once for it."""

from collections.abc import Sequence
from itertools import chain, groupby
from typing import Any

import numpy as np
import pytest

from samples.sample import Sample
from samples.table import SAMPLES
from tracemill.compiler.dtypes import is_inexact, real_dtype
from tracemill.compiler.ir import Graph, Value
from tracemill.compiler.op import lookup
from tracemill.compiler.trace import Builder, evaluate, inline, recording
from tracemill.runtime.build import build, target_of

pytestmark = pytest.mark.usefixtures("c_compiler")

QUICK = 12
"""Every so manieth sample of an op is tested always, the others in the slow run."""

MOST = 120
"""Samples in one program."""


def groups() -> list[Any]:
    """The samples by family, a part of each op's for the quick run."""
    ordered = sorted(SAMPLES, key=lambda sample: (lookup(sample.op).family, sample.op))
    found: list[Any] = []
    for family, of_family in groupby(ordered, lambda sample: lookup(sample.op).family):
        quick: list[Sample] = []
        slow: list[Sample] = []
        for _, of_op in groupby(of_family, lambda sample: sample.op):
            for number, sample in enumerate(of_op):
                (slow if number % QUICK else quick).append(sample)
        found += [pytest.param(quick, id=family)] if quick else []
        found += [
            pytest.param(slow[start : start + MOST], id=f"{family}-{start}", marks=pytest.mark.slow)
            for start in range(0, len(slow), MOST)
        ]
    return found


def merged(samples: Sequence[Sample]) -> Graph:
    """One graph that makes the calls of all, each on inputs of its own."""
    graphs = [sample.graph() for sample in samples]
    inputs = [tuple(Value(value.type) for value in graph.inputs) for graph in graphs]
    with recording(Builder()) as builder:
        outputs = [inline(graph, values) for graph, values in zip(graphs, inputs, strict=True)]
    calls = tuple(builder.calls)
    return Graph("samples", tuple(chain.from_iterable(inputs)), calls, tuple(chain.from_iterable(outputs)))


def assert_close(actual: Any, expected: Any, note: str) -> None:
    """Equal but for rounding in another order."""
    x, y = np.asarray(actual), np.asarray(expected)
    assert (x.dtype, x.shape) == (y.dtype, y.shape), note
    if not is_inexact(y.dtype):
        np.testing.assert_array_equal(x, y, note)
        return
    eps = 2.0**-7 if y.dtype.name == "bfloat16" else float(np.finfo(real_dtype(y.dtype)).eps)
    wide = np.complex128 if y.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(x.astype(wide), y.astype(wide), rtol=50 * eps, atol=50 * eps, err_msg=note)


@pytest.mark.parametrize("samples", groups())
def test_samples_give_through_c_what_they_mean(samples: list[Sample]) -> None:
    program = build(merged(samples), target_of("c", fast_math=False))
    arrays = [sample.arrays() for sample in samples]
    given = [[np.array(x) for x in inputs] for inputs in arrays]
    outputs = iter(program.function(*chain.from_iterable(arrays)))
    for sample, inputs, copies in zip(samples, arrays, given, strict=True):
        with np.errstate(all="ignore"):
            expected = evaluate(sample.graph(), *copies)
        for value in expected:
            assert_close(next(outputs), value, sample.id)
        for x, copy in zip(inputs, copies, strict=True):
            np.testing.assert_array_equal(x, copy, f"an input of {sample.id} is written to")
