"""Collectives over whole batches: what they compute, and that every transform agrees with mapping them first."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from samples.control.collective import COUNT
from samples.differences import pairing, random_like
from samples.sample import Sample
from samples.table import SAMPLES
from tracemill.compiler.dtypes import Array
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph
from tracemill.passes.transforms.jvp import jvp
from tracemill.passes.transforms.linearize import linearize
from tracemill.passes.transforms.transpose import transpose
from tracemill.passes.transforms.vmap import vmap

COUPLED = SAMPLES.where(lambda sample: sample.coupled)
SMOOTH = COUPLED.where(lambda sample: sample.smooth and any(sample.differentiated))


def show(sample: Sample) -> str:
    return sample.id


def batch(sample: Sample) -> list[Array]:
    """The inputs of all examples, each with its number."""
    return [np.arange(COUNT), np.stack([sample.arrays(seed)[1] for seed in range(COUNT)])]


def over_examples(graph: Graph) -> Graph:
    """The graph of the whole batch."""
    return vmap(graph, in_axes=[0] * len(graph.inputs), size=COUNT, out_axes=[0] * len(graph.outputs))


EXPECTED: dict[str, Callable[[Any, Sample], Any]] = {
    "psum": lambda x, _: np.stack([x.sum(0, x.dtype)] * COUNT),
    "pmax": lambda x, _: np.stack([x.max(0)] * COUNT),
    "pmin": lambda x, _: np.stack([x.min(0)] * COUNT),
    "all_gather": lambda x, _: np.stack([x] * COUNT),
    "psum_scatter": lambda x, _: x.sum(0, x.dtype),
    "ppermute": lambda x, sample: np.stack(
        [x[i] if i >= 0 else np.zeros_like(x[0]) for i in sample.params["sources"]]
    ),
}


@pytest.mark.parametrize("sample", COUPLED, ids=show)
def test_a_batch_computes_together(sample: Sample) -> None:
    indices, x = batch(sample)
    (got,) = evaluate(over_examples(sample.graph()), indices, x)
    expected = EXPECTED[sample.op](x, sample)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-6)


@pytest.mark.parametrize("sample", COUPLED, ids=show)
def test_what_is_the_same_for_all_is_as_if_it_were_mapped(sample: Sample) -> None:
    indices, x = batch(sample)
    (got,) = evaluate(vmap(sample.graph(), in_axes=[0, None], size=COUNT, out_axes=[0]), indices, x[0])
    np.testing.assert_allclose(
        got, evaluate(over_examples(sample.graph()), indices, np.stack([x[0]] * COUNT))[0]
    )


@pytest.mark.parametrize("sample", COUPLED, ids=show)
def test_one_example_alone_means_that_all_are_alike(sample: Sample) -> None:
    index, x = sample.arrays()
    (alone,) = evaluate(sample.graph(), index, x)
    (together,) = evaluate(over_examples(sample.graph()), np.arange(COUNT), np.stack([x] * COUNT))
    np.testing.assert_allclose(alone, together[int(index)], rtol=1e-6)


@pytest.mark.parametrize("sample", COUPLED, ids=show)
def test_another_batch_around_or_inside_changes_nothing(sample: Sample) -> None:
    grid = np.stack([batch(sample)[1], batch(sample)[1][::-1]])  # outer, index, …
    indices = np.arange(COUNT)
    expected = np.stack([evaluate(over_examples(sample.graph()), indices, x)[0] for x in grid])
    other_first = vmap(sample.graph(), in_axes=[None, 0], size=2, out_axes=[0])
    both = vmap(other_first, in_axes=[0, 1], size=COUNT, out_axes=[1])
    np.testing.assert_allclose(evaluate(both, indices, grid)[0], expected)
    other_last = vmap(over_examples(sample.graph()), in_axes=[None, 0], size=2, out_axes=[0])
    np.testing.assert_allclose(evaluate(other_last, indices, grid)[0], expected)


def tangents(arrays: Sequence[Array]) -> list[Array]:
    return random_like([arrays[1]])


@pytest.mark.parametrize("sample", SMOOTH, ids=show)
def test_mapping_the_derivative_is_the_derivative_of_what_is_mapped(sample: Sample) -> None:
    arrays = batch(sample)
    inside = over_examples(jvp(sample.graph(), wrt=[False, True]))
    outside = jvp(over_examples(sample.graph()), wrt=[False, True])
    for got, expected in zip(
        evaluate(inside, *arrays, *tangents(arrays)),
        evaluate(outside, *arrays, *tangents(arrays)),
        strict=True,
    ):
        np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("sample", SMOOTH, ids=show)
def test_the_transpose_keeps_the_pairing_of_the_whole_batch(sample: Sample) -> None:
    arrays = batch(sample)
    forward, linear = linearize(sample.graph(), wrt=[False, True])
    residuals = evaluate(over_examples(forward), *arrays)[1:]
    back = transpose(linear, linear=[False] * len(residuals) + [True])
    moved = evaluate(over_examples(linear), *residuals, *tangents(arrays))
    cotangents = random_like(moved, seed=2)
    returned = evaluate(over_examples(back), *residuals, *cotangents)
    np.testing.assert_allclose(pairing(cotangents, moved), pairing(returned, tangents(arrays)), 1e-9)
