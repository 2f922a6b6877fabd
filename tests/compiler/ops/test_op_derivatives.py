"""The derivative rules of every op: forward by differences, transposed by pairing, second order."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from samples.differences import pairing, random_like, rate_of_change
from samples.grouping import of_each_sample
from samples.sample import Sample
from samples.table import SAMPLES
from samples.thinning import some_of
from support.reverse_graphs import reverse_graph
from tracemill.compiler.builder import Builder, recording
from tracemill.compiler.dtypes import Array, DType, dtype_name, is_inexact
from tracemill.compiler.errors import NotDifferentiableError
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph, Value
from tracemill.compiler.value_ops import greater, sqrt, where
from tracemill.passes.transforms.jvp import jvp
from tracemill.passes.transforms.linearize import linearize
from tracemill.passes.transforms.transpose import transpose

SMOOTH = SAMPLES.where(lambda sample: sample.smooth and any(sample.differentiated))
NARROW = SAMPLES.where(lambda sample: sample.generic and not sample.smooth and any(sample.differentiated))


def assert_close(actual: Sequence[Array], expected: Sequence[Array], tolerance: float = 1e-6) -> None:
    for ours, theirs in zip(actual, expected, strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(ours, theirs, tolerance, tolerance)


def selections(sample: Sample) -> Iterator[list[bool]]:
    """Which inputs have a tangent: all that can, and each alone."""
    possible = list(sample.differentiated)
    yield possible
    if sum(possible) > 1:
        for i in np.flatnonzero(possible):
            yield [j == i for j in range(len(possible))]


def chosen(wrt: Sequence[bool], arrays: Sequence[Any]) -> list[Any]:
    return [x for x, marked in zip(arrays, wrt, strict=True) if marked]


def spread(wrt: Sequence[bool], tangents: Sequence[Array]) -> list[Array | None]:
    """The tangents at their inputs' places."""
    rest = iter(tangents)
    return [next(rest) if marked else None for marked in wrt]


def assert_jvp_is_the_rate_of_change(graph: Graph, wrt: Sequence[bool], arrays: Sequence[Array]) -> None:
    tangents = random_like(chosen(wrt, arrays))
    outputs = evaluate(jvp(graph, wrt=wrt), *arrays, *tangents)[len(graph.outputs) :]
    assert_close(outputs, rate_of_change(graph, arrays, spread(wrt, tangents)))


@pytest.mark.sampled(
    "arithmetic", "determinant", "factorization", "least_squares", "loss", "polar", "softmax", "spectral"
)
@of_each_sample(SMOOTH, quick=some_of(SMOOTH, share=0.3))
def test_the_jvp_is_the_rate_of_change(sample: Sample) -> None:
    for wrt in selections(sample):
        assert_jvp_is_the_rate_of_change(sample.measured(), wrt, sample.arrays())


@pytest.mark.slow
@of_each_sample(SMOOTH.where(lambda sample: not sample.coupled), slow=some_of(SMOOTH, share=0.3))
def test_the_transpose_keeps_the_pairing(sample: Sample) -> None:
    graph, arrays = sample.measured(), sample.arrays()
    for wrt in selections(sample):
        forward, linear = linearize(graph, wrt=wrt)
        residuals = evaluate(forward, *arrays)[len(graph.outputs) :]
        marked = [False] * len(residuals) + [True] * sum(wrt)
        transposed = transpose(linear, linear=marked)
        tangents = random_like(chosen(wrt, arrays))
        outputs = evaluate(linear, *residuals, *tangents)
        cotangents = random_like(outputs, seed=2)
        back = evaluate(transposed, *residuals, *cotangents)
        assert [(x.dtype, x.shape) for x in back] == [(x.dtype, x.shape) for x in tangents]
        np.testing.assert_allclose(pairing(cotangents, outputs), pairing(back, tangents), 1e-9, 1e-11)


@of_each_sample(SMOOTH, quick=some_of(SMOOTH), slow=some_of(SMOOTH, share=0.1))
def test_the_jvp_of_the_jvp_is_the_rate_of_change_of_the_jvp(sample: Sample) -> None:
    graph, arrays, wrt = sample.measured(), sample.arrays(), sample.differentiated
    tangents = random_like(chosen(wrt, arrays), seed=3)
    both = [*wrt, *(True for _ in tangents)]
    assert_jvp_is_the_rate_of_change(jvp(graph, wrt=wrt), both, [*arrays, *tangents])


@of_each_sample(SMOOTH, quick=some_of(SMOOTH), slow=some_of(SMOOTH, share=0.1))
def test_the_jvp_of_the_vjp_is_the_rate_of_change_of_the_vjp(sample: Sample) -> None:
    graph, arrays, wrt = sample.measured(), sample.arrays(), sample.differentiated
    cotangents = random_like([out for out in evaluate(graph, *arrays) if is_inexact(out.dtype)], seed=3)
    both = [*wrt, *(True for _ in cotangents)]
    assert_jvp_is_the_rate_of_change(reverse_graph(graph, wrt), both, [*arrays, *cotangents])


def widened(dtype: DType) -> DType:
    """f64 for a real floating dtype, c128 for a complex one, others as they are."""
    return np.dtype("c16" if dtype.kind == "c" else "f8") if is_inexact(dtype) else dtype


@of_each_sample(NARROW, quick=some_of(NARROW, share=0.1))
def test_the_jvp_keeps_narrow_dtypes(sample: Sample) -> None:
    graph, arrays, wrt = sample.measured(), sample.arrays(), sample.differentiated
    tangents = random_like(chosen(wrt, arrays))
    outputs = evaluate(jvp(graph, wrt=wrt), *arrays, *tangents)
    wide = replace(sample, dtypes=tuple(dtype_name(widened(t.dtype)) for t in sample.types))
    expected = evaluate(
        jvp(wide.measured(), wrt=wrt), *[x.astype(widened(x.dtype)) for x in (*arrays, *tangents)]
    )
    count = len(graph.outputs)
    floating = [v for v in graph.outputs if is_inexact(v.dtype)]
    for ours, theirs, output in zip(outputs[count:], expected[count:], floating, strict=True):
        assert ours.dtype == output.dtype
        error = np.abs(ours.astype(theirs.dtype) - theirs)
        place = {"float16": 1e-3, "bfloat16": 8e-3}.get(ours.dtype.name, 1e-7)
        assert np.all(error <= 32 * place * (1 + np.abs(theirs)))


def test_inputs_without_a_derivative_are_refused() -> None:
    for sample in SAMPLES:
        for i, (possible, floating) in enumerate(zip(sample.differentiated, sample.floating, strict=True)):
            if floating and not possible:
                with pytest.raises(NotDifferentiableError, match=sample.op.replace("_", ".")):
                    jvp(sample.graph(), wrt=[j == i for j in range(len(sample.types))])


# ---- points that differences cannot judge --------------------------------------------------------------

NAN, INF = float("nan"), float("inf")
POINTS: tuple[tuple[str, dict[str, Any], tuple[Any, ...], tuple[Any, ...]], ...] = (
    ("max", {"axes": (0,)}, ([2.0, 5.0, 5.0, 5.0],), ([0, 1 / 3, 1 / 3, 1 / 3],)),
    ("min", {"axes": (0,)}, ([2.0, 2.0, 5.0],), ([0.5, 0.5, 0],)),
    ("maximum", {}, (1.0, 1.0), (0.5, 0.5)),
    ("minimum", {}, (1.0, 1.0), (0.5, 0.5)),
    ("fmax", {}, (1.0, 1.0), (0.5, 0.5)),
    ("fmax", {}, (NAN, 1.0), (0, 1)),
    ("fmin", {}, (1.0, NAN), (1, 0)),
    ("absolute", {}, (0.0,), (0,)),
    ("absolute", {}, (-0.0,), (0,)),
    ("sign", {}, (0.0,), (0,)),
    ("hypot", {}, (0.0, 0.0), (0, 0)),
    ("clip", {}, (0.0, 0.0, 1.0), (1, 0, 0)),
    ("clip", {}, (1.0, 0.0, 1.0), (1, 0, 0)),
    ("clip", {}, (-1.0, 0.0, 1.0), (0, 1, 0)),
    ("clip", {}, (2.0, 0.0, 1.0), (0, 0, 1)),
    ("sqrt", {}, (0.0,), (INF,)),
    ("cbrt", {}, (0.0,), (INF,)),
    ("power", {}, (0.0, 0.0), (0, -INF)),
    ("power", {}, (0.0, 1.0), (1, 0)),
    ("power", {}, (0.0, 3.0), (0, 0)),
    ("power", {}, (-2.0, 3.0), (12, NAN)),
    ("prod", {"axes": (0,)}, ([0.0, 2.0, 3.0],), ([6, 0, 0],)),
    ("prod", {"axes": (0,)}, ([0.0, 2.0, 0.0],), ([0, 0, 0],)),
    ("prod", {"axes": (0,)}, ([INF, 2.0],), ([2, INF],)),
    ("logaddexp", {}, (-INF, -INF), (0.5, 0.5)),
    ("logaddexp", {}, (-INF, 0.0), (0, 1)),
    ("heaviside", {}, (0.0, 0.5), (0, 1)),
)


@pytest.mark.parametrize(("op", "params", "inputs", "expected"), POINTS, ids=str)
def test_the_derivative_at_a_point(
    op: str, params: dict[str, Any], inputs: tuple[Any, ...], expected: tuple[Any, ...]
) -> None:
    arrays = [np.asarray(x) for x in inputs]
    graph = Sample(op, tuple(x.shape for x in arrays), "f64", params).graph()
    gradients = evaluate(reverse_graph(graph, [True] * len(arrays)), *arrays, np.array(1.0))
    for gradient, wanted in zip(gradients, expected, strict=True):
        np.testing.assert_array_equal(gradient, wanted)


@pytest.mark.parametrize(("exponent", "expected"), [(0.0, 0.0), (1.0, 0.0), (2.0, 2.0), (3.0, 0.0)])
def test_the_second_derivative_of_a_power_at_zero(exponent: float, expected: float) -> None:
    once = jvp(Sample("power", ((), ()), "f64").graph(), wrt=[True, False])
    twice = jvp(once, wrt=[True, False, False])
    one = np.array(1.0)
    assert evaluate(twice, np.array(0.0), np.array(exponent), one, one)[-1] == expected


def test_the_second_derivative_of_a_product_with_zeros_is_exact() -> None:
    reverse = reverse_graph(Sample("prod", ((3,),), "f64", {"axes": (0,)}).graph(), [True])
    x, one = np.array([0.0, 0.0, 5.0]), np.array(1.0)
    rows = [evaluate(jvp(reverse, wrt=[True, False]), x, one, row)[-1] for row in np.eye(3)]
    np.testing.assert_array_equal(rows, [[0, 5, 0], [5, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize("op", ["absolute", "sign"])
def test_the_derivative_at_the_origin_of_the_complex_plane_is_zero(op: str) -> None:
    graph = Sample(op, ((),), "c128").graph()
    assert evaluate(jvp(graph), np.array(0j), np.array(1 + 2j))[-1] == 0


def test_an_infinite_slope_behind_a_mask_is_nan_without_a_safe_where() -> None:
    given = Value(Sample("sqrt", ((),)).types[0])
    with recording(Builder()) as builder:
        out = where(greater(given, 0), sqrt(given), 0)
    graph = Graph("masked_root", (given,), tuple(builder.calls), (out,))
    assert np.isnan(evaluate(reverse_graph(graph, [True]), np.array(0.0), np.array(1.0))[0])
