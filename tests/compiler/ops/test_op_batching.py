"""The batch rule of every op against a Python loop: all axes of all inputs, all mixes of mapped and not."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from samples.grouping import of_each_sample
from samples.sample import Sample
from samples.table import SAMPLES
from samples.thinning import some_of
from tracemill.compiler.dtypes import Array, is_inexact
from tracemill.compiler.errors import ConcretizationError
from tracemill.compiler.interpreter import evaluate
from tracemill.passes.transforms.vmap import vmap

SIZE = 2
MANY = 200
"""The fast tests take one in this many mixes."""
PLAIN = SAMPLES.where(
    lambda sample: (
        sample.shapes
        and sample.layout == "contiguous"
        and "special" not in sample.domains
        and not sample.label
        and not sample.single
    )
)
SINGLE = SAMPLES.where(lambda sample: sample.single and sample.shapes)
each_plain = of_each_sample(PLAIN, quick=some_of(PLAIN, share=0.1), slow=some_of(PLAIN, share=0.15))


def mixes(sample: Sample) -> list[tuple[int | None, ...]]:
    """For each input unmapped or an axis for the batch, but not all unmapped."""
    choices: list[tuple[int | None, ...]] = [(None, *range(len(shape) + 1)) for shape in sample.shapes]
    if sample.coupled:
        choices[0] = (None,)
    return [axes for axes in product(*choices) if any(axis is not None for axis in axes)]


def mapped_inputs(sample: Sample, axis: int) -> list[int | None]:
    """This axis for every input that may have a batch of its own."""
    return [None if sample.coupled and not place else axis for place in range(len(sample.shapes))]


def stack(examples: Sequence[Sequence[Array]], in_axes: Sequence[int | None]) -> list[Array]:
    """The inputs of the batched function: mapped ones stacked, others from the first example."""
    columns = zip(*examples, strict=True)
    return [
        column[0] if axis is None else np.stack(column, axis)
        for column, axis in zip(columns, in_axes, strict=True)
    ]


def loop(sample: Sample, examples: Sequence[Sequence[Array]], in_axes: Sequence[int | None]) -> list[Any]:
    """The outputs one example at a time."""
    graph, runs = sample.graph(), []
    for example in examples:
        choices = zip(example, examples[0], in_axes, strict=True)
        runs.append(evaluate(graph, *(first if axis is None else own for own, first, axis in choices)))
    return [list(column) for column in zip(*runs, strict=True)]


def assert_same(actual: Array, expected: Array) -> None:
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    if is_inexact(actual.dtype):  # sums may be taken in another order
        wide = np.clongdouble if actual.dtype.kind == "c" else np.longdouble
        tolerance = 1e-12 if np.dtype(actual.dtype).itemsize >= 8 else 1e-2
        np.testing.assert_allclose(actual.astype(wide), expected.astype(wide), tolerance, tolerance)
    else:
        np.testing.assert_array_equal(actual, expected)


@each_plain
def test_vmap_equals_the_loop(sample: Sample, is_fast_run: bool) -> None:
    examples = [sample.arrays(seed) for seed in range(SIZE)]
    graph = sample.graph()
    looped: dict[tuple[bool, ...], list[Any]] = {}  # by which inputs are mapped, wherever their axes are
    all_mixes = mixes(sample)
    # Seven is coprime to the number of choices for an input, so that each choice still meets each other.
    for turn, in_axes in enumerate(all_mixes[::7] if is_fast_run and len(all_mixes) > MANY else all_mixes):
        out_axes = [turn % (v.ndim + 1) for v in graph.outputs]
        batched = vmap(graph, in_axes=in_axes, size=SIZE, out_axes=out_axes)
        outputs = evaluate(batched, *stack(examples, in_axes))
        mapped = tuple(axis is not None for axis in in_axes)
        if mapped not in looped:
            looped[mapped] = loop(sample, examples, in_axes)
        for output, parts, axis in zip(outputs, looped[mapped], out_axes, strict=True):
            assert_same(output, np.stack(parts, axis))


@pytest.mark.slow
@each_plain
def test_vmap_of_vmap_equals_two_loops(sample: Sample) -> None:
    """The outer batch behind the logical axes, the inner one in front."""
    grid = [[sample.arrays(10 * i + j) for j in range(SIZE)] for i in range(3)]
    graph = sample.graph()
    inner, none = mapped_inputs(sample, 0), [0] * len(graph.outputs)
    outer = [
        None if axis is None else len(shape) + 1 for axis, shape in zip(inner, sample.shapes, strict=True)
    ]
    twice = vmap(vmap(graph, in_axes=inner, size=SIZE, out_axes=none), in_axes=outer, size=3, out_axes=none)
    outputs = evaluate(twice, *stack([stack(row, inner) for row in grid], outer))
    loops = [loop(sample, row, inner) for row in grid]
    for position, output in enumerate(outputs):
        assert_same(output, np.stack([np.stack(row[position]) for row in loops]))


@each_plain
def test_a_batch_of_none_has_the_right_types(sample: Sample) -> None:
    graph, axes = sample.graph(), mapped_inputs(sample, 0)
    batched = vmap(graph, in_axes=axes, size=0, out_axes=[0] * len(graph.outputs))
    pairs = zip(sample.arrays(), axes, strict=True)
    nothing = [x if axis is None else np.empty((0, *x.shape), x.dtype) for x, axis in pairs]
    outputs = evaluate(batched, *nothing)
    assert [(x.dtype, x.shape) for x in outputs] == [(v.dtype, (0, *v.shape)) for v in graph.outputs]


@pytest.mark.parametrize("sample", SINGLE, ids=lambda sample: sample.id)
def test_what_is_for_one_example_refuses_a_batch_by_name(sample: Sample) -> None:
    graph = sample.graph()
    axes: list[int | None] = [0, *[None] * (len(sample.shapes) - 1)]
    with pytest.raises(ConcretizationError, match="example"):
        vmap(graph, in_axes=axes, size=SIZE, out_axes=[0] * len(graph.outputs))
