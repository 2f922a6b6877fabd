"""Patterns of derivatives: never too small, for every op; and as small as they should be."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from samples.grouping import of_each_sample
from samples.sample import Sample
from samples.table import SAMPLES
from samples.thinning import some_of
from tracemill.compiler.dtypes import is_inexact
from tracemill.compiler.interpreter import depends_on, evaluate
from tracemill.passes.sparsity.sparsity import Known, sparsity
from tracemill.passes.transforms.linearize import linearize
from tracemill.passes.transforms.vmap import vmap

SMOOTH = SAMPLES.where(lambda sample: sample.smooth and any(sample.differentiated))


@pytest.mark.sampled(
    "activation-known",
    "checkpoint-unknown",
    "cumulative-known",
    "custom_rule-known",
    "indexing-unknown",
    "loss-known",
    slow=3,
)
@pytest.mark.parametrize("values", ["known", "unknown"])
@of_each_sample(SMOOTH, quick=some_of(SMOOTH, share=0.3), slow=some_of(SMOOTH, share=0.4))
def test_a_pattern_holds_every_entry_of_the_derivative(sample: Sample, values: str) -> None:
    """Whether the values of the point are known, as outside of a trace, or not."""
    graph, wrt, arrays = sample.graph(), sample.differentiated, sample.arrays()
    forward, linear = linearize(graph, wrt=wrt)
    residuals = evaluate(forward, *arrays)[len(graph.outputs) :]
    moving = depends_on(forward, wrt)
    known = [
        Known(x if values == "known" else None, value not in moving)
        for x, value in zip(residuals, forward.outputs[len(graph.outputs) :], strict=True)
    ]
    patterns, _ = sparsity(linear, known)
    tangents = [v.type for v in linear.inputs[len(residuals) :]]
    size = sum(t.size for t in tangents)
    ends = np.cumsum([t.size for t in tangents])
    units = np.split(np.eye(size), ends[:-1], axis=1)
    pushed = vmap(
        linear,
        in_axes=[None] * len(residuals) + [0] * len(tangents),
        size=size,
        out_axes=[0] * len(linear.outputs),
    )
    directions = [u.reshape(size, *t.shape).astype(t.dtype) for u, t in zip(units, tangents, strict=True)]
    for pattern, column in zip(patterns, evaluate(pushed, *residuals, *directions), strict=True):
        derivative = column.reshape(size, len(pattern.indptr) - 1).T
        assert pattern.shape == derivative.shape
        assert is_inexact(derivative.dtype)
        assert not np.any((derivative != 0) & ~pattern.toarray())


X = np.linspace(0.5, 2.0, 6)
BAND = np.eye(6) + np.eye(6, k=1)
PLACES = np.arange(6)


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda x: np.sin(x) * x + 1, np.eye(6)),
        (lambda x: x[::2] * x[1::2], np.kron(np.eye(3), [[1, 1]])),
        (lambda x: np.sum(x.reshape(2, 3), axis=0), np.tile(np.eye(3), 2)),
        (
            lambda x: np.concatenate([x[3:], np.zeros(2), x[:1]]),
            np.vstack([np.eye(6)[3:], np.zeros((2, 6)), np.eye(6)[:1]]),
        ),
        (lambda x: np.pad(np.flip(x), 1), np.pad(np.eye(6)[::-1], ((1, 1), (0, 0)))),
        (
            lambda x: np.outer(x[:2], x[2:4]).T,
            [[1, 0, 1, 0, 0, 0], [0, 1, 1, 0, 0, 0], [1, 0, 0, 1, 0, 0], [0, 1, 0, 1, 0, 0]],
        ),
        (lambda x: np.cumsum(x**2), np.tri(6)),
        (lambda x: BAND @ x, BAND),  # zeros of what does not depend on x
        (lambda x: x @ BAND, BAND.T),
        (lambda x: np.sum(x * BAND * x[:, None], axis=1), BAND),
        (lambda x: x * (PLACES > 2), np.diag(PLACES > 2)),
        (lambda x: x * np.zeros(6), np.zeros((6, 6))),
        (
            lambda x: np.where(x > 1, x, x[::-1]),
            np.eye(6) + np.eye(6)[::-1],
        ),  # another point chooses otherwise
        (lambda x: np.sort(-x), np.eye(6)[::-1]),  # as the point sorts them
        (lambda x: x[[2, 0, 2]], np.eye(6)[[2, 0, 2]]),
        (lambda x: np.zeros(4), np.zeros((4, 6))),
        (lambda x: tm.scan(lambda c, v: (c * v, c), 1.0, x)[1], np.tri(6, k=-1)),
        (lambda x: tm.scan(lambda c, v: (c * v, c), 1.0, x, reverse=True)[1], np.tri(6, k=-1).T),
        (tm.checkpoint(np.square), np.eye(6)),
        (lambda x: tm.cond(x[0] > 0, lambda: x, lambda: x[::-1]), np.eye(6) + np.eye(6)[::-1]),
    ],
    ids=map(str, range(20)),
)
def test_a_pattern_is_as_small_as_the_ops_tell(f: Callable[..., Any], expected: Any) -> None:
    found = tm.sparsity(f)(X)
    assert found.without_rule == ()
    np.testing.assert_array_equal(found.pattern.toarray(), np.asarray(expected) != 0)


def test_a_write_keeps_what_is_not_written() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        y[1:3] = x[4:]
        y[np.array([0])] += x[3]
        return y

    expected = np.eye(6)
    expected[1:3] = np.eye(6)[4:]
    expected[0, 3] = 1
    np.testing.assert_array_equal(tm.sparsity(f)(X).pattern.toarray(), expected != 0)


def test_an_op_without_a_rule_is_dense_and_named() -> None:
    found = tm.sparsity(lambda x: np.concatenate([np.fft.rfft(x[:4]).real, x[4:]]))(X)
    expected = np.zeros((5, 6))
    expected[:3, :4] = 1
    expected[3:, 4:] = np.eye(2)
    np.testing.assert_array_equal(found.pattern.toarray(), expected != 0)
    assert found.without_rule == ("rfft",)
    assert repr(found) == "<Sparsity 5 x 6: 14 entries, no rule for rfft>"
