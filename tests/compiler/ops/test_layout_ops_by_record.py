"""A layout op only needs a record and a sample: passes, analyses and printers do not know it by name."""

from collections.abc import Callable, Generator
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from graphs.layout_ops_by_record import SAMPLES, registered
from samples.differences import pairing, random_like, rate_of_change
from samples.sample import Sample
from support.recording import assert_same, drawn, inner_ops, ops, recorded
from support.reverse_graphs import reverse_graph
from tracemill.compiler import value_ops as fn
from tracemill.compiler.analysis.in_place_updates import in_place
from tracemill.compiler.analysis.tiling_axes import input_axes
from tracemill.compiler.backends.triton.kernels.kernel import triton_kernel
from tracemill.compiler.builder import bind, bind_all
from tracemill.compiler.dtypes import Array
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph, Value
from tracemill.compiler.op import is_view
from tracemill.compiler.text.parser import parse
from tracemill.compiler.tracing.value_ranges import ValueRanges
from tracemill.passes.optimizations.fuse import fuse
from tracemill.passes.optimizations.tile import tile
from tracemill.passes.simplification.pad_lengths import pad_lengths
from tracemill.passes.sparsity.sparsity import sparsity
from tracemill.passes.transforms.jvp import jvp
from tracemill.passes.transforms.linearize import linearize
from tracemill.passes.transforms.transpose import transpose
from tracemill.passes.transforms.vmap import vmap
from tracemill.runtime.builder.build import build
from tracemill.runtime.machine.target import target_of

each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.id)
each_floating = pytest.mark.parametrize(
    "sample", [sample for sample in SAMPLES if all(sample.floating)], ids=lambda sample: sample.id
)
OF_ONE_ARRAY = [sample for sample in SAMPLES if sample.floating == (True,)]
each_backend = pytest.mark.parametrize("backend", ["numpy", "c"])


@pytest.fixture(autouse=True, scope="module")
def in_the_table() -> Generator[None]:
    with registered():
        yield


def computed(graph: Graph, backend: str, *inputs: Array) -> tuple[Any, ...]:
    """The outputs of the program that a backend makes of a graph."""
    return build(graph, target_of(backend, fast_math=False)).function(*inputs)


def between_sines(sample: Sample) -> Graph:
    """The op, on arrays that are computed, and before more is computed."""

    def function(*inputs: Value) -> Value:
        given = [fn.multiply(x, x) for x in inputs]
        made = bind(sample.op, *given, **sample.params)
        return fn.sum_(fn.multiply(made, fn.add(made, 1)), (made.ndim - 1,))

    return recorded(function, *sample.types)


@each_sample
def test_the_text_of_a_graph_reads_back(sample: Sample) -> None:
    assert parse(str(sample.graph())) == sample.graph()


@each_floating
def test_the_derivatives_are_those_of_the_meaning(sample: Sample) -> None:
    graph, arrays, wrt = sample.graph(), sample.arrays(), sample.differentiated
    tangents = random_like(arrays)
    found = evaluate(jvp(graph, wrt=wrt), *arrays, *tangents)[1:]
    np.testing.assert_allclose(found, rate_of_change(graph, arrays, tangents), 1e-6, 1e-6)
    _, linear = linearize(graph, wrt=wrt)
    outputs = evaluate(linear, *tangents)
    cotangents = random_like(outputs, 2)
    back = evaluate(transpose(linear, linear=[True] * len(tangents)), *cotangents)
    assert np.isclose(pairing(outputs, cotangents), pairing(tangents, back))


@each_sample
def test_a_batch_is_the_loop(sample: Sample) -> None:
    examples = [sample.arrays(seed) for seed in range(3)]
    for axis in range(min(map(len, sample.shapes)) + 1):
        batched = vmap(sample.graph(), in_axes=[axis] * len(sample.shapes), size=3, out_axes=[0])
        (found,) = evaluate(batched, *(np.stack(one, axis) for one in zip(*examples, strict=True)))
        assert_same(list(found), [evaluate(sample.graph(), *one)[0] for one in examples])


@each_backend
@each_sample
def test_programs_compute_the_meaning(sample: Sample, backend: str) -> None:
    for graph in (sample.graph(), between_sines(sample)):
        inputs = sample.arrays()
        copies = [x.copy() for x in inputs]
        found, expected = computed(graph, backend, *inputs), evaluate(graph, *inputs)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-14)
        assert (found[0].dtype, found[0].shape) == (expected[0].dtype, expected[0].shape)
        assert not any(np.may_share_memory(found[0], x) for x in inputs)
        assert_same(inputs, copies)


@each_backend
@each_floating
def test_programs_of_batches_and_derivatives_compute_the_meaning(sample: Sample, backend: str) -> None:
    graph = between_sines(sample)
    both = jvp(graph, wrt=sample.differentiated)
    batched = vmap(both, in_axes=[0] * len(both.inputs), size=2, out_axes=[0, 0])
    inputs = drawn(batched, "real")
    for found, expected in zip(computed(batched, backend, *inputs), evaluate(batched, *inputs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")
@each_sample
def test_a_triton_kernel_computes_the_meaning(sample: Sample) -> None:
    from gpu.triton_interpreter import run

    graph, inputs = between_sines(sample), sample.arrays()
    (found,) = run(triton_kernel(graph, "kernel"), inputs)
    np.testing.assert_allclose(found, evaluate(graph, *inputs)[0], rtol=1e-12)


@each_sample
def test_it_is_in_one_kernel_with_what_feeds_and_follows_it(sample: Sample) -> None:
    graph = fuse(between_sines(sample))
    assert ops(graph) == ["kernel"]
    assert sample.op in inner_ops(graph)


@each_sample
def test_it_keeps_numbers_within_their_range(sample: Sample) -> None:
    def function(*inputs: Value) -> Value:
        return bind(sample.op, *(fn.elementwise("clip", x, -4, 9) for x in inputs), **sample.params)

    graph = recorded(function, *(f"i64{list(shape)}" for shape in sample.shapes))
    makers = {value: call for call in graph.calls for value in call.outputs}
    assert ValueRanges(makers.get).of(graph.outputs[0]) == (-4, 9)


@each_floating
def test_its_derivative_has_as_many_entries_as_its_result(sample: Sample) -> None:
    _, linear = linearize(sample.graph(), wrt=sample.differentiated)
    (pattern,), unknown = sparsity(linear, [])
    assert not unknown
    assert pattern.nnz == sample.graph().outputs[0].type.size


@each_backend
@each_floating
def test_numbers_of_two_bytes_are_moved_as_they_are(sample: Sample, backend: str) -> None:
    narrow = replace(sample, dtypes="f16")
    graph, inputs = narrow.graph(), narrow.arrays()
    assert ops(fuse(graph)) == ["kernel"] or is_view(graph.calls[0])
    assert_same(computed(graph, backend, *inputs), evaluate(graph, *inputs))


@each_floating
def test_squares_of_lengths_are_smooth_where_these_are_not(sample: Sample) -> None:
    """The second derivative of ``abs(x) ** 2`` is 2 at 0 as well, wherever the lengths are moved."""

    def function(*inputs: Value) -> Value:
        lengths = bind(sample.op, *map(partial(fn.elementwise, "absolute"), inputs), **sample.params)
        return fn.square(lengths)

    graph = recorded(function, *sample.types)
    arrays, wrt = [np.zeros(shape) for shape in sample.shapes], sample.differentiated
    forward = jvp(graph, wrt=wrt)
    twice = jvp(forward, wrt=[*wrt, *(False for _ in wrt)])
    ones = [np.ones_like(x) for x in arrays]
    found = evaluate(twice, *arrays, *ones, *ones)
    assert_same(found[-1:], [np.full(graph.outputs[0].shape, 2.0)])


@pytest.mark.parametrize("sample", OF_ONE_ARRAY, ids=lambda sample: sample.id)
def test_what_a_mask_hides_stays_hidden_in_derivatives(sample: Sample) -> None:
    """At 0, ``where(x > 0, sqrt(x), 0)`` has derivative 0, and no NaN of 0 times infinity."""

    def function(x: Value, mask: Value) -> Value:
        return fn.where(mask, bind(sample.op, fn.sqrt(x), **sample.params), 0.0)

    shape = sample.graph().outputs[0].shape
    graph = recorded(function, sample.types[0], f"bool{list(shape)}")
    back = reverse_graph(graph, wrt=[True, False], safe=True)
    hidden, ones = np.zeros(shape, bool), np.ones(shape)
    assert_same(evaluate(back, np.zeros(sample.shapes[0]), hidden, ones), [np.zeros(sample.shapes[0])])


# ---- what depends on where the entries are -------------------------------------------------------------

AXES = {
    "rotate": [None, (1,)],
    "reverse_axes": [(2,), (1,), (0,)],
    "copies": [(None,), (0,), (1,)],
    "interleave": [None, (1, 1)],
    "with_first": [None, (1, 0)],
}


@pytest.mark.parametrize("name", AXES)
def test_the_axes_along_which_it_is_split_into_tiles(name: str) -> None:
    sample = next(sample for sample in SAMPLES if sample.op == name)
    (call,) = sample.graph().calls
    assert [input_axes(call, axis) for axis in range(call.outputs[0].ndim)] == AXES[name]


def test_tiles_go_through_it() -> None:
    def function(x: Value) -> Value:
        return fn.sum_(bind("rotate", fn.multiply(x, x), by=5, axis=1), (1,))

    graph = recorded(function, "f64[4096, 512]")
    tiled = tile(graph)
    assert ops(tiled) == ["tiled"]
    assert "rotate" in inner_ops(tiled)
    inputs = drawn(graph, "real")
    np.testing.assert_allclose(computed(graph, "numpy", *inputs)[0], evaluate(graph, *inputs)[0])


def test_a_loop_writes_into_what_it_carries() -> None:
    def step(x: Value, y: Value) -> Value:
        return bind("with_first", x, y)

    graph = recorded(step, "f64[4, 3]", "f64[3]")
    _, overwritten = in_place(graph, {0: 0})
    assert [call.op for call in overwritten.values()] == ["with_first"]


@each_backend
def test_a_loop_that_writes_in_place_computes_the_meaning(backend: str) -> None:
    def step(x: Value, y: Value) -> Value:
        return bind("rotate", bind("with_first", x, fn.add(y, 1)), by=1, axis=0)

    def function(x: Value, rows: Value) -> Any:
        body = recorded(step, "f64[4, 3]", "f64[3]")
        return bind_all("scan", x, rows, graph=body, counts=(0, 1), length=6)

    graph = recorded(function, "f64[4, 3]", "f64[6, 3]")
    inputs = drawn(graph, "real")
    assert_same(computed(graph, backend, *inputs), evaluate(graph, *inputs))


# ---- arrays of computed lengths ------------------------------------------------------------------------

HEAD = """\
# tracemill ir 1
def head(x: f64[6, 2], k: i64[], first: f64[2]) -> f64[2]:
    maximum_1: i64[] = maximum(k, i64(0))
    minimum_1: i64[] = minimum(maximum_1, i64(6))
    length_1: bool[n_1] = length(minimum_1, dim=n_1)
    iota_1: i64[n_1] = iota(length=n_1, dtype=i64)
    gather_1: f64[n_1, 2] = gather(x, iota_1, axes=(0,))
    {call}
    cumsum_1: f64[{length}, 2] = cumsum({name}, axis=0, reverse=False)
    multiply_1: f64[{length}, 2] = multiply(cumsum_1, cumsum_1)
    sum_1: f64[2] = sum(multiply_1, axes=(0,))
    return sum_1
"""

Meaning = Callable[[Array], Any]

OF_COMPUTED_LENGTH: dict[str, tuple[str, str, Meaning]] = {
    "rotate": ("n_1", "rotate(gather_1, by=2, axis=0)", lambda x: np.roll(x, -2, 0)),
    "interleave": ("2*n_1", "interleave(gather_1, gather_1, axis=0)", lambda x: np.repeat(x, 2, 0)),
    "with_first": ("n_1", "with_first(gather_1, first)", lambda x: np.concatenate([[[7.0, 8.0]], x[1:]])),
}


@pytest.mark.parametrize("name", OF_COMPUTED_LENGTH)
def test_arrays_of_computed_lengths_become_longer_ones(name: str) -> None:
    length, call, meaning = OF_COMPUTED_LENGTH[name]
    text = HEAD.format(call=f"{name}_1: f64[{length}, 2] = {call}", length=length, name=f"{name}_1")
    graph = parse(text)
    padded = pad_lengths(graph)
    assert "n_1" not in str(padded)
    x, first = np.random.default_rng(0).normal(size=(6, 2)), np.array([7.0, 8.0])
    for k in range(name == "with_first", 7):  # where there is a row
        expected = (np.cumsum(meaning(x[:k]), 0) ** 2).sum(0)
        np.testing.assert_allclose(evaluate(graph, x, np.array(k), first)[0], expected)
        np.testing.assert_allclose(evaluate(padded, x, np.array(k), first)[0], expected)


def test_a_view_of_an_array_of_computed_length_is_one_of_a_longer_one() -> None:
    call = "reverse_axes_1: f64[2, n_1] = reverse_axes(gather_1)"
    twice = f"{call}\n    reverse_axes_2: f64[n_1, 2] = reverse_axes(reverse_axes_1)"
    padded = pad_lengths(parse(HEAD.format(call=twice, length="n_1", name="reverse_axes_2")))
    assert "reverse_axes_1: f64[2, 6] = reverse_axes(gather_1)" in str(padded)
